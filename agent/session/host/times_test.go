// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// clocked is a store that notes when it is asked, from a moment on. It may be away.
type clocked struct {
	*session.Memory
	mu     sync.Mutex
	begun  time.Time
	away   bool
	asked  map[string][]time.Duration
	listen func(ctx context.Context) iter.Seq2[string, error] // instead of the store's, if not nil
}

// begin begins to note.
func (c *clocked) begin(away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun, c.away, c.asked = time.Now(), away, map[string][]time.Duration{}
}

func (c *clocked) at(op string) []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Compact(slices.Clone(c.asked[op]))
}

func (c *clocked) note(op string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun.IsZero() {
		c.asked[op] = append(c.asked[op], time.Since(c.begun))
	}
	if c.away {
		return errDistant(op)
	}
	return nil
}

func (c *clocked) Get(ctx context.Context, id string) (session.Info, error) {
	if err := c.note("get"); err != nil {
		return session.Info{}, err
	}
	return c.Memory.Get(ctx, id)
}

func (c *clocked) Acquire(ctx context.Context, id string, claim session.Claim) (session.Lease, error) {
	if err := c.note("acquire"); err != nil {
		return session.Lease{}, err
	}
	return c.Memory.Acquire(ctx, id, claim)
}

func (c *clocked) Release(ctx context.Context, l session.Lease) error {
	if err := c.note("release"); err != nil {
		return err
	}
	return c.Memory.Release(ctx, l)
}

func (c *clocked) Listen(ctx context.Context) iter.Seq2[string, error] {
	_ = c.note("listen")
	if c.listen != nil {
		return c.listen(ctx)
	}
	return c.Memory.Listen(ctx)
}

// times are numbers of milliseconds.
func times(all ...int) (at []time.Duration) {
	for _, n := range all {
		at = append(at, time.Duration(n)*time.Millisecond)
	}
	return at
}

// A turn elsewhere is stopped for ten seconds at most while the store is away: it is asked again after
// twice as long each time, up to a second.
func TestStoppingATurnElsewhereEndsAfterTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &clocked{Memory: new(session.Memory)}
		h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: store, Logger: slog.New(slog.DiscardHandler)})
		s := create(t, h)
		synctest.Wait()
		store.begin(true)
		begun := time.Now()
		s.Cancel()
		require.Equal(t, 10*time.Second, time.Since(begun))
		require.Equal(t, times(0, 50, 150, 350, 750, 1550, 2550, 3550, 4550, 5550, 6550, 7550, 8550, 9550), store.at("get"))
		store.begin(false)
		require.NoError(t, h.Close(t.Context()))
	})
}

// A prompt that another process has sent is left to that for a second, and then run.
func TestPromptsOfOthersAreRunAfterASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(session.Memory)
		var asked []time.Time
		h := newHost(t, host.Config[none, string]{Store: shared{store}, Agent: newAgent(modeltest.Func(
			func(context.Context, *model.Request) (*model.Message, error) {
				asked = append(asked, time.Now())
				return model.Response(model.Text("so")), nil
			}))})
		s := create(t, h)
		synctest.Wait()
		sent := time.Now()
		_, err := store.Put(t.Context(), s.ID(), session.Item{Kind: session.ItemPrompt, Time: sent, Data: []byte(`{"parts":[{"kind":"user","text":"go"}]}`)})
		require.NoError(t, err)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(t, []time.Time{sent.Add(time.Second)}, asked)
		require.NoError(t, h.Close(t.Context()))
	})
}

// A store that does not tell of changes is asked every quarter of a second, and so is one whose
// telling fails.
func TestStoresThatDoNotTellAreAskedEachQuarterOfASecond(t *testing.T) {
	for name, listen := range map[string]func(context.Context) iter.Seq2[string, error]{
		"fails": func(context.Context) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) { yield("", errDistant("listen")) }
		},
		"ends": func(context.Context) iter.Seq2[string, error] { return func(func(string, error) bool) {} },
	} {
		synctest.Test(t, func(t *testing.T) {
			store := &clocked{Memory: new(session.Memory), listen: listen}
			h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: store})
			store.begin(false)
			s := create(t, h)
			synctest.Wait()
			title := "Named elsewhere"
			_, err := store.Update(t.Context(), s.ID(), session.Change{Title: &title})
			require.NoError(t, err)
			time.Sleep(249 * time.Millisecond)
			synctest.Wait()
			require.Empty(t, s.Info().Title, name)
			time.Sleep(time.Millisecond)
			synctest.Wait()
			require.Equal(t, title, s.Info().Title, name)
			time.Sleep(500 * time.Millisecond)
			synctest.Wait()
			require.Equal(t, times(0, 250, 500, 750), store.at("listen"), name)
			require.NoError(t, h.Close(t.Context()))
		})
	}
}

// What waits for a session that another process has without a turn is tried again every twentieth
// of a second's part, for a second.
func TestSessionsThatOthersOpenAreWaitedForForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &clocked{Memory: new(session.Memory)}
		h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: store, Holder: "here"})
		s := create(t, h)
		require.NoError(t, prompt(t, s, "one").Err)
		w, err := session.Open(t.Context(), store.Memory, s.ID(), session.Claim{Holder: "there"})
		require.NoError(t, err)
		synctest.Wait()
		var want []time.Duration
		for n := range 51 {
			want = append(want, time.Duration(n)*20*time.Millisecond)
		}
		for name, do := range map[string]func() error{
			"drop":   func() error { return s.DropPermission(t.Context(), "x") },
			"rewind": func() error { _, err := s.Rewind(t.Context(), "prompt:x"); return err },
			"prompt": func() error { o, err := s.Prompt(t.Context(), say("two")); require.NoError(t, err); return o.Err },
		} {
			store.begin(false)
			require.ErrorIs(t, do(), session.ErrHeld, name)
			require.Equal(t, want, store.at("acquire"), name)
		}
		require.NoError(t, w.Close(t.Context()))
		require.NoError(t, h.Close(t.Context()))
	})
}

// A prompt that waits for another process looks every half a second whether that is gone: one that
// was killed does not say so.
func TestPromptsThatWaitLookEachHalfSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &clocked{Memory: new(session.Memory), listen: func(ctx context.Context) iter.Seq2[string, error] {
			return func(func(string, error) bool) { <-ctx.Done() }
		}}
		h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: store, Holder: "here", Busy: host.BusyQueue})
		s := create(t, h)
		require.NoError(t, prompt(t, s, "one").Err)
		w, err := session.Open(t.Context(), store.Memory, s.ID(), session.Claim{Holder: "there"})
		require.NoError(t, err)
		synctest.Wait()
		store.begin(false)
		done := make(chan error, 1)
		go func() { done <- prompt(t, s, "two").Err }()
		time.Sleep(900 * time.Millisecond)
		require.Equal(t, times(0, 500), store.at("acquire"))
		require.NoError(t, w.Close(t.Context()))
		require.NoError(t, <-done)
		require.NoError(t, h.Close(t.Context()))
	})
}

// A turn that was cut off is left to Serve for half a minute. Until then the session counts as held.
func TestTurnsThatWereCutOffAreLeftToServeForHalfAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(session.Memory)
		h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: shared{store}})
		id := cutOff(t, store)
		h.WillServe()
		s, err := h.Open(t.Context(), id, nil)
		require.NoError(t, err)
		rewind := func() error {
			_, err := s.Rewind(t.Context(), transcript.PromptID("turn"))
			return err
		}
		require.EqualError(t, rewind(), "session: open "+id+": the session is in use (by a process that was killed)")
		for _, wait := range []time.Duration{15 * time.Second, 15*time.Second - 1} {
			time.Sleep(wait)
			require.ErrorIs(t, rewind(), session.ErrHeld)
		}
		time.Sleep(time.Nanosecond)
		require.NoError(t, rewind())
		require.NoError(t, h.Close(t.Context()))
	})
}

// slowRunner notes for how long it may be told of an inbox, and when.
type slowRunner struct {
	stepRunner
	mu      sync.Mutex
	allowed []time.Duration
	at      []time.Time
}

func (r *slowRunner) Wake(ctx context.Context, _ string) error {
	until, _ := ctx.Deadline()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.allowed, r.at = append(r.allowed, time.Until(until)), append(r.at, time.Now())
	return ctx.Err()
}

// A runner has ten seconds to be told of an inbox. If an item has waited for longer than a second
// and nobody has the session, it is told again, every second.
func TestRunnersAreRemindedOfWhatWaits(t *testing.T) {
	for kind, wants := range map[session.ItemKind][]int{
		session.ItemPrompt: {2, 3, 4}, session.ItemCancel: {2, 3, 4}, session.ItemAnswer: {2, 3, 4}, session.ItemSetting: {2, 3, 4},
		session.ItemContinue: nil, session.ItemNote: nil,
	} {
		for _, held := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				store, r := new(session.Memory), new(slowRunner)
				h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: shared{store}, Runner: r, Holder: "here"})
				s := create(t, h)
				var w *session.Writer
				if held {
					var err error
					w, err = session.Open(t.Context(), store, s.ID(), session.Claim{Holder: "there"})
					require.NoError(t, err)
				}
				synctest.Wait()
				begun := time.Now()
				_, err := store.Put(t.Context(), s.ID(), session.Item{Kind: kind, Time: begun, Data: []byte(`{}`)})
				require.NoError(t, err)
				time.Sleep(4500 * time.Millisecond)
				synctest.Wait()
				r.mu.Lock()
				defer r.mu.Unlock()
				var at []int
				for n, when := range r.at {
					require.Zero(t, when.Sub(begun)%time.Second)
					require.Equal(t, 10*time.Second, r.allowed[n])
					at = append(at, int(when.Sub(begun)/time.Second))
				}
				want := wants
				if held {
					want = nil
					require.NoError(t, w.Close(t.Context()))
				}
				require.Equal(t, want, at, "%s, held %v", kind, held)
			})
		}
	}
}

// An answer to a question that is shown, and that nobody asks, waits for that for five seconds: a turn
// that was taken up may ask it again.
func TestAnswersWaitForTheirQuestionsForFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(session.Memory)
		g := newGate()
		h := newHost(t, host.Config[none, string]{Agent: newAgent(g.model()), Store: shared{store}})
		s := create(t, h)
		began := make(chan *host.Turn, 1)
		done := make(chan error, 1)
		go func() {
			p := say("go")
			p.Began = func(now *host.Turn) { began <- now }
			o, err := s.Prompt(t.Context(), p)
			require.NoError(t, err)
			done <- o.Err
		}()
		now := <-began
		<-g.asked
		q := &view.Entity{ID: transcript.QuestionID(now.ID(), 1, "c"), Kind: view.Question, Status: view.Pending, Digest: "d"}
		require.True(t, now.Report(q))
		begun := time.Now()
		require.ErrorIs(t, s.Decide(t.Context(), q.ID, "", allowed(q)), host.ErrNoQuestion)
		require.Equal(t, 5*time.Second+20*time.Millisecond, time.Since(begun), "it looks every 20 milliseconds")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun = time.Now()
		require.ErrorIs(t, s.Decide(ctx, q.ID, "", allowed(q)), context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(begun))
		g.answer <- "so"
		require.NoError(t, <-done)
		require.NoError(t, h.Close(t.Context()))
	})
}
