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
	"time"

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

// TestImportSaysWhatIsWrongWithALine has a damaged line of each kind, at its place.
func TestImportSaysWhatIsWrongWithALine(t *testing.T) {
	const begin = `{"v":1,"session":{"id":"a","created":"2024-01-01T00:00:00Z","updated":"2024-01-01T00:00:00Z","head":0,"size":0}}` + "\n"
	entry := func(seq int) string { return fmt.Sprintf(`{"v":1,"seq":%d,"kind":"view","data":%d}`, seq, seq) }
	for name, c := range map[string]struct {
		lines string
		max   int
		says  string
	}{
		"no JSON":             {begin + "{", 0, "session: import a: line 2: the data is damaged: unexpected end of JSON input"},
		"a newer version":     {begin + `{"v":2}`, 0, "session: import a: line 2: written by a newer version of this program: version 2, this program reads versions up to 1"},
		"nothing":             {begin + `{"v":1}`, 0, "session: import a: line 2: the data is damaged: it is neither a session nor an entry nor an item"},
		"an entry before":     {entry(1), 0, "session: import: line 1: the data is damaged: an entry of no session"},
		"an item before":      {"\n \t\n" + `{"v":1,"item":{"id":"1","kind":"prompt"}}`, 0, "session: import: line 3: the data is damaged: an item of no session"},
		"no number":           {begin + `{"v":1,"kind":"view"}`, 0, "session: import a: line 2: the data is damaged: an entry without a number"},
		"a number again":      {begin + entry(1) + "\n" + entry(1), 0, "session: import a: line 3: the data is damaged: invalid argument: entry 0 has the number 1, must be greater than 1"},
		"text that is none":   {begin + `{"v":1,"seq":1,"kind":"view","text":"{"}`, 0, "session: import a: line 2: the data is damaged: invalid argument: the data of entry 0 is not a JSON document"},
		"an item without id":  {begin + `{"v":1,"item":{"id":"1"}}`, 0, "session: import a: line 2: the data is damaged: the item is not valid: invalid argument: the item has no kind"},
		"an item that waits":  {begin + `{"v":1,"item":{"id":"1","kind":"prompt","state":"consumed"}}`, 0, "session: import a: line 2: the data is damaged: the item is not valid: <nil>"},
		"a session no id":     {`{"v":1,"session":{"id":""}}`, 0, "session: import: line 1: the data is damaged: the session is not valid: <nil>"},
		"a session bad id":    {`{"v":1,"session":{"id":"a\nb"}}`, 0, "session: import: line 1: the data is damaged: the session is not valid: invalid argument: the id \"a\\nb\" must have at most 256 bytes of UTF-8 and no control characters"},
		"a session bad head":  {`{"v":1,"session":{"id":"a","head":-1}}`, 0, "session: import: line 1: the data is damaged: the session is not valid: <nil>"},
		"a session cut off":   {`{"v":1,"session":{"id":"a","head":2}}` + "\n" + entry(1), 0, "session: import a: line 1: the data is damaged: the session has entries up to 2, and the last line is entry 1: the file was cut off"},
		"a session all there": {`{"v":1,"session":{"id":"a","head":2}}` + "\n" + entry(1) + "\n" + entry(2), 0, ""},
		"a line of the limit": {begin + entry(1) + "\n", len(begin), ""},
		"a line too long":     {begin + entry(1) + "\n", len(begin) - 1, fmt.Sprintf("session: import: line 1: the data is damaged: %d bytes, more than %d", len(begin), len(begin)-1)},
	} {
		t.Run(name, func(t *testing.T) {
			m := new(session.Memory)
			_, err := session.Import(t.Context(), m, strings.NewReader(c.lines), session.ImportOptions{MaxLine: c.max})
			page, listErr := m.List(t.Context(), session.Query{})
			require.NoError(t, listErr)
			if c.says == "" {
				require.NoError(t, err)
				require.Len(t, page.Sessions, 1)
				return
			}
			require.EqualError(t, err, c.says)
			require.Empty(t, page.Sessions, "what was begun is not kept")
			if name == "a newer version" {
				_, err = session.Import(t.Context(), m, strings.NewReader(c.lines), session.ImportOptions{SkipDamaged: true})
				require.EqualError(t, err, c.says)
				return
			}
			done, err := session.Import(t.Context(), m, strings.NewReader(c.lines+"\n"+strings.ReplaceAll(begin, `"a"`, `"next"`)+entry(7)),
				session.ImportOptions{MaxLine: c.max, SkipDamaged: true})
			require.NoError(t, err)
			if name != "a line too long" {
				require.Equal(t, "next", done.Sessions[len(done.Sessions)-1])
			}
			require.NotEmpty(t, done.Damaged)
			require.Contains(t, c.says, done.Damaged[0].Error())
		})
	}
}

// TestImportKeepsAThousandDamagedLines is about a file that is damaged throughout.
func TestImportKeepsAThousandDamagedLines(t *testing.T) {
	for _, n := range []int{999, 1000, 1001} {
		done, err := session.Import(t.Context(), new(session.Memory), strings.NewReader(strings.Repeat("{\n", n)), session.ImportOptions{SkipDamaged: true})
		require.NoError(t, err)
		require.Len(t, done.Damaged, min(n, 1000))
		require.Equal(t, min(n, 1000), done.Damaged[len(done.Damaged)-1].Line)
	}
}

// TestImportAppendsInBatches has how many entries and bytes are appended at a time.
func TestImportAppendsInBatches(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"v":1,"session":{"id":"a"}}` + "\n")
	for i := range 600 {
		fmt.Fprintf(&b, `{"v":1,"seq":%d,"kind":"view","data":1}`+"\n", i+1)
	}
	large := `"` + strings.Repeat("x", 1<<19-2) + `"`
	for i := range 3 {
		fmt.Fprintf(&b, `{"v":1,"seq":%d,"kind":"view","data":%s}`+"\n", i+601, large)
	}
	s := &failing{Memory: new(session.Memory), at: -1}
	done, err := session.Import(t.Context(), s, strings.NewReader(b.String()), session.ImportOptions{})
	require.NoError(t, err)
	require.Equal(t, 603, done.Entries)
	require.Equal(t, []string{
		"Create a", "Acquire a for import", "Append 256 entries to a", "Append 256 entries to a",
		"Append 90 entries to a", "Append 1 entries to a", "Release a",
	}, s.calls)
}

func TestKeyringsAreChecked(t *testing.T) {
	key := func(id string, n int) session.Key { return session.Key{ID: id, Secret: make([]byte, n)} }
	for want, k := range map[string]session.Keyring{
		"":                       {Index: make([]byte, 32), Keys: []session.Key{key(strings.Repeat("a", 64), 32), key("B-9.z", 32)}},
		"the keyring has no key": {Index: make([]byte, 32)},
		"the id of key 0 must be 1 to 64 letters, digits, dots and hyphens": {Index: make([]byte, 32), Keys: []session.Key{key(strings.Repeat("a", 65), 32)}},
		"the id of key 1 must be 1 to 64 letters, digits, dots and hyphens": {Index: make([]byte, 32), Keys: []session.Key{key("a", 32), key("", 32)}},
		"the id of key 2 must be 1 to 64 letters, digits, dots and hyphens": {Index: make([]byte, 32), Keys: []session.Key{key("a", 32), key("b", 32), key("c:", 32)}},
		`two keys have the id "a"`:                 {Index: make([]byte, 32), Keys: []session.Key{key("a", 32), key("a", 32)}},
		`key "a" has 31 bytes, must have 32`:       {Index: make([]byte, 32), Keys: []session.Key{key("a", 31)}},
		`key "a" has 33 bytes, must have 32`:       {Index: make([]byte, 32), Keys: []session.Key{key("a", 33)}},
		"the index key has 31 bytes, must have 32": {Index: make([]byte, 31), Keys: []session.Key{key("a", 32)}},
		"the index key has 33 bytes, must have 32": {Index: make([]byte, 33), Keys: []session.Key{key("a", 32)}},
	} {
		_, sealErr := k.Seal([]byte("x"), "p")
		_, parseErr := session.ParseKeyring(k.Reveal())
		if want == "" {
			require.NoError(t, sealErr)
			require.NoError(t, parseErr)
			continue
		}
		require.EqualError(t, sealErr, "session: encrypt: invalid argument: "+want)
		require.EqualError(t, parseErr, "session: read keyring: invalid argument: "+want)
	}
}

// TestSealedDataIsOpenedByItsKeyAlone has what is said of data that cannot be opened.
func TestSealedDataIsOpenedByItsKeyAlone(t *testing.T) {
	secret := func(b byte) []byte { return []byte(strings.Repeat(string(rune(b)), 32)) }
	k := session.Keyring{Index: secret(1), Keys: []session.Key{{ID: "new", Secret: secret(2)}, {ID: "old", Secret: secret(3)}}}
	made, err := k.Seal([]byte("text"), "p")
	require.NoError(t, err)
	data, err := k.Open(made, "p")
	require.NoError(t, err)
	require.Equal(t, "text", string(data))
	old := session.Keyring{Index: secret(1), Keys: k.Keys[1:]}
	madeOld, err := old.Seal([]byte("old text"), "p")
	require.NoError(t, err)
	data, err = k.Open(madeOld, "p")
	require.NoError(t, err)
	require.Equal(t, "old text", string(data))
	changed := strings.Replace(string(made), "ponte-sealed:1:new:", "ponte-sealed:1:old:", 1)
	for _, c := range []struct {
		data, purpose, says string
		is                  error
	}{
		{string(made), "q", `the data is damaged: it was not encrypted with key "new", or was changed since`, session.ErrCorrupt},
		{changed, "p", `the data is damaged: it was not encrypted with key "old", or was changed since`, session.ErrCorrupt},
		{"text", "p", "the data is damaged: it is not encrypted", session.ErrCorrupt},
		{"ponte-sealed:1:new", "p", "the data is damaged: it is not encrypted", session.ErrCorrupt},
		{"ponte-sealed:1:new:?", "p", "the data is damaged: it is not the base64 of a ciphertext", session.ErrCorrupt},
		{"ponte-sealed:1:new:" + strings.Repeat("A", 20), "p", "the data is damaged: it is not the base64 of a ciphertext", session.ErrCorrupt},
		{"ponte-sealed:1:new:" + strings.Repeat("A", 22), "p", `the data is damaged: it was not encrypted with key "new", or was changed since`, session.ErrCorrupt},
		{"ponte-sealed:1:other:AAAA", "p", `the keyring does not have the key "other"`, session.ErrKey},
	} {
		_, err := k.Open([]byte(c.data), c.purpose)
		require.EqualError(t, err, "session: decrypt: "+c.says)
		require.ErrorIs(t, err, c.is)
	}
	require.Equal(t, k.Hide("name", "p"), old.Hide("name", "p"))
	require.NotEqual(t, k.Hide("name", "p"), k.Hide("name", "q"))
	require.Len(t, k.Hide("name", "p"), 64)
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

// TestPruneLeavesWhatChanges is about sessions that others use meanwhile.
func TestPruneLeavesWhatChanges(t *testing.T) {
	for name, c := range map[string]struct {
		change func(i *session.Info) error
		says   string
	}{
		"appended":     {func(i *session.Info) error { i.Head++; return nil }, "0 removed, 0 held"},
		"updated":      {func(i *session.Info) error { i.Updated = i.Updated.Add(1); return nil }, "0 removed, 0 held"},
		"gone already": {func(*session.Info) error { return session.ErrNotFound }, "0 removed, 0 held"},
		"as it was":    {func(*session.Info) error { return nil }, "1 removed, 0 held"},
	} {
		m := new(session.Memory)
		for i, id := range []string{"old", "new"} {
			_, err := m.Create(t.Context(), session.New{ID: id, Created: time.Unix(int64(i), 0)})
			require.NoError(t, err)
		}
		done, err := session.Prune(t.Context(), meddling{m, c.change}, session.Retention{MaxSessions: 1})
		require.NoError(t, err, name)
		require.Equal(t, c.says, fmt.Sprintf("%d removed, %d held", len(done.Removed), done.Held), name)
	}
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

// TestPruneCountsWhatItLeaves has a session that is too large, and stays because it has changed.
func TestPruneCountsWhatItLeaves(t *testing.T) {
	m := new(session.Memory)
	for i, c := range []struct {
		id   string
		size int
	}{{"old", 50}, {"changed", 300}, {"new", 100}} {
		at := time.Unix(int64(i+1), 0)
		_, err := m.Create(t.Context(), session.New{ID: c.id, Created: at})
		require.NoError(t, err)
		l, err := m.Acquire(t.Context(), c.id, session.Claim{})
		require.NoError(t, err)
		data := json.RawMessage(`"` + strings.Repeat("x", c.size-2) + `"`)
		_, err = m.Append(t.Context(), l, 0, session.Batch{Entries: []session.Entry{{Kind: "view", Time: at, Data: data}}})
		require.NoError(t, err)
		require.NoError(t, m.Release(t.Context(), l))
	}
	changes := meddling{m, func(i *session.Info) error {
		if i.ID == "changed" {
			i.Head++
		}
		return nil
	}}
	done, err := session.Prune(t.Context(), changes, session.Retention{MaxBytes: 200})
	require.NoError(t, err)
	require.Len(t, done.Removed, 1)
	require.Equal(t, "old", done.Removed[0].ID)
}

// TestImportTellsThatItCouldNotTidyUp has a store that fails twice.
func TestImportTellsThatItCouldNotTidyUp(t *testing.T) {
	bad := errors.New("cannot release")
	s := unreleased{failing: &failing{Memory: new(session.Memory), at: 2}, err: bad}
	lines := `{"v":1,"session":{"id":"a"}}` + "\n" + `{"v":1,"seq":1,"kind":"view"}` + "\n"
	_, err := session.Import(t.Context(), s, strings.NewReader(lines), session.ImportOptions{})
	require.ErrorIs(t, err, errStore)
	require.ErrorIs(t, err, bad)
	require.Equal(t, []string{"Create a", "Acquire a for import", "Append 1 entries to a"}, s.calls)
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
