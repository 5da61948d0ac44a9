// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

func approvalOf(scope string) toolset.ApprovalRequest {
	old, made := "a", "b"
	return toolset.ApprovalRequest{
		Origin: toolset.Origin{Path: []string{"1"}, RunID: "run", Step: 2, Tool: "change", Kind: toolset.KindEdit, Title: "Change"},
		Args:   json.RawMessage(`{"x":1}`),
		Approval: toolset.Approval{Title: "Change it", Reason: "It matters.", Scope: scope, Preview: []toolset.Preview{
			{Diff: &toolset.Diff{Path: "/f", Old: &old, New: &made}},
			{Diff: &toolset.Diff{Path: "/g", Old: &old}},
			{Command: &toolset.CommandLine{Line: "make all", Dir: "/d", Env: []string{"A=b"}}},
			{Command: &toolset.CommandLine{Args: []string{"ls", "-l"}}},
			{Text: "and more"},
		}},
	}
}

func TestAskerAsksTheEditor(t *testing.T) {
	for _, c := range []struct {
		answer acptest.Answer
		want   toolset.Decision
		rule   toolset.Verdict
	}{
		{acptest.AllowOnce, toolset.Decision{Verdict: toolset.VerdictAllow, By: "user"}, toolset.VerdictDefer},
		{acptest.AllowAlways, toolset.Decision{Verdict: toolset.VerdictAllow, Always: true, By: "user"}, toolset.VerdictAllow},
		{acptest.RejectOnce, toolset.Decision{Verdict: toolset.VerdictDeny, By: "user", Reason: "The user rejected this. The tool was not run. Do not try to do the same in another way; ask what to do instead."}, toolset.VerdictDefer},
		{acptest.RejectAlways, toolset.Decision{Verdict: toolset.VerdictDeny, Always: true, By: "user", Reason: "The user does not allow change for /f in this session. The tool was not run. Do not try to do the same in another way."}, toolset.VerdictDeny},
		{acptest.Dismiss, toolset.Decision{Verdict: toolset.VerdictDeny, By: "user", Reason: "The user closed the question without an answer. The tool was not run. Ask the user what to do."}, toolset.VerdictDefer},
		{"nonsense", toolset.Decision{Verdict: toolset.VerdictDeny, By: "user", Reason: `The editor gave an answer that was not among the options ("nonsense"), which counts as a refusal. The tool was not run.`}, toolset.VerdictDefer},
	} {
		editor := acptest.New(acptest.Options{Answers: []acptest.Answer{c.answer}})
		d := editor.Deps("/project")
		got, err := acpbridge.Asker(d).Approve(t.Context(), approvalOf("/f"))
		require.NoError(t, err)
		require.Equal(t, c.want, got)
		require.Equal(t, c.rule, d.Session.Policy.Decide("change", "/f"))
		require.Equal(t, toolset.VerdictDefer, d.Session.Policy.Decide("change", "/other"), "always covers its scope alone")
	}
}

func TestAskerShowsWhatACallWouldDo(t *testing.T) {
	editor := acptest.New(acptest.Options{Answers: []acptest.Answer{acptest.AllowOnce}})
	_, err := acpbridge.Asker(editor.Deps("/project")).Approve(t.Context(), approvalOf(""))
	require.NoError(t, err)
	asked := editor.Permissions()[0]
	require.Equal(t, deps.ToolCallID("run", 2, "1"), asked.ToolCall.ToolCallID)
	require.Equal(t, "Change it", *asked.ToolCall.Title)
	require.Equal(t, acp.ToolKindEdit, asked.ToolCall.Kind)
	require.JSONEq(t, `{"x":1}`, string(asked.ToolCall.RawInput))
	require.Equal(t, "Always allow every call of change in this session", asked.Options[1].Name)
	var shown []string
	for _, c := range asked.ToolCall.Content {
		if c.Diff != nil {
			shown = append(shown, c.Diff.Path+": "+*c.Diff.OldText+" to "+c.Diff.NewText)
		} else {
			shown = append(shown, c.Content.Content.Text.Text)
		}
	}
	require.Equal(t, []string{"It matters.", "/f: a to b", "Delete /g", "/g: a to ",
		"```text\nRun in a shell:\n  make all\nDirectory:\n  /d\nEnvironment:\n  A=b\n```", "```text\nRun:\n  ls -l\n```", "```text\nand more\n```"}, shown)
}

// The questions that editors are sent, whole: every command, environment, directory and diff as content, and nothing that hides.
func TestQuestionsShowTheWholeTruth(t *testing.T) {
	text := func(s string) *string { return &s }
	long := strings.Repeat("echo all of it; ", 500)
	var got bytes.Buffer
	for _, a := range []toolset.Approval{
		{Title: "make all", Preview: []toolset.Preview{{Command: &toolset.CommandLine{Line: "make all", Dir: "/repo", Env: []string{"CC=sh -c 'x'", "A=1\nDirectory:\n  /tmp"}}}}},
		{Title: "ls\nrm -rf /", Preview: []toolset.Preview{{Command: &toolset.CommandLine{Line: "ls\nrm -rf /\nDirectory:\n  /repo", Dir: "/tmp"}}}},
		{Title: "echo \u202ehs.x", Preview: []toolset.Preview{{Command: &toolset.CommandLine{Args: []string{"echo", "\u202ehs.x", "", "a b\x1b[2K"}, Dir: "/repo\u200b"}}}},
		{Title: "many", Preview: []toolset.Preview{{Command: &toolset.CommandLine{Line: long, Dir: "/repo"}}}},
		{Title: "`x` *y*", Preview: []toolset.Preview{{Command: &toolset.CommandLine{Line: "echo <!-- hidden --> ```\n``` [a](b)", Dir: "/repo"}}}},
		{Reason: "It matters.", Preview: []toolset.Preview{{Diff: &toolset.Diff{Path: "/repo/a", Old: text("one\ntwo\n"), New: text("one\nt\u200bwo\n\tif x\u2066 {\n")}}}},
		{Preview: []toolset.Preview{{Diff: &toolset.Diff{Path: "/repo/new", New: text("a\r\nb\r\n")}}, {Diff: &toolset.Diff{Path: "/repo/old", Old: text("gone")}}}},
		{Preview: []toolset.Preview{{Text: "deploy to \u202egnigats"}}, ScopeTitle: "deployments\nto \u200bstaging"},
	} {
		editor := acptest.New(acptest.Options{Answers: []acptest.Answer{acptest.RejectOnce}})
		r := toolset.ApprovalRequest{Origin: toolset.Origin{Path: []string{"1"}, RunID: "run", Step: 1, Tool: "act"}, Args: json.RawMessage(`{}`), Approval: a}
		_, err := acpbridge.Asker(editor.Deps("/repo")).Approve(t.Context(), r)
		require.NoError(t, err)
		enc := json.NewEncoder(&got)
		enc.SetEscapeHTML(false)
		require.NoError(t, enc.Encode(editor.Permissions()[0]))
	}
	require.Contains(t, got.String(), long)
	golden := filepath.Join("testdata", "questions.jsonl")
	if *updateGolden {
		require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err, "run the test with -update to make it")
	require.Equal(t, string(want), got.String())
}

func TestAskerWithoutAnEditorIsNobody(t *testing.T) {
	a := acpbridge.Asker(deps.ACPDeps{})
	got, err := a.Approve(t.Context(), approvalOf(""))
	require.NoError(t, err)
	require.Equal(t, toolset.Defer(), got)
	_, err = a.Answer(t.Context(), toolset.Question{})
	require.ErrorIs(t, err, toolset.ErrNobody)
}

func TestAskerEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	editor := acptest.New(acptest.Options{Permission: func(context.Context, *acp.RequestPermissionRequest) acptest.Answer {
		cancel()
		return acptest.AllowAlways
	}})
	d := editor.Deps("/project")
	_, err := acpbridge.Asker(d).Approve(ctx, approvalOf(""))
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, d.Session.Policy.Rules())
}

// A tool that needs approval is asked about in the editor without more ado.
func TestServeAsksTheEditorAboutCallsThatNeedApproval(t *testing.T) {
	for option, want := range map[string]string{"allow_once": "done it", "reject_once": "The user rejected this."} {
		var told string
		m := scripted(func(req *model.Request) *model.Message {
			last := req.Messages[len(req.Messages)-1].Parts[0]
			if last.Kind != model.PartToolReturn {
				return model.Response(model.ToolCall("1", "act", "{}"))
			}
			told = last.Text
			return model.Response(model.Text("ok"))
		})
		act := toolset.Func("act", "", func(context.Context, *toolset.RunContext[bare], none) (string, error) { return "done it", nil },
			toolset.Approve(func(context.Context, *toolset.RunContext[bare], none) (*toolset.Approval, error) {
				return &toolset.Approval{Title: "Act"}, nil
			}))
		e, id := start(t, config(t, m, act))
		turn := e.sendPrompt(id, "go")
		asked := e.await(func(l wireLine) bool { return l.Method == acp.MethodRequestPermission })
		require.Contains(t, asked.Text, `"title":"Act"`)
		e.write(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"outcome":{"outcome":"selected","optionId":"` + option + `"}}}` + "\n")
		requireStop(t, acp.StopReasonEndTurn, e.answer(turn))
		require.Contains(t, told, want)
	}
}

func scripted(answer func(*model.Request) *model.Message) model.Model {
	return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) { return answer(req), nil })
}
