// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

var (
	answered      = flag.Int("answered", 12, "how many random sessions there are with answers and kills")
	answeredFirst = flag.Uint64("answered-first", 1, "the seed of the first of them")
)

// In random sessions, people answer or write something else, and processes are killed after any
// write. No call that was allowed has its effect twice, unless a person says so, and no call that
// was denied has one; models and people are not told what is not true; and a process that opens the
// session shows what the one before has shown.
func TestAnswersOutliveProcesses(t *testing.T) {
	seeds := []uint64{1020, 1024, 1244} // had calls repeated that were made inside an agent, or behind one
	for i := range *answered {
		seeds = append(seeds, *answeredFirst+uint64(i))
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { liveAndDie(t, seed, false) })
		if seed%4 == 0 {
			t.Run(fmt.Sprint(seed, " served"), func(t *testing.T) {
				t.Parallel() // it waits most of the time
				liveAndDie(t, seed, true)
			})
		}
	}
}

// life is a process with the session open.
type life struct {
	*world
	session *host.Session
	end     func() // nil if it needs none
}

// liveAndDie has a session live in four processes. Some of them serve it, if served is true.
func liveAndDie(t *testing.T, seed uint64, served bool) {
	w := &world{
		random: rand.New(rand.NewPCG(seed, 1)), kinds: map[int]string{}, keys: map[int]string{}, again: map[int]int{}, denied: map[int]bool{},
		store: &snapshots{Memory: new(session.Memory)},
	}
	h := newHost(t, host.Config[none, string]{Agent: w.agent(0), Store: w.store, Logger: slog.New(slog.DiscardHandler)})
	s, err := h.Create(t.Context(), session.New{ID: "s"}, nil)
	require.NoError(t, err)
	l := &life{w, s, nil}
	for n := range 4 {
		l.live(t, 1+w.rnd(2))
		l.look(t)
		w.check(t, fmt.Sprint("life ", n))
		l.sameElsewhere(t)
		if w.store.count() == 0 {
			break
		}
		data := l.die(t)
		if served && w.rnd(2) == 0 {
			l.serve(t, data)
		} else {
			w.store = imported(t, data)
			l.session, l.end = opened(t, w, w.store, w.life), nil
			l.sameElsewhere(t)
		}
		l.look(t)
		w.check(t, fmt.Sprint("after the kill of life ", n))
	}
	if l.end != nil {
		l.end()
	}
}

func imported(t *testing.T, data []byte) *snapshots {
	mem := new(session.Memory)
	_, err := session.Import(t.Context(), mem, bytes.NewReader(data), session.ImportOptions{})
	require.NoError(t, err)
	return &snapshots{Memory: mem, left: true}
}

func opened(t *testing.T, w *world, store *snapshots, life int) *host.Session {
	h := newHost(t, host.Config[none, string]{Agent: w.agent(life), Store: store, Logger: slog.New(slog.DiscardHandler)})
	s, err := h.Open(t.Context(), "s", nil)
	require.NoError(t, err)
	return s
}

// live answers questions and writes prompts. In half of the lives turns wait for answers, which
// somebody who watches gives.
func (l *life) live(t *testing.T, prompts int) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wait := l.rnd(2) == 0
	var watcher sync.WaitGroup
	if wait {
		watcher.Go(func() { l.watch(ctx, wait) })
	}
	l.settle(t, wait)
	for i := range prompts {
		p := say(fmt.Sprint("go ", i))
		p.Wait = wait
		require.Eventually(t, func() bool {
			_, err := l.session.Prompt(ctx, p)
			if err != nil {
				require.ErrorContains(t, err, "busy")
				l.settle(t, wait)
			}
			return err == nil
		}, time.Minute, 20*time.Millisecond)
		l.settle(t, wait)
	}
	cancel()
	watcher.Wait()
}

func (l *life) watch(ctx context.Context, wait bool) {
	for u, err := range l.session.Watch(ctx, "") {
		if err != nil {
			return
		}
		for _, c := range u.Changes {
			if c.Entity != nil && c.Entity.Kind == view.Question && !c.Entity.Status.Ended() && !strings.Contains(c.ID, "/pending/") {
				l.answer(l.session, c.Entity, wait)
			}
		}
	}
}

// settle answers questions. It may leave some, in whose place there is a prompt.
func (l *life) settle(t *testing.T, wait bool) {
	for range 20 {
		open, err := questions(l.session)
		require.NoError(t, err)
		if len(open) == 0 || l.rnd(5) == 0 {
			return
		}
		l.answer(l.session, open[l.rnd(len(open))], wait)
	}
}

// die kills the process after some write, and returns what is left. What was done after the write
// is forgotten, as if it had not happened.
func (l *life) die(t *testing.T) []byte {
	w := l.world
	k := 1 + w.rnd(w.store.count())
	data, both := w.store.all[k-1], w.rnd(2) == 0
	w.mu.Lock()
	w.note("killed at %d of %d, and what was done just then has happened: %t", k, w.store.count(), both)
	for _, d := range w.now {
		if d.at < k || d.at == k && both {
			w.past = append(w.past, d)
		}
	}
	for _, a := range w.acked {
		if a.at <= k {
			w.denied[a.call] = a.denied
		}
	}
	keys := w.keys
	w.now, w.acked, w.keys = nil, nil, map[int]string{}
	for _, d := range w.past {
		w.keys[d.call] = keys[d.call]
	}
	w.life++
	w.mu.Unlock()
	if l.end != nil {
		l.end()
		l.end = nil
	}
	return data
}

// serve opens the session in a process that goes on with its turns, and waits until it has.
func (l *life) serve(t *testing.T, data []byte) {
	w := l.world
	w.store = imported(t, data)
	h := newHost(t, host.Config[none, string]{Agent: w.agent(w.life), Store: w.store, Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	h.WillServe()
	go func() { done <- h.Serve(ctx) }()
	l.end = func() {
		cancel()
		<-done
	}
	s, err := h.Open(t.Context(), "s", nil)
	require.NoError(t, err)
	l.session = s
	w.mu.Lock()
	w.note("served")
	w.mu.Unlock()
	l.sameElsewhere(t)
}

// sameElsewhere compares what the session shows here and in a process that opens it now. Before
// that, whoever serves the session may have to go on with a turn, and have questions answered.
func (l *life) sameElsewhere(t *testing.T) {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		here := shown(t, l.session)
		var data bytes.Buffer
		require.NoError(t, session.Export(t.Context(), l.store.Memory, &data))
		there := shown(t, opened(t, l.world, imported(t, data.Bytes()), -1))
		if here == there {
			return
		}
		if l.end == nil || time.Now().After(deadline) {
			require.Equal(t, there, here)
		}
		if l.session.Turn() != nil {
			open, err := questions(l.session)
			require.NoError(t, err)
			for _, q := range open {
				l.answer(l.session, q, false)
			}
		}
	}
}

// look compares what people see with what has happened.
func (l *life) look(t *testing.T) {
	l.mu.Lock()
	did := map[int]bool{}
	for n := range l.kinds {
		did[n] = l.did(n) > 0
	}
	l.mu.Unlock()
	snapshot, _, err := l.session.Snapshot(t.Context())
	require.NoError(t, err)
	for e := range snapshot.All() {
		var in order
		if e.Kind != view.ToolCall || e.Name == "ask" || e.Name == "gask" || json.Unmarshal(e.Input, &in) != nil || in.N == 0 {
			continue
		}
		text := textOf(e)
		if did[in.N] {
			require.NotContains(t, text, "Not executed", "call %d (%s) ran", in.N, e.Name)
			require.NotContains(t, text, "not permitted", "call %d (%s) ran", in.N, e.Name)
		}
		require.Equal(t, e.Status == view.Completed, strings.Contains(text, fmt.Sprintf("did %d", in.N)), "call %d is %s with %q", in.N, e.Status, text)
		for q := range snapshot.All() {
			if q.Kind == view.Question && q.Parent == e.ID && !q.Status.Ended() && did[in.N] {
				require.Contains(t, textOf(q), "not known whether", "call %d (%s) ran, and is asked about as if it had not", in.N, e.Name)
			}
		}
	}
}
