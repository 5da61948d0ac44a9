// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// say is a script of one response with all the calls, and the end.
func say(calls ...model.Part) []modeltest.Step {
	return []modeltest.Step{modeltest.Say(calls...), modeltest.SayText("done")}
}

var makeProgram = map[string]acptest.Program{"make": acptest.Prints("made\n", 0), "go": acptest.Prints("ok\n", 0)}

func TestEveryAnswerOfTheUserIsKept(t *testing.T) {
	const denied, success = model.OutcomeDenied, model.OutcomeSuccess
	for _, c := range []struct {
		answer  acptest.Answer
		outcome model.Outcome
		text    string
		rule    toolset.Verdict
	}{
		{acptest.AllowOnce, success, "made\n[exit code 0]", toolset.VerdictDefer},
		{acptest.AllowAlways, success, "made\n[exit code 0]", toolset.VerdictAllow},
		{acptest.RejectOnce, denied, "The user rejected this. The tool was not run. Do not try to do the same in another way; ask what to do instead.", toolset.VerdictDefer},
		{acptest.RejectAlways, denied, "The user does not allow `make all` (ordinary options) in this session. The tool was not run. Do not try to do the same in another way.", toolset.VerdictDeny},
		{acptest.Dismiss, denied, "The user closed the question without an answer. The tool was not run. Ask the user what to do.", toolset.VerdictDefer},
		{"nonsense", denied, `The editor gave an answer that was not among the options ("nonsense"), which counts as a refusal. The tool was not run.`, toolset.VerdictDefer},
	} {
		t.Run(string(c.answer), func(t *testing.T) {
			editor := acptest.New(acptest.Options{Programs: makeProgram, Answers: []acptest.Answer{c.answer}})
			r := once(t, editor, "run_command", args{"command": "make all"})
			assert.Equal(t, c.outcome, r.answer(t).Outcome)
			assert.Equal(t, c.text, r.answer(t).Text)
			assert.Equal(t, c.rule, r.deps.Session.Policy.Decide("run_command", "make all"))
			want := acp.ToolCallStatusCompleted
			if c.outcome == denied {
				want = acp.ToolCallStatusFailed
				assert.Contains(t, shownText(r.shown(t, 0)), c.text)
				assert.NotContains(t, methods(editor), acp.MethodCreateTerminal)
			}
			assert.Equal(t, want, r.shown(t, 0).Status)
		})
	}
}

func TestTheOptionsNameTheirScope(t *testing.T) {
	editor := acptest.New(acptest.Options{Programs: makeProgram})
	runTools(t.Context(), t, editor, editor.Deps("/project"), []model.Part{
		call("c1", "run_command", args{"command": "go test ./..."}),
		call("c2", "run_command", args{"command": "go test ./... | tail -5"}),
		call("c3", "run_command", args{"command": "python", "args": []string{"-c", "import os; os.system('rm -rf /some/very/long/directory/name')"}}),
		call("c4", "write_file", args{"path": "sub/a.go", "content": "x"}),
	})
	var names []string
	for _, req := range editor.Permissions() {
		require.Len(t, req.Options, 4)
		assert.Equal(t, []acp.PermissionOptionKind{"allow_once", "allow_always", "reject_once", "reject_always"},
			[]acp.PermissionOptionKind{req.Options[0].Kind, req.Options[1].Kind, req.Options[2].Kind, req.Options[3].Kind})
		names = append(names, req.Options[1].Name)
	}
	assert.Equal(t, []string{
		"Always allow `go test` (ordinary options, project files) in this session",
		"Always allow `go test` and `tail` (ordinary options, project files) in this session",
		"Always allow exactly this command in this session",
		"Always allow changes to sub/a.go in this session",
	}, names)
}

func TestWithoutAPolicyNothingIsPromisedForAlways(t *testing.T) {
	editor := acptest.New(acptest.Options{Programs: makeProgram})
	d := editor.Deps("/project")
	d.Session.Policy = nil
	r := runTools(t.Context(), t, editor, d, []model.Part{call("c1", "run_command", args{"command": "make"})})
	assert.Equal(t, "made\n[exit code 0]", r.answer(t).Text)
	assert.Len(t, editor.Permissions()[0].Options, 2)
}

func TestAlwaysHoldsForItsScopeAndNotBeyond(t *testing.T) {
	editor := acptest.New(acptest.Options{Programs: makeProgram, Answers: []acptest.Answer{acptest.AllowAlways, acptest.RejectAlways}})
	d := editor.Deps("/project")
	r := runTools(t.Context(), t, editor, d, []model.Part{
		call("c", "run_command", args{"command": "go test ./a"}),  // asked, allowed for good
		call("c", "run_command", args{"command": "go vet ./..."}), // asked, rejected for good
		call("c", "run_command", args{"command": "go", "args": []string{"test", "-run", "X", "./b"}}),
		call("c", "run_command", args{"command": "go vet ./b"}),
		call("c", "run_command", args{"command": "go test ./a; reboot"}),                      // asked
		call("c", "run_command", args{"command": "go test", "env": args{"LD_PRELOAD": "x"}}),  // asked
		call("c", "run_command", args{"command": "go", "args": []string{"test", "; reboot"}}), // asked
	})
	require.NoError(t, r.err)
	var outcomes []model.Outcome
	for _, p := range r.answers() {
		outcomes = append(outcomes, p.Outcome)
	}
	assert.Equal(t, []model.Outcome{"", "denied", "", "denied", "", "", ""}, outcomes)
	assert.Len(t, editor.Permissions(), 5)
}

func TestAlwaysIsRememberedInTheNextRunOfTheSession(t *testing.T) {
	editor := acptest.New(acptest.Options{Answers: []acptest.Answer{acptest.AllowAlways}, Permission: acptest.Never})
	d := editor.Deps("/project")
	for _, content := range []string{"1", "2"} {
		r := runTools(t.Context(), t, editor, d, []model.Part{call("c-"+content, "write_file", args{"path": "a", "content": content})})
		_ = r
	}
	assert.Len(t, editor.Permissions(), 1)
}

func TestARuleAboutADirectoryCoversItsFiles(t *testing.T) {
	editor := acptest.New(acptest.Options{Permission: acptest.Never})
	d := editor.Deps("/project")
	d.Session.Policy.Remember("write_file", "/project/gen", toolset.VerdictAllow)
	d.Session.Policy.Remember("write_file", "/project/gen/keep", toolset.VerdictDeny)
	r := runTools(t.Context(), t, editor, d, []model.Part{
		call("c", "write_file", args{"path": "gen/a/b", "content": "x"}),
		call("c", "write_file", args{"path": "gen/keep", "content": "x"}),
	})
	require.NoError(t, r.err)
	assert.Equal(t, model.OutcomeSuccess, r.answers()[0].Outcome)
	assert.Equal(t, model.OutcomeDenied, r.answers()[1].Outcome)
	assert.Empty(t, editor.Permissions())
}

func TestOfTwoEqualCallsAtOnceTheSecondIsDecidedByTheRuleOfTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		editor := acptest.New(acptest.Options{Programs: makeProgram, Permission: func(context.Context, *acp.RequestPermissionRequest) acptest.Answer {
			time.Sleep(time.Second)
			return acptest.AllowAlways
		}})
		r := runSteps(t.Context(), t, editor, editor.Deps("/project"), say(
			call("c1", "run_command", args{"command": "go test ./a"}), call("c2", "run_command", args{"command": "go test ./b"}),
			call("c3", "run_command", args{"command": "go test ./c"}),
		), acpbridge.WithTools(workspace.WithParallelCommands()))
		require.NoError(t, r.err)
		assert.Len(t, editor.Permissions(), 1)
		for _, p := range r.answers() {
			assert.Equal(t, "ok\n[exit code 0]", p.Text)
		}
	})
}

func TestAPendingPermissionEndsWithTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		editor := acptest.New(acptest.Options{Programs: makeProgram, Permission: acptest.Never})
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(acp.ErrTurnCancelled) })
		r := runSteps(ctx, t, editor, editor.Deps("/project"), say(call("c1", "run_command", args{"command": "make"})))
		require.ErrorIs(t, r.err, acp.ErrTurnCancelled)
		require.ErrorIs(t, r.err, context.Canceled)
		assert.Equal(t, acp.ToolCallStatusFailed, r.shown(t, 0).Status)
		assert.Contains(t, shownText(r.shown(t, 0)), "Cancelled.")
	})
}

func TestAnAnswerThatComesWithTheCancellationPermitsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	editor := acptest.New(acptest.Options{Programs: makeProgram})
	d := editor.Deps("/project")
	d.Client = cancelsWhenAsked{editor, cancel}
	r := runTools(ctx, t, editor, d, []model.Part{call("c1", "run_command", args{"command": "make"})})
	require.ErrorIs(t, r.err, context.Canceled)
	assert.NotContains(t, methods(editor), acp.MethodCreateTerminal)
}

// cancelsWhenAsked is a client whose user allows something and cancels the turn at the same time.
type cancelsWhenAsked struct {
	*acptest.Client
	cancel func()
}

func (c cancelsWhenAsked) RequestPermission(ctx context.Context, req *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
	resp, err := c.Client.RequestPermission(ctx, req)
	c.cancel()
	return resp, err
}

func TestClientThatCannotAskDenies(t *testing.T) {
	whole := strings.Repeat("d", 492) // with what is around it 500 bytes
	for want, err := range map[string]error{
		": no window":         acp.Errorf(acp.CodeInternal, "no window"),
		": no such window":    acp.Errorf(acp.CodeInternal, " no\n such  window\n"),
		`: no {"why":"busy"}`: acp.Errorf(acp.CodeInternal, "no").WithData(map[string]any{"why": "busy"}),
		": the editor does not support this. Do not call this tool again.": acp.ErrMethodNotFound,
		": not found.":                 acp.ErrResourceNotFound,
		`: long {"d":"` + whole + `"}`: acp.Errorf(acp.CodeInternal, "long").WithData(map[string]any{"d": whole}),
		": longer":                     acp.Errorf(acp.CodeInternal, "longer").WithData(map[string]any{"d": whole + "d"}),
	} {
		editor := acptest.New(acptest.Options{Programs: makeProgram})
		editor.Fail(acp.MethodRequestPermission, 1, err)
		r := once(t, editor, "run_command", args{"command": "make"})
		assert.Equal(t, model.OutcomeDenied, r.answer(t).Outcome)
		assert.Equal(t, "Could not ask the user for permission"+strings.TrimSuffix(want, ".")+". The tool was not run.", r.answer(t).Text)
	}
}

func TestPermissionsMayBeDecidedWithoutTheUser(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		decide  acpbridge.PermissionFunc
		outcome model.Outcome
		asked   int
		err     error
	}{
		"allow all": {decide: acpbridge.AllowAll},
		"reject": {decide: func(_ context.Context, req *acpbridge.PermissionRequest) (toolset.Verdict, error) {
			assert.Equal(t, "sh", req.Command)
			assert.Equal(t, []string{"-c", "make all"}, req.Args)
			assert.Equal(t, "/project/sub", req.Cwd)
			assert.Equal(t, "make all (in sub)", *req.ToolCall.Title)
			return toolset.VerdictDeny, nil
		}, outcome: model.OutcomeDenied},
		"ask": {decide: func(context.Context, *acpbridge.PermissionRequest) (toolset.Verdict, error) {
			return toolset.VerdictDefer, nil
		}, asked: 1},
		"error": {decide: func(context.Context, *acpbridge.PermissionRequest) (toolset.Verdict, error) {
			return toolset.VerdictDefer, boom
		}, err: boom},
	} {
		t.Run(name, func(t *testing.T) {
			editor := acptest.New(acptest.Options{Programs: makeProgram})
			r := once(t, editor, "run_command", args{"command": "make all", "cwd": "sub"}, acpbridge.WithPermissions(c.decide))
			require.ErrorIs(t, r.err, c.err)
			assert.Len(t, editor.Permissions(), c.asked)
			if c.err == nil {
				assert.Equal(t, c.outcome, r.answer(t).Outcome)
			}
		})
	}
}

func TestWhatTheUserRejectedForGoodIsRejectedInEveryMode(t *testing.T) {
	editor := acptest.New(acptest.Options{Programs: makeProgram})
	d := editor.Deps("/project")
	d.Session.Policy.Remember("run_command", "make all", toolset.VerdictDeny)
	r := runTools(t.Context(), t, editor, d, []model.Part{call("c1", "run_command", args{"command": "make all"})}, acpbridge.WithPermissions(acpbridge.AllowAll))
	assert.Equal(t, model.OutcomeDenied, r.answer(t).Outcome)
}

func TestACallThatHasBeenApprovedIsNotAskedAboutAgain(t *testing.T) {
	editor := acptest.New(acptest.Options{Programs: makeProgram})
	t.Cleanup(editor.Close)
	run := &toolset.RunContext[editorDeps]{Deps: editorDeps{editor.Deps("/project")}}
	for _, approved := range []bool{true, false} {
		run.Call = toolset.Call{ID: fmt.Sprint(approved), Tool: "run_command", Approved: approved}
		res, err := toolsettest.Call(t.Context(), acpbridge.Toolset[editorDeps](), run, "run_command", `{"command":"make"}`)
		if !approved {
			var required *toolset.ApprovalRequiredError
			require.ErrorAs(t, err, &required)
			assert.Equal(t, "make", required.Approval.Scope)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, "made\n[exit code 0]", res.Text)
	}
	assert.Empty(t, editor.Permissions(), "no tool asks anybody itself")
	assert.Empty(t, editor.Open())
}
