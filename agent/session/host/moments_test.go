// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// moments is a store that keeps what it had after each write: what the next process finds if this one is killed then.
type moments struct {
	session.Store
	all [][]byte
}

func (m *moments) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	first, err := m.Store.Append(ctx, l, head, b)
	if err == nil {
		var data bytes.Buffer
		err = session.Export(ctx, m.Store, &data)
		m.all = append(m.all, data.Bytes())
	}
	return first, err
}

// at is the store at a moment.
func at(t *testing.T, data []byte) session.Store {
	t.Helper()
	store := new(session.Memory)
	_, err := session.Import(t.Context(), store, bytes.NewReader(data), session.ImportOptions{})
	require.NoError(t, err)
	return durable{store}
}

// answering runs a turn and answers what is open with the answers in order.
func answering(t *testing.T, m *moments, a *agent.Agent[none, string], answers ...host.Answer) *host.Session {
	t.Helper()
	s := create(t, newHost(t, host.Config[none, string]{Agent: a, Store: m}))
	prompt(t, s, "Pay.")
	for _, answer := range answers {
		open, err := questions(s)
		require.NoError(t, err)
		require.NotEmpty(t, open)
		answer.Digest = open[0].Digest
		resumed, err := s.Answer(t.Context(), open[0].ID, "", answer)
		require.NoError(t, err)
		if resumed != nil {
			resumed.Resume(host.Prompt{})
		}
	}
	return s
}

// guardedAgent is an agent inside a call that needs approval, and whose payments do.
func guardedAgent(outer model.Model, tool *toolset.Tool[none]) *agent.Agent[none, string] {
	ask := agent.AsTool("ask", "Ask.", newAgent(paysOnce(), tool), func(none) none { return none{} })
	ask.Approval = func(context.Context, *toolset.RunContext[none], any) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Ask"}, nil
	}
	return newAgent(outer, ask)
}

// paysOnce is a model that pays Ada, in any process once.
func paysOnce() model.Model {
	return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		if len(req.Messages) > 1 {
			return model.Response(model.Text("paid")), nil
		}
		return model.Response(payTo("a", "Ada")), nil
	})
}

// askOnce is a model that calls the agent once.
func askOnce() model.Model {
	return modeltest.Script(modeltest.Say(model.ToolCall("h", "ask", `{"prompt":"Pay."}`)), modeltest.SayText("done"), modeltest.SayText("done"))
}

// TestSessionLoadsAfterEveryMoment kills the process at every moment of a turn that ends pending for the second time, between the messages of its end and the
// end, too. Whatever the next process records, the one after it reads, and shows the same.
func TestSessionLoadsAfterEveryMoment(t *testing.T) {
	var paid []string
	yes := host.Answer{Choice: host.AllowOnce}
	m := &moments{Store: new(session.Memory)}
	s := answering(t, m, guardedAgent(askOnce(), pay(&paid)), yes, yes)
	require.Equal(t, []string{"Ada"}, paid)
	waited := 0
	for i, data := range m.all {
		waited += allowAda(t, s.ID(), at(t, data), i)
		store := at(t, data)
		for range 2 {
			h, err := host.New(host.Config[none, string]{Agent: guardedAgent(echo(), pay(&paid)), Store: store})
			require.NoError(t, err)
			one, err := h.Open(t.Context(), s.ID(), nil)
			require.NoError(t, err, "moment %d of %d", i, len(m.all))
			prompt(t, one, "And?")
			before := shown(t, one)
			require.NoError(t, h.Close(t.Context()))
			again, err := newHost(t, host.Config[none, string]{Agent: guardedAgent(echo(), pay(&paid)), Store: store}).Open(t.Context(), s.ID(), nil)
			require.NoError(t, err, "moment %d of %d", i, len(m.all))
			require.Equal(t, before, shown(t, again), "moment %d of %d", i, len(m.all))
		}
	}
	require.NotZero(t, waited)
}

// allowAda allows the payment of the agent inside the call, if that is asked about and has not begun. Then it is made. It returns how often it was.
func allowAda(t *testing.T, id string, store session.Store, moment int) (made int) {
	t.Helper()
	var paid []string
	s, err := newHost(t, host.Config[none, string]{Agent: guardedAgent(modeltest.Script(modeltest.SayText("done")), pay(&paid)), Store: store}).Open(t.Context(), id, nil)
	require.NoError(t, err)
	open, err := questions(s)
	require.NoError(t, err)
	if len(open) != 1 || open[0].Title != "Pay Ada" || strings.Contains(textOf(open[0]), "not known") {
		return 0
	}
	resumed, err := s.Answer(t.Context(), open[0].ID, "", allowed(open[0]))
	require.NoError(t, err)
	require.NoError(t, resumed.Resume(host.Prompt{}).Err)
	require.Equal(t, []string{"Ada"}, paid, "moment %d", moment)
	return 1
}

// TestCallBehindAnAllowedOneMayHaveRun kills the process at every moment in which a call has run that stands behind one that was allowed. Neither people nor
// the model are told that it has not run.
func TestCallBehindAnAllowedOneMayHaveRun(t *testing.T) {
	var paid []string
	m, ran := &moments{Store: new(session.Memory)}, 0
	send := toolset.Func("send", "Send.", func(context.Context, *toolset.RunContext[none], none) (string, error) {
		ran = len(m.all)
		return "sent", nil
	})
	s := answering(t, m, newAgent(modeltest.Script(modeltest.Say(payTo("a", "Ada"), model.ToolCall("b", "send", `{}`)), modeltest.SayText("done")), pay(&paid), send), host.Answer{Choice: host.AllowOnce})
	require.NotZero(t, ran)
	for i, data := range m.all[ran-1:] {
		told := modeltest.Capture(modeltest.Script(modeltest.SayText("so")))
		later, err := newHost(t, host.Config[none, string]{Agent: newAgent(told, pay(&paid), send), Store: at(t, data)}).Open(t.Context(), s.ID(), nil)
		require.NoError(t, err)
		require.NotContains(t, shown(t, later), "Not executed", "moment %d", i)
		require.NoError(t, prompt(t, later, "And?").Err)
		part := told.Last().Messages[2].Parts[1]
		require.True(t, part.Text == "sent" || strings.Contains(part.Text, "It is not known whether the call had any effect"), "moment %d: %s", i, part.Text)
	}
}

// TestKilledTurnIsShownAsItWillBe kills the process at every moment after a person has changed the arguments of a call, while its run waited or was pending.
// What the next process shows of the call does not change when it goes on.
func TestKilledTurnIsShownAsItWillBe(t *testing.T) {
	for _, waits := range []bool{false, true} {
		var paid []string
		m := &moments{Store: new(session.Memory)}
		a := newAgent(modeltest.Script(modeltest.Say(payTo("a", "Ada"), payTo("b", "Cleo")), modeltest.SayText("done")), pay(&paid))
		s := create(t, newHost(t, host.Config[none, string]{Agent: a, Store: m}))
		change := toolset.AllowWith([]byte(`{"to":"Bob"}`))
		p := say("Pay.")
		if waits {
			p.Asker = toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) { return change, nil }}
		}
		_, err := s.Prompt(t.Context(), p)
		require.NoError(t, err)
		if !waits {
			for _, q := range asked(t, s, 2) {
				resumed, err := s.Answer(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Decision: &change})
				require.NoError(t, err)
				if resumed != nil {
					resumed.Resume(host.Prompt{})
				}
			}
		}
		require.Equal(t, []string{"Bob", "Bob"}, paid)
		results := 0
		for i, data := range m.all {
			store := at(t, data)
			later, err := newHost(t, host.Config[none, string]{Agent: newAgent(echo(), pay(&paid)), Store: store}).Open(t.Context(), s.ID(), nil)
			require.NoError(t, err)
			before := completed(t, later)
			prompt(t, later, "And?")
			require.Equal(t, before, completed(t, later)[:len(before)], "moment %d", i)
			again, err := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: store}).Open(t.Context(), s.ID(), nil)
			require.NoError(t, err)
			require.Equal(t, before, completed(t, again)[:len(before)], "moment %d", i)
			results += len(before)
		}
		require.NotZero(t, results)
	}
}

// completed returns the calls that have a result.
func completed(t *testing.T, s *host.Session) []string {
	t.Helper()
	lines := []string{}
	for _, line := range strings.Split(shown(t, s), "\n") {
		if strings.Contains(line, `"tool_call"`) && strings.Contains(line, "paid") {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestCallThatAsksItselfIsShownAlike compares what a process shows of a run that is pending, and that rules have allowed in part, with what the next one does.
func TestCallThatAsksItselfIsShownAlike(t *testing.T) {
	ask := toolset.Func("pay", "Pay.", func(_ context.Context, run *toolset.RunContext[none], in payment) (string, error) {
		if !run.Call.Approved {
			return "", toolset.ApprovalRequired(toolset.Approval{Title: "Pay " + in.To})
		}
		return "paid", nil
	})
	var paid []string
	for i, a := range []*agent.Agent[none, string]{
		newAgent(modeltest.Script(modeltest.Say(payTo("a", "Ada")), modeltest.SayText("done"), modeltest.SayText("done")), ask), guardedAgent(askOnce(), pay(&paid)),
	} {
		m := &moments{Store: new(session.Memory)}
		s := create(t, newHost(t, host.Config[none, string]{Agent: a, Store: m}))
		p := say("Pay.")
		p.Asker = toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
			if r.Origin.Tool == "ask" {
				return toolset.Decision{Verdict: toolset.VerdictAllow, By: "policy"}, nil
			}
			return toolset.Decision{Verdict: toolset.VerdictDefer}, nil
		}}
		_, err := s.Prompt(t.Context(), p)
		require.NoError(t, err)
		if i == 0 {
			later := next(t, s, a)
			require.Equal(t, shown(t, s), shown(t, later))
			require.NoError(t, prompt(t, later, "And?").Err)
			require.Equal(t, shown(t, later), shown(t, next(t, later, a)))
		}
		q := asked(t, s, 1)[0]
		resumed, err := s.Answer(t.Context(), q.ID, "", allowed(q))
		require.NoError(t, err)
		require.NoError(t, resumed.Resume(host.Prompt{}).Err)
		require.Equal(t, i, strings.Count(shown(t, s), "Allowed by: policy"), fmt.Sprint(i))
		require.Equal(t, shown(t, s), shown(t, next(t, s, a)))
	}
}
