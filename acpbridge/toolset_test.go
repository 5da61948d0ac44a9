// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

// editorDeps is what an agent under test depends on.
type editorDeps struct{ deps.ACPDeps }

// toolRun is a run of an agent in an editor, with a model that follows a script.
type toolRun struct {
	editor *acptest.Client
	model  *modeltest.Scripted
	deps   editorDeps
	result *agent.Result[string]
	err    error
}

// args gives a tool's arguments as JSON.
type args map[string]any

func call(id, tool string, a args) model.Part {
	data, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	return model.ToolCall(id, tool, string(data))
}

// runTools runs an agent whose model makes the calls, one response for each, and then says that it is done.
func runTools(ctx context.Context, t *testing.T, editor *acptest.Client, d deps.ACPDeps, calls []model.Part, opts ...acpbridge.ToolsetOption) *toolRun {
	t.Helper()
	var steps []modeltest.Step
	for _, c := range calls {
		steps = append(steps, modeltest.Say(c))
	}
	return runSteps(ctx, t, editor, d, append(steps, modeltest.SayText("done")), opts...)
}

func runSteps(ctx context.Context, t *testing.T, editor *acptest.Client, d deps.ACPDeps, steps []modeltest.Step, opts ...acpbridge.ToolsetOption) *toolRun {
	t.Helper()
	r := runScript(ctx, t, editor, d, steps, opts...)
	assert.Empty(t, editor.Violations(), "violations of the protocol")
	assert.Empty(t, editor.Open(), "terminals that were not released")
	return r
}

// runUnchecked allows all calls, and does not look at what is left behind.
func runUnchecked(ctx context.Context, t *testing.T, editor *acptest.Client, d deps.ACPDeps, calls ...model.Part) *toolRun {
	t.Helper()
	var steps []modeltest.Step
	for _, c := range calls {
		steps = append(steps, modeltest.Say(c))
	}
	return runScript(ctx, t, editor, d, append(steps, modeltest.SayText("done")), acpbridge.WithPermissions(acpbridge.AllowAll))
}

func runScript(ctx context.Context, t *testing.T, editor *acptest.Client, d deps.ACPDeps, steps []modeltest.Step, opts ...acpbridge.ToolsetOption) *toolRun {
	t.Helper()
	t.Cleanup(editor.Close)
	r := &toolRun{editor: editor, model: modeltest.Script(steps...), deps: editorDeps{d}}
	a, err := agent.New(agent.Config[editorDeps, string]{
		Model: r.model, Toolsets: []toolset.Toolset[editorDeps]{acpbridge.Toolset[editorDeps](opts...)},
	})
	require.NoError(t, err)
	r.result, r.err = a.Run(ctx, r.deps, "Go.", agent.WithRunID("run"), agent.WithAsker(acpbridge.Asker(d)))
	return r
}

// once runs one call in a new session in /project.
func once(t *testing.T, editor *acptest.Client, tool string, a args, opts ...acpbridge.ToolsetOption) *toolRun {
	t.Helper()
	return runTools(t.Context(), t, editor, editor.Deps("/project"), []model.Part{call("c1", tool, a)}, opts...)
}

// answers returns what the model was told, call by call.
func (r *toolRun) answers() []model.Part {
	var parts []model.Part
	if r.err != nil {
		return nil
	}
	for _, m := range r.result.Messages {
		for _, p := range m.Parts {
			if p.Kind == model.PartToolReturn || p.Kind == model.PartRetry {
				parts = append(parts, p)
			}
		}
	}
	return parts
}

// answer returns what the model was told about the only call.
func (r *toolRun) answer(t *testing.T) model.Part {
	t.Helper()
	require.NoError(t, r.err)
	parts := r.answers()
	require.Len(t, parts, 1)
	return parts[0]
}

// shown returns how the user sees the n-th call.
func (r *toolRun) shown(t *testing.T, n int) acp.ToolCall {
	t.Helper()
	calls := r.editor.State().ToolCalls
	require.Greater(t, len(calls), n)
	return calls[n]
}

// shownText joins the text that a call shows.
func shownText(c acp.ToolCall) string {
	text := ""
	for _, content := range c.Content {
		if content.Content != nil && content.Content.Content.Text != nil {
			text += content.Content.Content.Text.Text
		}
	}
	return text
}

func methods(editor *acptest.Client) []string {
	var names []string
	for _, c := range editor.Calls() {
		names = append(names, c.Method)
	}
	return names
}

func TestToolsAreOfferedOnlyForWhatTheClientAnnounced(t *testing.T) {
	terminalTools := []string{"run_command", "get_terminal_output", "wait_for_terminal_exit", "kill_terminal", "release_terminal"}
	for name, c := range map[string]struct {
		can  acp.ClientCapabilities
		want []string
	}{
		"nothing":  {},
		"read":     {acp.ClientCapabilities{FS: acp.FileSystemCapabilities{ReadTextFile: true}}, []string{"read_file"}},
		"write":    {acp.ClientCapabilities{FS: acp.FileSystemCapabilities{WriteTextFile: true}}, []string{"write_file"}},
		"terminal": {acp.ClientCapabilities{Terminal: true}, terminalTools},
		"all": {acp.ClientCapabilities{FS: acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}, Terminal: true},
			append([]string{"read_file", "write_file", "edit_file"}, terminalTools...)},
	} {
		t.Run(name, func(t *testing.T) {
			editor := acptest.New(acptest.Options{Capabilities: &c.can})
			r := runTools(t.Context(), t, editor, editor.Deps("/project"), nil)
			require.NoError(t, r.err)
			var offered []string
			for _, tool := range r.model.Requests()[0].Tools {
				offered = append(offered, tool.Name)
			}
			assert.Equal(t, c.want, offered)
			if len(c.want) == 0 {
				assert.Empty(t, r.model.Requests()[0].Instructions)
			} else {
				assert.Contains(t, r.model.Requests()[0].Instructions, "/project")
			}
		})
	}
}

func TestTheToolsetKeepsTheContractOfToolsets(t *testing.T) {
	editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a": "text"}, Programs: makeProgram})
	t.Cleanup(editor.Close)
	d := editor.Deps("/project")
	d.Tracker = nil // the suite repeats calls
	toolsettest.Conformance(t, func() toolset.Toolset[editorDeps] {
		return acpbridge.Toolset[editorDeps](acpbridge.WithPermissions(acpbridge.AllowAll))
	}, editorDeps{d},
		toolsettest.Case{Tool: "read_file", Args: `{"path":"a"}`},
		toolsettest.Case{Tool: "write_file", Args: `{"path":"b","content":"x"}`},
		toolsettest.Case{Tool: "run_command", Args: `{"command":"make"}`},
		toolsettest.Case{Tool: "run_command", Args: `{"command":"make","background":true}`},
		toolsettest.Case{Tool: "get_terminal_output", Args: `{"terminal_id":"terminal-1"}`},
	)
	assert.Empty(t, editor.Open())
	assert.Empty(t, editor.Violations())
}

func TestAnAgentWithoutAnEditorRunsWithoutTheTools(t *testing.T) {
	r := runTools(t.Context(), t, acptest.New(acptest.Options{}), deps.ACPDeps{}, nil)
	require.NoError(t, r.err)
	assert.Empty(t, r.model.Requests()[0].Tools)
}

func TestTheSameToolsAreSentWithEveryRequest(t *testing.T) {
	editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a": "a"}})
	r := runTools(t.Context(), t, editor, editor.Deps("/project"), []model.Part{
		call("c1", "read_file", args{"path": "a"}), call("c1", "read_file", args{"path": "a"}),
	})
	require.NoError(t, r.err)
	requests := r.model.Requests()
	for _, req := range requests[1:] {
		assert.Equal(t, requests[0].Tools, req.Tools)
		assert.Equal(t, requests[0].Instructions, req.Instructions)
	}
}

func TestCallsOfDifferentStepsWithTheSameIDAreDifferentToTheClient(t *testing.T) {
	editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a": "a"}})
	r := runTools(t.Context(), t, editor, editor.Deps("/project"), []model.Part{
		call("same", "read_file", args{"path": "a"}), call("same", "read_file", args{"path": "a"}),
	})
	require.NoError(t, r.err)
	require.Len(t, editor.State().ToolCalls, 2)
	assert.Equal(t, deps.ToolCallID("run", 1, "same"), r.shown(t, 0).ToolCallID)
	assert.Equal(t, deps.ToolCallID("run", 2, "same"), r.shown(t, 1).ToolCallID)
}

func TestWithoutATrackerTheToolsWork(t *testing.T) {
	editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a": "text"}})
	d := editor.Deps("/project")
	d.Tracker = nil
	r := runTools(t.Context(), t, editor, d, []model.Part{call("c1", "read_file", args{"path": "a"})})
	assert.Equal(t, "text", r.answer(t).Text)
}

func TestAPanicOfTheClientIsReportedAndEndsTheRun(t *testing.T) {
	for _, method := range []string{acp.MethodReadTextFile, acp.MethodCreateTerminal, acp.MethodWaitForTerminalExit, acp.MethodRequestPermission} {
		t.Run(method, func(t *testing.T) {
			editor := acptest.New(acptest.Options{
				Programs: map[string]acptest.Program{"make": acptest.Prints("", 0)},
				Before: func(_ context.Context, c acptest.Call) error {
					if c.Method == method {
						panic("boom")
					}
					return nil
				},
			})
			tool, a := "run_command", args{"command": "make"}
			if method == acp.MethodReadTextFile {
				tool, a = "read_file", args{"path": "a"}
			}
			r := once(t, editor, tool, a)
			var panicked *agent.PanicError
			require.ErrorAs(t, r.err, &panicked)
			assert.Equal(t, "boom", panicked.Value)
			assert.Equal(t, acp.ToolCallStatusFailed, r.shown(t, 0).Status)
		})
	}
}

func TestTheEndOfTheConnectionEndsTheRun(t *testing.T) {
	editor := acptest.New(acptest.Options{})
	editor.Disconnect()
	r := once(t, editor, "read_file", args{"path": "a"})
	require.ErrorIs(t, r.err, acp.ErrClosed)
}

func TestAClientThatCannotDoWhatItAnnouncedIsToldToTheModel(t *testing.T) {
	for tool, c := range map[string]struct {
		method string
		args   args
	}{
		"read_file":   {acp.MethodReadTextFile, args{"path": "a"}},
		"write_file":  {acp.MethodWriteTextFile, args{"path": "a", "content": "x"}},
		"run_command": {acp.MethodCreateTerminal, args{"command": "make"}},
	} {
		t.Run(tool, func(t *testing.T) {
			editor := acptest.New(acptest.Options{})
			editor.Fail(c.method, -1, acp.Errorf(acp.CodeMethodNotFound, "method not found: %s", c.method))
			r := once(t, editor, tool, c.args)
			assert.Equal(t, model.OutcomeFailed, r.answer(t).Outcome)
			assert.Contains(t, r.answer(t).Text, "this is not supported here. Do not call this tool again.")
			assert.Equal(t, acp.ToolCallStatusFailed, r.shown(t, 0).Status)
		})
	}
}
