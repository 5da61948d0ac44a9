// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/app/offline"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// files is a directory in memory with the tools that the model drives.
type files struct {
	content map[string]string
	denied  map[string]bool // tools
	calls   []string
	ran     []string // command lines
	list    string   // what list_files says
	// results and failures are what tools say, by command, pattern, path or tool.
	results, failures map[string]string
}

// told returns what is said about the first of the names.
func told(by map[string]string, names ...string) (string, bool) {
	for _, name := range names {
		if s, ok := by[name]; ok {
			return s, true
		}
	}
	return "", false
}

func (f *files) call(p model.Part) model.Part {
	var a struct {
		Path, Content, Text, Command, Pattern string
		Line, Limit                           int
		Edits                                 []workspace.Edit
	}
	f.calls = append(f.calls, p.Tool)
	if err := json.Unmarshal(p.Args, &a); err != nil {
		return model.Retry(p.CallID, p.Tool, err.Error())
	}
	if f.denied[p.Tool] {
		return model.Part{Kind: model.PartToolReturn, CallID: p.CallID, Tool: p.Tool, Text: "The user said no.", Outcome: model.OutcomeDenied}
	}
	content, exists := f.content[a.Path]
	failed := func(text string) model.Part {
		return model.Part{Kind: model.PartToolReturn, CallID: p.CallID, Tool: p.Tool, Text: text, Outcome: model.OutcomeFailed}
	}
	if s, ok := told(f.failures, a.Command, a.Pattern, a.Path); ok {
		return failed(s)
	}
	if s, ok := told(f.results, a.Command, a.Pattern, a.Path, p.Tool); ok {
		return model.ToolReturn(p.CallID, p.Tool, s)
	}
	switch p.Tool {
	case "read_file", "edit_file":
		if !exists {
			return failed("no such file")
		}
		if p.Tool == "read_file" {
			return model.ToolReturn(p.CallID, p.Tool, content)
		}
		edited, err := workspace.ApplyEdits([]byte(content), a.Edits)
		if err != nil {
			return failed("Nothing was changed in " + a.Path + ". " + err.Error())
		}
		f.content[a.Path] = string(edited)
		return model.ToolReturn(p.CallID, p.Tool, "Edited "+a.Path+". "+workspace.ChangedLines([]byte(content), edited))
	case "write_file":
		f.content[a.Path] = a.Content
		return model.ToolReturn(p.CallID, p.Tool, "written")
	case "run_command":
		f.ran = append(f.ran, a.Command)
		return model.ToolReturn(p.CallID, p.Tool, "$ "+a.Command+"\n[exit code 0]")
	case "list_files":
		if f.list != "" {
			return model.ToolReturn(p.CallID, p.Tool, f.list)
		}
	}
	return model.ToolReturn(p.CallID, p.Tool, fmt.Sprintf("%s of %q in %q", p.Tool, a.Text, a.Path))
}

var allTools = []string{"read_file", "write_file", "edit_file", "run_command", "list_files", "search_files"}

// converse runs the loop of an agent for one prompt and returns the history with all that was added.
func converse(t *testing.T, f *files, tools []string, history []*model.Message, prompt string) []*model.Message {
	t.Helper()
	var defs []model.ToolDef
	for _, name := range tools {
		defs = append(defs, model.ToolDef{Name: name})
	}
	history = append(slices.Clip(history), model.UserText(prompt))
	for range 50 {
		// A new model each time: it must have no state.
		m, err := offline.New(offline.Config{}).Generate(t.Context(), &model.Request{Messages: history, Tools: defs}, nil)
		require.NoError(t, err)
		history = append(history, m)
		if !m.HasToolCalls() {
			require.Equal(t, model.FinishStop, m.Finish)
			require.NotEmpty(t, m.Text())
			return history
		}
		require.Equal(t, model.FinishToolCalls, m.Finish)
		results := &model.Message{Kind: model.KindRequest}
		for _, p := range m.Parts {
			if p.Kind == model.PartToolCall {
				require.Contains(t, tools, p.Tool)
				results.Parts = append(results.Parts, f.call(p))
			}
		}
		history = append(history, results)
	}
	t.Fatal("the conversation does not end")
	return nil
}

// said returns all that the model said in the messages.
func said(messages []*model.Message) string {
	var b strings.Builder
	for _, m := range messages {
		if m.Kind == model.KindResponse {
			b.WriteString(m.Text())
		}
	}
	return b.String()
}

func TestASequenceIsCarriedOutStepByStep(t *testing.T) {
	f := &files{content: map[string]string{"a.txt": "one foo\ntwo\nthree foo foo\n"}}
	history := converse(t, f, allTools, nil, "read a.txt, search two, then replace foo with bar in a.txt and run go test ./...")
	require.Equal(t, []string{"read_file", "search_files", "edit_file", "run_command"}, f.calls)
	require.Equal(t, "one bar\ntwo\nthree bar bar\n", f.content["a.txt"])
	require.Equal(t, model.PartThinking, history[1].Parts[0].Kind)
	require.Contains(t, history[1].Parts[0].Text, "Offline demo model, my plan: 1. read a.txt. 2. search `two`")
	text := said(history)
	require.Contains(t, text, "```txt\none foo\ntwo\nthree foo foo\n```")
	require.Contains(t, text, "Replaced `foo` with `bar` in `a.txt`:\n\n```\n     1\tone bar\n     2\ttwo\n     3\tthree bar bar\n```")
	require.Contains(t, text, "I ran `go test ./...`: exit code 0:\n\n```\n$ go test ./...\n```")
	require.Equal(t, 1, strings.Count(text, "one foo"), "nothing is said twice")

	again := converse(t, f, allTools, history, "list files")
	require.Equal(t, "list_files", f.calls[len(f.calls)-1])
	ids := map[string]bool{}
	for _, m := range again {
		for _, p := range m.Parts {
			if p.Kind == model.PartToolCall {
				require.False(t, ids[p.CallID], "call ids are unique in a conversation")
				ids[p.CallID] = true
			}
		}
	}
	require.Len(t, ids, 5)
}

func TestAFailureIsReportedAndWhatDependsOnItLeftOut(t *testing.T) {
	for name, c := range map[string]struct {
		files
		prompt string
		calls  []string
		says   []string
	}{
		"denied": {
			files{content: map[string]string{"a.txt": "foo"}, denied: map[string]bool{"edit_file": true}},
			"replace foo with bar in a.txt and run go test, then list files",
			[]string{"edit_file", "list_files"},
			[]string{"I was not permitted to change `a.txt`: The user said no.", "I left out “run `go test`”, since it depends on “replace `foo` with `bar` in a.txt”"},
		},
		"cut short": {
			files{content: map[string]string{"a.txt": "foo\n\n[Cut here: these are the lines 1 to 1 of 9. To read on, call read_file with line 2.]"}},
			"append x to a.txt",
			[]string{"read_file"},
			[]string{"`a.txt` is too large for me to change"},
		},
		"missing": {
			files{content: map[string]string{}}, "read a.txt, then replace x with y in a.txt, read b.txt",
			[]string{"read_file", "read_file"},
			[]string{"I could not read `a.txt`: no such file", "I left out “replace `x` with `y` in a.txt”"},
		},
		"not there": {
			files{content: map[string]string{"a.txt": "alpha\nfmt.Println(x)\n"}}, "replace fmt.Printn(x) with y in a.txt",
			[]string{"edit_file"},
			[]string{"Nothing was changed in a.txt. old_text was not found. The nearest lines are: 2 fmt.Println(x)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			history := converse(t, &c.files, allTools, nil, c.prompt)
			require.Equal(t, c.calls, c.files.calls)
			for _, s := range c.says {
				require.Contains(t, said(history), s)
			}
		})
	}
}

func TestOnlyOfferedToolsAreCalled(t *testing.T) {
	f := &files{content: map[string]string{"a.txt": "x"}}
	history := converse(t, f, []string{"read_file"}, nil, "run go test, read a.txt and search x")
	require.Equal(t, []string{"read_file"}, f.calls)
	require.Contains(t, said(history), "I cannot run `go test`: I was not given the tool `run_command` here.")
	require.Contains(t, said(history), "I cannot search the working directory")
}

func TestWritingFiles(t *testing.T) {
	f := &files{content: map[string]string{"log.txt": "first"}}
	history := converse(t, f, allTools, nil, "create a.txt with \"x\\ny\", append second to log.txt, append first to log.txt, and in log.txt replace the first first with 1st")
	require.Equal(t, map[string]string{"a.txt": "x\ny\n", "log.txt": "1st\nsecond\nfirst\n"}, f.content)
	require.Contains(t, said(history), "Wrote `a.txt`: 2 lines.")
}

func TestTheModelIsHonest(t *testing.T) {
	f := &files{}
	for prompt, want := range map[string]string{
		"help":             "I am the offline demo model",
		"hello":            "This is the offline demo model",
		"":                 "This is the offline demo model",
		"think about life": "I am the offline demo model: I follow rules, and have no thoughts about `life`.",
	} {
		require.Contains(t, said(converse(t, f, allTools, nil, prompt)), want, prompt)
	}
}

func TestATurnAfterAnInterruptedOneIsItsOwn(t *testing.T) {
	f := &files{content: map[string]string{"b.txt": "bee"}}
	history := []*model.Message{
		model.UserText("read a.txt, run sleep 10"),
		model.Response(model.ToolCall("call_1", "read_file", `{"path":"a.txt"}`)),
	}
	request := &model.Message{Kind: model.KindRequest, Parts: []model.Part{
		{Kind: model.PartToolReturn, CallID: "call_1", Outcome: model.OutcomeInterrupted}, model.User("read b.txt"),
	}}
	m, err := offline.New(offline.Config{}).Generate(t.Context(), &model.Request{
		Messages: append(history, request), Tools: []model.ToolDef{{Name: "read_file"}}}, nil)
	require.NoError(t, err)
	require.JSONEq(t, `{"path":"b.txt"}`, string(m.Parts[1].Args))
	require.Equal(t, "call_2", m.Parts[1].CallID)
	require.Contains(t, said(converse(t, f, allTools, history[:1], "read b.txt")), "bee")
}

func TestDeltasSayWhatTheMessageSays(t *testing.T) {
	req := &model.Request{Tools: []model.ToolDef{{Name: "read_file"}}, Messages: []*model.Message{model.UserText("think about it; wait 1ms; read a.txt")}}
	parts := map[int]*model.Part{}
	deltas := 0
	m, err := offline.New(offline.Config{}).Generate(t.Context(), req, func(d model.Delta) error {
		if d.Usage != nil {
			return nil
		}
		if parts[d.Part] == nil {
			require.Len(t, parts, d.Part)
			parts[d.Part] = &model.Part{Kind: d.Kind, CallID: d.CallID, Tool: d.Tool}
		}
		if d.Kind == model.PartToolCall {
			parts[d.Part].Args = append(parts[d.Part].Args, d.Text...)
		} else {
			parts[d.Part].Text += d.Text
		}
		deltas++
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, deltas, 5)
	for i := range m.Parts {
		require.Equal(t, m.Parts[i], *parts[i])
	}
	require.Positive(t, m.Usage.InputTokens)
	require.Positive(t, m.Usage.OutputTokens)
	require.Positive(t, m.Usage.ReasoningTokens)

	stop := errors.New("stop")
	_, err = offline.New(offline.Config{}).Generate(t.Context(), req, func(model.Delta) error { return stop })
	require.Equal(t, stop, err)
}

func TestEditsKeepLineEndings(t *testing.T) {
	f := &files{content: map[string]string{"a.txt": "one\r\nx\r\nx\r\n", "b.txt": "x x x", "empty.txt": ""}}
	converse(t, f, allTools, nil, "replace the first x with y in a.txt; append two to a.txt; append one to empty.txt; replace the first x with y in b.txt; append x to b.txt")
	require.Equal(t, map[string]string{"a.txt": "one\r\ny\r\nx\r\ntwo\r\n", "b.txt": "y x x\nx\n", "empty.txt": "one\n"}, f.content)
}

func TestTestsAreRunAsTheProjectDoes(t *testing.T) {
	for list, want := range map[string]string{
		"go.mod\nMakefile\n": "go test ./...", "README.md\npackage.json\n": "npm test", "Cargo.toml\n": "cargo test", "pyproject.toml\n": "python -m pytest",
		"Makefile\n": "make test", "pom.xml\n": "mvn test", "build.gradle\ngradlew\n": "./gradlew test", "mix.exs\n": "mix test", "go.mod/\nMakefile\n": "make test",
	} {
		f := &files{list: list}
		history := converse(t, f, allTools, nil, "run the tests")
		require.Equal(t, []string{want}, f.ran, list)
		require.Contains(t, said(history), "so the tests are run with `"+want+"`")
	}
	f := &files{list: "README.md\n", content: map[string]string{"a": "x"}}
	history := converse(t, f, allTools, nil, "run the tests")
	require.Empty(t, f.ran)
	require.Contains(t, said(history), "I cannot tell how the tests of this project are run.")

	f = &files{content: map[string]string{}, list: "go.mod\n"}
	history = converse(t, f, allTools, nil, "replace x with y in a, then run the tests")
	require.Empty(t, f.ran, "tests depend on the change")
	require.Contains(t, said(history), "I left out “run the tests”")
}

func TestAgainRepeatsTheLastRequest(t *testing.T) {
	f := &files{content: map[string]string{"a.txt": "x"}, list: "go.mod\n"}
	history := converse(t, f, allTools, nil, "again")
	require.Contains(t, said(history), "there is nothing to repeat yet")
	history = converse(t, f, allTools, nil, "read a.txt and run the tests")
	f.calls = nil
	for _, again := range []string{"again", "do it again, please", "once more", "Same again!"} {
		history = converse(t, f, allTools, history, again)
	}
	require.Len(t, f.calls, 12)
	require.Equal(t, []string{"read_file", "list_files", "run_command"}, f.calls[9:])
	history = converse(t, f, allTools, converse(t, f, allTools, history, "frobnicate"), "again")
	require.Contains(t, said(history[len(history)-1:]), "there is nothing to repeat: of your last request, I did not understand `frobnicate`.")
	require.Len(t, f.calls, 12)
}

func TestUndoAndRedo(t *testing.T) {
	calls, text, _ := carryOut(t, "redo")
	require.Empty(t, calls)
	require.Contains(t, text, "There is nothing to redo.")
	calls, text, history := carryOut(t, "undo")
	require.Equal(t, []string{"undo_changes {}"}, calls)
	require.Equal(t, "Restored a.txt.\n\n", text, "without what is said to models")
	calls, _, _ = carryOut(t, "redo it", history...)
	require.Equal(t, []string{`undo_changes {"checkpoint":7}`}, calls)

	converse(t, &files{}, allTools, nil, "undo")
	require.Contains(t, said(converse(t, &files{}, allTools, nil, "undo")), "I cannot undo the last changes: I was not given the tool `undo_changes` here.")
}

func TestUseCallsAnyOfferedTool(t *testing.T) {
	f := &files{}
	tools := append(slices.Clip(allTools), "weather", "mcp__deploy")
	history := converse(t, f, tools, nil, "use weather {\"Text\": \"Oslo\"} and mcp__deploy {}")
	require.Equal(t, []string{"weather", "mcp__deploy"}, f.calls)
	require.Contains(t, said(history), "I used `weather`:\n\n```\nweather of \"Oslo\" in \"\"\n```")
	history = converse(t, f, allTools, nil, "read a.txt, then use weather {}")
	require.Len(t, f.calls, 2, "nothing is done if a part cannot be")
	require.Contains(t, said(history), "there is no tool `weather` here. The tools are read_file, write_file, edit_file, run_command, list_files, search_files.")
}

func TestCancellationEndsAWaitAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(1250*time.Millisecond, func() { cancel(why) })
		begin, ticks := time.Now(), 0
		_, err := offline.New(offline.Config{}).Generate(ctx, &model.Request{Messages: []*model.Message{model.UserText("wait 60 seconds")}},
			func(d model.Delta) error {
				if d.Kind == model.PartText {
					ticks += strings.Count(d.Text, ".")
				}
				return nil
			})
		require.ErrorIs(t, err, why)
		require.Equal(t, 1250*time.Millisecond, time.Since(begin))
		require.Equal(t, 12, ticks, "a tick each 100 ms")

		_, err = offline.New(offline.Config{}).Generate(ctx, &model.Request{Messages: []*model.Message{model.UserText("help")}}, nil)
		require.ErrorIs(t, err, why)
	})
}

func TestWaitingTakesAsLongAsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		m, err := offline.New(offline.Config{}).Generate(t.Context(), &model.Request{Messages: []*model.Message{model.UserText("wait 2 seconds")}}, nil)
		require.NoError(t, err)
		require.Equal(t, 2*time.Second, time.Since(begin))
		require.Contains(t, m.Text(), strings.Repeat(".", 20)+" done")
	})
}

func TestWhatTheModelCannotDoIsRefused(t *testing.T) {
	for _, req := range []*model.Request{
		{Output: &model.OutputSchema{}},
		{ToolChoice: model.ToolChoice{Mode: model.ToolChoiceRequired}},
	} {
		_, err := offline.New(offline.Config{}).Generate(t.Context(), req, nil)
		require.ErrorIs(t, err, model.ErrUnsupported)
	}
	m, err := offline.New(offline.Config{}).Generate(t.Context(), &model.Request{
		ToolChoice: model.ToolChoice{Mode: model.ToolChoiceNone}, Tools: []model.ToolDef{{Name: "read_file"}},
		Messages: []*model.Message{model.UserText("read a.txt")}}, nil)
	require.NoError(t, err)
	require.False(t, m.HasToolCalls())
}
