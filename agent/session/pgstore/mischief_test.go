// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/pgstore"
)

var update = flag.Bool("update", false, "rewrite the golden file")

var errEnded = errors.New("the caller has gone home")

// calls are all methods of a store on a session with a lease, with what they say, or those that read.
func calls(ctx context.Context, s *pgstore.Store, l session.Lease, reads bool) string {
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
var varying = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z|"(digest|Digest)":"[^"]*"|[A-Z2-7]{26}|: ERROR: [^(]*|"size":\d+`)

// mischief is what is done to the tables of a store that is open.
var mischief = []struct{ name, sql string }{
	{"nothing", "SELECT 1"},
	{"an entry's data", "UPDATE SCHEMA.entries SET data = '7' WHERE seq = 2"}, {"an entry's time", "UPDATE SCHEMA.entries SET time = time + 1 WHERE seq = 1"},
	{"an entry's kind", "UPDATE SCHEMA.entries SET kind = 'view' WHERE seq = 1"}, {"an entry's run", "UPDATE SCHEMA.entries SET run = 'q' WHERE seq = 1"},
	{"an entry's key", "UPDATE SCHEMA.entries SET key = 'q' WHERE seq = 1"}, {"an entry's number", "UPDATE SCHEMA.entries SET seq = 9 WHERE seq = 1"},
	{"an item's kind", "UPDATE SCHEMA.items SET kind = 'note' WHERE id = 'one'"}, {"an item's data", "UPDATE SCHEMA.items SET data = '7' WHERE id = 'one'"},
	{"an item's version", "UPDATE SCHEMA.items SET version = 9 WHERE id = 'one'"}, {"an item's state", "UPDATE SCHEMA.items SET state = 'consumed' WHERE id = 'one'"},
	{"another token", "UPDATE SCHEMA.sessions SET token = 77"}, {"another head", "UPDATE SCHEMA.sessions SET head = 1"}, {"another session", "UPDATE SCHEMA.sessions SET id = 'x'"},
}

// TestMischief does one thing after another to the database of a store, and asks all methods what they make of it.
func TestMischief(t *testing.T) {
	var b strings.Builder
	perform := func(name string, spoil func(s *pgstore.Store, url, schema string) context.Context) {
		url, schema := database(t)
		s := store(t, url, pgstore.Options{Schema: schema})
		_, err := s.Create(t.Context(), session.New{ID: "s", Title: "A title", Dir: "/repo", Values: map[string]json.RawMessage{"v": json.RawMessage(`{"x":1}`)}})
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
		ctx := spoil(s, url, schema)
		reads := strings.HasPrefix(name, "an ") || strings.HasPrefix(name, "holes")
		said := calls(ctx, s, l, reads)
		fmt.Fprintf(&b, "%s:\n%s", name, varying.ReplaceAllString(said, "#"))
	}
	for _, m := range mischief {
		perform(m.name, func(_ *pgstore.Store, url, schema string) context.Context {
			_, err := admin(t, url).Exec(t.Context(), strings.ReplaceAll(m.sql, "SCHEMA.", pgx.Identifier{schema}.Sanitize()+"."))
			require.NoError(t, err, m.name)
			return t.Context()
		})
	}
	perform("closed", func(s *pgstore.Store, _, _ string) context.Context {
		require.NoError(t, s.Close())
		return t.Context()
	})
	perform("ended", func(*pgstore.Store, string, string) context.Context {
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
