// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// teller is a host of a machine that shares a store with others.
func teller(
	t *testing.T, store session.Store, name string, tools ...*toolset.Tool[none],
) *host.Host {
	return newHost(t, host.Config[none, string]{
		Agent: newAgent(paysOnce(), tools...), Store: store, Holder: name,
		Logger:   slog.New(slog.DiscardHandler),
		Settings: []host.Setting{{Setting: view.Setting{ID: "fast", Value: "false", Switch: true}}},
	})
}

// asksWhom is a tool that asks whom to pay.
func asksWhom(schema string, pay func(to string)) *toolset.Tool[none] {
	do := func(ctx context.Context, run *toolset.RunContext[none], in payment) (string, error) {
		q := toolset.Question{Message: "Whom?", Schema: json.RawMessage(schema)}
		r, err := run.Ask(ctx, q)
		if err == nil {
			err = json.Unmarshal(r.Content, &in)
		}
		pay(in.To)
		return "paid", err
	}
	return toolset.Func("pay", "Pay.", do)
}

// Of two processes that answer a question of a third in different words, one is told that its
// answer counts.
func TestOneOfTwoAnswersFromElsewhereCounts(t *testing.T) {
	ask := func(paid *[]string) *toolset.Tool[none] {
		return asksWhom(`{"type":"object","properties":{"to":{"type":"string"}}}`, func(to string) {
			*paid = append(*paid, to)
		})
	}
	with := func(to string) host.Answer {
		d := toolset.AllowWith(json.RawMessage(`{"to":"` + to + `"}`))
		return host.Answer{Decision: &d}
	}
	reply := func(to string) host.Answer {
		content := json.RawMessage(`{"to":"` + to + `"}`)
		return host.Answer{Reply: &toolset.Reply{Action: "accept", Content: content}}
	}
	for name, c := range map[string]struct {
		tool   func(*[]string) *toolset.Tool[none]
		answer func(string) host.Answer
		waits  bool
	}{
		"a run that waits":      {pay, with, true},
		"a run that is pending": {pay, with, false},
		"a form":                {ask, reply, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			var paid []string
			mem := new(session.Memory)
			s := create(t, teller(t, shared{mem}, "here", c.tool(&paid)))
			p := say("Pay.")
			p.Wait = c.waits
			go func() { _, _ = s.Prompt(context.Background(), p) }()
			time.Sleep(time.Second)
			answered, told := map[string]error{}, make(chan func(), 2)
			for _, to := range []string{"Bob", "Eve"} {
				other := teller(t, shared{mem}, to, c.tool(&paid))
				there, err := other.Open(t.Context(), s.ID(), nil)
				require.NoError(t, err)
				q := asked(t, there, 1)[0]
				a := c.answer(to)
				a.Digest = q.Digest
				go func() {
					time.Sleep(time.Second)
					err := there.Decide(t.Context(), q.ID, "", a)
					told <- func() { answered[to] = err }
				}()
			}
			(<-told)()
			(<-told)()
			time.Sleep(10 * time.Second)
			synctest.Wait()
			require.Len(t, paid, 1, name)
			for to, err := range answered {
				if to == paid[0] {
					require.NoError(t, err, name)
				} else {
					require.ErrorIs(t, err, host.ErrNoQuestion, name)
				}
			}
			require.NoError(t, s.Host().Close(t.Context()))
		})
	}
}

// An answer that holds always, to a question that does not offer that, counts once. Whoever gives
// it in another process is told that it counts.
func TestAlwaysFromElsewhereCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var paid []string
		do := func(_ context.Context, _ *toolset.RunContext[none], in payment) (string, error) {
			paid = append(paid, in.To)
			return "paid", nil
		}
		approve := func(context.Context, *payingRun, payment) (*toolset.Approval, error) {
			return &toolset.Approval{Title: "Pay", Once: true}, nil
		}
		once := toolset.Func("pay", "Pay.", do, toolset.Approve(approve))
		mem := new(session.Memory)
		s := create(t, teller(t, shared{mem}, "here", once))
		wait(s, "Pay.")
		time.Sleep(time.Second)
		there, err := teller(t, shared{mem}, "there", once).Open(t.Context(), s.ID(), nil)
		require.NoError(t, err)
		q := asked(t, there, 1)[0]
		always := toolset.Decision{Verdict: toolset.VerdictAllow, Always: true}
		a := host.Answer{Digest: q.Digest, Decision: &always}
		require.NoError(t, there.Decide(t.Context(), q.ID, "", a))
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, []string{"Ada"}, paid)
		require.NoError(t, s.Host().Close(t.Context()))
	})
}

// fullStore is a store whose disk is full for values, once it is told so.
type fullStore struct {
	shared
	full atomic.Bool
}

func (f *fullStore) Update(ctx context.Context, id string, c session.Change) (session.Info, error) {
	if len(c.Values) > 0 && f.full.Load() {
		return session.Info{}, &session.Error{Op: "update", Session: id, Err: session.ErrFull}
	}
	return f.shared.Update(ctx, id, c)
}

// Whoever sets what another process cannot store is told so.
func TestSettingsThatAreRefusedElsewhereAreErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := new(session.Memory)
		store := &fullStore{shared: shared{mem}}
		s := create(t, teller(t, store, "here", pay(new([]string))))
		wait(s, "Pay.")
		time.Sleep(time.Second)
		there, err := teller(t, shared{mem}, "there").Open(t.Context(), s.ID(), nil)
		require.NoError(t, err)
		store.full.Store(true)
		_, err = there.Set(t.Context(), "fast", "true")
		require.ErrorContains(t, err, "refused")
		require.Equal(t, "false", there.Setting("fast"))
		store.full.Store(false)
		_, err = there.Set(t.Context(), "fast", "true")
		require.NoError(t, err)
		require.Equal(t, "true", there.Setting("fast"))
		require.NoError(t, s.Host().Close(t.Context()))
	})
}

// idleStore is a store that knows of no work.
type idleStore struct{ shared }

func (idleStore) Work(ctx context.Context) iter.Seq2[string, error] {
	return func(func(string, error) bool) { <-ctx.Done() }
}

// forever is a tool that does not end before it is let go, whatever becomes of its context.
func forever(began, free chan struct{}) *toolset.Tool[none] {
	do := func(context.Context, *toolset.RunContext[none], none) (string, error) {
		began <- struct{}{}
		<-free
		return "so", nil
	}
	return toolset.Func("wait", "Wait.", do, toolset.Idempotent())
}

// Close does not wait for a turn that is taken up and that ignores its end, once its own context
// has ended.
func TestCloseDoesNotWaitForTurnsThatAreTakenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, free := make(chan struct{}, 10), make(chan struct{})
		process := func(store session.Store) *host.Host {
			m := modeltest.Script(modeltest.Say(model.ToolCall("a", "wait", "{}")))
			h, err := host.New(host.Config[none, string]{
				Agent: newAgent(m, forever(began, free)), Store: store,
				Logger: slog.New(slog.DiscardHandler),
			})
			require.NoError(t, err)
			return h
		}
		first := process(shared{new(session.Memory)})
		s := create(t, first)
		wait(s, "Wait.")
		<-began
		left := lost(t, first.Store().(shared).Memory).(durable).Store.(*session.Memory)
		h := process(idleStore{shared{left}})
		h.WillServe()
		later, err := h.Open(t.Context(), s.ID(), nil)
		require.NoError(t, err)
		wait(later, "And?") // the session is left to Serve, and is not found in the store
		time.Sleep(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- h.Serve(ctx) }()
		<-began
		cancel()
		closing, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		begun := time.Now()
		require.ErrorIs(t, h.Close(closing), context.DeadlineExceeded)
		require.LessOrEqual(t, time.Since(begun), 3*time.Second)
		close(free)
		<-served
		require.NoError(t, h.Close(t.Context()))
		require.NoError(t, first.Close(t.Context()))
	})
}

// slowToSay is a store that takes a second to say whose a session is, once it is told to.
type slowToSay struct {
	shared
	slow atomic.Bool
}

func (s *slowToSay) Append(
	ctx context.Context, l session.Lease, head int64, b session.Batch,
) (int64, error) {
	if len(b.Entries)+len(b.Consumed) == 0 && s.slow.CompareAndSwap(true, false) {
		time.Sleep(time.Second)
	}
	return s.shared.Append(ctx, l, head, b)
}

// answerSlowly puts an answer into the inbox of a session, and leaves that while the answer is
// being taken.
func answerSlowly(t *testing.T, store *slowToSay, s *host.Session, answer map[string]any) {
	t.Helper()
	data, err := json.Marshal(answer)
	require.NoError(t, err)
	store.slow.Store(true)
	q := asked(t, s, 1)[0]
	i := session.Item{Kind: session.ItemAnswer, Digest: q.Digest, Data: data}
	_, err = store.Put(t.Context(), s.ID(), i)
	require.NoError(t, err)
	time.Sleep(500 * time.Millisecond)
	synctest.Wait()
	require.False(t, store.slow.Load(), "it is being taken")
	require.NoError(t, s.Leave(t.Context(), nil))
	time.Sleep(5 * time.Second)
	synctest.Wait()
}

// An answer of another process that is refused is gone before its session is closed, which
// everybody here has left meanwhile.
func TestAnswersAreOverBeforeTheirSessionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowToSay{shared: shared{new(session.Memory)}}
		h := teller(t, store, "here", pay(new([]string)))
		s := create(t, h)
		prompt(t, s, "Pay.")
		q := asked(t, s, 1)[0]
		answerSlowly(t, store, s, map[string]any{"question": q.ID, "choice": "never"})
		require.Nil(t, h.Session(s.ID()))
		waiting, err := session.Waiting(t.Context(), store, s.ID())
		require.NoError(t, err)
		require.Empty(t, waiting)
		require.NoError(t, h.Close(t.Context()))
	})
}

// A session that is closed because everybody has left it while an answer was being taken does not
// hold up the end of the host.
func TestCloseDoesNotWaitForSessionsThatWereLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, free := make(chan struct{}, 10), make(chan struct{})
		ask := asksWhom(`{"type":"object"}`, func(string) {})
		m := modeltest.Say(model.ToolCall("w", "wait", "{}"), payTo("a", "Ada"))
		store := &slowToSay{shared: shared{new(session.Memory)}}
		h, err := host.New(host.Config[none, string]{
			Agent: newAgent(modeltest.Script(m), ask, forever(began, free)),
			Store: store, Logger: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		s := create(t, h)
		wait(s, "Pay.")
		time.Sleep(time.Second)
		answerSlowly(t, store, s, map[string]any{
			"question": asked(t, s, 1)[0].ID,
			"reply":    toolset.Reply{Action: "accept", Content: json.RawMessage(`{}`)},
		})
		closing, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		begun := time.Now()
		require.ErrorIs(t, h.Close(closing), context.DeadlineExceeded)
		require.LessOrEqual(t, time.Since(begun), 3*time.Second)
		close(free)
		require.NoError(t, h.Close(t.Context()))
	})
}
