// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

// tardy is a store whose answer about the items of a session may come late, when they have changed.
type tardy struct {
	*session.Memory
	next atomic.Bool
}

func (s *tardy) Items(ctx context.Context, id string, after int64, kinds ...session.ItemKind) iter.Seq2[session.Item, error] {
	var all []session.Item
	for i, err := range s.Memory.Items(ctx, id, after, kinds...) {
		if err != nil {
			break
		}
		all = append(all, i)
	}
	if s.next.Swap(false) {
		time.Sleep(time.Second)
	}
	return func(yield func(session.Item, error) bool) {
		for _, i := range all {
			if !yield(i, nil) {
				return
			}
		}
	}
}

// Two look at what waits. The one that has looked first must not be the last to show it: people would
// see, and could edit, a prompt that is gone.
func TestWhatWaitsIsShownInTheOrderInWhichItIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, store := newGate(), &tardy{Memory: new(session.Memory)}
		h := newHost(t, host.Config[none, string]{Agent: newAgent(g.model()), Store: store})
		s := create(t, h)
		var told atomic.Int32
		s.Announce(func(_ context.Context, e *view.Entity) {
			if e.Kind == view.Waiting {
				told.Add(1)
			}
		})
		first := runs(t, s, "first")
		<-g.asked
		second := runs(t, s, "second")
		time.Sleep(time.Minute)
		require.EqualValues(t, 1, told.Load())
		waiting, err := s.Waiting(t.Context())
		require.NoError(t, err)
		require.Len(t, waiting, 1)
		edited := waiting[0]

		store.next.Store(true)
		reads := make(chan error)
		go func() { reads <- s.EditWaiting(t.Context(), edited.ID, edited.Version, say("Other.").Parts, nil) }()
		synctest.Wait() // it has read that the prompt waits
		require.False(t, store.next.Load())
		require.NoError(t, s.RemoveWaiting(t.Context(), edited.ID, edited.Version+1))
		require.NoError(t, <-reads)
		synctest.Wait()
		require.EqualValues(t, 3, told.Load(), "edited, then gone")
		g.answer <- "one"
		require.NoError(t, (<-first).Err)
		require.ErrorIs(t, (<-second).Err, host.ErrCancelled)
		require.NoError(t, h.Close(t.Context()))
	})
}
