// SPDX-License-Identifier: Apache-2.0

package sameview_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// follower is a process that has followed a session from its beginning: it knows each entry as it was
// appended, also those that the store has removed since.
type follower struct {
	c     *transcript.Conversation
	taken int // of the batches
	seq   int64
}

func follow(t *testing.T) *follower {
	empty := new(session.Memory)
	_, err := empty.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	c, err := transcript.Follow(t.Context(), empty, "s", options)
	require.NoError(t, err)
	return &follower{c: c}
}

// shown returns what the follower shows of all that was appended.
func (f *follower) shown(t *testing.T, store *recorder) *view.Snapshot {
	store.mu.Lock()
	defer store.mu.Unlock()
	for _, batch := range store.batches[f.taken:] {
		for _, e := range batch {
			f.seq++
			e.Seq = f.seq
			require.NoError(t, f.c.Take(e))
		}
	}
	f.taken = len(store.batches)
	return f.c.Fold().Snapshot()
}

// takeUp has a process go on with a turn that was cut off, and answers what is asked.
func takeUp(t *testing.T, d *dice, store *recorder, when string) {
	_, err := store.Put(t.Context(), "s", session.Item{ID: when, Kind: session.ItemContinue})
	require.NoError(t, err)
	p := enterServing(t, d, store, true)
	defer p.leave()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- p.h.Serve(ctx) }()
	for idle := 0; idle < 5; idle++ {
		time.Sleep(time.Second)
		for _, q := range p.pending() {
			a := host.Answer{Choice: pick(d, host.AllowOnce, host.RejectOnce), Digest: q.Digest}
			require.NoError(t, p.s.Decide(t.Context(), q.ID, "user", a))
			idle = 0
		}
		if p.s.Turn() != nil {
			idle = 0
		}
	}
	p.same(when)
	cancel()
	require.ErrorIs(t, <-served, context.Canceled)
}
