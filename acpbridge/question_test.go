// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
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

const (
	tripForm   = `{"type":"object","properties":{"city":{"type":"string","minLength":2},"days":{"type":"integer","maximum":14}},"required":["city"]}`
	colourForm = `{"type":"object","properties":{"colour":{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]}}}`
)

// elicits is a client that shows forms and opens addresses, and whose user answers.
func elicits(answer func(context.Context, *acp.CreateElicitationRequest) *acp.CreateElicitationResponse) (*acptest.Client, deps.ACPDeps) {
	editor := acptest.New(acptest.Options{Elicitation: answer})
	return editor, editor.Deps("/repo")
}

func questionOf(schema string) toolset.Question {
	return toolset.Question{
		Origin: toolset.Origin{Path: []string{"1"}, RunID: "run", Step: 1, Tool: "plan"}, Message: "Where to?\u202e", Schema: json.RawMessage(schema),
	}
}

func TestFormGoesToClientsThatShowForms(t *testing.T) {
	editor, d := elicits(func(context.Context, *acp.CreateElicitationRequest) *acp.CreateElicitationResponse {
		return acptest.Accept(map[string]acp.ElicitationContentValue{"city": acptest.Value("Oslo"), "days": acptest.Value(3)})
	})
	reply, err := acpbridge.Asker(d).Answer(t.Context(), questionOf(tripForm))
	require.NoError(t, err)
	require.Equal(t, toolset.ActionAccept, reply.Action)
	require.JSONEq(t, `{"city":"Oslo","days":3}`, string(reply.Content))
	require.Len(t, editor.Elicitations(), 1)
	asked, err := json.Marshal(editor.Elicitations()[0])
	require.NoError(t, err)
	require.JSONEq(t, `{"mode":"form","message":"Where to?⟨U+202E⟩","sessionId":"session-1","requestedSchema":`+tripForm+`}`, string(asked))
	require.Empty(t, editor.Violations())
}

func TestQuestionNamesItsCallIfTheClientKnowsIt(t *testing.T) {
	editor, d := elicits(func(context.Context, *acp.CreateElicitationRequest) *acp.CreateElicitationResponse {
		return acptest.Decline()
	})
	id := deps.ToolCallID("run", 1, "1")
	require.NoError(t, d.Tracker.Start(t.Context(), acp.ToolCall{ToolCallID: id, Title: "Plan"}))
	reply, err := acpbridge.Asker(d).Answer(t.Context(), questionOf(tripForm))
	require.NoError(t, err)
	require.Equal(t, toolset.Reply{Action: toolset.ActionDecline}, reply)
	require.Equal(t, id, editor.Elicitations()[0].Form.Session.ToolCallID)
}

func TestDismissedFormIsCancelled(t *testing.T) {
	_, d := elicits(func(context.Context, *acp.CreateElicitationRequest) *acp.CreateElicitationResponse { return nil })
	reply, err := acpbridge.Asker(d).Answer(t.Context(), questionOf(tripForm))
	require.NoError(t, err)
	require.Equal(t, toolset.Reply{Action: toolset.ActionCancel}, reply)
}

func TestInvalidAnswerIsAskedForAgain(t *testing.T) {
	var messages []string
	_, d := elicits(func(_ context.Context, r *acp.CreateElicitationRequest) *acp.CreateElicitationResponse {
		messages = append(messages, r.Message)
		return acptest.Accept(map[string]acp.ElicitationContentValue{"city": acptest.Value(strings.Repeat("O", len(messages)))})
	})
	reply, err := acpbridge.Asker(d).Answer(t.Context(), questionOf(tripForm))
	require.NoError(t, err)
	require.JSONEq(t, `{"city":"OO"}`, string(reply.Content))
	require.Equal(t, []string{
		"Where to?⟨U+202E⟩", `Where to?⟨U+202E⟩` + "\n\n" + `The last answer was not valid: field "city" must have a number of characters that is at least 2.`,
	}, messages)
}

func TestInvalidAnswersAreAskedForThreeTimes(t *testing.T) {
	editor, d := elicits(func(context.Context, *acp.CreateElicitationRequest) *acp.CreateElicitationResponse {
		return acptest.Accept(map[string]acp.ElicitationContentValue{"city": acptest.Value(7)})
	})
	_, err := acpbridge.Asker(d).Answer(t.Context(), questionOf(tripForm))
	var failed *toolset.FailedError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, `The user's answer was not valid: field "city" must be a string.`, failed.Message)
	require.Len(t, editor.Elicitations(), 3)
}

func TestUnknownActionIsNotAnAnswer(t *testing.T) {
	_, d := elicits(func(context.Context, *acp.CreateElicitationRequest) *acp.CreateElicitationResponse {
		return &acp.CreateElicitationResponse{Unknown: json.RawMessage(`{"action":"_later"}`)}
	})
	_, err := acpbridge.Asker(d).Answer(t.Context(), questionOf(tripForm))
	require.ErrorContains(t, err, "of an unknown kind")
}

func TestFormsThatCannotBeAskedAreErrors(t *testing.T) {
	_, d := elicits(nil)
	_, err := acpbridge.Asker(d).Answer(t.Context(), questionOf(`{"properties":{"a":{"type":"object"}}}`))
	require.ErrorContains(t, err, `acpbridge: question of tool "plan": field "a": forms have strings`)
	for _, address := range []string{"javascript:alert(1)", "file:///etc/passwd", "https://", "https://bank@evil.example", "https://a.example/\u202e", "/x"} {
		q := questionOf("")
		q.URL = address
		_, err := acpbridge.Asker(d).Answer(t.Context(), q)
		require.ErrorContains(t, err, "not a plain http or https address", address)
	}
}

func TestAddressGoesToClientsThatOpenAddresses(t *testing.T) {
	editor, d := elicits(func(context.Context, *acp.CreateElicitationRequest) *acp.CreateElicitationResponse {
		return acptest.Accept(nil)
	})
	q := questionOf("")
	q.URL, q.ID = "https://example.com/login", "visit-1"
	reply, err := acpbridge.Asker(d).Answer(t.Context(), q)
	require.NoError(t, err)
	require.Equal(t, toolset.Reply{Action: toolset.ActionAccept}, reply)
	require.Equal(t, acp.ElicitationID("visit-1"), editor.Elicitations()[0].URL.ElicitationID)
	require.Equal(t, q.URL, editor.Elicitations()[0].URL.URL)
}

// A client without forms is asked with session/request_permission where the answer is a choice.
func TestChoiceIsAPermissionRequestForClientsWithoutForms(t *testing.T) {
	for _, c := range []struct {
		name, schema, url string
		answer            acptest.Answer
		options           []string
		want              toolset.Reply
	}{
		{"choice", colourForm, "", "choice-1", []string{"Red", "Green", "Decline to answer"}, toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(`{"colour":"g"}`)}},
		{"choice declined", colourForm, "", "decline", []string{"Red", "Green", "Decline to answer"}, toolset.Reply{Action: toolset.ActionDecline}},
		{"choice dismissed", colourForm, "", acptest.Dismiss, []string{"Red", "Green", "Decline to answer"}, toolset.Reply{Action: toolset.ActionCancel}},
		{"an answer that was not offered", colourForm, "", "choice-9", []string{"Red", "Green", "Decline to answer"}, toolset.Reply{Action: toolset.ActionDecline}},
		{"yes or no", `{"properties":{"ok":{"type":"boolean"}}}`, "", "choice-1", []string{"Yes", "No", "Decline to answer"}, toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(`{"ok":false}`)}},
		{"consent", "", "", "choice-0", []string{"Yes", "Decline to answer"}, toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(`{}`)}},
		{"address", "", "https://example.com/x", "choice-0", []string{"I have opened it", "Decline to answer"}, toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(`{}`)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			editor := acptest.New(acptest.Options{Answers: []acptest.Answer{c.answer}})
			d := editor.Deps("/repo")
			id := deps.ToolCallID("run", 1, "1")
			require.NoError(t, d.Tracker.Start(t.Context(), acp.ToolCall{ToolCallID: id, Title: "Plan"}))
			q := questionOf(c.schema)
			q.URL = c.url
			reply, err := acpbridge.Asker(d).Answer(t.Context(), q)
			require.NoError(t, err)
			require.Equal(t, c.want, reply)
			asked := editor.Permissions()[0]
			require.Equal(t, id, asked.ToolCall.ToolCallID)
			require.Equal(t, "Plan", *asked.ToolCall.Title, "the call keeps its title")
			var names, texts []string
			for _, o := range asked.Options {
				names = append(names, o.Name)
			}
			for _, content := range asked.ToolCall.Content {
				texts = append(texts, content.Content.Content.Text.Text)
			}
			require.Equal(t, c.options, names)
			require.Equal(t, acp.PermissionOptionKindRejectOnce, asked.Options[len(names)-1].Kind, "a client that rejects by itself declines")
			require.Equal(t, "Where to?⟨U+202E⟩", texts[0])
			require.Equal(t, c.url != "", strings.Contains(strings.Join(texts, "\n"), "https://example.com/x"))
			require.Equal(t, toolset.VerdictDefer, d.Session.Policy.Decide("plan", ""), "nothing is remembered")
			require.Empty(t, editor.Elicitations())
			require.Empty(t, editor.Violations())
		})
	}
}

func TestClientThatAnnouncesElicitationWithoutHavingItIsAskedOtherwise(t *testing.T) {
	can := acp.ClientCapabilities{Elicitation: &acp.ElicitationCapabilities{Form: &acp.ElicitationFormCapabilities{}, URL: &acp.ElicitationURLCapabilities{}}}
	editor := acptest.New(acptest.Options{Capabilities: &can})
	for _, q := range []toolset.Question{questionOf(colourForm), {URL: "https://example.com"}} {
		reply, err := acpbridge.Asker(editor.Deps("/repo")).Answer(t.Context(), q)
		require.NoError(t, err)
		require.Equal(t, toolset.ActionAccept, reply.Action)
	}
	require.Len(t, editor.Permissions(), 2)
}

func TestOtherQuestionsAreLeftToTheModelForClientsWithoutForms(t *testing.T) {
	editor := acptest.New(acptest.Options{})
	for _, schema := range []string{tripForm, `{"properties":{"a":{"type":"string","enum":["1","2","3","4","5","6","7","8","9"]}}}`} {
		_, err := acpbridge.Asker(editor.Deps("/repo")).Answer(t.Context(), questionOf(schema))
		require.ErrorIs(t, err, toolset.ErrNobody)
		var failed *toolset.FailedError
		require.ErrorAs(t, err, &failed)
		require.Contains(t, failed.Message, "Ask it in your reply and end your turn")
		require.Contains(t, failed.Message, "Where to?")
	}
	require.Empty(t, editor.Permissions())
}

// asking is an agent with a tool that asks a question and tells the model the reply.
func asking(t *testing.T, q toolset.Question, told *string) acpbridge.Config[bare, string] {
	m := scripted(func(req *model.Request) *model.Message {
		last := req.Messages[len(req.Messages)-1].Parts[0]
		if last.Kind != model.PartToolReturn {
			return model.Response(model.ToolCall("1", "plan", "{}"))
		}
		*told = last.Text
		return model.Response(model.Text("ok"))
	})
	return config(t, m, tool("plan", func(ctx context.Context, run *toolset.RunContext[bare]) (string, error) {
		reply, err := run.Ask(ctx, q)
		return string(reply.Action) + " " + string(reply.Content), err
	}))
}

// elicitationOf waits for a question, and returns the answer with an outcome to it.
func elicitationOf(e *editor, result string) (asked wireLine, answer string) {
	e.t.Helper()
	asked = e.await(func(l wireLine) bool { return l.Method == acp.MethodCreateElicitation })
	return asked, `{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":` + result + `}` + "\n"
}

func TestToolsAskOverTheConnection(t *testing.T) {
	var told string
	e := serve(t, asking(t, toolset.Question{Message: "Where to?", Schema: json.RawMessage(tripForm)}, &told))
	e.initialize(`{"elicitation":{"form":{}}}`)
	turn := e.sendPrompt(e.newSession(), "go")
	asked, answer := elicitationOf(e, `{"action":"accept","content":{"city":"Oslo","days":null}}`)
	require.Contains(t, asked.Text, `"toolCallId":`)
	e.write(answer)
	requireStop(t, acp.StopReasonEndTurn, e.answer(turn))
	require.Equal(t, `accept {"city":"Oslo"}`, told)
}

func TestModelIsToldToAskWhereTheClientCannot(t *testing.T) {
	var told string
	e, id := start(t, asking(t, toolset.Question{Message: "Where to?", Schema: json.RawMessage(tripForm)}, &told))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "go"))
	require.Equal(t, "The user's editor cannot show this question. Ask it in your reply and end your turn. The user's next message is the answer.\n"+
		"The question: Where to?\n- city (required): {\"type\":\"string\",\"minLength\":2}\n- days: {\"type\":\"integer\",\"maximum\":14}", told)
}

func TestCancelledTurnWithdrawsItsQuestion(t *testing.T) {
	var told string
	e := serve(t, asking(t, toolset.Question{Message: "Where to?", Schema: json.RawMessage(tripForm)}, &told))
	e.initialize(`{"elicitation":{"form":{}}}`)
	id := e.newSession()
	turn := e.sendPrompt(id, "go")
	asked, late := elicitationOf(e, `{"action":"accept","content":{"city":"Oslo"}}`)
	e.write(cancelLine(id))
	requireStop(t, acp.StopReasonCancelled, e.answer(turn))
	withdrawn := e.await(func(l wireLine) bool { return l.Method == acp.MethodCancelRequest })
	require.Contains(t, withdrawn.Text, `"requestId":`+string(asked.ID))
	e.write(late) // crosses the cancellation
	require.Empty(t, told)
}

func TestVisitsEndWithTheTurn(t *testing.T) {
	var told string
	e := serve(t, asking(t, toolset.Question{Message: "Log in.", URL: "https://example.com/login", ID: "v1"}, &told))
	e.initialize(`{"elicitation":{"url":{}}}`)
	turn := e.sendPrompt(e.newSession(), "go")
	_, answer := elicitationOf(e, `{"action":"accept"}`)
	e.write(answer)
	requireStop(t, acp.StopReasonEndTurn, e.answer(turn))
	lines := e.all()
	require.Equal(t, "accept ", told)
	var order []string
	for _, l := range lines {
		if l.Method == acp.MethodCompleteElicitation {
			require.Contains(t, l.Text, `"elicitationId":"v1"`)
			order = append(order, "complete")
		}
		if l.Is(turn) {
			order = append(order, "answer")
		}
	}
	require.Equal(t, []string{"complete", "answer"}, order)
}

func TestVisitIsCompletedOnceByATool(t *testing.T) {
	m := modeltest.Script(modeltest.Say(model.ToolCall("1", "login", "{}")), modeltest.SayText("ok"), modeltest.SayText("again"))
	login := tool("login", func(ctx context.Context, run *toolset.RunContext[bare]) (string, error) {
		if _, err := run.Ask(ctx, toolset.Question{Message: "Log in.", URL: "https://example.com/login", ID: "v1"}); err != nil {
			return "", err
		}
		return "in", run.Deps.Client.CompleteElicitation(ctx, &acp.CompleteElicitationNotification{ElicitationID: "v1"})
	})
	e := serve(t, config(t, m, login))
	e.initialize(`{"elicitation":{"url":{}}}`)
	id := e.newSession()
	turn := e.sendPrompt(id, "go")
	_, answer := elicitationOf(e, `{"action":"accept"}`)
	e.write(answer)
	requireStop(t, acp.StopReasonEndTurn, e.answer(turn))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "go on"))
	n := 0
	for _, l := range e.all() {
		if l.Method == acp.MethodCompleteElicitation {
			n++
		}
	}
	require.Equal(t, 1, n, fmt.Sprint(e.all()))
}
