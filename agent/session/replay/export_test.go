// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"context"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/replay"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

type order struct {
	Order int `json:"order"`
}

// support returns an agent that refunds orders.
func support(m model.Model) *agent.Agent[none, string] {
	refund := func(_ context.Context, _ *toolset.RunContext[none], a order) (string, error) {
		return fmt.Sprintf("order %d is refunded", a.Order), nil
	}
	ask := func(_ context.Context, _ *toolset.RunContext[none], a order) (*toolset.Approval, error) {
		return &toolset.Approval{Title: fmt.Sprint("Refund order ", a.Order)}, nil
	}
	return agent.Must(agent.New(agent.Config[none, string]{
		Model: m, Instructions: "You help customers.",
		Tools: []*toolset.Tool[none]{toolset.Func("refund", "Refund an order.", refund, toolset.Approve(ask))},
	}))
}

// refunded has a session in which an order was refunded.
func refunded(ctx context.Context, store session.Store) error {
	if _, err := store.Create(ctx, session.New{ID: "s1", Title: "Where is my order 17?"}); err != nil {
		return err
	}
	w, err := session.Open(ctx, store, "s1", session.Claim{})
	if err != nil {
		return err
	}
	defer w.Close(ctx)
	c, err := transcript.Open(ctx, w, transcript.Options{})
	if err != nil {
		return err
	}
	prompt := "My order 17 has not come. I am 4f-Kw9!x, password: s3cr3t-w0rd"
	turn, err := c.Begin(ctx, model.User(prompt))
	if err != nil {
		return err
	}
	m := modeltest.Script(
		modeltest.Say(model.ToolCall("1", "refund", `{"order":17}`)),
		modeltest.SayText("You get your money back."),
	)
	allow := toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		return toolset.Decision{Verdict: toolset.VerdictAllow, By: "boss"}, nil
	}}
	res, err := support(m).Run(ctx, none{}, prompt, append(turn.Options(), agent.WithAsker(allow))...)
	return transcript.End(ctx, turn, res, err)
}

func Example() {
	ctx := context.Background()
	store := new(session.Memory)
	if err := refunded(ctx, store); err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "replay")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	done, err := replay.Export(ctx, store, "s1", dir, replay.Source{Package: "shop_test"}, replay.Options{})
	if err != nil {
		panic(err)
	}
	source, err := os.ReadFile(done.Test)
	if err != nil {
		panic(err)
	}
	fmt.Print(string(source))
	// Output:
	// package shop_test
	//
	// import (
	// 	"testing"
	//
	// 	"github.com/ponte-go/ponte/agent/session/replay"
	// 	"github.com/ponte-go/ponte/agent/session/replay/replaytest"
	// )
	//
	// // TestWhereIsMyOrder17 plays the session "s1".
	// //
	// // Replayed: 2 responses of the model, the results of 1 calls, 1 decisions about calls.
	// // Real: instructions, tools' descriptions, schemas and checks of arguments, the order of calls,
	// // policies, limits, hooks, output functions.
	// // Left out: what looks like secrets (password: 1). Marks stand in their place, and match any
	// // text.
	// //
	// // Turn 1: "My order 17 has not come. I am 4f-Kw9!x, password: ‹secret 1: password›"; call refund
	// // "{"order":17}"; "You get your money back."; done.
	// func TestWhereIsMyOrder17(t *testing.T) {
	// 	replaytest.Test(t, "testdata/where-is-my-order-17.json", setup, replay.PlayOptions{})
	// }
}

func TestExportReplacesNoFiles(t *testing.T) {
	store := new(session.Memory)
	require.NoError(t, refunded(t.Context(), store))
	dir := t.TempDir()
	_, err := replay.Export(t.Context(), store, "s1", dir, replay.Source{}, replay.Options{})
	require.NoError(t, err)
	_, err = replay.Export(t.Context(), store, "s1", dir, replay.Source{}, replay.Options{})
	require.ErrorIs(t, err, fs.ErrExist)
	_, err = replay.Export(t.Context(), store, "none", dir, replay.Source{}, replay.Options{})
	require.ErrorIs(t, err, session.ErrNotFound)
	_, err = replay.Export(t.Context(), store, "s1", t.TempDir(), replay.Source{Setup: "}"}, replay.Options{})
	require.ErrorContains(t, err, `Setup "}" is not an expression`)
	_, err = replay.Export(t.Context(), store, "s1", t.TempDir(), replay.Source{Name: "1"}, replay.Options{})
	require.ErrorContains(t, err, `"1" must be identifiers`)
}

// TestExportedTestsAreCompiledEverywhere: Go must read no system or processor in a name.
func TestExportedTestsAreCompiledEverywhere(t *testing.T) {
	files := map[string]string{
		"": "where-is-my-order-17_test.go", "testdata/port_it_to_windows.json": "port-it-to-windows_test.go",
		"x-linux-amd64.json": "x-linux-amd64_test.go", "js.json": "js_test.go", "on-386.json": "on-386_test.go",
		"a_unix.json": "a-unix_test.go", "x_wasm.v2.json": "x-wasm.v2_test.go", "testdata/_x.json": "x_test.go",
		".ios.json": "ios_test.go", "_.json": "session_test.go", ".json": "session_test.go", "a_test.json": "a-test_test.go",
	}
	store := new(session.Memory)
	require.NoError(t, refunded(t.Context(), store))
	for file, want := range files {
		dir := t.TempDir()
		done, err := replay.Export(t.Context(), store, "s1", dir, replay.Source{File: file}, replay.Options{})
		require.NoError(t, err)
		require.Equal(t, filepath.Join(dir, want), done.Test)
		for _, system := range []string{"linux/amd64", "windows/386", "plan9/arm", "js/wasm"} {
			read := build.Default
			read.GOOS, read.GOARCH, _ = strings.Cut(system, "/")
			ok, err := read.MatchFile(dir, filepath.Base(done.Test))
			require.NoError(t, err)
			require.True(t, ok, "%s on %s", want, system)
		}
	}
	_, err := store.Update(t.Context(), "s1", session.Change{Title: new("Port it to Windows")})
	require.NoError(t, err)
	done, err := replay.Export(t.Context(), store, "s1", t.TempDir(), replay.Source{}, replay.Options{})
	require.NoError(t, err)
	require.Equal(t, "port-it-to-windows_test.go", filepath.Base(done.Test))
}

// TestDifferences changes the agent, and compares what the error shows.
func TestDifferences(t *testing.T) {
	store := new(session.Memory)
	require.NoError(t, refunded(t.Context(), store))
	r, err := replay.Make(t.Context(), store, "s1", replay.Options{})
	require.NoError(t, err)
	m := r.Stage(0).Model()
	require.NoError(t, replay.Fill(t.Context(), r, 0, support(m), none{}, replay.PlayOptions{}))
	tool := func(description, result string, opts ...toolset.Option) *toolset.Tool[none] {
		return toolset.Func("refund", description, func(context.Context, *toolset.RunContext[none], order) (string, error) {
			return result, nil
		}, opts...)
	}
	ask := toolset.Approve(func(context.Context, *toolset.RunContext[none], order) (*toolset.Approval, error) {
		return &toolset.Approval{}, nil
	})
	for _, c := range []struct {
		name, want   string
		instructions string
		tool         *toolset.Tool[none]
		limits       agent.Limits
		options      replay.PlayOptions
	}{
		{name: "description", tool: tool("Refund it.", "", ask),
			want: "turn 1, step 1: tool refund: the description\n-Refund an order.\n+Refund it.\n"},
		{name: "instructions", instructions: "You help.\nBe kind.", tool: tool("Refund an order.", "", ask),
			want: "turn 1, step 1: the instructions\n--- a/recorded\n+++ b/now\n@@ -1 +1,2 @@\n-You help customers.\n+You help.\n+Be kind.\n"},
		{name: "result", tool: tool("Refund an order.", "nothing", ask), options: replay.PlayOptions{Real: []string{"refund"}},
			want: "turn 1, step 2: the result of call 1 of refund\n-order 17 is refunded\n+nothing\n"},
		{name: "result that is ignored", tool: tool("Refund an order.", "nothing", ask),
			options: replay.PlayOptions{Real: []string{"refund"}, Ignore: []replay.Aspect{replay.Results}}},
		{name: "question", tool: tool("Refund an order.", ""),
			want: "turn 1, step 2: call 1\n-a question about it was answered: allow\n+nobody is asked about it\n"},
		{name: "limit", tool: tool("Refund an order.", "", ask), limits: agent.Limits{Requests: 1},
			want: "the end of the turn\n-the model was asked again, and answered: You get your money back.\n+the run ended: "},
		{name: "ignored", instructions: "Other.", tool: tool("Other.", "", ask),
			options: replay.PlayOptions{Ignore: []replay.Aspect{replay.Instructions, replay.Tools}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.instructions == "" {
				c.instructions = "You help customers."
			}
			a := agent.Must(agent.New(agent.Config[none, string]{
				Model: m, Instructions: c.instructions, Tools: []*toolset.Tool[none]{c.tool}, Limits: c.limits,
			}))
			err := replay.Play(t.Context(), r, 0, a, none{}, c.options)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorAs(t, err, new(*replay.Difference))
			require.ErrorContains(t, err, c.want)
		})
	}
	require.ErrorContains(t, replay.Play(t.Context(), r, 1, support(m), none{}, replay.PlayOptions{}), "there is no turn 1")
	r.Turns[0].Decisions = nil
	err = replay.Play(t.Context(), r, 0, support(m), none{}, replay.PlayOptions{})
	require.ErrorContains(t, err, "-nobody was asked about it\n+the agent asks whether it may run")
}

// TestInstructionsThatChangeEachDayAreNotCompared fills a recording on another day.
func TestInstructionsThatChangeEachDayAreNotCompared(t *testing.T) {
	store := new(session.Memory)
	day := "Monday"
	diary := func(m model.Model) *agent.Agent[none, string] {
		return agent.Must(agent.New(agent.Config[none, string]{Model: m, Instructions: "Keep a diary.\nIt is " + day + ".\nBe brief."}))
	}
	_, err := store.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), store, "s", session.Claim{})
	require.NoError(t, err)
	c, err := transcript.Open(t.Context(), w, transcript.Options{})
	require.NoError(t, err)
	turn, err := c.Begin(t.Context(), model.User("Dear diary"))
	require.NoError(t, err)
	res, err := diary(modeltest.Script(modeltest.SayText("Yes?"))).Run(t.Context(), none{}, "Dear diary", turn.Options()...)
	require.NoError(t, transcript.End(t.Context(), turn, res, err))
	r, err := replay.Make(t.Context(), store, "s", replay.Options{})
	require.NoError(t, err)
	m := r.Stage(0).Model()
	day = "Tuesday"
	require.Error(t, replay.Play(t.Context(), r, 0, diary(m), none{}, replay.PlayOptions{}))
	require.NoError(t, replay.Fill(t.Context(), r, 0, diary(m), none{}, replay.PlayOptions{}))
	require.Equal(t, "Keep a diary.\n‹any›\nBe brief.", r.Frames[0].Instructions)
	day = "Wednesday"
	require.NoError(t, replay.Play(t.Context(), r, 0, diary(m), none{}, replay.PlayOptions{}))
}

// TestFilesComeFromCheckpoints looks at the files of each turn.
func TestFilesComeFromCheckpoints(t *testing.T) {
	space, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/repo"}})
	require.NoError(t, err)
	require.NoError(t, space.Disk().WriteFile("/repo/a/x.go", []byte("one"), 0o644))
	rec := checkpoint.New(space, checkpoint.Options{})
	turns := checkpoint.NewTurns(rec)
	store := new(session.Memory)
	_, err = store.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), store, "s", session.Claim{})
	require.NoError(t, err)
	c, err := transcript.Open(t.Context(), w, transcript.Options{})
	require.NoError(t, err)
	for _, text := range []string{"two", "three"} {
		turn, err := c.Begin(t.Context(), model.User(text))
		require.NoError(t, err)
		turns.Mark(turn.ID(), text)
		_, err = rec.Write(t.Context(), "/repo/a/x.go", []byte(text), workspace.AnyVersion)
		require.NoError(t, err)
		_, err = rec.Write(t.Context(), "/repo/"+text+".bin", []byte{0xff, 0}, workspace.AnyVersion)
		require.NoError(t, err)
		require.NoError(t, turn.Finish(t.Context(), c.Messages(), transcript.Done))
	}
	r, err := replay.Make(t.Context(), store, "s", replay.Options{Checkpoints: rec})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "r.json")
	require.NoError(t, r.Save(file))
	r, err = replay.Load(file)
	require.NoError(t, err)
	for i, want := range []map[string]string{
		{"/repo/a/x.go": "one"}, {"/repo/a/x.go": "two", "/repo/two.bin": "\xff\x00"},
	} {
		space, err := r.Stage(i).Workspace()
		require.NoError(t, err)
		for name, content := range want {
			f, err := space.Disk().ReadFile(name)
			require.NoError(t, err)
			require.Equal(t, content, string(f))
		}
		_, err = space.Disk().ReadFile("/repo/three.bin")
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
}

func TestDamagedRecordingsAreErrors(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		`{`:             "unexpected end",
		`{"version":9}`: "it has version 9, and this program reads 1 to 1",
		`{"version":1,"messages":[null],"turns":[]}`:        "a message is null",
		`{"version":1,"turns":[{"messages":[0],"id":"x"}]}`: "turn 1 names a message that is not there",
		`{"version":1,"turns":[{"files":[-1],"id":"x"}]}`:   "turn 1 names a file that is not there",
		`{"version":1,"turns":[{"checked":{"steps":[2]}}]}`: "turn 1 names a frame that is not there",
	} {
		file := filepath.Join(dir, "r.json")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := replay.Load(file)
		require.ErrorContains(t, err, want, text)
	}
	_, err := replay.Load(filepath.Join(dir, "none.json"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestSessionsWithoutTurnsAreErrors(t *testing.T) {
	store := new(session.Memory)
	_, err := store.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	_, err = replay.Make(t.Context(), store, "s", replay.Options{})
	require.ErrorIs(t, err, replay.ErrNothing)
	require.True(t, strings.HasSuffix(err.Error(), "s"))
}

func TestCasesAreADataset(t *testing.T) {
	store := new(session.Memory)
	require.NoError(t, refunded(t.Context(), store))
	r, err := replay.Make(t.Context(), store, "s1", replay.Options{})
	require.NoError(t, err)
	r.Turns = append(r.Turns, replay.Turn{Before: []int{0}, Reason: transcript.Done}, replay.Turn{Reason: transcript.Failed})
	var b strings.Builder
	require.NoError(t, r.WriteCases(&b))
	require.Equal(t, `# Left out: what looks like secrets (password: 1). Marks stand in their place, and match any text.
name: "Where is my order 17?"
cases:
- name: "Where is my order 17?, turn 1"
  inputs: "My order 17 has not come. I am 4f-Kw9!x, password: ‹secret 1: password›"
  expected_output: "You get your money back."
  metadata: {session: "s1"}
  evaluators:
  - TrajectoryMatch: {expected_trajectory: ["refund"], order: exact}
# Turn 2 is left out: it has a history.
# Turn 3 is left out: it ended failed.
`, b.String())
	d, err := evals.Parse[string, string]([]byte(b.String()), evals.FileOptions{})
	require.NoError(t, err)
	report, err := evals.Run(t.Context(), d, evals.Agent(support(modeltest.Script(
		modeltest.Say(model.ToolCall("1", "refund", `{"order":17}`)), modeltest.SayText("Yes."),
	)), none{}, agent.WithAsker(toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		return toolset.Allow(), nil
	}})), evals.Options{})
	require.NoError(t, err)
	require.Equal(t, 1.0, report.Metrics()[0].Mean)
	r.Turns = r.Turns[1:]
	require.ErrorContains(t, r.WriteCases(&b), "no turn that can be a case")
}
