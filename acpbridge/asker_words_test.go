// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

// answering is a client that writes down what it is asked, and gives the answers of a test, in order.
type answering struct {
	acp.UnimplementedClient
	t       *testing.T
	b       *strings.Builder
	answers []string // JSON of a result, or "error …" with that of an error
	failure error    // instead of an answer
	asked   func()   // is called before an answer
}

func (a *answering) SessionUpdate(_ context.Context, n *acp.SessionNotification) error {
	a.note("update", n.Update)
	return nil
}

func (a *answering) note(what string, v any) {
	data, err := json.Marshal(v)
	require.NoError(a.t, err)
	fmt.Fprintf(a.b, "%s %s\n", what, wireChance.ReplaceAllString(string(data), "ID"))
}

func (a *answering) answer(into any) error {
	if a.asked != nil {
		a.asked()
	}
	if a.failure != nil {
		return a.failure
	}
	require.NotEmpty(a.t, a.answers)
	text := a.answers[0]
	a.answers = a.answers[1:]
	if failure, ok := strings.CutPrefix(text, "error "); ok {
		e := new(acp.Error)
		require.NoError(a.t, json.Unmarshal([]byte(failure), e))
		return e
	}
	return json.Unmarshal([]byte(text), into)
}

func (a *answering) RequestPermission(_ context.Context, r *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
	a.note("permission", r)
	resp := new(acp.RequestPermissionResponse)
	return resp, a.answer(resp)
}

func (a *answering) CreateElicitation(_ context.Context, r *acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error) {
	a.note("elicitation", r)
	resp := new(acp.CreateElicitationResponse)
	return resp, a.answer(resp)
}

// selected is the answer to a permission request with an option.
func selected(id string) string {
	return fmt.Sprintf(`{"outcome":{"outcome":"selected","optionId":%q}}`, id)
}

const closed = `{"outcome":{"outcome":"cancelled"}}`

// TestQuestionsAreAskedInWords compares what editors are shown of approvals and questions, and what becomes of each answer, with a file.
// To write it anew, set UPDATE, and read what has changed.
func TestQuestionsAreAskedInWords(t *testing.T) {
	var got strings.Builder
	client := &answering{t: t, b: &got}
	asker := func(can string, tracked, remembers bool) toolset.Asker {
		d := deps.ACPDeps{Client: client, Session: &deps.Session{ID: "s", Cwd: "/repo"}}
		require.NoError(t, json.Unmarshal([]byte(can), &d.Session.Capabilities))
		if tracked {
			d.Tracker = deps.NewTracker(client, "s", nil)
			require.NoError(t, d.Tracker.Start(t.Context(), acp.ToolCall{ToolCallID: deps.ToolCallID("r", 1, "known"), Title: "Known", Kind: acp.ToolKindEdit, RawInput: json.RawMessage(`{"known":1}`)}))
		}
		if remembers {
			d.Session.Policy = new(approval.Policy)
		}
		return acpbridge.Asker(d)
	}
	said := func(v any, err error) {
		if err != nil {
			var failed *toolset.FailedError
			told := ""
			if errors.As(err, &failed) {
				told = fmt.Sprintf(" (told: %q)", failed.Message)
			}
			fmt.Fprintf(&got, "error %v%s, nobody: %v\n\n", err, told, errors.Is(err, toolset.ErrNobody))
			return
		}
		client.note("result", v)
		got.WriteString("\n")
	}
	before, after := "one\ntwo\n", "one\nthree\u200b\n"
	origin := toolset.Origin{Path: []string{"a"}, RunID: "r", Step: 1, Tool: "pay", Kind: toolset.KindEdit, Title: "Pay", Agent: "boss"}
	inside := origin
	inside.Path, inside.Agent = []string{"o", "a"}, "clerk"
	known := origin
	known.Path = []string{"known"}
	plain := toolset.ApprovalRequest{Origin: origin, Args: json.RawMessage(`{"to":"Ada"}`), Approval: toolset.Approval{Title: "Pay Ada\u200b", Reason: "It is\nlate."}}
	for _, a := range []struct {
		title string
		toolset.ApprovalRequest
	}{
		{"a plain approval", plain},
		{"of an agent inside", toolset.ApprovalRequest{Origin: inside, Approval: toolset.Approval{Title: "Pay"}}},
		{"of a call that is known", toolset.ApprovalRequest{Origin: known, Args: json.RawMessage(`{}`)}},
		{"without a title", toolset.ApprovalRequest{Origin: toolset.Origin{Path: []string{"a"}, RunID: "r", Step: 1, Tool: "pay"}}},
		{"that is asked every time", toolset.ApprovalRequest{Origin: origin, Once: true, Approval: toolset.Approval{Title: "Pay"}}},
		{"that may last", toolset.ApprovalRequest{Origin: origin, Lasting: true, Approval: toolset.Approval{Title: "Pay"}}},
		{"with previews of all the kind", toolset.ApprovalRequest{Origin: origin, Approval: toolset.Approval{Title: "Edit", Preview: []toolset.Preview{{Text: "a ``` text"}, {Diff: &toolset.Diff{Path: "/a", Old: &before, New: &after}}, {Diff: &toolset.Diff{Path: "/b", Old: &before}}, {Diff: &toolset.Diff{Path: "/c", New: &before}}, {Command: &toolset.CommandLine{Line: "ls -l", Dir: "/repo", Env: []string{"A=1"}}}}}}},
	} {
		for _, with := range []bool{true, false} {
			fmt.Fprintf(&got, "# %s, tracked and remembered: %v\n", a.title, with)
			client.answers = []string{selected("allow_once")}
			said(asker(`{}`, with, with).Approve(t.Context(), a.ApprovalRequest))
		}
	}
	for _, answer := range []string{
		selected("allow_once"), selected("allow_always"), selected("reject_once"), selected("reject_always"), selected("other"), closed, `{"outcome":{"outcome":"odd"}}`,
		`error {"code":-32601,"message":"Method not found"}`, `error {"code":-32002,"message":"gone"}`, `error {"code":-32603,"message":"Internal\nerror","data":{"why":"full"}}`,
	} {
		fmt.Fprintf(&got, "# an approval is answered with %s\n", answer)
		client.answers = []string{answer}
		said(asker(`{}`, true, true).Approve(t.Context(), plain))
	}
	stopped := errors.New("stopped")
	for _, failure := range []error{acp.ErrClosed, acp.ErrAnswered, errors.New("odd\nerror"), &acp.TooLongError{Limit: 7}, nil} {
		fmt.Fprintf(&got, "# an approval and a question fail with %v\n", failure)
		client.failure, client.answers = failure, []string{selected("allow_once"), selected("choice-0")}
		for _, ask := range []func(context.Context){
			func(ctx context.Context) { said(asker(`{}`, true, true).Approve(ctx, plain)) },
			func(ctx context.Context) {
				said(asker(`{}`, true, true).Answer(ctx, toolset.Question{Origin: origin, Message: "Go?"}))
			},
		} {
			ctx, cancel := context.WithCancelCause(t.Context())
			if client.asked = nil; failure == nil { // an answer that comes too late
				client.asked = func() { cancel(stopped) }
			}
			ask(ctx)
			cancel(nil)
		}
	}
	client.failure, client.asked = nil, nil
	const forms = `{"elicitation":{"form":{},"url":{}}}`
	person := `{"type":"object","title":"You","description":"About you.","properties":{"name":{"type":"string","minLength":2,"title":"Name"},"age":{"type":"integer"}},"required":["name"]}`
	size := `{"properties":{"size":{"type":"string","title":"Size","description":"Of the shirt.","oneOf":[{"const":"s","title":"Small","description":"For few."},{"const":"l","title":"Large"}]}}}`
	for _, c := range []struct {
		title, can string
		q          toolset.Question
		answers    []string
	}{
		{"a form", forms, toolset.Question{Origin: origin, Message: "Who\u200b?", Schema: json.RawMessage(person)}, []string{`{"action":"accept","content":{"name":"Ada","age":7}}`}},
		{"a form of a call that is known", forms, toolset.Question{Origin: known, Message: "Who?", Schema: json.RawMessage(person)}, []string{`{"action":"decline"}`}},
		{"a form that is closed", forms, toolset.Question{Origin: origin, Message: "Who?", Schema: json.RawMessage(person)}, []string{`{"action":"cancel"}`}},
		{"a form that is answered wrongly", forms, toolset.Question{Origin: origin, Message: "Who?", Schema: json.RawMessage(person)}, []string{`{"action":"accept","content":{"name":"A"}}`, `{"action":"accept","content":{}}`, `{"action":"accept","content":{"name":"Ada"}}`}},
		{"a form that is answered wrongly three times", forms, toolset.Question{Origin: origin, Message: "Who?", Schema: json.RawMessage(person)}, []string{`{"action":"accept","content":{"name":"A"}}`, `{"action":"accept"}`, `{"action":"accept","content":{"name":7}}`}},
		{"a form that is answered oddly", forms, toolset.Question{Origin: origin, Message: "Who?", Schema: json.RawMessage(person)}, []string{`{"action":"odd"}`}},
		{"a form that is announced and not there", forms, toolset.Question{Origin: origin, Message: "Who?", Schema: json.RawMessage(person)}, []string{`error {"code":-32601,"message":"Method not found"}`}},
		{"a form that fails", forms, toolset.Question{Origin: origin, Message: "Who?", Schema: json.RawMessage(person)}, []string{`error {"code":-32603,"message":"no window"}`}},
		{"a form for nobody", `{}`, toolset.Question{Origin: origin, Message: "Who?", Schema: json.RawMessage(person)}, nil},
		{"a form that is none", forms, toolset.Question{Origin: origin, Message: "Who?", Schema: json.RawMessage(`{"type":"array"}`)}, nil},
		{"a choice", `{}`, toolset.Question{Origin: origin, Message: "Which?", Schema: json.RawMessage(size)}, []string{selected("choice-1")}},
		{"a choice of an agent inside", `{}`, toolset.Question{Origin: inside, Message: "Which?", Schema: json.RawMessage(`{"properties":{"go":{"type":"boolean","title":"Go on"}}}`)}, []string{selected("choice-1")}},
		{"a choice of a call that is known", `{}`, toolset.Question{Origin: known, Message: "Which?", Schema: json.RawMessage(`{"properties":{"x":{"type":"string","enum":["","b"]}}}`)}, []string{selected("choice-0")}},
		{"a choice that is declined", `{}`, toolset.Question{Origin: origin, Message: "Which?", Schema: json.RawMessage(size)}, []string{selected("decline")}},
		{"a choice that was not offered", `{}`, toolset.Question{Origin: origin, Message: "Which?", Schema: json.RawMessage(size)}, []string{selected("choice-2")}},
		{"a choice that is closed", `{}`, toolset.Question{Origin: origin, Message: "Which?", Schema: json.RawMessage(size)}, []string{closed}},
		{"a choice of eight", `{}`, toolset.Question{Origin: origin, Message: "Which?", Schema: json.RawMessage(`{"properties":{"x":{"type":"string","enum":["1","2","3","4","5","6","7","8"]}}}`)}, []string{selected("choice-7")}},
		{"a choice of nine", `{}`, toolset.Question{Origin: origin, Message: "Which?", Schema: json.RawMessage(`{"properties":{"x":{"type":"string","enum":["1","2","3","4","5","6","7","8","9"]}}}`)}, nil},
		{"a yes", `{}`, toolset.Question{Origin: origin, Message: "Go?", Schema: json.RawMessage(`{"title":"Go on","properties":{}}`)}, []string{selected("choice-0")}},
		{"no tool", `{}`, toolset.Question{Origin: toolset.Origin{RunID: "r", Step: 2}, Message: "Go?"}, []string{selected("choice-0")}},
		{"an address", forms, toolset.Question{Origin: origin, Message: "Sign in.", URL: "https://a.example/x", ID: "visit"}, []string{`{"action":"accept"}`}},
		{"an address without an id", forms, toolset.Question{Origin: origin, Message: "Sign in.", URL: "http://a.example"}, []string{`{"action":"decline"}`}},
		{"an address that is announced and not there", forms, toolset.Question{Origin: origin, Message: "Sign in.", URL: "https://a.example/x"}, []string{`error {"code":-32601,"message":"Method not found"}`, selected("choice-0")}},
		{"an address for others", `{}`, toolset.Question{Origin: origin, Message: "Sign in.", URL: "https://a.example/x"}, []string{selected("decline")}},
		{"a file", forms, toolset.Question{Origin: origin, URL: "file:///etc/passwd"}, nil},
		{"an address with a password", forms, toolset.Question{Origin: origin, URL: "https://a:b@a.example"}, nil},
		{"an address without a host", forms, toolset.Question{Origin: origin, URL: "https:///x"}, nil},
		{"an address that looks like another", forms, toolset.Question{Origin: origin, URL: "https://a.example\u200b"}, nil},
		{"an address that is none", forms, toolset.Question{Origin: origin, URL: ":"}, nil},
	} {
		for _, tracked := range []bool{true, false} {
			fmt.Fprintf(&got, "# %s, tracked: %v\n", c.title, tracked)
			client.answers = c.answers
			said(asker(c.can, tracked, false).Answer(t.Context(), c.q))
			require.Empty(t, client.answers)
		}
	}
	const path = "testdata/asker.want"
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(got.String()), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())

	for _, d := range []deps.ACPDeps{{}, {Client: client}, {Session: &deps.Session{}}} {
		decision, err := acpbridge.Asker(d).Approve(t.Context(), plain)
		require.NoError(t, err)
		require.Equal(t, toolset.VerdictDefer, decision.Verdict, "there is no one to ask")
		_, err = acpbridge.Asker(d).Answer(t.Context(), toolset.Question{})
		require.ErrorIs(t, err, toolset.ErrNobody)
	}
}
