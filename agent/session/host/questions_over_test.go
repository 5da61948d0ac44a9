// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/toolset"
)

// A question that is over is no question any more, however it has ended and whatever an answer to
// it says: whoever asks whether the answer would be taken is told that, too.
func TestQuestionsThatAreOverAreNoQuestions(t *testing.T) {
	for _, how := range []string{"answered", "answered by the surface", "stopped"} {
		t.Run(how, func(t *testing.T) {
			var paid []string
			s := create(t, newHost(t, host.Config[none, string]{
				Agent: newAgent(paysOnce(), pay(&paid)), Store: durable{new(session.Memory)},
			}))
			p := say("Pay.")
			p.Wait = true
			surface := make(chan struct{})
			if how == "answered by the surface" {
				p.Asker = toolset.AskerFuncs{OnApprove: func(
					context.Context, toolset.ApprovalRequest,
				) (toolset.Decision, error) {
					<-surface
					return toolset.Allow(), nil
				}}
			}
			ended := make(chan *host.Outcome, 1)
			go func() {
				o, _ := s.Prompt(context.Background(), p)
				ended <- o
			}()
			q := open(t, s, "")
			answer, other, none := allowed(q), allowed(q), allowed(q)
			other.Digest, none.Digest = "other", ""
			require.NoError(t, s.CheckAnswer(q.ID, answer))
			require.ErrorIs(t, s.CheckAnswer(q.ID, other), host.ErrChanged)
			var wrong *host.AnswerError
			require.ErrorAs(t, s.CheckAnswer(q.ID, none), &wrong)
			switch how {
			case "answered":
				require.NoError(t, s.Decide(t.Context(), q.ID, "", answer))
			case "answered by the surface":
				close(surface)
			case "stopped":
				s.Cancel()
			}
			<-ended
			for _, late := range []host.Answer{answer, other, none} {
				require.ErrorIs(t, s.CheckAnswer(q.ID, late), host.ErrNoQuestion)
				require.ErrorIs(t, s.Decide(t.Context(), q.ID, "", late), host.ErrNoQuestion)
			}
		})
	}
}

// A surface that can ask nobody leaves the question to those who watch the session. Their answer
// counts as if there were no surface.
func TestSurfacesThatCanAskNobodyLeaveQuestionsToOthers(t *testing.T) {
	nobody := toolset.AskerFuncs{
		OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
			return toolset.Decision{}, toolset.ErrNobody
		},
		OnAnswer: func(context.Context, toolset.Question) (toolset.Reply, error) {
			return toolset.Reply{}, toolset.ErrNobody
		},
	}
	var paid []string
	ask := toolset.Func("ask", "Ask.", func(ctx context.Context, run *toolset.RunContext[none], _ none) (string, error) {
		r, err := run.Ask(ctx, toolset.Question{Message: "Sure?", Schema: json.RawMessage(`{"type":"object"}`)})
		return "the user says " + string(r.Action), err
	})
	s := create(t, newHost(t, host.Config[none, string]{
		Agent: newAgent(modeltest.Script(
			modeltest.Say(payTo("a", "Ada")), modeltest.Say(model.ToolCall("b", "ask", `{}`)),
			modeltest.SayText("done")), pay(&paid), ask),
		Store: durable{new(session.Memory)},
	}))
	p := say("Pay.")
	p.Asker, p.Wait = nobody, true
	ended := make(chan *host.Outcome, 1)
	go func() {
		o, _ := s.Prompt(context.Background(), p)
		ended <- o
	}()
	q := open(t, s, "")
	require.NoError(t, s.Decide(t.Context(), q.ID, "", allowed(q)))
	q = open(t, s, q.Digest)
	reply := &toolset.Reply{Action: toolset.ActionDecline}
	require.NoError(t, s.Decide(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Reply: reply}))
	require.NoError(t, (<-ended).Err)
	require.Equal(t, []string{"Ada"}, paid)
	require.Contains(t, shown(t, s), "the user says decline")
}

// A prompt that is not to take the place of answers waits for people who are to approve something.
// It does not wait for results from outside, which nobody may ever give.
func TestPromptsDoNotWaitForResultsFromOutside(t *testing.T) {
	var paid []string
	outside := toolset.ExternalTool[none, none]("weather", "Get the weather.")
	for _, c := range []struct {
		calls []model.Part
		asks  bool
	}{
		{[]model.Part{model.ToolCall("b", "weather", `{}`)}, false},
		{[]model.Part{payTo("a", "Ada"), model.ToolCall("b", "weather", `{}`)}, true},
		{[]model.Part{payTo("a", "Ada"), payTo("b", "Bob")}, true},
	} {
		s := create(t, newHost(t, host.Config[none, string]{
			Agent: newAgent(
				modeltest.Script(modeltest.Say(c.calls...), modeltest.SayText("Well.")), pay(&paid), outside,
			),
			Store: durable{new(session.Memory)},
		}))
		require.Equal(t, transcript.Pending, prompt(t, s, "Go.").Reason)
		p := say("Are you there?")
		p.AfterAnswers = true
		for range 2 {
			o, err := s.Prompt(t.Context(), p)
			require.NoError(t, err)
			if !c.asks {
				require.NoError(t, o.Err)
				require.Contains(t, shown(t, s), "Well.")
				break
			}
			require.ErrorIs(t, o.Err, host.ErrAsked)
			info, err := s.Host().Store().Get(t.Context(), s.ID())
			require.NoError(t, err)
			require.Empty(t, info.Holder, "the session was given back")
			if all, err := questions(s); err == nil && len(all) == 2 {
				require.NoError(t, s.Decide(t.Context(), all[0].ID, "", allowed(all[0])))
			}
		}
	}
	require.Empty(t, paid)
}

// The digest of a question tells apart all that a call can be about: also numbers that a float
// cannot, arguments that are not JSON, and what tools attach to a request.
func TestDigestsTellCallsApart(t *testing.T) {
	of := func(args, meta string) string {
		a := &model.Approval{Title: "Pay", Meta: json.RawMessage(meta)}
		digest := host.DigestOf("q", []string{"c"}, "pay", json.RawMessage(args), a)
		require.Len(t, digest, 64)
		require.Equal(t, meta, string(a.Meta), "the request stays as it is")
		return digest
	}
	seen := map[string]string{}
	for _, c := range [][2]string{
		{``, ``}, {`{}`, ``}, {`{"n":9007199254740992}`, ``}, {`{"n":9007199254740993}`, ``},
		{`{"n":1}`, ``}, {`{"n":1.0}`, ``}, {`{"n":1`, ``}, {`{"n":2`, ``}, {`"{\"n\":3"`, ``},
		{`{}`, `{}`}, {`{}`, `{"a":1}`}, {`{}`, `{"a":1`}, {`{}`, `{"a":2`},
	} {
		digest := of(c[0], c[1])
		require.Empty(t, seen[digest], "%q", c)
		seen[digest] = c[0] + " " + c[1]
	}
	bare := &model.Approval{Title: "Pay"}
	require.Equal(t, host.DigestOf("q", []string{"c"}, "pay", json.RawMessage(`{}`), bare), of(`{}`, ``), "nothing is attached")
	for _, same := range []string{`{"a":1,"b":[1,2]}`, `{ "b" : [ 1, 2 ], "a" : 1 }`} {
		require.Equal(t, of(`{"b":[1,2],"a":1}`, ``), of(same, ``))
	}
}
