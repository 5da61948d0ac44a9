// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/mortal"
	"github.com/ponte-go/ponte/toolset"
)

// served is the session in a process that serves the store of one that was killed.
func served(t *testing.T, s *host.Session, a *agent.Agent[none, string]) *host.Session {
	t.Helper()
	memory := lost(t, s.Host().Store()).(durable).Store.(*session.Memory)
	h, err := host.New(host.Config[none, string]{Agent: a, Store: mortal.New(memory), Busy: host.BusyQueue})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	h.WillServe()
	go func() { ended <- h.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		require.NoError(t, h.Close(context.Background()))
	})
	later, err := h.Open(t.Context(), s.ID(), nil)
	require.NoError(t, err)
	return later
}

// TestServeAsksAboutACallThatWasAllowedWhileItsRunWaited kills the process in a call that a person has allowed while the run waited. The process that serves
// the store does not make it again, but asks, and makes it under its key.
func TestServeAsksAboutACallThatWasAllowedWhileItsRunWaited(t *testing.T) {
	began := make(chan string, 2)
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(modeltest.Script(modeltest.Say(payTo("b", "Bob"))), stuck(began)), Store: durable{new(session.Memory)}}))
	wait(s, "Pay.")
	q := open(t, s, "")
	require.NoError(t, s.Decide(t.Context(), q.ID, "", allowed(q)))
	first := <-began
	later := served(t, s, newAgent(modeltest.Script(modeltest.SayText("done")), stuck(began)))
	eventually(t, "it asks", func() bool {
		open, err := questions(later)
		return err == nil && len(open) == 1 && open[0].Choices[0].Title == "Run it again"
	})
	require.Empty(t, began)
	q = asked(t, later, 1)[0]
	require.Contains(t, textOf(q), "It is not known whether the call had any effect")
	resumed, err := later.Answer(t.Context(), q.ID, "", allowed(q))
	require.NoError(t, err)
	go resumed.Resume(host.Prompt{})
	require.Equal(t, first, <-began, "under its key")
	later.Cancel()
	s.Cancel()
}

// TestCallThatIsAllowedAgainMayWaitForAResult kills the process in a call that was allowed. In the next version of the program it is allowed again, and the
// tool is external.
func TestCallThatIsAllowedAgainMayWaitForAResult(t *testing.T) {
	began := make(chan string, 2)
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(modeltest.Script(modeltest.Say(payTo("b", "Bob"))), stuck(began)), Store: durable{new(session.Memory)}}))
	wait(s, "Pay.")
	q := open(t, s, "")
	require.NoError(t, s.Decide(t.Context(), q.ID, "", allowed(q)))
	<-began
	outside := toolset.ExternalTool[none, payment]("pay", "Pay.")
	later := next(t, s, newAgent(modeltest.Script(modeltest.SayText("done")), outside))
	q = asked(t, later, 1)[0]
	resumed, err := later.Answer(t.Context(), q.ID, "", allowed(q))
	require.NoError(t, err)
	resumed.Resume(host.Prompt{})
	q = asked(t, later, 1)[0]
	require.Empty(t, q.Choices)
	resumed, err = later.Answer(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Result: &toolset.Result{Text: "paid"}})
	require.NoError(t, err)
	require.NoError(t, resumed.Resume(host.Prompt{}).Err)
	snapshot, _, err := later.Snapshot(t.Context())
	require.NoError(t, err)
	require.Equal(t, "done", snapshot.Last(view.Message).Text())
	s.Cancel()
}

// TestServeLeavesACallWhosePlaceAPromptHasTaken kills the process in a call that was allowed before somebody wrote a prompt, in a turn of the agent and inside
// another call. The process that serves the store does not make it again: people and the model are told that it is not known whether it ran.
func TestServeLeavesACallWhosePlaceAPromptHasTaken(t *testing.T) {
	for _, inner := range []bool{false, true} {
		began := make(chan string, 2)
		pays := modeltest.Script(modeltest.Say(payTo("b", "Bob"), payTo("c", "Cleo")))
		of := func(m model.Model) *agent.Agent[none, string] {
			if !inner {
				return newAgent(m, stuck(began))
			}
			return newAgent(m, agent.AsTool("ask", "Ask.", newAgent(pays, stuck(began)), func(none) none { return none{} }))
		}
		first := model.Model(pays)
		if inner {
			first = askOnce()
		}
		s := create(t, newHost(t, host.Config[none, string]{Agent: of(first), Store: durable{new(session.Memory)}}))
		prompt(t, s, "Pay.")
		q := asked(t, s, 2)[0]
		require.NoError(t, s.Decide(t.Context(), q.ID, "", allowed(q)))
		go func() { _, _ = s.Prompt(context.Background(), say("And?")) }()
		<-began
		told := modeltest.Capture(modeltest.Script(modeltest.SayText("so")))
		later := served(t, s, of(told))
		eventually(t, "the turn has ended", func() bool { return strings.Contains(shown(t, later), `"status":"interrupted"`) })
		require.Empty(t, began, "inside %v", inner)
		require.NoError(t, prompt(t, later, "So?").Err)
		data, err := json.Marshal(told.Last().Messages)
		require.NoError(t, err)
		require.Contains(t, string(data), "It is not known whether the call had any effect")
		require.Empty(t, began)
		s.Cancel()
	}
}
