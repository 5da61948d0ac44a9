// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

var errStore = errors.New("the disk is gone")

// failing is a store of which one call fails, or a sequence at its end.
type failing struct {
	*session.Memory
	at    int // which call, from 0
	calls []string
}

func (f *failing) fails(call string) error {
	f.calls = append(f.calls, call)
	if len(f.calls)-1 == f.at {
		return errStore
	}
	return nil
}

func (f *failing) Create(ctx context.Context, n session.New) (session.Info, error) {
	if err := f.fails("Create " + n.ID); err != nil {
		return session.Info{}, err
	}
	return f.Memory.Create(ctx, n)
}

func (f *failing) Get(ctx context.Context, id string) (session.Info, error) {
	if err := f.fails("Get " + id); err != nil {
		return session.Info{}, err
	}
	return f.Memory.Get(ctx, id)
}

func (f *failing) List(ctx context.Context, q session.Query) (session.Page, error) {
	if err := f.fails(fmt.Sprint("List ", q.Limit)); err != nil {
		return session.Page{}, err
	}
	return f.Memory.List(ctx, q)
}

func (f *failing) Update(ctx context.Context, id string, c session.Change) (session.Info, error) {
	if err := f.fails("Update " + id); err != nil {
		return session.Info{}, err
	}
	return f.Memory.Update(ctx, id, c)
}

func (f *failing) Fork(ctx context.Context, id string, at int64, n session.New) (session.Info, error) {
	if err := f.fails("Fork " + id); err != nil {
		return session.Info{}, err
	}
	return f.Memory.Fork(ctx, id, at, n)
}

func (f *failing) Delete(ctx context.Context, id string) error {
	if err := f.fails("Delete " + id); err != nil {
		return err
	}
	return f.Memory.Delete(ctx, id)
}

func (f *failing) Acquire(ctx context.Context, id string, c session.Claim) (session.Lease, error) {
	if err := f.fails("Acquire " + id + " for " + c.Holder); err != nil {
		return session.Lease{}, err
	}
	return f.Memory.Acquire(ctx, id, c)
}

func (f *failing) Release(ctx context.Context, l session.Lease) error {
	if err := f.fails("Release " + l.Session); err != nil {
		return err
	}
	return f.Memory.Release(ctx, l)
}

func (f *failing) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	if err := f.fails(fmt.Sprintf("Append %d entries to %s", len(b.Entries), l.Session)); err != nil {
		return 0, err
	}
	return f.Memory.Append(ctx, l, head, b)
}

func (f *failing) Put(ctx context.Context, id string, i session.Item) (session.Item, error) {
	if err := f.fails("Put " + i.ID + " to " + id); err != nil {
		return session.Item{}, err
	}
	return f.Memory.Put(ctx, id, i)
}

func (f *failing) Change(ctx context.Context, id, item string, version int64, data json.RawMessage) (session.Item, error) {
	if err := f.fails("Change " + item + " of " + id); err != nil {
		return session.Item{}, err
	}
	return f.Memory.Change(ctx, id, item, version, data)
}

func (f *failing) Load(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	return endsWith(f.Memory.Load(ctx, id, after), f.fails("Load "+id))
}

func (f *failing) Items(ctx context.Context, id string, after int64, kinds ...session.ItemKind) iter.Seq2[session.Item, error] {
	return endsWith(f.Memory.Items(ctx, id, after, kinds...), f.fails("Items "+id))
}

func endsWith[T any](seq iter.Seq2[T, error], failure error) iter.Seq2[T, error] {
	if failure == nil {
		return seq
	}
	return func(yield func(T, error) bool) {
		for v, err := range seq {
			if !yield(v, err) {
				return
			}
		}
		yield(*new(T), failure)
	}
}

// withItems is filled with items.
func withItems(t *testing.T) *session.Memory {
	m := filled(t)
	for _, id := range []string{"1", "2"} {
		_, err := m.Put(t.Context(), "a", session.Item{ID: id, Kind: session.ItemPrompt, Data: json.RawMessage(`"x"`)})
		require.NoError(t, err)
	}
	return m
}

// TestEveryFailureOfTheStoreIsTold has each call of a store fail in turn: whoever used the store
// hears of it.
func TestEveryFailureOfTheStoreIsTold(t *testing.T) {
	ctx := t.Context()
	var text strings.Builder
	require.NoError(t, session.Export(ctx, withItems(t), &text))
	title := "new"
	use := func(s session.Store) error {
		l, err := s.Acquire(ctx, "a", session.Claim{Holder: "me"})
		if err != nil {
			return err
		}
		for _, do := range []func() error{
			func() error { _, err := s.Create(ctx, session.New{ID: "new", Title: "t"}); return err },
			func() error { _, err := s.Get(ctx, "new"); return err },
			func() error { _, err := s.List(ctx, session.Query{Dir: "/"}); return err },
			func() error { _, err := s.Update(ctx, "new", session.Change{Title: &title}); return err },
			func() error { _, err := s.Fork(ctx, "new", 0, session.New{ID: "fork of new"}); return err },
			func() error {
				_, err := s.Append(ctx, l, 9+1, session.Batch{Entries: []session.Entry{{Kind: "view", Data: json.RawMessage(`1`)}}})
				return err
			},
			func() error {
				_, err := s.Put(ctx, "new", session.Item{ID: "i", Kind: session.ItemNote, Data: json.RawMessage(`1`)})
				return err
			},
			func() error { _, err := s.Change(ctx, "new", "i", 1, json.RawMessage(`2`)); return err },
			func() error { return failureOf(s.Items(ctx, "new", 0)) },
			func() error { return failureOf(s.Load(ctx, "new", 0)) },
			func() error { return s.Delete(ctx, "new") },
			func() error { return s.Release(ctx, l) },
		} {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	}
	for name, c := range map[string]struct {
		empty bool
		do    func(s *failing) error
		calls string
	}{
		"export": {false, func(s *failing) error { return session.Export(ctx, s, io.Discard) },
			"List 100, Get fork, Load fork, Items fork, Get empty, Load empty, Items empty, Get b, Load b, Items b, Get a, Load a, Items a"},
		"export of some": {false, func(s *failing) error { return session.Export(ctx, s, io.Discard, "b", "empty") },
			"Get b, Load b, Items b, Get empty, Load empty, Items empty"},
		"import": {true, func(s *failing) error {
			_, err := session.Import(ctx, s, strings.NewReader(text.String()), session.ImportOptions{})
			return err
		}, "Create fork, Acquire fork for import, Append 2 entries to fork, Release fork, Create empty, Acquire empty for import, Release empty, " +
			"Create b, Acquire b for import, Append 4 entries to b, Release b, Create a, Acquire a for import, Put 1 to a, Put 2 to a, Append 4 entries to a, Release a"},
		"prune": {false, func(s *failing) error { _, err := session.Prune(ctx, s, session.Retention{MaxSessions: 2}); return err },
			"List 1000, Get fork, Delete fork, Get empty, Delete empty"},
		"purge": {false, func(s *failing) error { _, err := session.Purge(ctx, s, session.Query{}); return err },
			"List 1000, Delete b, Delete a, Delete fork, Delete empty"},
		"processed": {false, func(s *failing) error {
			return use(session.Processed(s, func(context.Context, *session.Entry) error { return nil }))
		}, "Acquire a for me, Create new, Get new, List 0, Update new, Fork new, Append 1 entries to a, Put i to new, Change i of new, Items new, Load new, Delete new, Release a"},
	} {
		t.Run(name, func(t *testing.T) {
			for at := -1; ; at++ {
				s := &failing{Memory: new(session.Memory), at: at}
				if !c.empty {
					s.Memory = withItems(t)
				}
				err := c.do(s)
				if at < 0 {
					require.NoError(t, err)
					require.Equal(t, c.calls, strings.Join(s.calls, ", "))
					continue
				}
				if at >= len(s.calls) {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, errStore, s.calls[at])
			}
		})
	}
}

func failureOf[T any](seq iter.Seq2[T, error]) error {
	for _, err := range seq {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestQuerySelects has both sides of each condition.
func TestQuerySelects(t *testing.T) {
	none, ada := "", "ada"
	talk := session.Info{Dir: "/repo", Parent: "p", Owner: "ada", Tenant: "t"}
	ledger := session.Info{Dir: session.InternalDir + "x", Owner: "ada"}
	for _, c := range []struct {
		q            session.Query
		talk, ledger bool
	}{
		{session.Query{}, true, true},
		{session.Query{Dir: "/repo"}, true, false},
		{session.Query{Dir: "/repo/"}, false, false},
		{session.Query{Parent: "p"}, true, false},
		{session.Query{Parent: "q"}, false, false},
		{session.Query{Conversations: true}, true, false},
		{session.Query{Owner: &ada}, false, true},
		{session.Query{Owner: &ada, Tenant: "t"}, true, false},
		{session.Query{Owner: &none}, false, false},
		{session.Query{Owner: &none, Tenant: "t"}, false, false},
		{session.Query{Tenant: "t"}, true, false},
		{session.Query{Tenant: "u"}, false, false},
	} {
		require.Equal(t, c.talk, c.q.Selects(&talk), "%+v", c.q)
		require.Equal(t, c.ledger, c.q.Selects(&ledger), "%+v", c.q)
	}
	for limit, want := range map[int]int{0: 50, 1: 1, 50: 50, 999: 999, 1000: 1000, 1001: 1000} {
		require.Equal(t, want, (&session.Query{Limit: limit}).PageSize())
	}
}

// TestErrorsOfProcessorsAreTold has a processor that refuses each kind of text.
func TestErrorsOfProcessorsAreTold(t *testing.T) {
	ctx := t.Context()
	bad := errors.New("bad")
	title := "t"
	value := map[string]json.RawMessage{"v": json.RawMessage(`1`)}
	uses := map[string]func(s session.Store) error{
		"create title": func(s session.Store) error { _, err := s.Create(ctx, session.New{ID: "n", Title: "t"}); return err },
		"create value": func(s session.Store) error { _, err := s.Create(ctx, session.New{ID: "n", Values: value}); return err },
		"fork title":   func(s session.Store) error { _, err := s.Fork(ctx, "a", 0, session.New{Title: "t"}); return err },
		"update title": func(s session.Store) error { _, err := s.Update(ctx, "a", session.Change{Title: &title}); return err },
		"update value": func(s session.Store) error { _, err := s.Update(ctx, "a", session.Change{Values: value}); return err },
		"put": func(s session.Store) error {
			_, err := s.Put(ctx, "a", session.Item{Kind: "k", Data: []byte(`1`)})
			return err
		},
		"change": func(s session.Store) error { _, err := s.Change(ctx, "a", "i", 1, []byte(`1`)); return err },
		"append": func(s session.Store) error {
			_, err := s.Append(ctx, session.Lease{Session: "a"}, 0, session.Batch{Entries: []session.Entry{{Kind: "x"}}})
			return err
		},
	}
	says := map[string]string{
		"create title": "session: create n: bad", "create value": "session: create n: bad", "fork title": "session: fork a: bad",
		"update title": "session: update a: bad", "update value": "session: update a: bad", "put": "session: put a: bad",
		"change": "session: change a: bad", "append": "session: append a: process entry 0: bad",
	}
	for name, use := range uses {
		s := session.Processed(filled(t), func(context.Context, *session.Entry) error { return bad })
		err := use(s)
		require.EqualError(t, err, says[name])
		require.ErrorIs(t, err, bad)
	}
	// What has no text is not processed.
	s := session.Processed(filled(t), func(context.Context, *session.Entry) error { return bad })
	_, err := s.Create(ctx, session.New{ID: "n", Values: map[string]json.RawMessage{"v": nil}})
	require.NoError(t, err)
	_, err = s.Put(ctx, "a", session.Item{ID: "i", Kind: session.ItemCancel})
	require.NoError(t, err)
	_, err = s.Change(ctx, "a", "i", 1, nil)
	require.NoError(t, err)
}

// meddling is a store whose sessions change before they are got.
type meddling struct {
	*session.Memory
	change func(i *session.Info) error
}

func (m meddling) Get(ctx context.Context, id string) (session.Info, error) {
	i, err := m.Memory.Get(ctx, id)
	if err == nil {
		err = m.change(&i)
	}
	return i, err
}

// unreleased is a store that releases nothing.
type unreleased struct {
	*failing
	err error
}

func (u unreleased) Release(context.Context, session.Lease) error { return u.err }

// A processed store can be watched and compacted if the store below can.
type (
	bare      struct{ session.Store }
	watched   struct{ *session.Memory }
	compacted struct{ bare }
	both      struct{ *session.Memory }
)

func (compacted) Compact(context.Context) error { return errStore }
func (both) Compact(context.Context) error      { return errStore }

func TestProcessedStoresCanWhatTheStoreCan(t *testing.T) {
	m := new(session.Memory)
	for name, c := range map[string]struct {
		store             session.Store
		watches, compacts bool
	}{
		"bare": {bare{m}, false, false}, "watched": {watched{m}, true, false}, "compacted": {compacted{bare{m}}, false, true}, "both": {both{m}, true, true},
	} {
		s := session.Processed(c.store, func(context.Context, *session.Entry) error { return nil })
		w, watches := s.(session.Watcher)
		compacter, compacts := s.(session.Compacter)
		require.Equal(t, c.watches, watches, name)
		require.Equal(t, c.compacts, compacts, name)
		if watches {
			require.ErrorIs(t, failureOf(w.Watch(t.Context(), "none", 0)), session.ErrNotFound)
		}
		if compacts {
			require.ErrorIs(t, compacter.Compact(t.Context()), errStore)
		}
		_, err := s.Create(t.Context(), session.New{ID: name})
		require.NoError(t, err)
	}
	require.PanicsWithValue(t, "session: Processed: the store or the processor is nil", func() { session.Processed(m, nil) })
}

// TestClosedWriterStillKnowsItsHead asks a writer after its end.
func TestClosedWriterStillKnowsItsHead(t *testing.T) {
	m := filled(t)
	w, err := session.Open(t.Context(), m, "a", session.Claim{})
	require.NoError(t, err)
	head := w.Head()
	require.NoError(t, w.Close(t.Context()))
	require.NoError(t, w.Close(t.Context()), "a second time")
	require.Equal(t, head, w.Head())
	_, err = w.Append(t.Context(), session.Entry{Kind: "view"})
	require.ErrorIs(t, err, session.ErrClosed)
	require.False(t, w.Lost())
}
