// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// A run whose observer has left was stopped, whatever else ends its context at that moment.
func TestRunWhoseObserverLeavesIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m := modeltest.Script(modeltest.SayText("hello"))
	s := newAgent(t, cfg{Model: m}).Stream(ctx, deps{}, "go")
	for range s.Events() {
		cancel()
		break
	}
	_, err := s.Result()
	require.ErrorIs(t, err, agent.ErrStopped)
	require.NotErrorIs(t, err, context.Canceled)
}

// A run whose observer leaves at a message of the inbox takes no further one, and works out nothing
// more.
func TestObserverLeavesAtAMessageOfTheInbox(t *testing.T) {
	var inbox agent.Inbox
	inbox.Send(model.User("first"))
	inbox.Send(model.User("second"))
	m := modeltest.Script(modeltest.SayText("done"))
	asked := 0
	dynamic := agent.Instruct(func(deps) string { asked++; return "Be brief." })
	a := newAgent(t, cfg{Model: m, Dynamic: []agent.InstructionFunc[deps]{dynamic}})
	s := a.Stream(t.Context(), deps{}, "go", agent.WithInbox(&inbox))
	for e := range s.Events() {
		if e.Kind == agent.EventMessage {
			require.Equal(t, "first", e.Message.Parts[0].Text)
			break
		}
	}
	_, err := s.Result()
	require.ErrorIs(t, err, agent.ErrStopped)
	want := "request\n  user: go\nrequest\n  user: first\n"
	require.Equal(t, want, dump(asRunError(t, err).Messages))
	require.Zero(t, asked)
	require.Empty(t, m.Requests())
}

// A run that waits for an agent it handed over to by text cannot go on once that agent is gone. The
// model is not asked.
func TestPendingHandOverToAnAgentThatIsGone(t *testing.T) {
	var ran []string
	_, err := waitsBehind(t, agent.OutputNative, 1, &ran).Run(t.Context(), deps{}, "go")
	_, failed := pendingOf(t, err)
	m := modeltest.Script(modeltest.SayText("I am alone."))
	alone := newAgent(t, cfg{Name: "outer", Model: m, Alternatives: []agent.Alternative[deps, string]{
		textOutput(), agent.HandOver("other", "", newAgent(t, cfg{Model: m}), sameDeps),
	}})
	_, err = alone.Run(t.Context(), deps{}, "", throughJSON(t, failed.Messages))
	require.ErrorIs(t, err, agent.ErrResults)
	require.ErrorContains(t, err, `the agent no longer has the hand-over "bill"`)
	require.Empty(t, m.Requests())
}

// What a tool asks about itself while it runs is true at that moment: nobody looks again.
func TestApprovalThatAToolAsksForIsNotPreviewedAgain(t *testing.T) {
	var did []string
	careful := tool("careful", func(_ context.Context, run *toolset.RunContext[deps]) (string, error) {
		if run.Call.Approval == nil {
			return "", toolset.ApprovalRequired(toolset.Approval{Basis: "now"})
		}
		did = append(did, "run")
		return "done", nil
	})
	careful.Approval = func(
		context.Context, *toolset.RunContext[deps], any,
	) (*toolset.Approval, error) {
		did = append(did, "preview")
		return nil, nil
	}
	asker := approves(func(toolset.ApprovalRequest) toolset.Decision {
		did = append(did, "ask")
		return toolset.Allow()
	})
	one, two := call("1", "careful"), call("2", "careful")
	for _, calls := range [][]model.Part{{one}, {one, two}} {
		did = nil
		script := modeltest.Script(modeltest.Say(calls...), modeltest.SayText("ok"))
		_, err := newAgent(t, cfg{Asker: asker, Model: script}, careful).Run(t.Context(), deps{}, "go")
		require.NoError(t, err)
		want := []string{"preview", "ask", "run"}
		if len(calls) == 2 {
			want = []string{"preview", "preview", "ask", "run", "ask", "run"}
		}
		require.Equal(t, want, did)
	}
}

// A call that nobody could decide about in time has its answer in the history, also if another call
// of the step ends the run.
func TestAnswerOfACallThatStaysUnclearIsKept(t *testing.T) {
	d := newDesk()
	d.decide = func(toolset.ApprovalRequest) toolset.Decision {
		d.files["a"] += "." // whatever was shown is no longer true
		return toolset.Allow()
	}
	m := modeltest.Script(modeltest.Say(edit("1", "edit", "a", "x"), call("2", "breaks")))
	config := cfg{Asker: approves(d.approve), Model: m}
	a := newAgent(t, config, d.edit("edit"), fails("breaks", errBoom))
	_, err := a.Run(t.Context(), deps{}, "go")
	require.ErrorIs(t, err, errBoom)
	messages := asRunError(t, err).Messages
	answer := messages[len(messages)-1]
	require.True(t, answer.Interrupted)
	require.Len(t, answer.Parts, 1)
	require.Equal(t, "1", answer.Parts[0].CallID)
	require.Equal(t, model.OutcomeFailed, answer.Parts[0].Outcome)
}
