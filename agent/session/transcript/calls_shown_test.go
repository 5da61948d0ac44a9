// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// eventsShown returns what a turn "r" shows of events, without its prompt.
func eventsShown(o transcript.Options, events ...agent.Event) string {
	p := transcript.New("s", o)
	p.Start("r")
	p.Event(&agent.Event{Kind: agent.EventRequestStart, Step: 1})
	for i := range events {
		if events[i].Step == 0 {
			events[i].Step = 1
		}
		p.Event(&events[i])
	}
	return strings.TrimSpace(show(p))
}

// What becomes of a call, from its arguments to its result: who allowed it, with which arguments it ran, and how it ended.
func TestCallsAreShownAsTheyGo(t *testing.T) {
	on := func(kind agent.EventKind, e agent.Event) agent.Event {
		e.Kind, e.CallID, e.Tool = kind, "c", "edit"
		return e
	}
	called := on(agent.EventToolCall, agent.Event{Args: model.RawArgs(`{"a":1}`), ToolTitle: "Edit", ToolKind: toolset.KindEdit})
	started := func(d *toolset.Decision, args string) agent.Event {
		return on(agent.EventToolStart, agent.Event{Decision: d, Args: model.RawArgs(args)})
	}
	ended := func(p model.Part) agent.Event {
		p.Kind = model.PartToolReturn
		return on(agent.EventToolResult, agent.Event{Result: &p})
	}
	fails := func(err error) agent.Event { return on(agent.EventToolResult, agent.Event{Err: err}) }
	begin := `{"id":"call:r/1/c","kind":"tool_call","title":"Edit","name":"edit","class":"edit",`
	for _, c := range []struct {
		events []agent.Event
		want   string
	}{
		{[]agent.Event{called}, begin + `"status":"pending","input":{"a":1}}`},
		{[]agent.Event{on(agent.EventToolCall, agent.Event{Args: model.RawArgs(`{oops`)})}, `{"id":"call:r/1/c","kind":"tool_call","title":"edit","name":"edit","class":"other","status":"pending","input":"{oops"}`},
		{[]agent.Event{on(agent.EventToolCall, agent.Event{Args: model.RawArgs(`{oops`), Repaired: model.RawArgs(`{"b":2}`)})}, `{"id":"call:r/1/c","kind":"tool_call","title":"edit","name":"edit","class":"other","status":"pending","input":{"b":2}}`},
		{[]agent.Event{called, on(agent.EventToolCall, agent.Event{Output: true})}, ``},
		{[]agent.Event{called, started(nil, `{"a":1}`)}, begin + `"status":"in_progress","input":{"a":1}}`},
		{[]agent.Event{called, started(&toolset.Decision{Verdict: toolset.VerdictAllow, By: "mode code"}, `{"a":1}`)}, begin + `"status":"in_progress","content":[{"kind":"text","text":"Allowed by: mode code"}],"input":{"a":1}}`},
		{[]agent.Event{called, started(&toolset.Decision{Verdict: toolset.VerdictAllow, By: "user"}, `{"a":1}`)}, begin + `"status":"in_progress","input":{"a":1}}`},
		{[]agent.Event{called, started(&toolset.Decision{Verdict: toolset.VerdictAllow, By: "a\nb"}, ``)}, begin + `"status":"in_progress","content":[{"kind":"text","text":"Allowed by: a⟨LF⟩b"}],"input":{"a":1}}`},
		{[]agent.Event{called, started(&toolset.Decision{Verdict: toolset.VerdictDeny, By: "mode code"}, ``)}, begin + `"status":"in_progress","input":{"a":1}}`},
		{[]agent.Event{called, started(&toolset.Decision{Verdict: toolset.VerdictAllow, Args: []byte(`{"a":2}`)}, `{"a":2}`)}, begin + `"status":"in_progress","input":{"a":2}}`},
		{[]agent.Event{called, started(nil, `{"a":9}`)}, begin + `"status":"in_progress","input":{"a":1}}`},
		{[]agent.Event{called, started(nil, ``), ended(model.Part{Text: "done"})}, begin + `"status":"completed","content":[{"kind":"text","text":"done"}],"input":{"a":1}}`},
		{[]agent.Event{called, started(nil, ``), ended(model.Part{})}, begin + `"status":"completed","input":{"a":1}}`},
		{[]agent.Event{called, started(nil, ``), ended(model.Part{Text: "no", Outcome: model.OutcomeFailed})}, begin + `"status":"failed","content":[{"kind":"text","text":"no"}],"input":{"a":1}}`},
		{[]agent.Event{called, ended(model.Part{Text: "no", Outcome: model.OutcomeDenied})}, begin + `"status":"failed","content":[{"kind":"text","text":"no"}],"input":{"a":1}}`},
		{[]agent.Event{called, ended(model.Part{Text: "half", Outcome: model.OutcomeInterrupted})}, begin + `"status":"failed","content":[{"kind":"text","text":"half"}],"input":{"a":1}}`},
		{[]agent.Event{called, started(&toolset.Decision{Verdict: toolset.VerdictAllow, By: "rule"}, ``), ended(model.Part{Text: "done"})}, begin + `"status":"completed","content":[{"kind":"text","text":"done"},{"kind":"text","text":"Allowed by: rule"}],"input":{"a":1}}`},
		{[]agent.Event{called, ended(model.Part{Text: "done", Decision: &model.Decision{Verdict: model.VerdictAllow, By: "rule", Args: []byte(`{"a":3}`)}})}, begin + `"status":"completed","content":[{"kind":"text","text":"done"},{"kind":"text","text":"Allowed by: rule"}],"input":{"a":3}}`},
		{[]agent.Event{called, ended(model.Part{Text: "one"}), ended(model.Part{Text: "two"}), started(nil, ``)}, begin + `"status":"completed","content":[{"kind":"text","text":"one"}],"input":{"a":1}}`},
		{[]agent.Event{called, started(nil, ``), fails(context.Canceled)}, begin + `"status":"failed","content":[{"kind":"text","text":"Cancelled."}],"input":{"a":1}}`},
		{[]agent.Event{called, started(nil, ``), fails(nil)}, begin + `"status":"failed","input":{"a":1}}`},
		{[]agent.Event{called, started(nil, ``), fails(errors.New("boom"))}, begin + `"status":"failed","content":[{"kind":"text","text":"told: tool edit"}],"input":{"a":1}}`},
		{[]agent.Event{started(nil, ``), ended(model.Part{Text: "of nobody"})}, ``},
	} {
		got := eventsShown(transcript.Options{ErrorText: func(err error) string {
			var run *agent.RunError
			if !errors.As(err, &run) {
				return "not of a run"
			}
			return fmt.Sprintf("told:\n %s %s", run.Stage, run.Tool)
		}}, c.events...)
		require.Equal(t, c.want, got)
	}
}

// Of an agent inside a call, its calls are shown, and how it ended. What it left open ends with it.
func TestAgentsInsideCallsAreShown(t *testing.T) {
	called := agent.Event{Kind: agent.EventToolCall, CallID: "c", Tool: "ask"}
	inside := func(e agent.Event) agent.Event {
		if e.Step == 0 {
			e.Step = 1
		}
		return agent.Event{Kind: agent.EventCustom, CallID: "c", Tool: "ask", Value: agent.Nested{Agent: "guide", Event: e}}
	}
	begun := inside(agent.Event{Kind: agent.EventResponse, Message: &model.Message{Kind: model.KindResponse, RunID: "r/1/c/1"}})
	dig := inside(agent.Event{Kind: agent.EventToolCall, CallID: "i", Tool: "dig", Args: model.RawArgs(`{}`)})
	outer := `{"id":"call:r/1/c","kind":"tool_call","title":"ask","name":"ask","class":"other","status":"pending","input":{}}` + "\n"
	guide := func(status string) string {
		return `{"id":"agent:r%2F1%2Fc%2F1","parent":"call:r/1/c","kind":"agent","name":"guide","status":"` + status + `"}`
	}
	inner := func(rest string) string {
		return "\n" + `{"id":"call:r%2F1%2Fc%2F1/1/i","parent":"agent:r%2F1%2Fc%2F1","kind":"tool_call","title":"dig","name":"dig","class":"other",` + rest + `,"input":{}}`
	}
	for _, c := range []struct {
		events []agent.Event
		want   string
	}{
		{[]agent.Event{called, inside(agent.Event{Kind: agent.EventRunStart}), dig}, strings.TrimSpace(outer)},
		{[]agent.Event{called, begun}, outer + guide("in_progress")},
		{[]agent.Event{called, begun, dig}, outer + guide("in_progress") + inner(`"status":"pending"`)},
		{[]agent.Event{called, begun, dig, inside(agent.Event{Kind: agent.EventToolStart, CallID: "i", Tool: "dig"})}, outer + guide("in_progress") + inner(`"status":"in_progress"`)},
		{[]agent.Event{called, begun, dig, inside(agent.Event{Kind: agent.EventToolResult, CallID: "i", Tool: "dig", Result: &model.Part{Kind: model.PartToolReturn, Text: "dug"}})}, outer + guide("in_progress") + inner(`"status":"completed","content":[{"kind":"text","text":"dug"}]`)},
		{[]agent.Event{called, begun, dig, inside(agent.Event{Kind: agent.EventToolCall, CallID: "i", Tool: "dig", Output: true})}, outer + guide("in_progress")},
		{[]agent.Event{called, begun, dig, inside(agent.Event{Kind: agent.EventRunEnd})}, outer + guide("completed") + inner(`"status":"failed","content":[{"kind":"text","text":"Not finished: the agent ended before."}]`)},
		{[]agent.Event{called, begun, dig, inside(agent.Event{Kind: agent.EventRunEnd, Err: errors.New("boom")})}, outer + guide("failed") + inner(`"status":"failed","content":[{"kind":"text","text":"Not finished: the agent ended before."}]`)},
		{[]agent.Event{called, begun, dig, inside(agent.Event{Kind: agent.EventRunEnd, Err: context.Canceled})}, outer + guide("cancelled") + inner(`"status":"failed","content":[{"kind":"text","text":"Cancelled."}]`)},
		{[]agent.Event{called, begun, dig, inside(agent.Event{Kind: agent.EventRunEnd, Err: &agent.PendingError{}})}, outer + guide("pending") + inner(`"status":"pending"`)},
		{[]agent.Event{called, begun, dig, inside(agent.Event{Kind: agent.EventRunEnd, Err: &agent.PendingError{}}), inside(agent.Event{Kind: agent.EventRunStart})}, outer + guide("in_progress") + inner(`"status":"pending"`)},
		{[]agent.Event{called, begun, inside(agent.Event{Kind: agent.EventRunEnd}), dig}, outer + guide("completed")},
	} {
		require.Equal(t, c.want, eventsShown(transcript.Options{}, c.events...))
	}
}

// What is said, thought and shown of a response, and of an output that is no text.
func TestResponsesAreShown(t *testing.T) {
	delta := func(kind model.PartKind, text string) agent.Event {
		return agent.Event{Kind: agent.EventPartDelta, PartKind: kind, Text: text}
	}
	response := func(parts ...model.Part) agent.Event {
		return agent.Event{Kind: agent.EventResponse, Message: model.Response(parts...)}
	}
	said := func(parts ...model.Part) agent.Event {
		return agent.Event{Kind: agent.EventMessage, Message: &model.Message{Kind: model.KindRequest, Parts: parts}}
	}
	render := func(v any) (string, error) {
		if err, ok := v.(error); ok {
			return "", err
		}
		return fmt.Sprint(v), nil
	}
	for _, c := range []struct {
		events []agent.Event
		want   []string
	}{
		{[]agent.Event{delta(model.PartThinking, "Hm"), delta(model.PartThinking, "."), delta(model.PartText, "We"), delta(model.PartText, "ll.")}, []string{`{"id":"thought:r/1","kind":"thought","content":[{"kind":"text","text":"Hm."}]}`, `{"id":"message:r/1","kind":"message","role":"assistant","content":[{"kind":"text","text":"Well."}]}`}},
		{[]agent.Event{delta(model.PartText, ""), delta(model.PartThinking, ""), delta(model.PartCitation, "x")}, nil},
		{[]agent.Event{delta(model.PartText, "one"), response(model.Text("one")), {Kind: agent.EventRequestStart, Step: 2}, delta(model.PartText, "two")}, []string{`{"id":"message:r/1","kind":"message","role":"assistant","content":[{"kind":"text","text":"one"}]}`, `{"id":"message:r/2","kind":"message","role":"assistant","content":[{"kind":"text","text":"two"}]}`}},
		{[]agent.Event{delta(model.PartText, "See:"), response(model.Text("See:"), model.Media("image/png", []byte("x")), model.Part{Kind: model.PartMedia, MediaType: "image/png"})}, []string{`{"id":"message:r/1","kind":"message","role":"assistant","content":[{"kind":"text","text":"See:"},{"kind":"image","mime_type":"image/png","data":"eA=="}]}`}},
		{[]agent.Event{said(model.User("more")), said(), said(model.User("and more"))}, []string{`{"id":"said:r/1","kind":"message","role":"user","content":[{"kind":"text","text":"more"}]}`, `{"id":"said:r/2","kind":"message","role":"user","content":[{"kind":"text","text":"and more"}]}`}},
		{[]agent.Event{response(model.ToolCall("o", "final_result", "{}")), {Kind: agent.EventOutput, Value: 7}}, []string{`{"id":"output:r/1","kind":"message","role":"assistant","content":[{"kind":"text","text":"7"}]}`}},
		{[]agent.Event{response(model.ToolCall("o", "final_result", "{}")), {Kind: agent.EventOutput, Value: errors.New("no\n form")}}, []string{`{"id":"output:r/1","kind":"message","role":"assistant","content":[{"kind":"text","text":"The output cannot be shown: no form"}]}`}},
		{[]agent.Event{response(model.ToolCall("o", "final_result", "{}")), {Kind: agent.EventOutput, Value: ""}}, nil},
		{[]agent.Event{response(model.Text("7")), {Kind: agent.EventOutput, Value: "7"}}, nil},
		{[]agent.Event{{Kind: agent.EventCustom, CallID: "c", Value: view.Entity{Kind: view.Notice, Title: "Note"}}, {Kind: agent.EventCustom, Value: &view.Entity{Kind: view.Message}}, {Kind: agent.EventCustom, Value: (*view.Entity)(nil)}, {Kind: agent.EventCustom, Value: "else"}}, []string{`{"id":"note:r/1","kind":"notice","title":"Note"}`}},
	} {
		require.Equal(t, strings.Join(c.want, "\n"), eventsShown(transcript.Options{Render: render}, c.events...))
	}
	require.Empty(t, eventsShown(transcript.Options{}, response(model.ToolCall("o", "final_result", "{}")), agent.Event{Kind: agent.EventOutput, Value: 7}), "nobody renders it")
}
