// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

func pay(paid *[]string) *toolset.Tool[none] {
	return toolset.Func("pay", "Pay.", func(_ context.Context, _ *toolset.RunContext[none], in payment) (string, error) {
		*paid = append(*paid, in.To)
		return "paid", nil
	}, toolset.Approve(func(_ context.Context, _ *toolset.RunContext[none], in payment) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Pay " + in.To}, nil
	}))
}

// allowed is the answer that allows what a question shows.
func allowed(q *view.Entity) host.Answer {
	return host.Answer{Digest: q.Digest, Choice: host.AllowOnce}
}

func TestWatchersAnswerQuestions(t *testing.T) {
	var paid []string
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(modeltest.Script(
		modeltest.Say(model.ToolCall("c", "pay", `{"to":"Ada"}`)), modeltest.SayText("done")), pay(&paid))}))
	var all sync.WaitGroup
	var o *host.Outcome
	all.Go(func() {
		p := say("Pay.")
		p.Wait = true
		var err error
		o, err = s.Prompt(t.Context(), p)
		require.NoError(t, err)
	})
	decided := 0
	for u, err := range s.Watch(t.Context(), "") {
		require.NoError(t, err)
		q := u.Snapshot.Last(view.Question)
		if q == nil {
			continue
		}
		require.Error(t, s.Decide(t.Context(), q.ID, "", host.Answer{Digest: q.Digest}))
		require.ErrorIs(t, s.Decide(t.Context(), "question:x", "", allowed(q)), host.ErrNoQuestion)
		require.Error(t, s.Decide(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Choice: "maybe"}))
		var watchers sync.WaitGroup
		var mu sync.Mutex
		for range 5 {
			watchers.Go(func() {
				err := s.Decide(t.Context(), q.ID, "ada", allowed(q))
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					decided++
				} else if !errors.Is(err, host.ErrNoQuestion) {
					t.Error(err)
				}
			})
		}
		watchers.Wait()
		break
	}
	all.Wait()
	require.Equal(t, 1, decided, "the first answer counts")
	require.NoError(t, o.Err)
	require.Equal(t, []string{"Ada"}, paid)
	require.Contains(t, shown(t, s), `"value":"allow_once"`)
	require.Contains(t, shown(t, s), "Allowed by: ada")
}

func TestPendingRunResumesInAnotherProcess(t *testing.T) {
	var paid []string
	store := durable{new(session.Memory)}
	a := newAgent(modeltest.Script(
		modeltest.Say(model.ToolCall("c", "pay", `{"to":"Ada"}`), model.ToolCall("d", "pay", `{"to":"Bob"}`)), modeltest.SayText("done")), pay(&paid))
	h, err := host.New(host.Config[none, string]{Agent: a, Store: store})
	require.NoError(t, err)
	s, err := h.Create(t.Context(), session.New{}, nil)
	require.NoError(t, err)
	require.Equal(t, transcript.Pending, prompt(t, s, "Pay.").Reason)
	before := shown(t, s)
	require.Equal(t, 2, strings.Count(before, `"kind":"question"`))
	require.NoError(t, h.Close(t.Context()))

	h = newHost(t, host.Config[none, string]{Agent: a, Store: store})
	s, err = h.Open(t.Context(), s.ID(), nil)
	require.NoError(t, err)
	require.Equal(t, before, shown(t, s), "the questions are there")
	snapshot, _, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	for q := range snapshot.Of(view.Question) {
		require.Equal(t, q.ID[strings.LastIndex(q.ID, "/"):], q.Parent[strings.LastIndex(q.Parent, "/"):], "the question names its call")
		choice := host.AllowOnce
		if strings.HasSuffix(q.ID, "/d") {
			choice = host.RejectOnce
		}
		require.NoError(t, s.Decide(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Choice: choice}))
	}
	for u, err := range s.Watch(t.Context(), "") {
		require.NoError(t, err)
		if m := u.Snapshot.Last(view.Message); m != nil && m.Text() == "done" {
			break
		}
	}
	require.Equal(t, []string{"Ada"}, paid)
	require.Equal(t, 2, strings.Count(shown(t, s), `"kind":"tool_call"`), "the calls are the ones that were shown")
}

func TestPromptDeniesPendingCalls(t *testing.T) {
	var paid []string
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(modeltest.Script(
		modeltest.Say(model.ToolCall("c", "pay", `{"to":"Ada"}`)), modeltest.SayText("well")), pay(&paid))}))
	require.Equal(t, transcript.Pending, prompt(t, s, "Pay.").Reason)
	require.NoError(t, prompt(t, s, "Do not.").Err)
	require.Empty(t, paid)
	all := shown(t, s)
	require.NotContains(t, all, `"status":"pending"`)
}

func TestAlwaysIsKeptWithTheSession(t *testing.T) {
	var paid []string
	store := durable{new(session.Memory)}
	a := newAgent(modeltest.Script(modeltest.Say(model.ToolCall("c", "pay", `{"to":"Ada"}`)), modeltest.SayText("done"),
		modeltest.Say(model.ToolCall("c", "pay", `{"to":"Bob"}`)), modeltest.SayText("done")), pay(&paid))
	h, err := host.New(host.Config[none, string]{Agent: a, Store: store})
	require.NoError(t, err)
	s, err := h.Create(t.Context(), session.New{}, nil)
	require.NoError(t, err)
	p := say("Pay.")
	p.Asker = toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		return toolset.Decision{Verdict: toolset.VerdictAllow, Always: true}, nil
	}}
	_, err = s.Prompt(t.Context(), p)
	require.NoError(t, err)
	require.NoError(t, h.Close(t.Context()))
	h = newHost(t, host.Config[none, string]{Agent: a, Store: store})
	s, err = h.Open(t.Context(), s.ID(), nil)
	require.NoError(t, err)
	require.NoError(t, prompt(t, s, "And Bob.").Err)
	require.Equal(t, []string{"Ada", "Bob"}, paid)
}

func TestSurfaceOfTheLastAnswerIsAsked(t *testing.T) {
	var paid []string
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(modeltest.Script(
		modeltest.Say(model.ToolCall("c", "pay", `{"to":"Ada"}`)), modeltest.Say(model.ToolCall("d", "pay", `{"to":"Bob"}`)), modeltest.SayText("done")), pay(&paid))}))
	require.Equal(t, transcript.Pending, prompt(t, s, "Pay.").Reason)
	snapshot, _, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "ada"))
	resumed, err := s.Answer(ctx, snapshot.Last(view.Question).ID, "ada", allowed(snapshot.Last(view.Question)))
	require.NoError(t, err)
	cancel()
	o := resumed.Resume(host.Prompt{Asker: toolset.AskerFuncs{OnApprove: func(ctx context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		require.Equal(t, "ada", ctx.Value(key{}))
		require.Equal(t, "Pay Bob", r.Approval.Title)
		return toolset.Allow(), nil
	}}})
	require.NoError(t, o.Err)
	require.Equal(t, []string{"Ada", "Bob"}, paid)
}

// The surface of the prompt takes its time after somebody else has answered, and then says something else.
func TestFirstAnswerToAQuestionCounts(t *testing.T) {
	var paid []string
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(modeltest.Script(
		modeltest.Say(model.ToolCall("c", "pay", `{"to":"Ada"}`)), modeltest.SayText("done")), pay(&paid))}))
	late := make(chan struct{})
	end := sync.OnceFunc(func() { close(late) })
	defer end()
	p := say("Pay.")
	p.Wait = true
	p.Asker = toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		<-late
		return toolset.Deny("no"), nil
	}}
	var all sync.WaitGroup
	all.Go(func() {
		o, err := s.Prompt(t.Context(), p)
		require.NoError(t, err)
		require.NoError(t, o.Err)
	})
	for u, err := range s.Watch(t.Context(), "") {
		require.NoError(t, err)
		q := u.Snapshot.Last(view.Question)
		if q == nil {
			continue
		}
		no := host.Answer{Digest: q.Digest, Choice: host.RejectOnce}
		require.NoError(t, s.CheckAnswer(q.ID, no))
		require.NoError(t, s.Decide(t.Context(), q.ID, "ada", allowed(q)))
		require.ErrorIs(t, s.CheckAnswer(q.ID, no), host.ErrNoQuestion)
		require.ErrorIs(t, s.Decide(t.Context(), q.ID, "bob", no), host.ErrNoQuestion)
		break
	}
	end()
	all.Wait()
	require.Equal(t, []string{"Ada"}, paid)
	require.Contains(t, shown(t, s), "Allowed by: ada")
}
