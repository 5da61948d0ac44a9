// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

// Times lie between the years 1970 and 2262, to the nanosecond.
func TestTimesAtTheirBounds(t *testing.T) {
	first, behind := time.Unix(0, 0), time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		at time.Time
		ok bool
	}{{first.Add(-1), false}, {first, true}, {behind.Add(-1), true}, {behind, false}} {
		_, entryErr := (&session.Batch{Entries: []session.Entry{{Kind: session.KindView, Time: c.at}}}).Prepare(0, time.Now())
		_, itemErr := (&session.Item{Kind: session.ItemNote, Time: c.at}).Prepare(time.Now())
		newErr := (&session.New{Created: c.at}).Check()
		for _, err := range []error{entryErr, itemErr, newErr} {
			if c.ok {
				require.NoError(t, err, "%v", c.at)
				continue
			}
			require.ErrorIs(t, err, session.ErrInvalid)
			require.ErrorContains(t, err, "must be between the years 1970 and 2262")
		}
	}
}

// The texts of an item have no zero bytes. Other control characters are allowed.
func TestItemsHaveNoZeroBytes(t *testing.T) {
	for _, text := range []string{"\x00", "a\x00b"} {
		for _, i := range []session.Item{{Kind: session.ItemKind(text)}, {Kind: session.ItemNote, By: text}, {Kind: session.ItemNote, Digest: text}} {
			_, err := i.Prepare(time.Now())
			require.ErrorIs(t, err, session.ErrInvalid)
			require.ErrorContains(t, err, "must be UTF-8 without zero bytes")
		}
	}
	made, err := (&session.Item{Kind: "a\x01b", By: "\x01", Digest: "\n", Data: json.RawMessage(`1`)}).Prepare(time.Now())
	require.NoError(t, err)
	require.Equal(t, `1`, string(made.Data))
}

func TestPagesHaveTheseSizes(t *testing.T) {
	for limit, want := range map[int]int{0: 50, 1: 1, 2: 2, 999: 999, 1000: 1000, 1001: 1000} {
		require.Equal(t, want, (&session.Query{Limit: limit}).PageSize(), limit)
	}
}

func TestErrorsNameTheFirstEntry(t *testing.T) {
	bad := errors.New("bad")
	for want, e := range map[string]session.Error{
		"session: load s: entry 1: bad": {Session: "s", Seq: 1},
		"session: load: bad":            {},
		"session: load s: entry 2: bad (up to entry 1 it can be kept as a fork)":   {Session: "s", Seq: 2, Good: 1},
		"session: load s: item i: bad (by me)":                                     {Session: "s", Item: "i", Holder: "me"},
		"session: load s: item i: entry 1: bad (by me since 2024-05-06T07:08:09Z)": {Session: "s", Item: "i", Seq: 1, Holder: "me", Since: time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC), Good: 1},
	} {
		e.Op, e.Err = "load", bad
		require.EqualError(t, &e, want)
	}
}

// An append that fails returns no number, whatever store is around the store.
func TestFailedAppendsReturnNoNumber(t *testing.T) {
	m := new(session.Memory)
	_, err := m.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	held, err := m.Acquire(t.Context(), "s", session.Claim{Holder: "me"})
	require.NoError(t, err)
	fails := func(_ context.Context, e *session.Entry) error {
		if e.Key == "bad" {
			return errStore
		}
		return nil
	}
	entry := session.Entry{Kind: session.KindMessage, Data: json.RawMessage(`1`)}
	spoiled, invalid := entry, entry
	spoiled.Key, invalid.Data = "bad", json.RawMessage(`{`)
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errStore)
	for what, c := range map[string]struct {
		ctx   context.Context
		store session.Store
		lease session.Lease
		head  int64
		batch session.Batch
		want  error
	}{
		"ended context":       {ended, m, held, 0, session.Batch{Entries: []session.Entry{entry}}, errStore},
		"another head":        {t.Context(), m, held, 1, session.Batch{Entries: []session.Entry{entry}}, session.ErrHeadMoved},
		"no session":          {t.Context(), m, session.Lease{Session: "x"}, 0, session.Batch{Entries: []session.Entry{entry}}, session.ErrNotFound},
		"another lease":       {t.Context(), m, session.Lease{Session: "s", Token: held.Token + 1}, 0, session.Batch{Entries: []session.Entry{entry}}, session.ErrLeaseLost},
		"an invalid entry":    {t.Context(), m, held, 0, session.Batch{Entries: []session.Entry{invalid}}, session.ErrInvalid},
		"no such item":        {t.Context(), m, held, 0, session.Batch{Consumed: []session.Ref{{ID: "i", Version: 1}}}, session.ErrNoItem},
		"a failing processor": {t.Context(), session.Processed(m, fails), held, 0, session.Batch{Entries: []session.Entry{entry, spoiled}}, errStore},
		"invalid, encrypted":  {t.Context(), encrypted(t, m, "k"), held, 0, session.Batch{Entries: []session.Entry{entry, invalid}}, session.ErrInvalid},
	} {
		n, err := c.store.Append(c.ctx, c.lease, c.head, c.batch)
		require.ErrorIs(t, err, c.want, what)
		require.Zero(t, n, what)
	}
	n, err := m.Append(t.Context(), held, 0, session.Batch{Entries: []session.Entry{entry}})
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
}

// Data that was not encrypted is damaged, however short.
func TestPlantedDataIsNotRead(t *testing.T) {
	m := new(session.Memory)
	_, err := m.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	l, err := m.Acquire(t.Context(), "s", session.Claim{})
	require.NoError(t, err)
	_, err = m.Append(t.Context(), l, 0, session.Batch{Entries: []session.Entry{{Kind: session.KindValue, Data: json.RawMessage(`7`)}, {Kind: session.KindValue}}})
	require.NoError(t, err)
	var said []error
	for e, err := range encrypted(t, m, "k").Load(t.Context(), "s", 0) {
		require.Empty(t, e.Data)
		said = append(said, err)
	}
	require.Len(t, said, 2)
	require.ErrorIs(t, said[0], session.ErrCorrupt)
	require.NoError(t, said[1], "an entry without data has nothing to read")
}

// The smallest bounds count: one session, a byte, and a nanosecond.
func TestPruneHasSmallestBounds(t *testing.T) {
	for name, c := range map[string]struct {
		r    session.Retention
		left string
	}{
		"one session":           {session.Retention{MaxSessions: 1}, "07"},
		"a byte":                {session.Retention{MaxBytes: 1}, "7"},
		"the size of a session": {session.Retention{MaxBytes: 100}, "07"},
		"a byte less":           {session.Retention{MaxBytes: 99}, "7"},
		"a nanosecond":          {session.Retention{MaxAge: 1}, "07"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := aged(t)
				_, err := session.Prune(t.Context(), m, c.r)
				require.NoError(t, err)
				require.Equal(t, c.left, ids(t, m))
			})
		})
	}
}

// torn is a store with a damaged entry.
type torn struct {
	*session.Memory
	seq int64
}

func (d *torn) Load(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	return func(yield func(session.Entry, error) bool) {
		for e, err := range d.Memory.Load(ctx, id, after) {
			if e.Seq == max(d.seq, 1) {
				e, err = session.Entry{Seq: d.seq}, &session.Error{Op: "load", Session: id, Seq: d.seq, Err: session.ErrCorrupt}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// A damaged entry is left out of an export, also if it is the first one. An error that is not about
// an entry ends it.
func TestExportGoesOnBehindADamagedEntry(t *testing.T) {
	for seq, want := range map[int64]int{0: 1, 1: 3, 2: 3} {
		m := new(session.Memory)
		_, err := m.Create(t.Context(), session.New{ID: "s"})
		require.NoError(t, err)
		l, err := m.Acquire(t.Context(), "s", session.Claim{})
		require.NoError(t, err)
		one := session.Entry{Kind: session.KindValue, Data: json.RawMessage(`1`)}
		_, err = m.Append(t.Context(), l, 0, session.Batch{Entries: []session.Entry{one, one, one}})
		require.NoError(t, err)
		var text strings.Builder
		require.ErrorIs(t, session.Export(t.Context(), &torn{m, seq}, &text), session.ErrCorrupt)
		require.Equal(t, want, strings.Count(text.String(), "\n"), "entry %d", seq)
	}
}

// Of two that wait for one append each has its own outcome: both are appended together, and once
// more alone if one of them is wrong. One that is alone is appended once.
func TestWriterAppendsAloneWhatIsWrongTogether(t *testing.T) {
	for _, c := range []struct {
		more []string // what waits while the first one is appended
		want int
	}{{[]string{`2`, `3`}, 2}, {[]string{`2`, `{`}, 4}, {[]string{`{`}, 2}} {
		synctest.Test(t, func(t *testing.T) {
			g := &gate{pass: make(chan struct{})}
			w := open(t, g)
			var all sync.WaitGroup
			for _, data := range append([]string{`1`}, c.more...) {
				all.Go(func() {
					n, err := w.Append(t.Context(), session.Entry{Kind: session.KindValue, Data: json.RawMessage(data)})
					if data == `{` {
						require.ErrorIs(t, err, session.ErrInvalid)
						require.Zero(t, n)
						return
					}
					require.NoError(t, err)
					require.Positive(t, n)
				})
				synctest.Wait()
			}
			close(g.pass)
			all.Wait()
			require.Equal(t, c.want, g.calls, "%q", c.more)
			require.NoError(t, w.Close(t.Context()))
		})
	}
}
