// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset/workspace"
)

func allowed(opts ...acpbridge.ToolsetOption) []acpbridge.ToolsetOption {
	return append(opts, acpbridge.WithPermissions(acpbridge.AllowAll))
}

func TestACommandIsShownLiveAndItsTerminalReleased(t *testing.T) {
	editor := acptest.New(acptest.Options{Programs: map[string]acptest.Program{"go test": acptest.Prints("PASS\n", 0)}})
	r := once(t, editor, "run_command", args{"command": "go test ./..."})
	assert.Equal(t, "PASS\n[exit code 0]", r.answer(t).Text)
	assert.Equal(t, []string{
		acp.MethodRequestPermission, acp.MethodCreateTerminal, acp.MethodWaitForTerminalExit, acp.MethodTerminalOutput, acp.MethodReleaseTerminal,
	}, methods(editor))

	c := r.shown(t, 0)
	assert.Equal(t, "go test ./...", c.Title)
	assert.Equal(t, acp.ToolKindExecute, c.Kind)
	assert.Equal(t, acp.ToolCallStatusCompleted, c.Status)
	assert.Equal(t, []acp.ToolCallContent{{Terminal: &acp.Terminal{TerminalID: "terminal-1"}}}, c.Content)
	assert.JSONEq(t, `{"exitCode":0,"output":"PASS\n"}`, string(c.RawOutput))

	// The terminal was shown while the command ran.
	shown := false
	for _, u := range editor.Updates() {
		if u.Update.ToolCallUpdate != nil && u.Update.ToolCallUpdate.Content != nil {
			shown = true
			assert.Equal(t, acp.ToolCallStatusInProgress, u.Update.ToolCallUpdate.Status)
		}
	}
	assert.True(t, shown)
}

func TestHowACommandEndedIsToldToTheModelAndTheUser(t *testing.T) {
	for _, c := range []struct {
		exit   acptest.Exit
		out    string
		want   string
		status acp.ToolCallStatus
	}{
		{acptest.Exit{}, "", "[no output]\n[exit code 0]", acp.ToolCallStatusCompleted},
		{acptest.Exit{Code: 2}, "boom", "boom\n[exit code 2]", acp.ToolCallStatusFailed},
		{acptest.Exit{Signal: "SIGSEGV"}, "x\n", "x\n[killed by signal SIGSEGV]", acp.ToolCallStatusFailed},
	} {
		editor := acptest.New(acptest.Options{Programs: map[string]acptest.Program{"make": func(_ context.Context, p *acptest.Process) acptest.Exit {
			fmt.Fprint(p, c.out)
			return c.exit
		}}})
		r := once(t, editor, "run_command", args{"command": "make"})
		assert.Equal(t, model.OutcomeSuccess, r.answer(t).Outcome)
		assert.Equal(t, c.want, r.answer(t).Text)
		assert.Equal(t, c.status, r.shown(t, 0).Status)
	}
}

// A line is read by a shell alone, as it was shown.
func TestCommandsReachTheClientAsTheyWereShown(t *testing.T) {
	for _, c := range []struct {
		cwd     string
		args    args
		program string
		argv    []string
		title   string
	}{
		{"/project", args{"command": "go test ./..."}, "sh", []string{"-c", "go test ./..."}, "go test ./..."},
		{"/project", args{"command": " ls  -la "}, "sh", []string{"-c", "ls  -la"}, "ls  -la"},
		{"/project", args{"command": "make"}, "sh", []string{"-c", "make"}, "make"},
		{"/project", args{"command": "make && echo 'it''s'"}, "sh", []string{"-c", "make && echo 'it''s'"}, "make && echo 'it''s'"},
		{"/project", args{"command": "A=1 make"}, "sh", []string{"-c", "A=1 make"}, "A=1 make"},
		{"/project", args{"command": "echo $HOME"}, "sh", []string{"-c", "echo $HOME"}, "echo $HOME"},
		{"/project", args{"command": "git", "args": []string{"commit", "-m", "it's done"}}, "git", []string{"commit", "-m", "it's done"}, `git commit -m 'it'\''s done'`},
		{"/project", args{"command": "go test", "args": []string{"./...", "it's"}}, "sh", []string{"-c", `go test ./... 'it'\''s'`}, `go test ./... 'it'\''s'`},
		{"/project", args{"command": "touch a\u00a0b\u00a0"}, "sh", []string{"-c", "touch a\u00a0b\u00a0"}, "touch a⟨U+00A0⟩b⟨U+00A0⟩"},
		{"/project", args{"command": "/opt/my tool/run", "args": []string{"x"}}, "/opt/my tool/run", []string{"x"}, "'/opt/my tool/run' x"},
		{`C:\p`, args{"command": "dir"}, "cmd", []string{"/C", "dir"}, "dir"},
		{`C:\p`, args{"command": `type a.txt | find "x"`}, "cmd", []string{"/C", `type a.txt | find "x"`}, `type a.txt | find "x"`},
		{`C:\p`, args{"command": `go`, "args": []string{"test"}}, "go", []string{"test"}, `go test`},
	} {
		editor := acptest.New(acptest.Options{})
		r := runTools(t.Context(), t, editor, editor.Deps(c.cwd), []model.Part{call("c1", "run_command", c.args)}, allowed()...)
		require.NoError(t, r.err)
		req := editor.Calls()[0].Params.(*acp.CreateTerminalRequest)
		assert.Equal(t, c.program, req.Command)
		assert.Equal(t, c.argv, append([]string{}, req.Args...))
		assert.Equal(t, c.cwd, *req.Cwd)
		assert.Equal(t, c.title, r.shown(t, 0).Title)
	}
}

func TestACommandGetsItsDirectoryAndEnvironment(t *testing.T) {
	editor := acptest.New(acptest.Options{Programs: makeProgram})
	once(t, editor, "run_command", args{"command": "make", "cwd": "sub", "env": args{"B": "2", "A": "1 2"}})
	req := editor.Calls()[1].Params.(*acp.CreateTerminalRequest)
	assert.Equal(t, "/project/sub", *req.Cwd)
	assert.Equal(t, []acp.EnvVariable{{Name: "A", Value: "1 2"}, {Name: "B", Value: "2"}}, req.Env)
	assert.Equal(t, "Always allow exactly `A='1 2' B=2 make` in sub in this session", editor.Permissions()[0].Options[1].Name)

	r := once(t, acptest.New(acptest.Options{}), "run_command", args{"command": "make", "cwd": "/etc"})
	assert.Equal(t, model.OutcomeFailed, r.answer(t).Outcome)
}

func TestACommandThatIsNeitherALineNorAProgramIsToBeCorrected(t *testing.T) {
	r := once(t, acptest.New(acptest.Options{}), "run_command", args{"command": "cd x && go", "args": []string{"test"}})
	assert.Equal(t, model.PartRetry, r.answer(t).Kind)
	assert.Equal(t, acp.ToolCallStatusFailed, r.shown(t, 0).Status)
}

func TestALongOutputKeepsItsBeginningAndItsEnd(t *testing.T) {
	var b strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	editor := acptest.New(acptest.Options{Programs: map[string]acptest.Program{"make": acptest.Prints(b.String(), 1)}})
	r := once(t, editor, "run_command", args{"command": "make"}, allowed(acpbridge.WithTools(workspace.WithOutputLimit(1000)))...)
	text := r.answer(t).Text
	assert.True(t, strings.HasPrefix(text, "line 0\n"))
	assert.True(t, strings.HasSuffix(text, "\nline 9999\n[exit code 1]"))
	assert.Contains(t, text, "\n[97904 bytes left out here. To read them, call get_terminal_output with terminal_id \"terminal-1\" and from 246.]\nline ")
	assert.Less(t, len(text), 1200)

	editor = acptest.New(acptest.Options{Programs: map[string]acptest.Program{"make": acptest.Prints(strings.Repeat("é", 2<<20), 0)}})
	r = once(t, editor, "run_command", args{"command": "make"}, allowed(acpbridge.WithTools(workspace.WithOutputLimit(1001)))...)
	assert.True(t, strings.HasPrefix(r.answer(t).Text, "[The beginning of the output is lost.]\né"))
}

// The client keeps more than the model is shown, so that the model can read on.
func TestTheClientKeepsAMegabyteOfOutput(t *testing.T) {
	editor := acptest.New(acptest.Options{Programs: map[string]acptest.Program{"make": acptest.Prints("", 0)}})
	once(t, editor, "run_command", args{"command": "make"}, allowed()...)
	req, ok := editor.Calls()[0].Params.(*acp.CreateTerminalRequest)
	require.True(t, ok)
	assert.Equal(t, uint64(1<<20), *req.OutputByteLimit)
}

func TestALongOutputIsCutAtALineBreak(t *testing.T) {
	output := strings.Repeat("x", 5000) + "\n" + strings.Repeat("y", 749)
	editor := acptest.New(acptest.Options{Programs: map[string]acptest.Program{"make": acptest.Prints(output, 0)}})
	r := once(t, editor, "run_command", args{"command": "make"}, allowed(acpbridge.WithTools(workspace.WithOutputLimit(1000)))...)
	assert.Contains(t, r.answer(t).Text, strings.Repeat("x", 250)+"\n[4751 bytes left out here. To read them, call get_terminal_output with terminal_id \"terminal-1\" and from 250.]\nyyy")
}

func TestACommandThatTakesTooLongIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		editor := acptest.New(acptest.Options{Programs: map[string]acptest.Program{"make": acptest.Runs("working\n")}})
		began := time.Now()
		r := once(t, editor, "run_command", args{"command": "make", "timeout_seconds": 5}, allowed()...)
		assert.Equal(t, "working\n[timed out after 5s and was killed]", r.answer(t).Text)
		assert.Equal(t, 5*time.Second, time.Since(began))
		assert.Equal(t, acp.ToolCallStatusFailed, r.shown(t, 0).Status)

		editor = acptest.New(acptest.Options{Programs: map[string]acptest.Program{"make": acptest.Runs("")}})
		r = once(t, editor, "run_command", args{"command": "make"}, allowed(acpbridge.WithTools(workspace.WithCommandTimeout(time.Minute)))...)
		assert.Equal(t, "[no output]\n[timed out after 1m0s and was killed]", r.answer(t).Text)
	})
}

// vagueClient reports nothing but that a command has ended, or the status that it is given.
type vagueClient struct {
	acp.Client
	exit acp.WaitForTerminalExitResponse
}

func (c vagueClient) WaitForTerminalExit(context.Context, *acp.WaitForTerminalExitRequest) (*acp.WaitForTerminalExitResponse, error) {
	return &c.exit, nil
}

func TestExitStatusMayBeUnknownOrHaveAnEmptySignal(t *testing.T) {
	for _, c := range []struct {
		exit   acp.WaitForTerminalExitResponse
		want   string
		status acp.ToolCallStatus
	}{
		{acp.WaitForTerminalExitResponse{}, "[ended, exit code unknown]", acp.ToolCallStatusFailed},
		{acp.WaitForTerminalExitResponse{Signal: new("")}, "[ended, exit code unknown]", acp.ToolCallStatusFailed},
		{acp.WaitForTerminalExitResponse{ExitCode: new(uint32(3)), Signal: new("")}, "[exit code 3]", acp.ToolCallStatusFailed},
		{acp.WaitForTerminalExitResponse{ExitCode: new(uint32(0)), Signal: new("")}, "[exit code 0]", acp.ToolCallStatusCompleted},
	} {
		editor := acptest.New(acptest.Options{Programs: makeProgram})
		d := editor.Deps("/project")
		d.Client = vagueClient{d.Client, c.exit}
		r := runTools(t.Context(), t, editor, d, []model.Part{call("c1", "run_command", args{"command": "make"})}, allowed()...)
		require.Contains(t, r.answer(t).Text, c.want)
		require.Equal(t, c.status, r.shown(t, 0).Status, c.want)
	}
}

func TestCommandsRunOnWithoutATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		editor := acptest.New(acptest.Options{Programs: map[string]acptest.Program{"make": func(context.Context, *acptest.Process) acptest.Exit {
			time.Sleep(24 * time.Hour)
			return acptest.Exit{}
		}}})
		description := ""
		steps := []modeltest.Step{
			func(_ context.Context, req *model.Request) (*model.Message, error) {
				i := slices.IndexFunc(req.Tools, func(d model.ToolDef) bool { return d.Name == workspace.ToolRunCommand })
				description = req.Tools[i].Description
				return model.Response(call("c1", workspace.ToolRunCommand, args{"command": "make"})), nil
			},
			modeltest.SayText("done"),
		}
		r := runSteps(t.Context(), t, editor, editor.Deps("/project"), steps, allowed(acpbridge.WithTools(workspace.WithCommandTimeout(0)))...)
		require.Equal(t, "[no output]\n[exit code 0]", r.answer(t).Text)
		require.Contains(t, description, "A command is killed after timeout_seconds (default no limit).")
	})
}

func TestTheTerminalIsReleasedWhateverFails(t *testing.T) {
	boom := acp.Errorf(acp.CodeInternal, "boom")
	for _, c := range []struct{ method, want string }{
		{acp.MethodCreateTerminal, "Could not run make: boom"},
		{acp.MethodWaitForTerminalExit, "Could not wait for make: boom"},
		{acp.MethodTerminalOutput, "[Could not read the output of make: boom]\n[exit code 0]"},
	} {
		editor := acptest.New(acptest.Options{Programs: makeProgram})
		editor.Fail(c.method, -1, boom)
		r := once(t, editor, "run_command", args{"command": "make"}, allowed()...)
		assert.Equal(t, c.want, r.answer(t).Text)
		if c.method == acp.MethodWaitForTerminalExit {
			why := deps.TextContent("Could not wait for make: boom")
			assert.Equal(t, []acp.ToolCallContent{{Terminal: &acp.Terminal{TerminalID: "terminal-1"}}, why}, r.shown(t, 0).Content, "the user keeps the terminal")
		}
	}
}

func TestTheTerminalIsReleasedWhenTheTurnIsCancelled(t *testing.T) {
	for _, method := range []string{acp.MethodCreateTerminal, acp.MethodWaitForTerminalExit, acp.MethodTerminalOutput} {
		for name, when := range map[string]time.Duration{"before the client acts": 0, "while the client is slow": time.Second} {
			t.Run(method+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancelCause(t.Context())
					program := acptest.Prints("", 0)
					if method == acp.MethodWaitForTerminalExit {
						program = acptest.Runs("")
					}
					editor := acptest.New(acptest.Options{
						Programs: map[string]acptest.Program{"make": program},
						Before: func(_ context.Context, c acptest.Call) error {
							if c.Method == method && when == 0 {
								cancel(acp.ErrTurnCancelled)
							}
							return nil
						},
					})
					if when > 0 {
						editor.Slow(method, when)
						time.AfterFunc(when/2, func() { cancel(acp.ErrTurnCancelled) })
					}
					r := runTools(ctx, t, editor, editor.Deps("/project"), []model.Part{call("c1", "run_command", args{"command": "make"})}, allowed()...)
					require.ErrorIs(t, r.err, acp.ErrTurnCancelled)
					assert.Contains(t, methods(editor), acp.MethodReleaseTerminal)
					if method != acp.MethodTerminalOutput { // the command has ended by then
						assert.Contains(t, methods(editor), acp.MethodKillTerminal)
					}
					if method == acp.MethodCreateTerminal {
						assert.NotContains(t, methods(editor), acp.MethodWaitForTerminalExit)
					}
					assert.Equal(t, acp.ToolCallStatusFailed, r.shown(t, 0).Status)
				})
			})
		}
	}
}

func TestBackgroundCommandFailsIfTheTurnIsCancelledAtItsStart(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	editor := acptest.New(acptest.Options{
		Programs: map[string]acptest.Program{"make": acptest.Runs("")},
		Before: func(_ context.Context, c acptest.Call) error {
			if c.Method == acp.MethodCreateTerminal {
				cancel(acp.ErrTurnCancelled)
			}
			return nil
		},
	})
	start := call("c1", "run_command", args{"command": "make", "background": true})
	r := runTools(ctx, t, editor, editor.Deps("/project"), []model.Part{start}, allowed()...)
	require.ErrorIs(t, r.err, acp.ErrTurnCancelled)
	require.Equal(t, acp.ToolCallStatusFailed, r.shown(t, 0).Status)
}

func TestAClientThatAnswersNothingMoreCannotHoldACancelledTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		editor := acptest.New(acptest.Options{Programs: map[string]acptest.Program{"make": acptest.Runs("")}})
		editor.Slow(acp.MethodKillTerminal, time.Hour)
		editor.Slow(acp.MethodReleaseTerminal, time.Hour)
		time.AfterFunc(time.Minute, cancel)
		began := time.Now()
		r := runUnchecked(ctx, t, editor, editor.Deps("/project"), call("c1", "run_command", args{"command": "make"}))
		require.ErrorIs(t, r.err, context.Canceled)
		assert.Equal(t, time.Minute+2*time.Second, time.Since(began))

		// Not even if it hangs while it creates the terminal.
		ctx, cancel = context.WithCancel(t.Context())
		editor = acptest.New(acptest.Options{})
		editor.Slow(acp.MethodCreateTerminal, time.Hour)
		time.AfterFunc(time.Minute, cancel)
		began = time.Now()
		r = runUnchecked(ctx, t, editor, editor.Deps("/project"), call("c1", "run_command", args{"command": "make"}))
		require.ErrorIs(t, r.err, context.Canceled)
		assert.Equal(t, time.Minute+2*time.Second, time.Since(began))
	})
}

func TestTheTerminalsOfAClientThatIsGoneAreItsOwnBusiness(t *testing.T) {
	var editor *acptest.Client
	editor = acptest.New(acptest.Options{
		Programs: map[string]acptest.Program{"make": acptest.Runs("")},
		Before: func(_ context.Context, c acptest.Call) error {
			if c.Method == acp.MethodWaitForTerminalExit {
				editor.Disconnect()
			}
			return nil
		},
	})
	r := once(t, editor, "run_command", args{"command": "make"}, allowed()...)
	require.ErrorIs(t, r.err, acp.ErrClosed)
}

func TestAToolTimeoutOfTheAgentKillsTheCommand(t *testing.T) {
	cause := errors.New("too slow")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		editor := acptest.New(acptest.Options{Programs: map[string]acptest.Program{"make": acptest.Runs("")}})
		r := runTools(ctx, t, editor, editor.Deps("/project"), []model.Part{call("c1", "run_command", args{"command": "make"})}, allowed()...)
		require.ErrorIs(t, r.err, cause)
		assert.Contains(t, methods(editor), acp.MethodKillTerminal)
	})
}
