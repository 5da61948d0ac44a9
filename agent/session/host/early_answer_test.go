// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// An answer may reach a process before that has asked the question again, because it has just taken
// the turn up from one that was killed. It waits in the inbox until it is asked, for half a minute;
// an older one is too late, and so is one to a question that has another answer.
func TestAnswersWaitForTheTurnThatIsTakenUp(t *testing.T) {
	for name, c := range map[string]struct {
		age, paid time.Duration
	}{
		"young":     {0, 8 * time.Second},
		"not old":   {24 * time.Second, 8 * time.Second},
		"too old":   {31 * time.Second, 0},
		"very old":  {time.Hour, 0},
		"in future": {-time.Second, 8 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			var early, paid []string
			killed := newHost(t, host.Config[none, string]{
				Agent: newAgent(paysOnce(), pay(&early)), Store: shared{new(session.Memory)},
				Logger: slog.New(slog.DiscardHandler),
			})
			first := create(t, killed)
			go wait(first, "Pay.")
			time.Sleep(time.Minute) // until it is recorded
			synctest.Wait()
			q := asked(t, first, 1)[0]
			store := lost(t, killed.Store().(shared).Memory).(durable).Store.(*session.Memory)
			require.NoError(t, killed.Close(t.Context()))

			begun := time.Now()
			var when time.Duration
			h := newHost(t, host.Config[none, string]{
				Agent: newAgent(paysOnce(), toolset.Func("pay", "Pay.", func(_ context.Context, _ *toolset.RunContext[none], in payment) (string, error) {
					paid, when = append(paid, in.To), time.Since(begun)
					return "paid", nil
				}, toolset.Approve(func(_ context.Context, _ *toolset.RunContext[none], in payment) (*toolset.Approval, error) {
					return &toolset.Approval{Title: "Pay " + in.To}, nil
				}))),
				Store: shared{store}, Logger: slog.New(slog.DiscardHandler),
				Layers: func(none) []approval.Layer {
					return []approval.Layer{{Name: "slow", Decide: func(context.Context, *toolset.ApprovalRequest) (approval.Ruling, error) {
						time.Sleep(8*time.Second - time.Since(begun))
						return approval.Ruling{}, nil
					}}}
				},
			})
			data, err := json.Marshal(map[string]any{"question": q.ID, "choice": host.AllowOnce})
			require.NoError(t, err)
			_, err = store.Put(t.Context(), first.ID(), session.Item{
				Kind: session.ItemAnswer, Digest: q.Digest, Data: data, Time: begun.Add(-c.age),
			})
			require.NoError(t, err)
			stop := serve(t, h)
			time.Sleep(20 * time.Second)
			synctest.Wait()
			require.Empty(t, early)
			if c.paid == 0 {
				require.Empty(t, paid, name)
			} else {
				require.Equal(t, []string{"Ada"}, paid, name)
				require.Less(t, when-c.paid, time.Second, name)
			}
			waiting, err := session.Waiting(t.Context(), store, first.ID())
			require.NoError(t, err)
			for _, i := range waiting { // the item that has the turn taken up waits until that has ended
				require.Equal(t, session.ItemContinue, i.Kind, name)
			}
			if c.paid == 0 {
				s := h.Session(first.ID())
				require.NoError(t, s.Decide(t.Context(), q.ID, "", allowed(asked(t, s, 1)[0])))
				time.Sleep(time.Second)
				synctest.Wait()
				require.Equal(t, []string{"Ada"}, paid, "it is asked still")
			}
			stop()
		})
	}
}

// slowly is a store that takes a second for the next append once it is told to.
type slowly struct {
	durable
	slow atomic.Bool
}

func (s *slowly) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	if len(b.Entries) > 0 && s.slow.CompareAndSwap(true, false) {
		time.Sleep(time.Second)
	}
	return s.durable.Append(ctx, l, head, b)
}

// A prompt that comes while an answer is being recorded waits for that, and carries it out.
func TestPromptsWaitForTheAnswerThatIsBeingRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var paid []string
		store := &slowly{durable: durable{new(session.Memory)}}
		s := create(t, newHost(t, host.Config[none, string]{
			Agent: newAgent(modeltest.Script(modeltest.Say(payTo("a", "Ada")), modeltest.SayText("done")), pay(&paid)),
			Store: store,
		}))
		prompt(t, s, "Pay.")
		q := asked(t, s, 1)[0]
		store.slow.Store(true)
		answered := make(chan error, 1)
		go func() {
			turn, err := s.Answer(t.Context(), q.ID, "", allowed(q))
			if turn != nil {
				turn.Resume(host.Prompt{})
			}
			answered <- err
		}()
		synctest.Wait()
		require.False(t, store.slow.Load())
		require.NoError(t, prompt(t, s, "And?").Err)
		require.NoError(t, <-answered)
		require.Equal(t, []string{"Ada"}, paid)
		snapshot, _, err := s.Snapshot(t.Context())
		require.NoError(t, err)
		last := snapshot.Last(view.Question)
		require.Equal(t, []any{q.ID, view.Completed, host.AllowOnce}, []any{last.ID, last.Status, last.Value})
		require.NoError(t, s.Host().Close(t.Context()))
	})
}

// lingering is a store that is slow right after a turn has ended: others see the end before the process of the turn goes on.
type lingering struct {
	durable
	linger time.Duration
	ended  atomic.Bool
}

func (l *lingering) Append(ctx context.Context, lease session.Lease, head int64, b session.Batch) (int64, error) {
	head, err := l.durable.Append(ctx, lease, head, b)
	for _, e := range b.Entries {
		if e.Kind == session.KindEnd {
			l.ended.Store(true)
		}
	}
	return head, err
}

func (l *lingering) Get(ctx context.Context, id string) (session.Info, error) {
	if l.ended.CompareAndSwap(true, false) {
		time.Sleep(l.linger)
	}
	return l.durable.Get(ctx, id)
}

// Others see the questions of a turn that has ended pending before its own process asks them. Their answers wait for that.
func TestAnswersWaitForTheQuestionThatIsBeingRecorded(t *testing.T) {
	for _, linger := range []time.Duration{0, time.Second, 7 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var paid []string
			mem := new(session.Memory)
			s := create(t, newHost(t, host.Config[none, string]{
				Agent: newAgent(paysOnce(), pay(&paid)), Store: &lingering{durable: durable{shared{mem}}, linger: linger}, Logger: slog.New(slog.DiscardHandler),
			}))
			go func() { _, _ = s.Prompt(t.Context(), say("Pay.")) }()
			synctest.Wait()
			other, err := machine(t, mem, "there", paysOnce(), pay(&paid)).Open(t.Context(), s.ID(), nil)
			require.NoError(t, err)
			q := asked(t, other, 1)[0]
			require.NoError(t, other.Decide(t.Context(), q.ID, "", allowed(q)), linger)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			require.Equal(t, []string{"Ada"}, paid, linger)
			require.Contains(t, shown(t, other), "paid")
			require.NoError(t, s.Host().Close(t.Context()))
			require.NoError(t, other.Host().Close(t.Context()))
		})
	}
}

// A turn that is resumed by an answer of another process keeps its session open: whoever leaves that meanwhile does not end it.
func TestTurnsThatAreResumedKeepTheirSessionOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paid, mem := 0, new(session.Memory)
		slow := toolset.Func("pay", "Pay.", func(ctx context.Context, _ *toolset.RunContext[none], _ payment) (string, error) {
			select {
			case <-time.After(5 * time.Second):
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
			paid++
			return "paid", nil
		}, toolset.Approve(func(_ context.Context, _ *toolset.RunContext[none], in payment) (*toolset.Approval, error) {
			return &toolset.Approval{Title: "Pay " + in.To}, nil
		}))
		h := newHost(t, host.Config[none, string]{Agent: newAgent(paysOnce(), slow), Store: shared{mem}, Logger: slog.New(slog.DiscardHandler)})
		s := create(t, h)
		prompt(t, s, "Pay.")
		q := asked(t, s, 1)[0]
		data, err := json.Marshal(map[string]any{"question": q.ID, "choice": host.AllowOnce})
		require.NoError(t, err)
		_, err = mem.Put(t.Context(), s.ID(), session.Item{Kind: session.ItemAnswer, Digest: q.Digest, Data: data})
		require.NoError(t, err)
		time.Sleep(2 * time.Second) // the turn goes on
		require.NoError(t, s.Leave(t.Context(), nil))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(t, 1, paid)
		require.Nil(t, h.Session(s.ID()), "it is left then")
		other, err := machine(t, mem, "there", paysOnce()).Open(t.Context(), s.ID(), nil)
		require.NoError(t, err)
		require.Contains(t, shown(t, other), `"text":"paid"`)
		require.NoError(t, other.Host().Close(t.Context()))
		require.NoError(t, h.Close(t.Context()))
	})
}
