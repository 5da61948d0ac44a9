// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

func same(d none) none { return d }

// clerk is an agent whose calls need approval.
func clerk(steps ...modeltest.Step) *agent.Agent[none, string] {
	pay := toolset.Func("pay", "Pay.", func(context.Context, *toolset.RunContext[none], none) (string, error) { return "paid", nil },
		toolset.Approve(func(context.Context, *toolset.RunContext[none], none) (*toolset.Approval, error) {
			return &toolset.Approval{}, nil
		}))
	return agent.Must(agent.New(agent.Config[none, string]{Name: "clerk", Model: modeltest.Script(steps...), Tools: []*toolset.Tool[none]{pay}}))
}

// above is an agent that asks another one.
func above(name string, inner *agent.Agent[none, string], steps ...modeltest.Step) *agent.Agent[none, string] {
	return agent.Must(agent.New(agent.Config[none, string]{Name: name, Model: modeltest.Script(steps...),
		Tools: []*toolset.Tool[none]{agent.AsTool("ask", "Ask.", inner, same)}}))
}

func asks(id string) modeltest.Step {
	return modeltest.Say(model.ToolCall(id, "ask", `{"prompt":"Go."}`))
}
func pays(id string) modeltest.Step { return modeltest.Say(model.ToolCall(id, "pay", `{}`)) }

// statuses returns the statuses of calls and agents, by the last part of the id of a call and the name of an agent.
func statuses(f *view.Fold) map[string]view.Status {
	all := map[string]view.Status{}
	for e := range f.Snapshot().All() {
		switch e.Kind {
		case view.ToolCall:
			all[e.ID[strings.LastIndexByte(e.ID, '/')+1:]] = e.Status
		case view.SubAgent:
			all[e.Name] += e.Status // there is one of a name
		}
	}
	return all
}

// allow answers all calls that a run waits for.
func allow(t *testing.T, err error) agent.RunOption {
	t.Helper()
	var pending *agent.PendingError
	require.ErrorAs(t, err, &pending)
	decisions := map[string]toolset.Decision{}
	for _, c := range pending.Calls {
		decisions[c.Key()] = toolset.Allow()
	}
	return agent.WithResults(agent.DeferredResults{Decisions: decisions})
}

// TestWaitingAgentIsShownAsWaiting has an agent inside a call wait twice, and another process resume it.
func TestWaitingAgentIsShownAsWaiting(t *testing.T) {
	for _, journal := range []bool{true, false} {
		t.Run(fmt.Sprint("journal ", journal), func(t *testing.T) {
			a := above("", clerk(pays("x"), pays("y"), modeltest.SayText("paid")), asks("a"), modeltest.SayText("done"))
			store := new(session.Memory)
			s := openShown(t, store, journal)
			err := promptShown(s, a, "Go", nil)
			require.Equal(t, map[string]view.Status{"a": view.Running, "clerk": view.Pending, "x": view.Pending}, statuses(s.fold))
			require.NotContains(t, textOf(s.fold), "Not finished")
			requireSame(t, s)

			err = promptShown(s, a, "", nil, allow(t, err))
			require.Equal(t, map[string]view.Status{"a": view.Running, "clerk": view.Pending, "x": view.Completed, "y": view.Pending}, statuses(s.fold))
			requireSame(t, s)

			s = openShown(t, store, journal)
			seen := false
			require.NoError(t, promptShown(s, a, "", func(e *agent.Event) bool {
				if n, ok := e.Value.(agent.Nested); ok && n.Event.Kind == agent.EventToolStart {
					seen = true
					require.Equal(t, map[string]view.Status{"a": view.Running, "clerk": view.Running, "x": view.Completed, "y": view.Running}, statuses(s.fold))
				}
				return true
			}, allow(t, err)))
			require.True(t, seen)
			require.Equal(t, map[string]view.Status{"a": view.Completed, "clerk": view.Completed, "x": view.Completed, "y": view.Completed}, statuses(s.fold))
			requireSame(t, s)
		})
	}
}

// TestQuestionsNameTheWaitingCall has calls whose ids end alike, in agents inside agents.
func TestQuestionsNameTheWaitingCall(t *testing.T) {
	inner := clerk(modeltest.Say(model.ToolCall("x", "pay", `{}`), model.ToolCall("y/x", "pay", `{}`)))
	a := above("", above("lead", inner, asks("b/1")), asks("a/1"))
	s := openShown(t, new(session.Memory), true)
	err := promptShown(s, a, "Go", nil)
	require.Equal(t, view.Status("pending"), statuses(s.fold)["lead"])
	requireSame(t, s)
	var pending *agent.PendingError
	require.ErrorAs(t, err, &pending)
	require.Len(t, pending.Calls, 2)
	again := openShown(t, s.store, true)
	for i := range pending.Calls {
		c := &pending.Calls[i]
		id := s.c.Waiting(c)
		require.True(t, strings.HasSuffix(id, "/1/"+c.ID), id)
		e := s.fold.Get(id)
		require.Equal(t, "clerk", s.fold.Get(e.Parent).Name)
		require.Equal(t, id, again.c.Waiting(c), "another process finds it too")
	}
}

// TestAgentThatIsNotResumedIsCancelled has the user go on without an answer.
func TestAgentThatIsNotResumedIsCancelled(t *testing.T) {
	a := above("", above("lead", clerk(pays("x")), asks("b")), asks("a"), modeltest.SayText("well"))
	s := openShown(t, new(session.Memory), true)
	require.Error(t, promptShown(s, a, "Go", nil))
	require.Equal(t, map[string]view.Status{"a": view.Running, "lead": view.Pending, "b": view.Running, "clerk": view.Pending, "x": view.Pending}, statuses(s.fold))
	s = openShown(t, s.store, true)
	require.NoError(t, promptShown(s, a, "Do not.", nil))
	require.Equal(t, map[string]view.Status{"a": view.Failed, "lead": view.Cancelled, "b": view.Failed, "clerk": view.Cancelled, "x": view.Failed}, statuses(s.fold))
	requireSame(t, s)
}

// TestDeniedCallOfAWaitingAgentFails has the agent go on after the answer.
func TestDeniedCallOfAWaitingAgentFails(t *testing.T) {
	a := above("", clerk(pays("x"), modeltest.SayText("not paid")), asks("a"), modeltest.SayText("well"))
	s := openShown(t, new(session.Memory), true)
	require.Error(t, promptShown(s, a, "Go", nil))
	require.NoError(t, promptShown(s, a, "", nil, agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{"/a/x": toolset.Deny("no")}})))
	require.Equal(t, map[string]view.Status{"a": view.Completed, "clerk": view.Completed, "x": view.Failed}, statuses(s.fold))
	requireSame(t, s)
}

// TestAgentOfAHandOverIsShownAsWaiting has the agent wait that the run was handed over to.
func TestAgentOfAHandOverIsShownAsWaiting(t *testing.T) {
	a := agent.Must(agent.New(agent.Config[none, string]{Model: modeltest.Script(modeltest.Say(model.ToolCall("h", "transfer", `{"prompt":"Help."}`))),
		Alternatives: []agent.Alternative[none, string]{agent.HandOver("transfer", "Transfer.", clerk(pays("x"), modeltest.SayText("paid")), same)}}))
	s := openShown(t, new(session.Memory), true)
	err := promptShown(s, a, "Go", nil)
	require.Equal(t, map[string]view.Status{"clerk": view.Pending, "x": view.Pending}, statuses(s.fold))
	requireSame(t, s)
	require.NoError(t, promptShown(s, a, "", nil, allow(t, err)))
	require.Equal(t, map[string]view.Status{"clerk": view.Completed, "x": view.Completed}, statuses(s.fold))
	requireSame(t, s)
}
