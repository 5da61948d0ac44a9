// SPDX-License-Identifier: Apache-2.0

package replaytest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
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
	return runTurns(t, "", file, text, env...)
}

// runTurns runs the turns of TestInside that match.
func runTurns(t *testing.T, turns, file, text string, env ...string) (ok bool, out string) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestInside$/"+turns, "-test.v")
	cmd.Env = append(append(os.Environ(), inside+"="+file, description+"="+text), env...)
	data, err := cmd.CombinedOutput()
	return err == nil, string(data)
}

// sale makes a recording of two turns.
func sale(t *testing.T) (file string) {
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
	file = filepath.Join(t.TempDir(), "sale.json")
	require.NoError(t, r.Save(file))
	return file
}

// TestFilesAreFilledOnRequest plays a recording, fills it, and changes the agent.
func TestFilesAreFilledOnRequest(t *testing.T) {
	file := sale(t)
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

// fills plays or fills some turns of a recording, in this process. The others are skipped.
func fills(t *testing.T, file string, fill bool, made func(*replay.Stage) *agent.Agent[none, string], turns ...int) {
	t.Helper()
	t.Run("inside", func(t *testing.T) {
		t.Setenv("PONTE_UPDATE", strconv.FormatBool(fill))
		turn := 0
		replaytest.Test(t, file, func(t testing.TB, s *replay.Stage) (*agent.Agent[none, string], none) {
			if turn++; !slices.Contains(turns, turn) {
				t.Skip("it is left out")
			}
			return made(s), none{}
		}, replay.PlayOptions{})
	})
}

// says returns an agent whose tool says this.
func says(text string) func(*replay.Stage) *agent.Agent[none, string] {
	return func(s *replay.Stage) *agent.Agent[none, string] { return shop(text, s.Model()) }
}

func content(t *testing.T, file string) string {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(data)
}

// TestTurnsThatAreLeftOutStay fills one turn of a recording, which changes nothing of the other.
func TestTurnsThatAreLeftOutStay(t *testing.T) {
	file := sale(t)
	fills(t, file, true, says("Sell."), 1)
	fills(t, file, false, says("Sell."), 1, 2)
	fills(t, file, true, says("Sell."), 1, 2)
	filled := content(t, file)
	ok, out := runTurns(t, "turn_2", file, "Sell.", "PONTE_UPDATE=1")
	require.True(t, ok, out)
	require.NotContains(t, out, "TestInside/turn_1")
	require.Equal(t, filled, content(t, file))
	for _, turns := range [][]int{nil, {1}, {2}} {
		fills(t, file, true, says("Sell."), turns...)
		require.Equal(t, filled, content(t, file), turns)
	}
	told := map[int]string{1: "Sell."}
	for _, change := range []struct {
		turn int
		text string
	}{{2, "Buy."}, {1, "Give."}, {1, "Buy."}, {2, "Take."}} {
		fills(t, file, true, says(change.text), change.turn)
		told[change.turn] = change.text
		for turn, text := range told {
			fills(t, file, false, says(text), turn)
		}
	}
	require.NotContains(t, content(t, file), "Sell.", "no turn has this frame any more")
	fills(t, file, true, says("Sell."), 1, 2)
	require.Equal(t, filled, content(t, file))
}

// TestToolsOfARecordingAreThereWhileItIsFilled has an agent with the tools of the recording only.
func TestToolsOfARecordingAreThereWhileItIsFilled(t *testing.T) {
	file := sale(t)
	fills(t, file, true, says("Sell."), 1, 2)
	filled := content(t, file)
	for _, names := range [][]string{{"sell"}, nil} {
		of := func(s *replay.Stage) *agent.Agent[none, string] {
			tools, err := replay.ToolsOf[none](s, names...)
			require.NoError(t, err)
			return agent.Must(agent.New(agent.Config[none, string]{Model: s.Model(), Tools: tools}))
		}
		fills(t, file, true, of, 1, 2)
		require.Equal(t, filled, content(t, file))
		fills(t, file, false, of, 1, 2)
	}
}
