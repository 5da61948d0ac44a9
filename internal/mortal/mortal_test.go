// SPDX-License-Identifier: Apache-2.0

package mortal_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/mortal"
)

// ends reports whether the process of a store has ended.
func ends(t *testing.T, s *mortal.Store) bool {
	t.Helper()
	select {
	case <-s.Dead():
		require.True(t, s.IsDead())
		return true
	default:
		require.False(t, s.IsDead())
		return false
	}
}

// A process ends in the write that was chosen. What it has written stays, its leases are free, and it learns nothing more.
func TestAProcessEndsInAWrite(t *testing.T) {
	ctx := t.Context()
	title := "new"
	for kill := 0; kill <= 5; kill++ {
		memory := new(session.Memory)
		s := mortal.New(memory)
		_, err := s.Create(ctx, session.New{ID: "x"})
		require.NoError(t, err)
		_, err = s.Update(ctx, "missing", session.Change{Title: &title}) // not a write
		require.ErrorIs(t, err, session.ErrNotFound)
		if kill > 0 {
			s.Kill(kill)
		}
		_, err = s.Update(ctx, "missing", session.Change{Title: &title}) // nor is this
		require.ErrorIs(t, err, session.ErrNotFound)
		lease, err := s.Acquire(ctx, "x", session.Claim{Holder: "me"})
		require.NoError(t, err)
		require.Equal(t, "x", lease.Session)
		var item session.Item
		writes := []func() error{
			func() error {
				_, err := s.Append(ctx, lease, 0, session.Batch{Entries: []session.Entry{{Kind: "k", Data: []byte(`1`)}}})
				return err
			},
			func() error {
				_, err := s.Update(ctx, "x", session.Change{Title: &title})
				return err
			},
			func() (err error) {
				item, err = s.Put(ctx, "x", session.Item{ID: "i", Kind: session.ItemPrompt, Data: []byte(`1`)})
				return err
			},
			func() error {
				_, err := s.Change(ctx, "x", "i", item.Version, []byte(`2`))
				return err
			},
		}
		for i, write := range writes {
			err := write()
			switch {
			case kill == 0 || i+1 < kill:
				require.NoError(t, err)
				require.False(t, ends(t, s))
				continue
			case i+1 == kill:
				require.Same(t, mortal.ErrDead, err)
			}
			require.True(t, ends(t, s))
			break
		}
		info, err := memory.Get(ctx, "x")
		require.NoError(t, err)
		written := 4
		if kill > 0 {
			written = min(kill, 4)
		}
		require.EqualValues(t, 1, info.Head)
		require.Equal(t, written >= 2, info.Title == "new")
		require.Equal(t, written >= 3, info.Waiting == 1)
		if written == 4 {
			for i, err := range memory.Items(ctx, "x", -1) {
				require.NoError(t, err)
				require.JSONEq(t, "2", string(i.Data))
			}
		}
		dead := kill > 0 && kill < 5
		require.Equal(t, dead, info.Holder == "", "a lease of a process that has ended is free")
		if !dead {
			require.False(t, ends(t, s))
			got, err := s.Get(ctx, "x")
			require.NoError(t, err)
			require.Equal(t, info, got)
			require.NoError(t, s.Release(ctx, lease))
			continue
		}
		for i, write := range writes {
			require.Same(t, mortal.ErrDead, write(), i)
		}
		got, err := s.Get(ctx, "x")
		require.Same(t, mortal.ErrDead, err)
		require.Zero(t, got)
		l, err := s.Acquire(ctx, "x", session.Claim{Holder: "me"})
		require.Same(t, mortal.ErrDead, err)
		require.Zero(t, l)
		require.Same(t, mortal.ErrDead, s.Release(ctx, lease))
		again, err := memory.Get(ctx, "x")
		require.NoError(t, err)
		require.Equal(t, info, again, "nothing is written after the end")
		for range s.Work(ctx) {
			require.Fail(t, "a process that has ended finds no work")
		}
		s.Kill(1)
		require.True(t, ends(t, s))
	}
	require.EqualError(t, mortal.ErrDead, "mortal: the process has ended: "+session.ErrClosed.Error())
	require.ErrorIs(t, mortal.ErrDead, session.ErrClosed)
}

// A lease that cannot be had is not released at the end.
func TestLeasesOfOthersStay(t *testing.T) {
	ctx := t.Context()
	memory := new(session.Memory)
	s := mortal.New(memory)
	for _, id := range []string{"x", "y"} {
		_, err := s.Create(ctx, session.New{ID: id})
		require.NoError(t, err)
	}
	_, err := memory.Acquire(ctx, "x", session.Claim{Holder: "another"})
	require.NoError(t, err)
	_, err = s.Acquire(ctx, "x", session.Claim{Holder: "me"})
	require.ErrorIs(t, err, session.ErrHeld)
	_, err = s.Acquire(ctx, "y", session.Claim{Holder: "me"})
	require.NoError(t, err)
	s.Kill(1)
	title := "t"
	_, err = s.Update(ctx, "y", session.Change{Title: &title})
	require.Same(t, mortal.ErrDead, err)
	for id, holder := range map[string]string{"x": "another", "y": ""} {
		info, err := memory.Get(ctx, id)
		require.NoError(t, err)
		require.Equal(t, holder, info.Holder)
	}
}

// Work is every session with entries that nobody holds.
func TestWorkIsWhatNobodyHolds(t *testing.T) {
	ctx := t.Context()
	memory := new(session.Memory)
	s := mortal.New(memory)
	for _, id := range []string{"empty", "held", "one", "two"} {
		_, err := memory.Create(ctx, session.New{ID: id})
		require.NoError(t, err)
		if id == "empty" {
			continue
		}
		w, err := session.Open(ctx, memory, id, session.Claim{Holder: "h"})
		require.NoError(t, err)
		_, err = w.Append(ctx, session.Entry{Kind: "k", Data: []byte(`1`)})
		require.NoError(t, err)
		if id != "held" {
			require.NoError(t, w.Close(ctx))
		} else {
			t.Cleanup(func() { _ = w.Close(ctx) })
		}
	}
	var ids []string
	for id, err := range s.Work(ctx) {
		require.NoError(t, err)
		ids = append(ids, id)
	}
	require.ElementsMatch(t, []string{"one", "two"}, ids)
	n := 0
	for range s.Work(ctx) {
		n++
		break
	}
	require.Equal(t, 1, n)

	ended, cancel := context.WithCancel(ctx)
	cancel()
	for id, err := range s.Work(ended) { // a list that fails is told
		require.Empty(t, id)
		require.ErrorIs(t, err, context.Canceled)
		n++
	}
	require.Equal(t, 2, n)
}
