// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

// unsteady is a store that cannot say what has changed for a while.
type unsteady struct {
	*session.Memory
	away atomic.Bool
}

func (u *unsteady) Get(ctx context.Context, id string) (session.Info, error) {
	if u.away.Load() {
		return session.Info{}, errDistant("get")
	}
	return u.Memory.Get(ctx, id)
}

// A session hears that something has changed when the store cannot say what. It looks again, so
// that a prompt that waits is run without any other news.
func TestSessionsLookAgainAtWhatTheStoreCouldNotSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &unsteady{Memory: new(session.Memory)}
		h := newHost(t, host.Config[none, string]{
			Agent: newAgent(echo()), Store: store, Logger: slog.New(slog.DiscardHandler),
		})
		s := create(t, h)
		require.NoError(t, prompt(t, s, "One.").Err)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		store.away.Store(true)
		_, err := store.Put(t.Context(), s.ID(), session.Item{
			Kind: session.ItemPrompt, Time: time.Now(),
			Data: []byte(`{"parts":[{"kind":"user","text":"Two."}]}`),
		})
		require.NoError(t, err)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		store.away.Store(false)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Contains(t, shown(t, s), "II Two.")
		require.NoError(t, h.Close(t.Context()))
	})
}

// A page of the list is empty only if nothing follows it, although whoever lists may not want the
// sessions of the first pages. What follows the page is its Next.
func TestListsGoOnBehindPagesThatNobodyWants(t *testing.T) {
	store := new(session.Memory)
	h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: store})
	dirs := map[string]bool{}
	for n := range 7 {
		dir := "/other"
		if n == 1 || n == 2 {
			dir = "/repo"
		}
		info, err := store.Create(t.Context(), session.New{Dir: dir})
		require.NoError(t, err)
		dirs[info.ID] = dir == "/repo"
	}
	mine := func(i *session.Info) bool { return dirs[i.ID] }
	for _, limit := range []int{1, 2, 3, 100} {
		var seen []string
		q := session.Query{Limit: limit}
		for {
			page, err := h.List(t.Context(), q, mine)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page.Sessions), limit)
			for _, i := range page.Sessions {
				require.True(t, dirs[i.ID])
				seen = append(seen, i.ID)
			}
			if len(page.Sessions) == 0 || page.Next == "" {
				require.Empty(t, page.Next, "more may follow")
				break
			}
			q.Cursor = page.Next
		}
		require.Len(t, seen, 2, limit)
		require.NotEqual(t, seen[0], seen[1])
	}
	_, err := h.List(t.Context(), session.Query{Cursor: "nonsense"}, mine)
	require.Error(t, err)
}
