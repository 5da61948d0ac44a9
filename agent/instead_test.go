// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

const instead = "Not executed: the user wrote a message instead of answering."

// pendingDesk is a history with calls that wait, stored and read again.
func pendingDesk(t *testing.T, d *desk) []*model.Message {
	t.Helper()
	external := toolset.ExternalTool[deps, struct{}]("ask_user", "")
	_, err := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(call("1", "hi"), call("2", "ask_user"), edit("3", "edit", "a", "x"), edit("4", "edit", "b", "y"), call("5", "hi")))},
		d.edit("edit"), says("hi", "hello"), external).Run(t.Context(), deps{}, "go")
	pending, failed := pendingOf(t, err)
	_, history := stored(t, pending, failed)
	require.Equal(t, pending.Calls, agent.PendingCalls(history), "the history is enough")
	require.Nil(t, agent.PendingCalls(history[:2]))
	return history
}

func TestPromptInPlaceOfAnswersDeniesTheRest(t *testing.T) {
	for name, c := range map[string]struct {
		results *agent.DeferredResults
		want    string
		files   map[string]string
	}{
		"alone": {nil, "tool_return 2 ask_user denied: " + instead + "\n  tool_return 3 edit denied: " + instead + "\n  tool_return 4 edit denied: " + instead, map[string]string{}},
		"with some answers": {&agent.DeferredResults{Decisions: map[string]toolset.Decision{"4": toolset.Allow()}, Results: map[string]toolset.Result{"2": {Text: "forty-two"}}},
			"tool_return 2 ask_user: forty-two\n  tool_return 3 edit denied: " + instead + "\n  tool_return 4 edit: now y", map[string]string{"b": "y"}},
		"with a denial": {&agent.DeferredResults{Decisions: map[string]toolset.Decision{"3": toolset.Deny("no")}},
			"tool_return 2 ask_user denied: " + instead + "\n  tool_return 3 edit denied: no\n  tool_return 4 edit denied: " + instead, map[string]string{}},
	} {
		for _, journaled := range []bool{false, true} {
			t.Run(fmt.Sprint(name, journaled), func(t *testing.T) {
				d := newDesk()
				opts := []agent.RunOption{agent.WithHistory(pendingDesk(t, d))}
				if c.results != nil {
					opts = append(opts, agent.WithResults(*c.results))
				}
				if journaled {
					opts = append(opts, agent.WithJournal(new(journal.Memory)), agent.WithRunID("r"))
				}
				script := modeltest.Script(modeltest.SayText("ok"))
				a := newAgent(t, cfg{Model: script}, d.edit("edit"), says("hi", "hello"), toolset.ExternalTool[deps, struct{}]("ask_user", ""))
				res, err := a.Run(t.Context(), deps{}, "Never mind.", opts...)
				require.NoError(t, err)
				require.Equal(t, "request\n  tool_return 1 hi: hello\n  "+c.want+"\n  tool_return 5 hi denied: "+instead+"\nrequest\n  user: Never mind.\nresponse\n  text: ok\n", dump(res.Messages[2:]))
				require.Equal(t, c.files, d.files)
				requireAnswered(t, res.Messages)
				require.Len(t, script.Requests(), 1)
				if journaled {
					again, err := a.Run(t.Context(), deps{}, "Never mind.", opts...)
					require.NoError(t, err)
					require.Equal(t, res.Messages, again.Messages)
				}
			})
		}
	}
}

// What would be pending again is denied: the person has gone on.
func TestNothingStaysPendingBehindAPrompt(t *testing.T) {
	d := newDesk()
	history := pendingDesk(t, d)
	d.files["b"] = "meanwhile"
	a := newAgent(t, cfg{Model: modeltest.Script(modeltest.SayText("ok"))}, d.edit("edit"), says("hi", "hello"))
	res, err := a.Run(t.Context(), deps{}, "Go on.", agent.WithHistory(history), agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{"4": toolset.Allow()}}))
	require.NoError(t, err)
	require.Equal(t, instead, res.Messages[2].Parts[3].Text)
	require.Equal(t, map[string]string{"b": "meanwhile"}, d.files)
}

func TestAnswersThatDoNotFitChangeNothingBesideAPrompt(t *testing.T) {
	d := newDesk()
	history := pendingDesk(t, d)
	a := newAgent(t, cfg{Model: modeltest.Script()}, d.edit("edit"), says("hi", "hello"))
	_, err := a.Run(t.Context(), deps{}, "Go on.", agent.WithHistory(history), agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{"1": toolset.Allow()}}))
	require.ErrorIs(t, err, agent.ErrResults)
	require.Equal(t, dump(history), dump(asRunError(t, err).Messages))
}

func TestPromptIsKeptWhenAnAllowedCallFails(t *testing.T) {
	d := newDesk()
	history := pendingDesk(t, d)
	broken := d.edit("edit")
	broken.Call = func(context.Context, *toolset.RunContext[deps], any) (toolset.Result, error) {
		return toolset.Result{}, errBoom
	}
	a := newAgent(t, cfg{Model: modeltest.Script(modeltest.SayText("ok"))}, broken, says("hi", "hello"))
	_, err := a.Run(t.Context(), deps{}, "Go on.", agent.WithHistory(history), agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{"3": toolset.Allow()}}))
	require.ErrorIs(t, err, errBoom)
	failed := asRunError(t, err)
	require.Equal(t, "request\n  user: Go on.\n", last(failed.Messages))
	res, err := a.Run(t.Context(), deps{}, "", agent.WithHistory(failed.Messages))
	require.NoError(t, err)
	requireAnswered(t, res.Messages)
}

func TestHistoryThatDoesNotEndPendingHasNoPendingCalls(t *testing.T) {
	require.Nil(t, agent.PendingCalls(nil))
	require.Nil(t, agent.PendingCalls([]*model.Message{nil}))
	require.Nil(t, agent.PendingCalls([]*model.Message{model.Response(model.ToolCall("1", "edit", "{}"))}))
	require.Nil(t, agent.PendingCalls([]*model.Message{{Kind: model.KindRequest, Pending: true}}))
	require.Nil(t, agent.PendingCalls([]*model.Message{{Kind: model.KindRequest, PendingCalls: []agent.PendingCall{{ID: "1"}}}}))
}

// The calls inside a call that waits are answered one by one; the call goes on if one of them has an answer.
func TestPromptInPlaceOfAnswersToInnerCalls(t *testing.T) {
	for name, c := range map[string]struct {
		decisions map[string]toolset.Decision
		want      string
		files     map[string]string
	}{
		"none": {nil, "tool_return 1 sub denied: " + instead, map[string]string{}},
		"one":  {map[string]toolset.Decision{"/1/3": toolset.Allow()}, "tool_return 1 sub: inner done", map[string]string{"b": "y"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk()
			team := func(outer, inner model.Model) *agent.Agent[deps, string] {
				return newAgent(t, cfg{Model: outer}, agent.AsTool("sub", "", newAgent(t, cfg{Model: inner}, d.edit("edit")), same))
			}
			a := team(modeltest.Script(modeltest.Say(model.ToolCall("1", "sub", `{"prompt":"go"}`))), modeltest.Script(modeltest.Say(edit("2", "edit", "a", "x"), edit("3", "edit", "b", "y"))))
			_, err := a.Run(t.Context(), deps{}, "go")
			pending, failed := pendingOf(t, err)
			require.Len(t, pending.Calls, 2)
			_, history := stored(t, pending, failed)
			a = team(modeltest.Script(modeltest.SayText("ok")), modeltest.Script(modeltest.SayText("inner done")))
			res, err := a.Run(t.Context(), deps{}, "Never mind.", agent.WithHistory(history), agent.WithResults(agent.DeferredResults{Decisions: c.decisions}))
			require.NoError(t, err)
			require.Equal(t, "request\n  "+c.want+"\nrequest\n  user: Never mind.\nresponse\n  text: ok\n", dump(res.Messages[2:]))
			require.Equal(t, c.files, d.files)
		})
	}
}

func TestPendingRequestWithoutCallsIsDropped(t *testing.T) {
	history := []*model.Message{model.UserText("hi"), model.Response(model.Text("hello")), {Kind: model.KindRequest, Pending: true}}
	a := newAgent(t, cfg{Model: modeltest.Script(modeltest.Fail(errBoom))})
	_, err := a.Run(t.Context(), deps{}, "Go on.", agent.WithHistory(history))
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, "request\n  user: hi\nresponse\n  text: hello\nrequest\n  user: Go on.\n", dump(asRunError(t, err).Messages))
}

// The checks of tools hold for the calls that follow a prompt in place of answers.
func TestToolsCheckTheCallsAfterAPromptInPlaceOfAnswers(t *testing.T) {
	d := newDesk()
	hi := says("hi", "hello")
	hi.Check = func(context.Context, *toolset.RunContext[deps], any) error {
		return toolset.Retry("Not now.")
	}
	script := modeltest.Script(modeltest.Say(call("6", "hi")), modeltest.SayText("ok"))
	external := toolset.ExternalTool[deps, struct{}]("ask_user", "")
	a := newAgent(t, cfg{Model: script}, d.edit("edit"), hi, external)
	res, err := a.Run(t.Context(), deps{}, "Never mind.", agent.WithHistory(pendingDesk(t, d)))
	require.NoError(t, err)
	answer := res.Messages[len(res.Messages)-2].Parts
	require.Len(t, answer, 1)
	require.Equal(t, model.PartRetry, answer[0].Kind)
	require.Equal(t, "Not now.", answer[0].Text)
}
