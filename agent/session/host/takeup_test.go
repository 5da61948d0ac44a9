// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// TestKilledTurnsAreTakenUp kills processes in the middle of turns. The next process that serves the store goes on with the turn: it ends,
// or a person is asked about a call that may have run. No call is made twice. Repeat the proof at its full size with -kills 200.
func TestKilledTurnsAreTakenUp(t *testing.T) {
	dir := t.TempDir()
	acted := map[string]int{} // calls by key
	var mu sync.Mutex
	ended, asked := 0, 0
	for range *kills {
		last := 1 + rand.IntN(120)
		for _, line := range kill(t, dir+"|", func(n int, _ string) bool { return n == last }) {
			if key, ok := strings.CutPrefix(line, "act "); ok {
				acted[key]++
			}
		}
		store, err := sqlitestore.Open(dir, sqlitestore.Options{})
		require.NoError(t, err)
		again := toolset.Func("act", "", func(_ context.Context, run *toolset.RunContext[none], _ none) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			acted[run.IdempotencyKey()]++
			return "acted " + run.IdempotencyKey(), nil
		}, toolset.OfKind(toolset.KindEdit, "Act"))
		h, err := host.New(host.Config[none, string]{Agent: newAgent(busyModel(store), again), Store: store, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- h.Serve(ctx) }()
		eventually(t, "nothing is left to do", func() bool {
			for _, err := range store.Work(t.Context()) {
				require.NoError(t, err)
				return false
			}
			info, err := store.Get(t.Context(), "s")
			return err == nil && info.Holder == ""
		})
		s, err := h.Open(t.Context(), "s", nil)
		require.NoError(t, err)
		snapshot, _, err := s.Snapshot(t.Context())
		require.NoError(t, err)
		all := shown(t, s)
		require.NotContains(t, all, `"status":"in_progress"`)
		require.NotContains(t, all, `"status":"interrupted"`, "the turn has ended")
		if q := snapshot.Last(view.Question); q != nil && q.Status == view.Pending {
			asked++
			require.Contains(t, all, "It is not known whether the call had any effect")
			require.NoError(t, s.Decide(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Choice: host.RejectOnce}))
			eventually(t, "the turn ends", func() bool { return s.Turn() == nil && !strings.Contains(shown(t, s), `"status":"pending"`) })
		} else {
			ended++
		}
		cancel()
		require.ErrorIs(t, <-served, context.Canceled)
		require.NoError(t, h.Close(t.Context()))
		require.NoError(t, store.Close())
		mu.Lock()
		for key, n := range acted {
			require.Equal(t, 1, n, "%s was done %d times", key, n)
		}
		mu.Unlock()
	}
	t.Logf("%d processes killed: %d calls, %d turns have ended, %d times a person was asked", *kills, len(acted), ended, asked)
}

// stepRunner advances sessions when it is told to: it is a runner of somebody else's.
type stepRunner struct{ turns chan host.Turns }

func (r *stepRunner) Wake(context.Context, string) error { return nil }

func (r *stepRunner) Serve(ctx context.Context, t host.Turns) error {
	r.turns <- t
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestRunnersAdvanceSessions runs what waits in an inbox by way of a runner.
func TestRunnersAdvanceSessions(t *testing.T) {
	store := new(session.Memory)
	r := &stepRunner{turns: make(chan host.Turns)}
	h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: shared{store}, Runner: r})
	info, err := store.Create(t.Context(), session.New{})
	require.NoError(t, err)
	for _, text := range []string{"one", "two"} {
		_, err := store.Put(t.Context(), info.ID, session.Item{
			Kind: session.ItemPrompt, Time: time.Now(), Data: []byte(`{"parts":[{"kind":"user","text":"` + text + `"}]}`),
		})
		require.NoError(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx, func(i *session.Info) bool { return i.Dir == "" }) }()
	turns := <-r.turns
	other, err := store.Create(t.Context(), session.New{Dir: "/elsewhere"})
	require.NoError(t, err)
	_, err = store.Put(t.Context(), other.ID, session.Item{Kind: session.ItemPrompt, Data: []byte(`{"parts":[{"kind":"user","text":"one"}]}`)})
	require.NoError(t, err)
	_, err = turns.Advance(t.Context(), other.ID)
	require.ErrorIs(t, err, host.ErrIdle, "it is not served here")
	require.Error(t, h.Serve(t.Context()), "once is enough")
	for range 2 {
		o, err := turns.Advance(t.Context(), info.ID)
		require.NoError(t, err)
		require.NoError(t, o.Err)
		require.Equal(t, transcript.Done, o.Reason)
	}
	_, err = turns.Advance(t.Context(), info.ID)
	require.ErrorIs(t, err, host.ErrIdle)
	_, err = turns.Advance(t.Context(), "nobody")
	require.ErrorIs(t, err, session.ErrNotFound)
	lease, err := store.Acquire(t.Context(), info.ID, session.Claim{Holder: "somebody"})
	require.NoError(t, err)
	_, err = store.Put(t.Context(), info.ID, session.Item{Kind: session.ItemPrompt, Data: []byte(`{"parts":[{"kind":"user","text":"three"}]}`)})
	require.NoError(t, err)
	o, err := turns.Advance(t.Context(), info.ID)
	if err == nil {
		err = o.Err
	}
	require.ErrorIs(t, err, session.ErrHeld)
	require.NoError(t, store.Release(t.Context(), lease))
	cancel()
	require.ErrorIs(t, <-served, context.Canceled)
}

// TestTakenUpTurnsThatEndSayWhich takes a turn up that a person had stopped: it ends, and the outcome
// names it.
func TestTakenUpTurnsThatEndSayWhich(t *testing.T) {
	store := new(session.Memory)
	r := &stepRunner{turns: make(chan host.Turns)}
	h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: shared{store}, Runner: r})
	id := cutOff(t, store)
	_, err := store.Put(t.Context(), id, session.Item{Kind: session.ItemCancel, Data: []byte(`{"turn":"turn"}`)})
	require.NoError(t, err)
	stop := serve(t, h)
	defer stop()
	o, err := (<-r.turns).Advance(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "turn", o.Turn)
	require.Equal(t, transcript.Interrupted, o.Reason)
}

// TestWillServeKeepsTurnsForServe opens a session with a turn that was cut off before Serve is called. If
// the program has said that it will be, the turn is left to it and goes on; otherwise it is settled.
func TestWillServeKeepsTurnsForServe(t *testing.T) {
	for _, will := range []bool{true, false} {
		store := new(session.Memory)
		h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: shared{store}})
		id := cutOff(t, store)
		if will {
			h.WillServe()
		}
		s, err := h.Open(t.Context(), id, nil)
		require.NoError(t, err)
		ended := func() bool {
			for e, err := range store.Load(t.Context(), id, 0) {
				require.NoError(t, err)
				if e.Kind == session.KindEnd {
					return true
				}
			}
			return false
		}
		require.Equal(t, !will, ended())
		_, err = store.Put(t.Context(), id, session.Item{Kind: session.ItemContinue})
		require.NoError(t, err)
		stop := serve(t, h)
		eventually(t, "nothing is left to do", func() bool {
			info, err := store.Get(t.Context(), id)
			return err == nil && info.Waiting == 0 && info.Holder == "" && ended()
		})
		if all := shown(t, s); will {
			require.Contains(t, all, "attempt 1 of 3")
			require.NotContains(t, all, `"status":"interrupted"`)
		} else {
			require.Contains(t, all, `"status":"interrupted"`)
		}
		stop()
	}
}

// TestTurnsAreTakenUpAsOftenAsConfigured takes a turn up in one process after the other, of which each
// stops in the middle of it, until that was tried as often as the program says.
func TestTurnsAreTakenUpAsOftenAsConfigured(t *testing.T) {
	for attempts, want := range map[int]int{-1: 0, 0: 3, 1: 1, 2: 2} {
		synctest.Test(t, func(t *testing.T) {
			store, asked := new(session.Memory), 0
			m := hanging(func() { asked++ })
			id := leftOver(t, store)
			for range 5 {
				h := newHost(t, host.Config[none, string]{
					Agent: newAgent(m), Store: shared{store}, Attempts: attempts, Logger: slog.New(slog.DiscardHandler),
				})
				stop := serve(t, h)
				time.Sleep(5 * time.Second)
				synctest.Wait()
				stop()
				require.NoError(t, h.Close(t.Context()))
			}
			require.Equal(t, want, asked, attempts)
			h := newHost(t, host.Config[none, string]{Agent: newAgent(m), Store: shared{store}, Attempts: attempts})
			s, err := h.Open(t.Context(), id, nil)
			require.NoError(t, err)
			all := shown(t, s)
			require.Contains(t, all, `"status":"interrupted"`)
			require.Equal(t, want, strings.Count(all, "The turn goes on (attempt "))
			require.NoError(t, prompt(t, s, "And now?").Err)
			require.NoError(t, h.Close(t.Context()))
		})
	}
}
