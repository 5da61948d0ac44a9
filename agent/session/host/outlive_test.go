// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// lost is what a store has now, as if its process ended.
func lost(t *testing.T, s session.Store) session.Store {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, session.Export(t.Context(), s, &b))
	to := new(session.Memory)
	_, err := session.Import(t.Context(), to, &b, session.ImportOptions{})
	require.NoError(t, err)
	return durable{to}
}

// next is the session in the next process.
func next(t *testing.T, s *host.Session, a *agent.Agent[none, string]) *host.Session {
	t.Helper()
	later, err := newHost(t, host.Config[none, string]{Agent: a, Store: lost(t, s.Host().Store())}).Open(t.Context(), s.ID(), nil)
	require.NoError(t, err)
	return later
}

func asked(t *testing.T, s *host.Session, n int) []*view.Entity {
	t.Helper()
	all, err := questions(s)
	require.NoError(t, err)
	require.Len(t, all, n)
	return all
}

// stuck is a tool whose payments to Bob do not end before their session does. began gets each key.
func stuck(began chan<- string) *toolset.Tool[none] {
	return toolset.Func("pay", "Pay.", func(ctx context.Context, run *toolset.RunContext[none], in payment) (string, error) {
		began <- in.To + " " + run.IdempotencyKey()
		if in.To == "Bob" {
			<-ctx.Done()
			return "", context.Cause(ctx)
		}
		return "paid", nil
	}, toolset.Approve(func(_ context.Context, _ *toolset.RunContext[none], in payment) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Pay " + in.To, Scope: in.To}, nil
	}))
}

func payTo(id, to string) model.Part { return model.ToolCall(id, "pay", `{"to":"`+to+`"}`) }

// wait runs a turn whose questions wait for answers.
func wait(s *host.Session, text string) {
	p := say(text)
	p.Wait = true
	go func() { _, _ = s.Prompt(context.Background(), p) }()
}

// TestAlwaysSurvivesTheProcess kills the process in the turn in which somebody has said always, or while other questions are open.
func TestAlwaysSurvivesTheProcess(t *testing.T) {
	for _, how := range []string{"waits", "pending", "surface"} {
		for _, choice := range []string{host.AllowAlways, host.RejectAlways} {
			began := make(chan string, 10)
			s := create(t, newHost(t, host.Config[none, string]{
				Agent: newAgent(modeltest.Script(modeltest.Say(payTo("a", "Ada"), payTo("b", "Bob"))), stuck(began)), Store: durable{new(session.Memory)},
			}))
			verdict := toolset.VerdictAllow
			if choice == host.RejectAlways {
				verdict = toolset.VerdictDeny
			}
			switch how {
			case "waits":
				wait(s, "Pay.")
				q := open(t, s, "")
				require.NoError(t, s.Decide(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Choice: choice}))
			case "pending":
				prompt(t, s, "Pay.")
				q := asked(t, s, 2)[0]
				require.NoError(t, s.Decide(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Choice: choice}))
			case "surface":
				second := make(chan struct{})
				p := say("Pay.")
				p.Asker = toolset.AskerFuncs{OnApprove: func(ctx context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
					if r.CallID() == "a" {
						return toolset.Decision{Verdict: verdict, Always: true}, nil
					}
					close(second)
					<-ctx.Done()
					return toolset.Decision{}, context.Cause(ctx)
				}}
				go func() { _, _ = s.Prompt(context.Background(), p) }()
				<-second
			}
			require.Equal(t, verdict, next(t, s, newAgent(echo())).Policy().Decide("pay", "Ada"), "%s, %s", how, choice)
			s.Cancel()
		}
	}
}

func TestAllowDoesNotAnswerACallThatWaitsForAResult(t *testing.T) {
	ext := toolset.ExternalTool[none, payment]("pay", "Pay.")
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(modeltest.Script(modeltest.Say(payTo("a", "Ada")), modeltest.SayText("done")), ext)}))
	prompt(t, s, "Pay.")
	q := asked(t, s, 1)[0]
	yes, no := toolset.Allow(), toolset.Deny("not now")
	_, err := s.Answer(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Decision: &yes})
	var wrong *host.AnswerError
	require.ErrorAs(t, err, &wrong)
	require.Contains(t, wrong.Problem, "give the result, or deny")
	resumed, err := s.Answer(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Decision: &no})
	require.NoError(t, err)
	require.NoError(t, resumed.Resume(host.Prompt{}).Err)
}

// TestPromptThatTookTheAnswersLeavesNothingToResume answers the last question behind a prompt that has been admitted: the prompt carries the answer out.
func TestPromptThatTookTheAnswersLeavesNothingToResume(t *testing.T) {
	var paid []string
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(modeltest.Script(modeltest.Say(payTo("a", "Ada")), modeltest.SayText("done")), pay(&paid))}))
	prompt(t, s, "Pay.")
	q := asked(t, s, 1)[0]
	typed, err := s.Admit(t.Context())
	require.NoError(t, err)
	resumed, err := s.Answer(t.Context(), q.ID, "", allowed(q))
	require.NoError(t, err)
	require.NoError(t, typed.Run(say("And?")).Err)
	before := shown(t, s)
	o := resumed.Resume(host.Prompt{})
	require.NoError(t, o.Err)
	require.Empty(t, o.Failure)
	require.Equal(t, before, shown(t, s))
	require.Equal(t, []string{"Ada"}, paid)
}

// TestQuestionsAreOpenAgainIfTheirTurnDoesNotBegin has the dependencies, or the layers, fail when the last answer resumes the run.
func TestQuestionsAreOpenAgainIfTheirTurnDoesNotBegin(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		var paid []string
		fail := false
		s := create(t, newHost(t, host.Config[none, string]{
			Agent: newAgent(modeltest.Script(modeltest.Say(payTo("a", "Ada")), modeltest.SayText("done")), pay(&paid)), Store: durable{new(session.Memory)},
			RunOptions: func(context.Context, none, *host.Prompt) ([]agent.RunOption, error) {
				if fail {
					return nil, errors.New("not now")
				}
				return nil, nil
			},
		}))
		prompt(t, s, "Pay.")
		q := asked(t, s, 1)[0]
		resumed, err := s.Answer(t.Context(), q.ID, "", allowed(q))
		require.NoError(t, err)
		if fail = !cancelled; cancelled {
			s.Cancel()
		}
		require.Error(t, resumed.Resume(host.Prompt{}).Err)
		fail = false
		q = asked(t, s, 1)[0]
		resumed, err = s.Answer(t.Context(), q.ID, "", allowed(q))
		require.NoError(t, err)
		require.NoError(t, resumed.Resume(host.Prompt{}).Err)
		require.Equal(t, []string{"Ada"}, paid)
	}
}

// TestForkHoldsNothingThatWasAllowedInItsParent forks a session of whose questions one was answered. What was rejected stays so.
func TestForkHoldsNothingThatWasAllowedInItsParent(t *testing.T) {
	for _, choice := range []string{host.AllowOnce, host.RejectOnce} {
		var paid []string
		h := newHost(t, host.Config[none, string]{Agent: newAgent(payTwice(), pay(&paid)), Store: durable{new(session.Memory)}})
		s := create(t, h)
		prompt(t, s, "Pay.")
		first := asked(t, s, 2)[0]
		require.NoError(t, s.Decide(t.Context(), first.ID, "", host.Answer{Digest: first.Digest, Choice: choice}))
		info, err := h.Fork(t.Context(), s.ID(), "", session.New{})
		require.NoError(t, err)
		fork, err := h.Open(t.Context(), info.ID, nil)
		require.NoError(t, err)
		if choice == host.RejectOnce {
			asked(t, fork, 1)
			continue
		}
		open := asked(t, fork, 2)
		require.Contains(t, textOf(open[0]), "It is not known whether the call had any effect")
		require.NoError(t, fork.Decide(t.Context(), open[1].ID, "", allowed(open[1])))
		require.Empty(t, paid)
	}
}

// TestRewindKeepsResultsOfCallsThatWereSettled goes back to before a prompt that took the place of answers. What was carried out stays so, what was
// not is denied, and the conversation goes on.
func TestRewindKeepsResultsOfCallsThatWereSettled(t *testing.T) {
	var paid []string
	said := modeltest.Capture(modeltest.Script(modeltest.Say(payTo("a", "Ada"), payTo("b", "Bob")), modeltest.SayText("two"), modeltest.SayText("three"), modeltest.SayText("four")))
	a := newAgent(said, pay(&paid))
	s := create(t, newHost(t, host.Config[none, string]{Agent: a, Store: durable{new(session.Memory)}}))
	prompt(t, s, "Pay.")
	q := asked(t, s, 2)[0]
	require.NoError(t, s.Decide(t.Context(), q.ID, "", allowed(q)))
	second := prompt(t, s, "Two?")
	require.NoError(t, second.Err)
	_, err := s.Rewind(t.Context(), "prompt:"+second.Turn)
	require.NoError(t, err)
	asked(t, s, 0)
	later := next(t, s, a)
	asked(t, later, 0)
	for _, one := range []*host.Session{s, later} {
		require.NoError(t, prompt(t, one, "Three?").Err)
		m := said.Last().Messages
		require.Len(t, m, 4)
		require.Equal(t, "paid", m[2].Parts[0].Text)
		require.Equal(t, model.OutcomeDenied, m[2].Parts[1].Outcome)
		require.Equal(t, []model.Part{model.User("Three?")}, m[3].Parts)
		require.NotContains(t, shown(t, one), "Two?")
	}
	require.Equal(t, []string{"Ada"}, paid)
}

// TestInvalidChangeHasNotRun changes the arguments to invalid ones: the next question says why, and in the next process the call has not run.
func TestInvalidChangeHasNotRun(t *testing.T) {
	for _, waits := range []bool{true, false} {
		var paid []string
		store := durable{new(session.Memory)}
		s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(modeltest.Script(modeltest.Say(payTo("a", "Ada"))), pay(&paid)), Store: store}))
		if waits {
			wait(s, "Pay.")
		} else {
			prompt(t, s, "Pay.")
		}
		q := open(t, s, "")
		d := toolset.AllowWith(json.RawMessage(`{"to":17}`))
		require.NoError(t, s.Decide(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Decision: &d}))
		q = open(t, s, q.Digest)
		require.Contains(t, textOf(q), "to: must be a string")
		later := next(t, s, newAgent(modeltest.Script(modeltest.SayText("so")), pay(&paid)))
		require.NotContains(t, shown(t, later), "not known")
		require.NoError(t, prompt(t, later, "And?").Err)
		require.NotContains(t, shown(t, later), "not known")
		require.Empty(t, paid)
		s.Cancel()
	}
}

// TestLaterAnswerCountsInTheNextProcess denies a call with an answer that was recorded and refused all the same. Then the call is allowed, and runs.
func TestLaterAnswerCountsInTheNextProcess(t *testing.T) {
	began := make(chan string, 1)
	store := &stumbling{Store: new(session.Memory), there: true}
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(modeltest.Script(modeltest.Say(payTo("b", "Bob"))), stuck(began)), Store: store}))
	wait(s, "Pay.")
	q := open(t, s, "")
	store.at.Store(2) // the first one asks whether the session is held
	require.Error(t, s.Decide(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Choice: host.RejectOnce}))
	require.NoError(t, s.Decide(t.Context(), q.ID, "", allowed(q)))
	<-began
	later := next(t, s, newAgent(echo(), stuck(began)))
	require.Contains(t, textOf(asked(t, later, 1)[0]), "It is not known whether the call had any effect")
	s.Cancel()
}

// desk hands its conversation over to an agent that pays, and that keeps it.
func desk(outer, inner model.Model, tool *toolset.Tool[none]) *agent.Agent[none, string] {
	cash := agent.Must(agent.New(agent.Config[none, string]{Name: "cash", Model: inner, Tools: []*toolset.Tool[none]{tool}}))
	return agent.Must(agent.New(agent.Config[none, string]{Model: outer, Alternatives: []agent.Alternative[none, string]{
		agent.HandOver("to_cash", "Hand over.", cash, func(none) none { return none{} }, agent.Stay()),
		agent.Text(func(_ context.Context, _ *toolset.RunContext[none], s string) (string, error) { return s, nil }),
	}}))
}

// TestAgentThatKeepsTheConversationIsToldWhatMayHaveRun kills the process while an agent pays that no call of the outer model has started. Its history is
// gone, so the next one is told. A run that was pending asks again.
func TestAgentThatKeepsTheConversationIsToldWhatMayHaveRun(t *testing.T) {
	for _, waits := range []bool{true, false} {
		began := make(chan string, 2)
		tool := stuck(began)
		s := create(t, newHost(t, host.Config[none, string]{Agent: desk(
			modeltest.Script(modeltest.Say(model.ToolCall("h", "to_cash", `{"prompt":"Hello."}`))),
			modeltest.Script(modeltest.SayText("Hello from cash."), modeltest.Say(payTo("b", "Bob"))), tool), Store: durable{new(session.Memory)}}))
		require.NoError(t, prompt(t, s, "Hello.").Err)
		if waits {
			wait(s, "Pay.")
		} else {
			require.Equal(t, transcript.Pending, prompt(t, s, "Pay.").Reason)
		}
		q := open(t, s, "")
		require.NoError(t, s.Decide(t.Context(), q.ID, "", allowed(q)))
		<-began
		cash := modeltest.Capture(modeltest.Script(modeltest.SayText("I see.")))
		later := next(t, s, desk(modeltest.Script(), cash, tool))
		if !waits {
			require.Contains(t, textOf(asked(t, later, 1)[0]), "It is not known whether the call had any effect")
		}
		require.NoError(t, prompt(t, later, "And?").Err)
		told, err := json.Marshal(cash.Last().Messages)
		require.NoError(t, err)
		require.Contains(t, string(told), "It is not known whether the call had any effect")
		again := shown(t, next(t, later, desk(modeltest.Script(), cash, tool)))
		require.NotContains(t, again, "was interrupted: the process ended", "it is for the model")
		s.Cancel()
	}
}

// TestPendingAgentThatWentOnIsToldOf kills the process after the agent that keeps the conversation has made another call.
func TestPendingAgentThatWentOnIsToldOf(t *testing.T) {
	began := make(chan string, 2)
	tool := stuck(began)
	s := create(t, newHost(t, host.Config[none, string]{Agent: desk(
		modeltest.Script(modeltest.Say(model.ToolCall("h", "to_cash", `{"prompt":"Hello."}`))),
		modeltest.Script(modeltest.SayText("Hello from cash."), modeltest.Say(payTo("a", "Ada")), modeltest.Say(payTo("b", "Bob"))), tool), Store: durable{new(session.Memory)}}))
	require.NoError(t, prompt(t, s, "Hello.").Err)
	require.Equal(t, transcript.Pending, prompt(t, s, "Pay.").Reason)
	q := open(t, s, "")
	resumed, err := s.Answer(t.Context(), q.ID, "", allowed(q))
	require.NoError(t, err)
	go resumed.Resume(host.Prompt{Wait: true})
	<-began
	q = open(t, s, q.Digest)
	require.NoError(t, s.Decide(t.Context(), q.ID, "", allowed(q)))
	<-began
	cash := modeltest.Capture(modeltest.Script(modeltest.SayText("I see.")))
	later := next(t, s, desk(modeltest.Script(), cash, tool))
	asked(t, later, 0)
	require.NoError(t, prompt(t, later, "And?").Err)
	told := ""
	for _, p := range cash.Last().Messages[len(cash.Last().Messages)-1].Parts {
		told += p.Text + "\n"
	}
	require.Contains(t, told, `pay {"to":"Ada"}: The call has ended.`)
	require.Contains(t, told, `pay {"to":"Bob"}: Allowed, but the process ended before there was a result.`)
	s.Cancel()
}

// TestResultsInsideACallSurviveTheProcess kills the process in the second of two payments of an agent inside a call. The first one has a result, and is not
// asked about again, however many processes there are.
func TestResultsInsideACallSurviveTheProcess(t *testing.T) {
	began := make(chan string, 10)
	tool := stuck(began)
	team := func(outer, inner model.Model) *agent.Agent[none, string] {
		return newAgent(outer, agent.AsTool("ask", "Ask.", newAgent(inner, tool), func(none) none { return none{} }))
	}
	s := create(t, newHost(t, host.Config[none, string]{Agent: team(
		modeltest.Script(modeltest.Say(model.ToolCall("h", "ask", `{"prompt":"Pay."}`))),
		modeltest.Script(modeltest.Say(payTo("a", "Ada"), payTo("b", "Bob")))), Store: durable{new(session.Memory)}}))
	require.Equal(t, transcript.Pending, prompt(t, s, "Pay.").Reason)
	for _, q := range asked(t, s, 2) {
		require.NoError(t, s.Decide(t.Context(), q.ID, "", allowed(q)))
	}
	first, second := <-began, <-began
	require.Contains(t, first, "Ada")
	a := team(modeltest.Script(modeltest.SayText("done")), modeltest.Script(modeltest.SayText("both are paid")))
	later := next(t, next(t, s, a), a)
	q := asked(t, later, 1)[0]
	require.Equal(t, "Pay Bob", q.Title)
	require.Contains(t, textOf(q), "It is not known whether the call had any effect")
	go func() {
		if resumed, err := later.Answer(context.Background(), q.ID, "", allowed(q)); err == nil {
			resumed.Resume(host.Prompt{})
		}
	}()
	require.Equal(t, second, <-began, "under its key")
	s.Cancel()
	later.Cancel()
}

// TestChangedArgumentsSurviveTheProcess kills the process in a call whose arguments a person has changed while the run waited: it runs again with those, or
// the model is told of it.
func TestChangedArgumentsSurviveTheProcess(t *testing.T) {
	for _, choice := range []string{host.AllowOnce, host.RejectOnce, ""} {
		began := make(chan string, 2)
		s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(modeltest.Script(modeltest.Say(payTo("a", "Ada"))), stuck(began)), Store: durable{new(session.Memory)}}))
		wait(s, "Pay.")
		q := open(t, s, "")
		d := toolset.AllowWith(json.RawMessage(`{"to":"Bob"}`))
		require.NoError(t, s.Decide(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Decision: &d}))
		first := <-began
		told := modeltest.Capture(modeltest.Script(modeltest.SayText("done")))
		later := next(t, s, newAgent(told, stuck(began)))
		q = asked(t, later, 1)[0]
		if choice == "" {
			require.NoError(t, prompt(t, later, "And?").Err)
		} else {
			resumed, err := later.Answer(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Choice: choice})
			require.NoError(t, err)
			if choice == host.AllowOnce {
				go resumed.Resume(host.Prompt{})
				require.Equal(t, first, <-began, "the same payment under the same key")
				later.Cancel()
				s.Cancel()
				continue
			}
			require.NoError(t, resumed.Resume(host.Prompt{}).Err)
		}
		require.Contains(t, told.Last().Messages[2].Parts[0].Text, "It is not known whether the call had any effect")
		s.Cancel()
	}
}
