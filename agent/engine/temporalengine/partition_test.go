// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/internal/proxytest"
)

// TestTurnsGoOnWhenWorkersLoseTouch: a worker that does not reach the server for some time loses
// its turn. It is not cancelled, and continues when the server can be reached.
func TestTurnsGoOnWhenWorkersLoseTouch(t *testing.T) {
	direct := dial(t, new(temporalengine.MemoryBlobs))
	p := proxytest.New(t, "tcp", shared.server.address)
	c, err := connect(p.Address(), new(temporalengine.MemoryBlobs))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	store, err := sqlitestore.Open(filepath.Join(t.TempDir(), "store"), sqlitestore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	queue := t.Name() + fmt.Sprint(time.Now().UnixNano())
	began, ended := make(chan struct{}, 100), make(chan error, 100)
	var lost atomic.Bool
	answer := func(
		ctx context.Context, _ *model.Request, _ model.Sink,
	) (*model.Message, error) {
		if lost.Swap(true) {
			return model.Response(model.Text("hello")), nil
		}
		began <- struct{}{}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, context.Cause(ctx)
	}
	slow := model.Func(model.Info{}, answer)
	start := func(m model.Model, c temporalengine.RunnerConfig) *host.Host {
		c.TaskQueue, c.Store, c.Heartbeat = queue, store, heartbeat
		r, err := temporalengine.NewRunner(c)
		require.NoError(t, err)
		a := agent.Must(agent.New(agent.Config[deps, string]{Name: "talker", Model: m}))
		h, err := host.New(host.Config[deps, string]{
			Agent: a, Store: store, Runner: r, Logger: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, h.Close(context.Background())) })
		return h
	}
	surface := start(slow, temporalengine.RunnerConfig{Client: direct})
	worker := start(slow, temporalengine.RunnerConfig{Client: c})
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- worker.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		require.ErrorIs(t, <-served, context.Canceled)
	})
	s, err := surface.Create(t.Context(), session.New{}, nil)
	require.NoError(t, err)
	done := make(chan *host.Outcome, 1)
	go func() {
		o, _ := s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("hello")}})
		done <- o
	}()
	<-began
	end := p.Stall()
	t.Log("the turn of the worker ended with", <-ended)
	end()
	o := <-done
	require.NoError(t, o.Err)
	require.Equal(t, transcript.Done, o.Reason)
}
