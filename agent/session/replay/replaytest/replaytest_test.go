// SPDX-License-Identifier: Apache-2.0

package replaytest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/replay"
	"github.com/ponte-go/ponte/agent/session/replay/replaytest"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/toolset"
)

type none struct{}

// inside is the variable that names the recording for TestInside, description the variable with what
// its tool says, and gone the one with a file that becomes a directory meanwhile.
const inside, description, gone = "PONTE_REPLAYTEST", "PONTE_REPLAYTEST_TOOL", "PONTE_REPLAYTEST_GONE"

func setup(t testing.TB, s *replay.Stage) (*agent.Agent[none, string], none) {
	if name := os.Getenv(gone); name != "" {
		require.NoError(t, errors.Join(os.RemoveAll(name), os.MkdirAll(filepath.Join(name, "below"), 0o700)))
	}
	return shop(os.Getenv(description), s.Model()), none{}
}

func shop(text string, m model.Model) *agent.Agent[none, string] {
	sell := func(context.Context, *toolset.RunContext[none], none) (string, error) { return "sold", nil }
	return agent.Must(agent.New(agent.Config[none, string]{
		Model: m, Tools: []*toolset.Tool[none]{toolset.Func("sell", text, sell)},
	}))
}

// TestInside is what the other test runs in child processes.
func TestInside(t *testing.T) {
	file := os.Getenv(inside)
	if file == "" {
		t.Skip("the other tests run it in a child process")
	}
	replaytest.Test(t, file, setup, replay.PlayOptions{})
}

// run runs TestInside.
func run(t *testing.T, file, text string, env ...string) (ok bool, out string) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestInside$", "-test.v")
	cmd.Env = append(append(os.Environ(), inside+"="+file, description+"="+text), env...)
	data, err := cmd.CombinedOutput()
	return err == nil, string(data)
}

// TestFilesAreFilledOnRequest plays a recording of two turns, fills it, and changes the agent.
func TestFilesAreFilledOnRequest(t *testing.T) {
	store := new(session.Memory)
	_, err := store.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), store, "s", session.Claim{})
	require.NoError(t, err)
	c, err := transcript.Open(t.Context(), w, transcript.Options{})
	require.NoError(t, err)
	for range 2 {
		turn, err := c.Begin(t.Context(), model.User("Sell it"))
		require.NoError(t, err)
		m := modeltest.Script(modeltest.Say(model.ToolCall("1", "sell", "{}")), modeltest.SayText("Sold."))
		res, err := shop("Sell.", m).Run(t.Context(), none{}, "Sell it", turn.Options()...)
		require.NoError(t, transcript.End(t.Context(), turn, res, err))
	}
	r, err := replay.Make(t.Context(), store, "s", replay.Options{})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "sale.json")
	require.NoError(t, r.Save(file))

	ok, out := run(t, file, "Sell.")
	require.True(t, ok, out)
	require.Contains(t, out, "run the test once with PONTE_UPDATE=1")
	require.Contains(t, out, "TestInside/turn_2")
	ok, out = run(t, file, "Sell.", "PONTE_UPDATE=1")
	require.True(t, ok, out)
	ok, out = run(t, file, "Sell.")
	require.True(t, ok, out)
	require.NotContains(t, out, "PONTE_UPDATE")
	ok, out = run(t, file, "Buy.")
	require.False(t, ok, out)
	require.Contains(t, out, "tool sell: the description")
	require.Equal(t, 2, strings.Count(out, "-Sell."))
	ok, out = run(t, file+".none", "Sell.")
	require.False(t, ok, out)
	ok, out = run(t, file, "Sell.", "PONTE_UPDATE=1", gone+"="+file)
	require.False(t, ok, out)
	require.Contains(t, out, "replay: save "+file)
}
