// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

type (
	onlyCompacts struct{ session.Store }
	watches      struct {
		session.Store
		session.Watcher
	}
	watchesAndCompacts struct {
		session.Store
		session.Watcher
	}
)

func (onlyCompacts) Compact(context.Context) error       { return errStore }
func (watchesAndCompacts) Compact(context.Context) error { return errStore }

// An encrypted store is a watcher and a compacter exactly if the store below is.
func TestEncryptedStoresCanWhatTheStoreCan(t *testing.T) {
	m := new(session.Memory)
	for name, c := range map[string]struct {
		s                 session.Store
		watches, compacts bool
	}{
		"neither": {struct{ session.Store }{m}, false, false}, "watches": {watches{m, m}, true, false},
		"compacts": {onlyCompacts{m}, false, true}, "both": {watchesAndCompacts{m, m}, true, true},
	} {
		e := encrypted(t, c.s, "a")
		_, watches := e.(session.Watcher)
		compacter, compacts := e.(session.Compacter)
		require.Equal(t, []bool{c.watches, c.compacts}, []bool{watches, compacts}, name)
		if compacts {
			require.Equal(t, errStore, compacter.Compact(t.Context()))
		}
	}
}

func TestEncryptedSessionsAreRecognised(t *testing.T) {
	m := new(session.Memory)
	e := encrypted(t, m, "a")
	for n, c := range []struct {
		made session.New
		want bool
	}{
		{session.New{}, false}, {session.New{Title: "T"}, true}, {session.New{Values: map[string]json.RawMessage{"v": json.RawMessage(`1`)}}, true},
		{session.New{Dir: "/d"}, true}, {session.New{Owner: "o"}, true}, {session.New{Tenant: "t"}, true},
	} {
		info, err := e.Create(t.Context(), c.made)
		require.NoError(t, err)
		require.False(t, session.IsEncrypted(&info), "what it says is open")
		below, err := m.Get(t.Context(), info.ID)
		require.NoError(t, err)
		require.Equal(t, c.want, session.IsEncrypted(&below), n)
	}
	require.False(t, session.IsEncrypted(&session.Info{Title: "open", Values: map[string]json.RawMessage{"v": json.RawMessage(`"open"`), "n": json.RawMessage(`1`)}}))
}

// What the encryption refuses, it says with the method and the session, and nothing is written. What is not encrypted is damage, of one entry,
// item, title or value.
func TestEncryptionSaysWhatIsWrong(t *testing.T) {
	m := new(session.Memory)
	e := encrypted(t, m, "a")
	taken := map[string]json.RawMessage{"sealed dir": json.RawMessage(`1`)}
	said := func(err error, text string, is error) {
		t.Helper()
		require.EqualError(t, err, text)
		require.ErrorIs(t, err, is)
		var known *session.Error
		require.ErrorAs(t, err, &known)
	}
	const name = `invalid argument: the name "sealed dir" of a value is taken by the encryption`
	info, err := e.Create(t.Context(), session.New{ID: "s", Values: taken})
	said(err, "session: create s: "+name, session.ErrInvalid)
	require.Zero(t, info)
	_, err = e.Create(t.Context(), session.New{ID: "s", Values: map[string]json.RawMessage{"sealed owner": json.RawMessage(`1`)}})
	said(err, "session: create s: "+strings.Replace(name, "dir", "owner", 1), session.ErrInvalid)
	for _, bad := range []session.New{{ID: "a\nb"}, {ID: "s", Owner: "\xff"}, {ID: "s", Limit: -1}, {ID: "s", Title: "\xff"}} {
		_, want := m.Create(t.Context(), bad)
		info, err = e.Create(t.Context(), bad)
		require.Equal(t, want == nil, err == nil, "%+v", bad)
		if want != nil {
			require.EqualError(t, err, want.Error())
			require.Zero(t, info)
		} else {
			require.NoError(t, m.Delete(t.Context(), info.ID))
		}
	}
	_ = m.Delete(t.Context(), "s")
	_, err = e.Create(t.Context(), session.New{ID: "s", Title: "T"})
	require.NoError(t, err)
	_, err = e.Fork(t.Context(), "s", 0, session.New{ID: "f", Values: taken})
	said(err, "session: fork s: "+name, session.ErrInvalid)
	_, err = e.Update(t.Context(), "s", session.Change{Values: taken})
	said(err, "session: update s: "+name, session.ErrInvalid)
	page, err := e.List(t.Context(), session.Query{})
	require.NoError(t, err)
	require.Len(t, page.Sessions, 1)

	l, err := e.Acquire(t.Context(), "s", session.Claim{})
	require.NoError(t, err)
	head, err := e.Append(t.Context(), l, 0, session.Batch{Entries: []session.Entry{{Kind: session.KindValue, Data: json.RawMessage(`1`)}}})
	require.NoError(t, err)
	_, err = m.Append(t.Context(), l, head, session.Batch{Entries: []session.Entry{{Kind: session.KindValue, Data: json.RawMessage(`2`)}}})
	require.NoError(t, err)
	_, err = e.Append(t.Context(), l, head+1, session.Batch{Entries: []session.Entry{{Kind: session.KindValue, Data: json.RawMessage(`3`)}}})
	require.NoError(t, err)
	var seen []string
	for one, err := range e.Load(t.Context(), "s", 0) {
		if err != nil {
			var known *session.Error
			require.ErrorAs(t, err, &known)
			require.ErrorIs(t, err, session.ErrCorrupt)
			require.Equal(t, []any{"decrypt", "s", int64(2)}, []any{known.Op, known.Session, known.Seq})
			require.Nil(t, one.Data)
			seen = append(seen, "damaged")
			continue
		}
		seen = append(seen, string(one.Data))
	}
	require.Equal(t, []string{"1", "damaged", "3"}, seen)

	_, err = m.Put(t.Context(), "s", session.Item{ID: "i", Kind: session.ItemPrompt, Data: json.RawMessage(`1`)})
	require.NoError(t, err)
	damagedItem := func(i session.Item, err error) {
		t.Helper()
		var known *session.Error
		require.ErrorAs(t, err, &known)
		require.ErrorIs(t, err, session.ErrCorrupt)
		require.Equal(t, []any{"decrypt", "s", "i"}, []any{known.Op, known.Session, known.Item})
		require.Zero(t, i)
	}
	n := 0
	for i, err := range e.Items(t.Context(), "s", 0) {
		damagedItem(i, err)
		n++
	}
	require.Equal(t, 1, n)
	damagedItem(e.Put(t.Context(), "s", session.Item{ID: "i", Kind: session.ItemPrompt, Data: json.RawMessage(`1`)}))

	title := "open"
	_, err = m.Update(t.Context(), "s", session.Change{Title: &title})
	require.NoError(t, err)
	for _, get := range []func() (session.Info, error){
		func() (session.Info, error) { return e.Get(t.Context(), "s") },
		func() (session.Info, error) {
			page, err := e.List(t.Context(), session.Query{})
			require.Len(t, page.Sessions, 1)
			i := &page.Sessions[0]
			require.Equal(t, &session.Info{
				ID: "s", Created: i.Created, Updated: i.Updated, Head: i.Head, Size: i.Size, Waiting: 1,
			}, i)
			require.False(t, i.Updated.IsZero())
			return session.Info{}, err
		},
	} {
		info, err := get()
		require.ErrorIs(t, err, session.ErrCorrupt)
		require.ErrorContains(t, err, "session: decrypt s: the title: ")
		require.Zero(t, info)
	}
	title = ""
	_, err = m.Update(t.Context(), "s", session.Change{Title: &title, Values: map[string]json.RawMessage{"v": json.RawMessage(`"open"`)}})
	require.NoError(t, err)
	_, err = e.Get(t.Context(), "s")
	require.ErrorIs(t, err, session.ErrCorrupt)
	require.ErrorContains(t, err, `session: decrypt s: the value "v": `)
}

// paged is a store whose second page of a list cannot be read.
type paged struct {
	*session.Memory
	lists int
}

func (p *paged) List(ctx context.Context, q session.Query) (session.Page, error) {
	if p.lists++; p.lists > 1 {
		return session.Page{}, errStore
	}
	q.Limit = 1
	return p.Memory.List(ctx, q)
}

// What was done before an error is told with it.
func TestWhatWasRemovedBeforeAnErrorIsTold(t *testing.T) {
	for name, remove := range map[string]func(s session.Store) (session.Pruned, error){
		"purge": func(s session.Store) (session.Pruned, error) {
			return session.Purge(t.Context(), s, session.Query{})
		},
		"prune": func(s session.Store) (session.Pruned, error) {
			return session.Prune(t.Context(), s, session.Retention{MaxBytes: 1})
		},
	} {
		m := new(session.Memory)
		for _, id := range []string{"a", "b"} {
			_, err := m.Create(t.Context(), session.New{ID: id})
			require.NoError(t, err)
			w, err := session.Open(t.Context(), m, id, session.Claim{})
			require.NoError(t, err)
			_, err = w.Append(t.Context(), session.Entry{Kind: session.KindValue, Data: json.RawMessage(`12345`)})
			require.NoError(t, err)
			require.NoError(t, w.Close(t.Context()))
		}
		done, err := remove(&paged{Memory: m})
		require.ErrorIs(t, err, errStore, name)
		require.Len(t, done.Removed, 1, name)
		require.EqualValues(t, 5, done.Bytes, name)
		require.Zero(t, done.Held, name)
	}
}

// beyond is a store that has other entries than its description says: more, or damaged ones.
type beyond struct {
	*session.Memory
	more []any // entries, and numbers of damaged ones
}

func (l *beyond) Load(context.Context, string, int64) iter.Seq2[session.Entry, error] {
	return func(yield func(session.Entry, error) bool) {
		for _, one := range l.more {
			if e, ok := one.(session.Entry); ok && !yield(e, nil) {
				return
			} else if seq, ok := one.(int64); ok && !yield(session.Entry{Seq: seq}, &session.Error{Op: "load", Session: "s", Seq: seq, Err: session.ErrCorrupt}) {
				return
			}
		}
	}
}

// An export ends at the head that its session has, unless what came later has taken the place of that. It tells of the last damage of the first
// session that has some, and goes on.
func TestExportEndsAtTheHead(t *testing.T) {
	m := new(session.Memory)
	for _, id := range []string{"s", "z"} {
		_, err := m.Create(t.Context(), session.New{ID: id})
		require.NoError(t, err)
		w, err := session.Open(t.Context(), m, id, session.Claim{})
		require.NoError(t, err)
		for range 2 {
			_, err = w.Append(t.Context(), session.Entry{Kind: session.KindValue, Data: json.RawMessage(`1`)})
			require.NoError(t, err)
		}
		require.NoError(t, w.Close(t.Context()))
	}
	e := func(seq int64) session.Entry {
		return session.Entry{Seq: seq, Time: time.Unix(1, 0).UTC(), Kind: session.KindValue, Data: json.RawMessage(`1`)}
	}
	for _, c := range []struct {
		more    []any
		want    []int64
		damaged int64
	}{
		{[]any{e(1), e(2)}, []int64{1, 2}, 0}, {[]any{e(1), e(2), e(3)}, []int64{1, 2}, 0}, {[]any{e(1), e(3), e(4)}, []int64{1, 3, 4}, 0},
		{[]any{e(1), int64(2), e(3)}, []int64{1}, 2}, {[]any{int64(1), e(2), e(3)}, []int64{2}, 1}, {[]any{int64(1), int64(2)}, nil, 2},
	} {
		var data bytes.Buffer
		err := session.Export(t.Context(), &beyond{m, c.more}, &data, "s", "z")
		if c.damaged == 0 {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, fmt.Sprintf("session: load s: entry %d: %v", c.damaged, session.ErrCorrupt))
		}
		var seqs []int64
		sessions := 0
		for line := range strings.Lines(data.String()) {
			var one struct {
				Seq     int64
				Session *session.Info
			}
			require.NoError(t, json.Unmarshal([]byte(line), &one))
			if one.Session != nil {
				sessions++
			} else if sessions == 1 {
				seqs = append(seqs, one.Seq)
			}
		}
		require.Equal(t, 2, sessions, "%v", c.more)
		require.Equal(t, c.want, seqs, "%v", c.more)
	}
}

// Whoever gives up is told so, without a number.
func TestWriterSaysWhyItHasNotWritten(t *testing.T) {
	m := new(session.Memory)
	_, err := m.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), m, "s", session.Claim{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("home"))
	one := session.Entry{Kind: session.KindValue, Data: json.RawMessage(`1`)}
	said := func(n int64, err error, text string) {
		t.Helper()
		require.EqualError(t, err, "session: append s: "+text)
		require.Zero(t, n)
	}
	n, err := w.Append(ctx, one)
	said(n, err, "home")
	numbered := one
	numbered.Seq = 1
	n, err = w.Append(t.Context(), one, numbered)
	said(n, err, "invalid argument: the writer numbers its entries")
	require.NoError(t, w.Close(t.Context()))
	n, err = w.Append(t.Context(), one)
	said(n, err, session.ErrClosed.Error())
}

// Cursors and entries have the form that other versions read.
func TestFormsStay(t *testing.T) {
	q := session.Query{Dir: "/d", Owner: new("o"), Tenant: "t", Conversations: true}
	cursor := q.Next(&session.Info{ID: "i", Updated: time.Unix(1, 2)})
	require.Equal(t, "eyJ0IjoxMDAwMDAwMDAyLCJpIjoiaSIsInEiOiJya2IwYk10VkdqRm4ifQ", cursor)
	at, err := q.Start()
	require.NoError(t, err)
	require.Nil(t, at)
	q.Cursor = cursor
	at, err = q.Start()
	require.NoError(t, err)
	require.Equal(t, &session.Position{Time: time.Unix(1, 2).UTC(), ID: "i"}, at)
	var e session.Entry
	require.ErrorContains(t, json.Unmarshal([]byte(`{"seq":"x"}`), &e), "session: entry: json: ")
	require.EqualError(t, json.Unmarshal([]byte(`{"v":2}`), &e), "session: entry: "+session.ErrVersion.Error()+": version 2, this program reads up to 1")
	require.Zero(t, e)
}

// Values pass through the processor, and come back as it has made them. Nil removes one.
func TestProcessedValuesAreStored(t *testing.T) {
	m := new(session.Memory)
	s := session.Processed(m, session.Strings(strings.ToUpper))
	info, err := s.Create(t.Context(), session.New{ID: "s", Title: "title", Values: map[string]json.RawMessage{"a": json.RawMessage(`{"k":"v"}`), "b": json.RawMessage(`1`)}})
	require.NoError(t, err)
	require.Equal(t, "TITLE", info.Title)
	require.Equal(t, map[string]json.RawMessage{"a": json.RawMessage(`{"k":"V"}`), "b": json.RawMessage(`1`)}, info.Values)
	info, err = s.Update(t.Context(), "s", session.Change{Values: map[string]json.RawMessage{"a": nil, "c": json.RawMessage(`"x"`)}})
	require.NoError(t, err)
	require.Equal(t, map[string]json.RawMessage{"b": json.RawMessage(`1`), "c": json.RawMessage(`"X"`)}, info.Values)
	info, err = s.Fork(t.Context(), "s", 0, session.New{ID: "f", Title: "other", Values: map[string]json.RawMessage{"d": json.RawMessage(`"y"`)}})
	require.NoError(t, err)
	require.Equal(t, "OTHER", info.Title)
	require.Equal(t, json.RawMessage(`"Y"`), info.Values["d"])
}
