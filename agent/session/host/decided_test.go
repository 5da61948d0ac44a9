// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
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

// keyed is a tool that needs approval and notes the keys of its calls.
func keyed(mu *sync.Mutex, keys *[]string) *toolset.Tool[none] {
	return toolset.Func("pay", "Pay.", func(_ context.Context, run *toolset.RunContext[none], _ payment) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		*keys = append(*keys, run.IdempotencyKey())
		return "paid", nil
	}, toolset.Approve(func(_ context.Context, _ *toolset.RunContext[none], in payment) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Pay " + in.To}, nil
	}))
}

// payTwice is a model that calls the tool twice, and then is done.
func payTwice() model.Model {
	return model.Func(model.Info{}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		if len(req.Messages) > 1 {
			return model.Response(model.Text("done")), nil
		}
		return model.Response(model.ToolCall("c", "pay", `{"to":"Ada"}`), model.ToolCall("d", "pay", `{"to":"Bob"}`)), nil
	})
}

// A decision that cannot be recorded is not taken: the question stays open, and the next answer counts.
func TestDecisionThatCannotBeRecordedIsNotTaken(t *testing.T) {
	for _, there := range []bool{false, true} {
		for _, wait := range []bool{false, true} {
			var paid []string
			store := &stumbling{Store: new(session.Memory), there: there}
			s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(modeltest.Script(
				modeltest.Say(model.ToolCall("c", "pay", `{"to":"Ada"}`)), modeltest.SayText("done")), pay(&paid)), Store: store}))
			p := say("Pay.")
			p.Wait = wait
			ended := make(chan *host.Outcome, 1)
			go func() {
				o, _ := s.Prompt(context.Background(), p)
				ended <- o
			}()
			var q *view.Entity
			for u, err := range s.Watch(t.Context(), "") {
				require.NoError(t, err)
				if q = u.Snapshot.Last(view.Question); q != nil {
					break
				}
			}
			if !wait {
				<-ended
			}
			store.at.Store(1)
			if wait {
				store.at.Store(2) // the first one asks whether the session is held
			}
			require.Error(t, s.Decide(t.Context(), q.ID, "", allowed(q)), "waits %v, there %v", wait, there)
			require.Empty(t, paid)
			turned, err := s.Answer(t.Context(), q.ID, "", allowed(q))
			require.NoError(t, err, "the question is open")
			if wait {
				require.NoError(t, (<-ended).Err)
			} else {
				require.NoError(t, turned.Resume(host.Prompt{}).Err)
			}
			require.Equal(t, []string{"Ada"}, paid)
		}
	}
}

// Between the last answer and the turn that carries it out, no other process has the session: it would take this one for dead, and ask whether
// the call runs a second time.
func TestNoProcessComesBetweenAnAnswerAndItsTurn(t *testing.T) {
	var mu sync.Mutex
	var keys []string
	store := durable{new(session.Memory)}
	once := model.Func(model.Info{}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		if len(req.Messages) > 1 {
			return model.Response(model.Text("done")), nil
		}
		return model.Response(model.ToolCall("c", "pay", `{"to":"Ada"}`)), nil
	})
	process := func(name string) *host.Host {
		return newHost(t, host.Config[none, string]{Agent: newAgent(once, keyed(&mu, &keys)), Store: store, Holder: name})
	}
	s := create(t, process("one"))
	require.Equal(t, transcript.Pending, prompt(t, s, "Pay.").Reason)
	q, err := questions(s)
	require.NoError(t, err)

	turn, err := s.Answer(t.Context(), q[0].ID, "ada", allowed(q[0]))
	require.NoError(t, err)
	there, err := process("two").Open(t.Context(), s.ID(), nil)
	require.NoError(t, err)
	require.NoError(t, turn.Resume(host.Prompt{}).Err)
	require.Len(t, keys, 1)
	require.Error(t, there.Decide(t.Context(), q[0].ID, "bob", allowed(q[0])), "it was answered")
	open, err := questions(there)
	require.NoError(t, err)
	require.Empty(t, open, "nobody is asked again")
	require.Equal(t, transcript.Done, prompt(t, there, "And now?").Reason, "the session was given back")
}

// What has been answered before the process ended is not asked again while other questions are open.
func TestAnswersToSomeQuestionsSurviveTheProcess(t *testing.T) {
	for _, first := range []string{host.AllowOnce, host.RejectOnce} {
		var mu sync.Mutex
		var keys []string
		store := durable{new(session.Memory)}
		c := host.Config[none, string]{Agent: newAgent(payTwice(), keyed(&mu, &keys)), Store: store}
		h, err := host.New(c)
		require.NoError(t, err)
		s, err := h.Create(t.Context(), session.New{}, nil)
		require.NoError(t, err)
		require.Equal(t, transcript.Pending, prompt(t, s, "Pay.").Reason)
		open, err := questions(s)
		require.NoError(t, err)
		require.Len(t, open, 2)
		require.NoError(t, s.Decide(t.Context(), open[0].ID, "ada", host.Answer{Digest: open[0].Digest, Choice: first}))
		require.NoError(t, h.Close(t.Context()))

		h = newHost(t, c)
		s, err = h.Open(t.Context(), s.ID(), nil)
		require.NoError(t, err)
		left, err := questions(s)
		require.NoError(t, err)
		require.Len(t, left, 1)
		require.Equal(t, open[1].ID, left[0].ID)
		require.NotContains(t, textOf(left[0]), "not known", "nothing has run")
		resumed, err := s.Answer(t.Context(), left[0].ID, "", allowed(left[0]))
		require.NoError(t, err)
		require.NoError(t, resumed.Resume(host.Prompt{}).Err)
		want := map[string]int{host.AllowOnce: 2, host.RejectOnce: 1}
		require.Len(t, keys, want[first])
	}
}

// A fork has the calls of its parent, and so their keys: what both carry out is one effect.
func TestForkOfAPendingCallHasItsKey(t *testing.T) {
	var mu sync.Mutex
	var keys []string
	store := durable{new(session.Memory)}
	h := newHost(t, host.Config[none, string]{Agent: newAgent(payTwice(), keyed(&mu, &keys)), Store: store})
	s := create(t, h)
	require.Equal(t, transcript.Pending, prompt(t, s, "Pay.").Reason)
	info, err := store.Get(t.Context(), s.ID())
	require.NoError(t, err)
	_, err = store.Fork(t.Context(), s.ID(), info.Head, session.New{ID: "fork"})
	require.NoError(t, err)
	fork, err := h.Open(t.Context(), "fork", nil)
	require.NoError(t, err)
	for _, one := range []*host.Session{s, fork} {
		open, err := questions(one)
		require.NoError(t, err)
		require.Len(t, open, 2)
		for _, q := range open {
			resumed, err := one.Answer(t.Context(), q.ID, "", allowed(q))
			require.NoError(t, err)
			if resumed != nil {
				require.NoError(t, resumed.Resume(host.Prompt{}).Err)
			}
		}
	}
	require.Len(t, keys, 4)
	require.Equal(t, keys[:2], keys[2:])
	require.NotEqual(t, keys[0], keys[1])
}

// Who decided, and what was shown, is kept with the session, also of a run that was pending.
func TestAnswersToPendingCallsAreKept(t *testing.T) {
	var paid []string
	store := durable{new(session.Memory)}
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(modeltest.Script(
		modeltest.Say(model.ToolCall("c", "pay", `{"to":"Ada"}`)), modeltest.SayText("done")), pay(&paid)), Store: store}))
	require.Equal(t, transcript.Pending, prompt(t, s, "Pay.").Reason)
	open, err := questions(s)
	require.NoError(t, err)
	resumed, err := s.Answer(t.Context(), open[0].ID, "ada", allowed(open[0]))
	require.NoError(t, err)
	require.NoError(t, resumed.Resume(host.Prompt{}).Err)
	kept := ""
	for e, err := range store.Load(t.Context(), s.ID(), 0) {
		require.NoError(t, err)
		if e.Kind == session.KindDecision && strings.Contains(string(e.Data), "ada") {
			require.True(t, json.Valid(e.Data))
			kept = string(e.Data)
		}
	}
	require.Contains(t, kept, `"title":"Pay Ada"`)
	require.Contains(t, kept, `"verdict":"allow"`)
}

// An answer costs the same however many questions wait: to answer four times as many allocates about four times as much.
func TestAnswersToManyQuestionsAreTakenAtLinearCost(t *testing.T) {
	allocated := func(n int) float64 {
		var calls []model.Part
		for i := range n {
			calls = append(calls, model.ToolCall(fmt.Sprint("c", i), "pay", `{"to":"Ada"}`))
		}
		var paid []string
		s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(modeltest.Script(modeltest.Say(calls...), modeltest.SayText("done")), pay(&paid))}))
		_, err := s.Prompt(t.Context(), say("Pay."))
		require.NoError(t, err)
		var questions []*view.Entity
		for u, err := range s.Watch(t.Context(), "") {
			require.NoError(t, err)
			questions = slices.Collect(u.Snapshot.Of(view.Question))
			break
		}
		require.Len(t, questions, n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, q := range questions[1:] { // the last answer would begin a turn
			require.NoError(t, s.Decide(t.Context(), q.ID, "", allowed(q)))
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	allocated(10) // what is made only once
	few, many := allocated(100), allocated(400)
	require.Less(t, many, 6*few)
}
