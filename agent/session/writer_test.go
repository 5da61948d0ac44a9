// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

// gate is a store whose appends wait, and can fail.
type gate struct {
	session.Memory
	mu      sync.Mutex
	pass    chan struct{}
	calls   int
	fail    error
	despite bool // what fails is appended all the same
}

func (g *gate) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	g.mu.Lock()
	g.calls++
	err, despite, pass := g.fail, g.despite, g.pass
	g.mu.Unlock()
	if pass != nil {
		<-pass
	}
	if err != nil && !despite {
		return 0, err
	}
	head, appendErr := g.Memory.Append(ctx, l, head, b)
	return head, errors.Join(err, appendErr)
}

func (g *gate) set(err error, despite bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fail, g.despite = err, despite
}

func open(t *testing.T, s session.Store) *session.Writer {
	t.Helper()
	_, err := s.Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), s, "a", session.Claim{Holder: "me"})
	require.NoError(t, err)
	return w
}

func view(n int) session.Entry {
	return session.Entry{Kind: session.KindView, Data: json.RawMessage(fmt.Sprint(n))}
}

func loaded(t *testing.T, s session.Store, id string) (texts []string) {
	t.Helper()
	for e, err := range s.Load(t.Context(), id, 0) {
		require.NoError(t, err)
		texts = append(texts, string(e.Data))
	}
	return texts
}

func TestWriterJoinsConcurrentAppends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{pass: make(chan struct{})}
		w := open(t, g)
		var all sync.WaitGroup
		numbers := make([]int64, 20)
		for i := range numbers {
			all.Go(func() {
				var err error
				numbers[i], err = w.Append(t.Context(), view(i), view(i))
				require.NoError(t, err)
			})
		}
		synctest.Wait()
		close(g.pass)
		all.Wait()
		require.LessOrEqual(t, g.calls, 2+1)
		texts := loaded(t, g, "a")
		require.Len(t, texts, 40)
		for i, n := range numbers {
			require.Equal(t, fmt.Sprint(i), texts[n-1], "the number that Append returned")
			require.Equal(t, fmt.Sprint(i), texts[n])
		}
		require.Equal(t, int64(40), w.Head())
		require.NoError(t, w.Close(t.Context()))
	})
}

func TestWriterGoesOnAfterFailedAppend(t *testing.T) {
	for _, despite := range []bool{false, true} {
		g := new(gate)
		w := open(t, g)
		_, err := w.Append(t.Context(), view(1))
		require.NoError(t, err)
		g.set(session.ErrBusy, despite)
		_, err = w.Append(t.Context(), view(2))
		require.ErrorIs(t, err, session.ErrBusy)
		g.set(nil, false)
		n, err := w.Append(t.Context(), view(3))
		require.NoError(t, err)
		texts := loaded(t, g, "a")
		require.Equal(t, "3", texts[n-1])
		require.Equal(t, despite, len(texts) == 3)
		require.NoError(t, w.Close(t.Context()))
	}
}

func TestWriterIsToldWhenItsSessionIsTaken(t *testing.T) {
	var m session.Memory
	w := open(t, &m)
	other, err := session.Open(t.Context(), &m, "a", session.Claim{Holder: "a browser", Force: true})
	require.NoError(t, err)
	_, err = w.Append(t.Context(), view(1))
	require.ErrorIs(t, err, session.ErrLeaseLost)
	require.ErrorContains(t, err, "a browser")
	require.ErrorIs(t, w.Close(t.Context()), session.ErrLeaseLost)
	_, err = other.Append(t.Context(), view(2))
	require.NoError(t, err)
	require.Equal(t, []string{"2"}, loaded(t, &m, "a"))
	require.NoError(t, other.Close(t.Context()))
}

func TestWriterRefusesInvalidEntriesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{pass: make(chan struct{})}
		w := open(t, g)
		var all sync.WaitGroup
		all.Go(func() {
			_, err := w.Append(t.Context(), view(1))
			require.NoError(t, err)
		})
		synctest.Wait()
		all.Go(func() {
			_, err := w.Append(t.Context(), view(2))
			require.NoError(t, err)
		})
		all.Go(func() {
			_, err := w.Append(t.Context(), session.Entry{Kind: session.KindView, Data: []byte(`{`)})
			require.ErrorIs(t, err, session.ErrInvalid)
		})
		all.Go(func() {
			_, err := w.Append(t.Context(), view(2))
			require.NoError(t, err)
		})
		_, err := w.Append(t.Context(), session.Entry{Kind: session.KindView, Seq: 9})
		require.ErrorIs(t, err, session.ErrInvalid)
		synctest.Wait()
		close(g.pass)
		all.Wait()
		require.Equal(t, []string{"1", "2", "2"}, loaded(t, g, "a"))
		require.NoError(t, w.Close(t.Context()))
	})
}

func TestWriterDoesNotWaitLongerThanItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{pass: make(chan struct{})}
		w := open(t, g)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := w.Append(ctx, view(1))
			ended <- err
		}()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		close(g.pass)
		require.NoError(t, w.Close(t.Context()), "the session is given back")
		_, err := w.Append(t.Context(), view(2))
		require.ErrorIs(t, err, session.ErrClosed)
		require.NoError(t, w.Close(t.Context()), "a second Close")
		info, err := g.Get(t.Context(), "a")
		require.NoError(t, err)
		require.Empty(t, info.Holder)
	})
}

func TestEntriesOfNewerVersionsAreRefused(t *testing.T) {
	e := session.Entry{Seq: 3, Kind: session.KindValue, Key: "mode", Data: json.RawMessage(`"ask"`)}
	data, err := json.Marshal(e)
	require.NoError(t, err)
	require.JSONEq(t, `{"v":1,"seq":3,"kind":"value","key":"mode","data":"ask"}`, string(data))
	var back session.Entry
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, e, back)
	err = json.Unmarshal([]byte(`{"v":2,"kind":"value"}`), &back)
	require.ErrorIs(t, err, session.ErrVersion)
	require.ErrorContains(t, err, "version 2")
}

// Entries that callers take from one place as their batches are queued are written in the order in which they were taken,
// before the other entries of the batch. What is taken from an empty place is not written, and a closed writer takes nothing.
func TestWriterWritesInTheOrderInWhichEntriesAreTaken(t *testing.T) {
	m := new(gate)
	w := open(t, m)
	taken := 0
	take := func() []session.Entry {
		taken++ // without a lock: the race detector knows
		return []session.Entry{view(taken)}
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				first, err := w.Write(t.Context(), session.Batch{Before: take, Entries: []session.Entry{view(0)}})
				require.NoError(t, err)
				require.Equal(t, int64(1), first%2)
			}
		})
	}
	all.Wait()
	n := 0
	for i, text := range loaded(t, m, "a") {
		if i%2 == 0 {
			n++
			require.Equal(t, fmt.Sprint(n), text)
		} else {
			require.Equal(t, "0", text)
		}
	}
	require.Equal(t, 800, n)
	calls := m.calls
	first, err := w.Write(t.Context(), session.Batch{Before: func() []session.Entry { return nil }})
	require.NoError(t, err)
	require.Zero(t, first)
	require.Equal(t, calls, m.calls, "there is nothing to write")
	require.NoError(t, w.Close(t.Context()))
	_, err = w.Write(t.Context(), session.Batch{Before: take})
	require.ErrorIs(t, err, session.ErrClosed)
	require.Equal(t, 800, taken)
}
