// SPDX-License-Identifier: Apache-2.0

// Package sameview_test compares what the surfaces of a session show.
package sameview_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/leaktest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var (
	sessions = flag.Int("view-sessions", 12, "how many random sessions there are, of four turns, and a kill of each")
	first    = flag.Uint64("view-first", 1, "the seed of the first session")
	seed     = flag.Uint64("view-seed", 0, "the seed of the only session, if it is not 0")
)

// recorder is a store that remembers what was appended to its session, so that it can be cut anywhere.
type recorder struct {
	*session.Memory
	mu      sync.Mutex
	batches [][]session.Entry
}

func (r *recorder) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	at, err := r.Memory.Append(ctx, l, head, b)
	if err == nil && len(b.Entries) > 0 {
		r.mu.Lock()
		r.batches = append(r.batches, slices.Clone(b.Entries))
		r.mu.Unlock()
	}
	return at, err
}

// cut returns a store that has what this one had after a number of appends.
func (r *recorder) cut(t *testing.T, n int) *recorder {
	cut := &recorder{Memory: new(session.Memory), batches: slices.Clone(r.batches[:n])}
	_, err := cut.Memory.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), cut.Memory, "s", session.Claim{})
	require.NoError(t, err)
	for _, batch := range cut.batches {
		_, err := w.Append(t.Context(), batch...)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close(t.Context()))
	return cut
}

// place is a process that serves the session.
type place struct {
	t     *testing.T
	dice  *dice
	store *recorder
	h     *host.Host
	web   *webbridge.Handler
	s     *host.Session
	page  *page
	left  func()
	peer  *peer
	fold  *view.Fold

	follower *follower
}

var options = transcript.Options{
	Window: 10_000, Currency: "EUR", Prices: model.Prices{"p/*": {Input: 1000, Output: 2000}},
}

func enter(t *testing.T, d *dice, store *recorder) *place {
	return enterServing(t, d, store, false)
}

// enterServing is like enter, in a process that may go on with a turn that was cut off.
func enterServing(t *testing.T, d *dice, store *recorder, serves bool) *place {
	h, err := host.New(host.Config[none, string]{Agent: newAgent(d), Store: store, Window: options.Window, Prices: options.Prices, Currency: options.Currency, Logger: slog.New(slog.DiscardHandler), Modes: []host.Mode{{ID: "code"}}})
	require.NoError(t, err)
	web, err := webbridge.On(h, webbridge.Options{Token: token})
	require.NoError(t, err)
	if serves {
		h.WillServe()
	}
	s, err := h.Open(t.Context(), "s", nil)
	if errors.Is(err, session.ErrNotFound) {
		s, err = h.Create(t.Context(), session.New{ID: "s"}, nil)
	}
	require.NoError(t, err)
	p := &place{t: t, dice: d, store: store, h: h, web: web, s: s, follower: follow(t)}
	p.page, p.left = watch(t.Context(), web, "s")
	t.Cleanup(func() {
		if t.Failed() { // else the bubble panics because of the goroutines, which hides the failure
			p.left()
			_ = p.web.Shutdown(context.WithoutCancel(t.Context()))
			_ = p.h.Close(context.WithoutCancel(t.Context()))
		}
	})
	return p
}

func (p *place) leave() {
	p.left()
	require.NoError(p.t, p.web.Shutdown(p.t.Context()))
	require.NoError(p.t, p.h.Close(p.t.Context()))
}

func (p *place) snapshot() *view.Snapshot {
	s, _, err := p.s.Snapshot(p.t.Context())
	require.NoError(p.t, err)
	return s
}

// turn runs a random turn.
func (p *place) turn(n int) {
	d := p.dice
	ctx, cancel := context.WithCancel(p.t.Context())
	defer cancel()
	left := 1000
	if d.one(3) {
		left = d.n(40)
	}
	pr := host.Prompt{Parts: []model.Part{model.User(fmt.Sprint("prompt ", n))}, Defer: d.one(4)}
	if d.one(4) {
		pr.Shown = []view.Content{{Kind: view.Text, Text: fmt.Sprint("typed ", n)}}
	}
	pr.Asker = toolset.AskerFuncs{OnApprove: func(ctx context.Context, _ toolset.ApprovalRequest) (toolset.Decision, error) {
		switch d.n(4) {
		case 0:
			return toolset.Decision{Verdict: toolset.VerdictDeny, Reason: "no", By: "user"}, nil
		case 1:
			return toolset.Defer(), nil
		}
		return toolset.Decision{Verdict: toolset.VerdictAllow, By: pick(d, "user", "a rule"), Always: d.one(3)}, nil
	}}
	pr.Began = func(t *host.Turn) {
		if p.fold != t.Fold() {
			p.fold, p.peer = t.Fold(), newPeer(t.Fold())
		}
	}
	pr.Show = func() {
		if d.one(2) {
			require.NoError(p.t, p.peer.to.Show(p.t.Context()))
		}
	}
	more := d.more(n)
	pr.Observe = func(*agent.Event) {
		if more--; more == 0 {
			p.s.Steer(model.User(fmt.Sprint("and more ", n)))
		}
		if left--; left == 0 {
			cancel()
		}
	}
	if d.one(5) {
		pr.Ending = func(*host.Turn, *host.Outcome) string { return "That was it" }
	}
	if q := p.pending(); len(q) > 0 && d.one(2) {
		p.answer(ctx, q, pr)
		return
	}
	_, err := p.s.Prompt(ctx, pr)
	require.NoError(p.t, err)
}

// pending returns the questions of a run that is pending.
func (p *place) pending() (all []*view.Entity) {
	for e := range p.snapshot().Of(view.Question) {
		if e.Status == view.Pending {
			all = append(all, e)
		}
	}
	return all
}

func (p *place) answer(ctx context.Context, questions []*view.Entity, pr host.Prompt) {
	for _, q := range questions {
		t, err := p.s.Answer(ctx, q.ID, "user", host.Answer{Choice: pick(p.dice, host.AllowOnce, host.RejectOnce), Digest: q.Digest})
		require.NoError(p.t, err)
		if t != nil {
			t.Resume(pr)
		}
	}
}

// same compares all views.
func (p *place) same(when string) {
	t := p.t
	t.Helper()
	live := p.snapshot()
	equal(t, lines(live, all), p.page.shown(t), when+": the page")
	read, err := transcript.Read(t.Context(), p.store, "s", options)
	require.NoError(t, err)
	if lines(live, ofEntries) != lines(read.Fold().Snapshot(), ofEntries) {
		for e := range p.store.Load(t.Context(), "s", 0) {
			t.Logf("entry %d %s %s %s %s", e.Seq, e.Kind, e.Run, e.Key, e.Data)
		}
	}
	equal(t, lines(live, ofEntries), lines(read.Fold().Snapshot(), ofEntries), when+": another process")
	followed := p.follower.shown(t, p.store)
	equal(t, lines(live, inPlace), lines(followed, inPlace), when+": a process that has followed")
	equal(t, lines(live, isUsage), lines(followed, isUsage), when+": the usage in a process that has followed")
	agentOf := func(e *view.Entity) string {
		if inside := live.Get(e.Parent); inside != nil {
			return inside.Name
		}
		return ""
	}
	want := peerLines(peerView(live, agentOf))
	loaded := newPeer(live.Fold())
	equal(t, want, peerLines(loaded.told(t)), when+": a client that loads the session")
	if p.peer != nil {
		equal(t, want, peerLines(p.peer.told(t)), when+": a client that was there")
	}
}

// TestEveryViewOfASessionIsTheSame runs random sessions, and compares what is shown of them in use, by a page that follows, by clients of the
// protocol, after loading, in another process, and after the end of the process at any append.
func TestEveryViewOfASessionIsTheSame(t *testing.T) {
	one := func(number uint64) bool {
		return t.Run(fmt.Sprint("seed ", number), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { play(t, number, false) }) })
	}
	steered := func(number uint64) bool {
		return t.Run(fmt.Sprint("steered, seed ", number), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { play(t, number, true) }) })
	}
	if *seed != 0 {
		one(*seed)
		steered(*seed)
		return
	}
	for n := range uint64(*sessions) {
		if !one(*first+n) || !steered(*first+n) {
			return
		}
	}
	one(1789)     // a call that was shown as failed waits in the next process
	one(16805)    // a prompt instead of answers goes to the agent that had the conversation
	one(16618)    // a response is asked for again whose usage was recorded
	one(16445)    // a turn is taken up twice in the middle of a response
	one(13343)    // an agent is shown behind the prompt of a turn that had none
	one(9425)     // the turn that went on with a pending call is taken up after its first response
	one(8228)     // a call that a rule has allowed may have run, and is given up
	one(4056)     // a turn is stopped when its run has ended with a call that waits
	one(1987)     // the answer of an agent that the run was handed over to is cut off
	steered(5)    // what is said at the end of a run that was handed over comes behind all results
	steered(137)  // the prompt is recorded behind what is said right after it
	steered(2030) // a response is cut off behind what was said
	steered(2869) // something is said in a turn without a prompt
	steered(4227) // what is said is recorded again when the turn is taken up
	steered(4323) // it is the last thing before a kill, in a turn without a prompt
	steered(7105) // an agent's response reached its limit, and the next one is cut off
}

func play(t *testing.T, seed uint64, steered bool) {
	d := &dice{r: rand.New(rand.NewPCG(seed, seed))}
	if steered {
		d.steer = &seed
	}
	p := enter(t, d, &recorder{Memory: new(session.Memory)})
	for n := range 4 {
		p.turn(n)
		p.same(fmt.Sprint("turn ", n))
		if d.one(6) {
			require.NoError(t, p.s.SetTitle(t.Context(), fmt.Sprint("Title ", n)))
			p.same("title")
		}
	}
	live := p.snapshot()
	p.leave()
	again := enter(t, d, p.store)
	equal(t, lines(live, ofEntries), lines(again.snapshot(), ofEntries), "loaded")
	again.same("loaded")
	again.leave()

	// The process is killed.
	killed := p.store.cut(t, 1+d.n(len(p.store.batches)))
	before, err := transcript.Read(t.Context(), killed, "s", options)
	require.NoError(t, err)
	a := enter(t, d, killed)
	// What the process had no time to ask is asked when the session is opened, and a call that was allowed is asked about again.
	knownTo := func(other *view.Snapshot) func(*view.Entity) bool {
		return func(e *view.Entity) bool {
			asks := e.Kind == view.Question && e.Status == view.Pending
			same := other.Get(e.ID)
			return ofEntries(e) && (!asks || same != nil && same.Digest == e.Digest)
		}
	}
	left, opens := before.Fold().Snapshot(), a.snapshot()
	equal(t, lines(left, knownTo(opens)), lines(opens, knownTo(left)), "killed")
	a.same("killed, then loaded")
	opened := lines(a.snapshot(), ofEntries)
	a.leave()
	b := enter(t, d, killed)
	equal(t, opened, lines(b.snapshot(), ofEntries), "killed and settled")
	b.turn(9)
	b.same("killed, then prompted")
	b.leave()

	// It is killed, the next one goes on with the turn, is killed, too, and so on.
	store := p.store
	for n := range 2 {
		store = store.cut(t, 1+d.n(len(store.batches)))
		takeUp(t, d, store, fmt.Sprint("taken up ", n+1))
	}
}
