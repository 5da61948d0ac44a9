// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
)

var update = flag.Bool("update", false, "rewrite the golden file")

var errEnded = errors.New("the caller has gone home")

// calls are all methods of a store on a session with a lease, with what they say, or those that read.
func calls(ctx context.Context, s *sqlitestore.Store, l session.Lease, reads bool) string {
	var b bytes.Buffer
	told := func(name string, v any, err error) {
		data, _ := json.Marshal(v)
		text := "ok " + string(data)
		if err != nil {
			var known *session.Error
			text = "error " + err.Error()
			if errors.As(err, &known) {
				text += fmt.Sprintf(" (%s %q seq %d item %q holder %q head %d)", known.Op, known.Session, known.Seq, known.Item, known.Holder, known.Head)
			}
			for n, is := range []error{
				session.ErrBusy, session.ErrClosed, session.ErrCorrupt, session.ErrNotFound, session.ErrNoItem, session.ErrHeld, session.ErrLeaseLost,
				session.ErrHeadMoved, session.ErrExists, session.ErrInvalid, errEnded, session.ErrConsumed, session.ErrReadOnly,
			} {
				if errors.Is(err, is) {
					text += fmt.Sprint(" is ", n)
				}
			}
		}
		fmt.Fprintf(&b, "  %s: %s\n", name, text)
	}
	id := l.Session
	info, err := s.Get(ctx, id)
	told("get", info, err)
	page, err := s.List(ctx, session.Query{})
	told("list", page, err)
	var entries []session.Entry
	var failed error
	for e, err := range s.Load(ctx, id, 0) {
		if entries = append(entries, e); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	told("load", entries, failed)
	var items []session.Item
	failed = nil
	for i, err := range s.Items(ctx, id, 0) {
		if items = append(items, i); err != nil {
			failed = err
		}
	}
	told("items", items, failed)
	var ids []string
	failed = nil
	for work, err := range s.Work(ctx) {
		if ids = append(ids, work); err != nil {
			failed = err
		}
	}
	told("work", ids, failed)
	for e, err := range s.Watch(ctx, id, 0) {
		told("watch", e, err)
		break
	}
	head, err := s.Append(ctx, l, l.Head, session.Batch{Entries: []session.Entry{{Kind: session.KindMessage, Run: "r", Key: "k", Data: json.RawMessage(`"new"`)}}})
	told("append", head, err)
	head, err = s.Append(ctx, l, max(head, l.Head), session.Batch{Consumed: []session.Ref{{ID: "one", Version: 1}}})
	told("consume", head, err)
	if reads {
		return b.String()
	}
	head, err = s.Append(ctx, l, max(head, l.Head), session.Batch{Entries: []session.Entry{{Kind: session.KindEnd, Run: "r"}}})
	told("end", head, err)
	item, err := s.Put(ctx, id, session.Item{ID: "new", Kind: session.ItemNote, Data: json.RawMessage(`1`)})
	told("put", item, err)
	item, err = s.Change(ctx, id, "two", 1, json.RawMessage(`2`))
	told("change", item, err)
	item, err = s.Change(ctx, id, "two", 2, nil)
	told("remove", item, err)
	title := "Title"
	info, err = s.Update(ctx, id, session.Change{Title: &title, Values: map[string]json.RawMessage{"a": json.RawMessage(`1`)}})
	told("update", info, err)
	info, err = s.Create(ctx, session.New{ID: "other", Title: "Other", Limit: 5, Values: map[string]json.RawMessage{"b": json.RawMessage(`2`)}})
	told("create", info, err)
	info, err = s.Fork(ctx, id, 1, session.New{ID: "fork", Values: map[string]json.RawMessage{"c": json.RawMessage(`3`)}})
	told("fork", info, err)
	lease, err := s.Acquire(ctx, id, session.Claim{Holder: "me"})
	told("acquire", lease, err)
	told("delete held", nil, s.Delete(ctx, id))
	told("release", nil, s.Release(ctx, l))
	told("release again", nil, s.Release(ctx, l))
	lease, err = s.Acquire(ctx, id, session.Claim{Holder: "me"})
	told("acquire free", lease, err)
	told("release free", nil, s.Release(ctx, lease))
	told("delete", nil, s.Delete(ctx, id))
	told("delete again", nil, s.Delete(ctx, id))
	told("delete fork", nil, s.Delete(ctx, "fork"))
	return b.String()
}

// varying is what differs from run to run.
var varying = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z|"(digest|Digest)":"[^"]*"|[A-Z2-7]{26}`)

// mischief is what is done to the database of a store that is open.
var mischief = []struct{ name, sql string }{
	{"nothing", ""},
	{"no sessions", "ALTER TABLE sessions RENAME TO gone"}, {"no entries", "DROP TABLE entries"}, {"no items", "DROP TABLE items"},
	{"no media", "DROP TABLE media"}, {"no garbage", "DROP TABLE garbage"}, {"no state", "DROP TABLE state"},
	{"an entry's data", "UPDATE entries SET data = '7' WHERE seq = 2"}, {"an entry's time", "UPDATE entries SET time = time + 1 WHERE seq = 1"},
	{"an entry's kind", "UPDATE entries SET kind = 'view' WHERE seq = 1"}, {"an entry's run", "UPDATE entries SET run = 'q' WHERE seq = 1"},
	{"an entry's key", "UPDATE entries SET key = 'q' WHERE seq = 1"}, {"an entry's number", "UPDATE entries SET seq = 9 WHERE seq = 1"},
	{"an entry's holes", "UPDATE entries SET media = '{' WHERE seq = 1"}, {"holes of nothing", `UPDATE entries SET media = '[{"at":0,"hash":"ab"}]' WHERE seq = 1`},
	{"holes behind the end", `UPDATE entries SET media = '[{"at":99,"hash":"` + strings.Repeat("a", 64) + `"}]' WHERE seq = 1`},
	{"holes at the end", `UPDATE entries SET media = '[{"at":5,"hash":"` + strings.Repeat("f", 64) + `"}]' WHERE seq = 1`},
	{"holes elsewhere", `UPDATE entries SET media = '[{"at":0,"hash":"` + strings.Repeat("/", 64) + `"}]' WHERE seq = 1`},
	{"holes of what is gone", `UPDATE entries SET media = '[{"at":0,"hash":"` + strings.Repeat("f", 64) + `"}]' WHERE seq = 1`},
	{"an item's kind", "UPDATE items SET kind = 'note' WHERE id = 'one'"}, {"an item's id", "UPDATE items SET id = 'uno' WHERE id = 'one'"},
	{"an item's place", "UPDATE items SET pos = 9 WHERE id = 'one'"}, {"an item's version", "UPDATE items SET version = 9 WHERE id = 'one'"},
	{"an item's revision", "UPDATE items SET rev = 0 WHERE id = 'one'"}, {"an item's state", "UPDATE items SET state = 'consumed' WHERE id = 'one'"},
	{"an item's time", "UPDATE items SET time = 1 WHERE id = 'one'"}, {"an item's sender", "UPDATE items SET by = 'x' WHERE id = 'one'"},
	{"an item's digest", "UPDATE items SET digest = 'x' WHERE id = 'one'"}, {"an item's data", "UPDATE items SET data = '7' WHERE id = 'one'"},
	{"values", "UPDATE sessions SET vals = '{'"}, {"no values", "UPDATE sessions SET vals = '{}'"}, {"another token", "UPDATE sessions SET token = 77"},
	{"another head", "UPDATE sessions SET head = 1"}, {"another holder", "UPDATE sessions SET instance = 'gone.lock'"}, {"nobody's", "UPDATE sessions SET instance = ''"},
	{"pinned", "UPDATE sessions SET pinned = 2"}, {"another session", "UPDATE sessions SET id = 'x'"}, {"a session that is there", "UPDATE sessions SET title = 'T', dir = 'ponte:x', size = 99, waiting = 7"},
	{"no index", "DROP INDEX entries_place"}, {"no column", "ALTER TABLE sessions DROP COLUMN title"}, {"no holder", "ALTER TABLE sessions DROP COLUMN holder"},
}

// TestMischief does one thing after another to the database of a store, and asks all methods what they make of it.
func TestMischief(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the system has other words")
	}
	var b strings.Builder
	perform := func(name string, spoil func(s *sqlitestore.Store, dir string) context.Context) {
		dir := t.TempDir()
		s, err := sqlitestore.Open(dir, sqlitestore.Options{})
		require.NoError(t, err)
		defer s.Close()
		_, err = s.Create(t.Context(), session.New{ID: "s", Title: "A title", Dir: "/repo", Values: map[string]json.RawMessage{"v": json.RawMessage(`{"x":1}`)}})
		require.NoError(t, err)
		l, err := s.Acquire(t.Context(), "s", session.Claim{Holder: "me"})
		require.NoError(t, err)
		l.Head, err = s.Append(t.Context(), l, 0, session.Batch{Entries: []session.Entry{
			{Kind: session.KindMessage, Run: "r", Key: "k", Data: json.RawMessage(`"one"`)}, {Kind: session.KindStep, Run: "r", Data: json.RawMessage(`"two"`)}, {Kind: session.KindStep, Run: "r/1/x", Data: json.RawMessage(`"three"`)},
			{Kind: session.KindStep, Run: "r2", Data: json.RawMessage(`"four"`)}, {Kind: session.KindView, Run: "r", Key: "k", Data: json.RawMessage(`"five"`)},
		}})
		require.NoError(t, err)
		for _, id := range []string{"one", "two"} {
			_, err = s.Put(t.Context(), "s", session.Item{ID: id, Kind: session.ItemPrompt, By: "me", Data: json.RawMessage(`"` + id + `"`)})
			require.NoError(t, err)
		}
		ctx := spoil(s, dir)
		reads := strings.HasPrefix(name, "an ") || strings.HasPrefix(name, "holes")
		said := strings.ReplaceAll(calls(ctx, s, l, reads), dir, "DIR")
		fmt.Fprintf(&b, "%s:\n%s", name, varying.ReplaceAllString(said, "#"))
	}
	for _, m := range mischief {
		perform(m.name, func(_ *sqlitestore.Store, dir string) context.Context {
			db := database(t, dir)
			_, err := db.Exec("PRAGMA legacy_alter_table = ON; DROP INDEX IF EXISTS none; " + m.sql)
			if strings.Contains(m.name, "no column") || strings.Contains(m.name, "no holder") {
				_ = err // an index may have it, which is said by SQLite
			} else {
				require.NoError(t, err, m.name)
			}
			return t.Context()
		})
	}
	perform("closed", func(s *sqlitestore.Store, _ string) context.Context {
		require.NoError(t, s.Close())
		return t.Context()
	})
	perform("ended", func(*sqlitestore.Store, string) context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errEnded)
		return ctx
	})
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o700))
		require.NoError(t, os.WriteFile("testdata/mischief.txt", []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile("testdata/mischief.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}

// What is read in one go is bounded by number and by size: what is removed meanwhile is there up to the bound.
func TestReadsAreBounded(t *testing.T) {
	s := store(t, t.TempDir())
	for n, c := range []struct{ entries, size, first int }{{300, 10, 256}, {256, 10, 256}, {8, 1 << 20, 5}, {8, 1<<20 + 1, 4}, {4, 4 << 20, 2}, {4, 4<<20 + 1, 1}} {
		id := fmt.Sprint("s", n)
		_, err := s.Create(t.Context(), session.New{ID: id})
		require.NoError(t, err)
		w, err := session.Open(t.Context(), s, id, session.Claim{})
		require.NoError(t, err)
		data := json.RawMessage(`"x"`)
		if c.size > 100 { // of pieces that are not long
			const piece = 64 << 10
			data = json.RawMessage("[" + strings.Repeat(`"`+strings.Repeat("x", piece-3)+`",`, c.size/piece-1))
			data = append(data, `"`+strings.Repeat("x", c.size-len(data)-3)+`"]`...)
			require.Len(t, data, c.size)
		}
		var steps []session.Entry
		for range c.entries {
			steps = append(steps, session.Entry{Kind: session.KindStep, Run: "r", Data: data})
		}
		_, err = w.Append(t.Context(), steps...)
		require.NoError(t, err)
		seen := 0
		for _, err := range s.Load(t.Context(), id, 0) {
			require.NoError(t, err)
			if seen++; seen == 1 {
				_, err = w.Append(t.Context(), session.Entry{Kind: session.KindEnd, Run: "r"})
				require.NoError(t, err)
			}
		}
		require.Equal(t, c.first, seen, "%v", c)
		require.NoError(t, w.Close(t.Context()))
	}
	_, err := s.Create(t.Context(), session.New{ID: "inbox"})
	require.NoError(t, err)
	for n := range 258 {
		_, err := s.Put(t.Context(), "inbox", session.Item{ID: fmt.Sprint(n), Kind: session.ItemPrompt, Data: json.RawMessage(`1`)})
		require.NoError(t, err)
	}
	var seen []string
	for i, err := range s.Items(t.Context(), "inbox", 0) {
		require.NoError(t, err)
		if seen = append(seen, i.ID); len(seen) == 1 {
			for n := range 258 {
				_, err := s.Change(t.Context(), "inbox", fmt.Sprint(n), 1, json.RawMessage(`2`))
				require.NoError(t, err)
			}
		}
	}
	require.Len(t, seen, 256)
	require.True(t, slices.Contains(seen, "255"))
}
