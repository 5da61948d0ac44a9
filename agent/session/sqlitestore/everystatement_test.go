// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
)

// outcome is what a method says.
func outcome(v any, err error) string {
	if err == nil {
		data, _ := json.Marshal(v)
		return "ok " + string(data)
	}
	text := "error " + err.Error()
	for n, is := range []error{session.ErrBusy, session.ErrCorrupt, session.ErrNotFound, session.ErrHeld, session.ErrLeaseLost, session.ErrNoItem} {
		if errors.Is(err, is) {
			text += fmt.Sprint(" is ", n)
		}
	}
	if _, ok := v.(session.Info); v != nil && !ok { // what comes with an error
		data, _ := json.Marshal(v)
		text += " " + string(data)
	}
	return text
}

// all collects what a sequence has, and its last error.
func all[V any](seq func(yield func(V, error) bool)) string {
	var got []V
	var last error
	for v, err := range seq {
		if err != nil {
			last = err
			continue
		}
		got = append(got, v)
	}
	return outcome(got, last)
}

// step is a call of a method.
type step struct {
	name string
	do   func(ctx context.Context, s *sqlitestore.Store) string
}

// steps are calls of all methods, which come in this order. Each one changes what the next one finds.
func steps() []step {
	var l session.Lease
	append := func(head int64, b session.Batch) func(ctx context.Context, s *sqlitestore.Store) string {
		return func(ctx context.Context, s *sqlitestore.Store) string { return outcome(s.Append(ctx, l, head, b)) }
	}
	message := func(text string) session.Entry {
		return session.Entry{Kind: session.KindMessage, Run: "r", Key: "k", Data: json.RawMessage(text)}
	}
	run := func(kind session.Kind, run string) session.Entry {
		return session.Entry{Kind: kind, Run: run, Data: json.RawMessage(`"` + run + `"`)}
	}
	create := func(n session.New) func(ctx context.Context, s *sqlitestore.Store) string {
		return func(ctx context.Context, s *sqlitestore.Store) string { return outcome(s.Create(ctx, n)) }
	}
	acquire := func(ctx context.Context, s *sqlitestore.Store) string {
		got, err := s.Acquire(ctx, "s", session.Claim{Holder: "me"})
		if err == nil {
			l = got
		}
		return outcome(got, err)
	}
	release := func(ctx context.Context, s *sqlitestore.Store) string { return outcome(nil, s.Release(ctx, l)) }
	put := func(kind session.ItemKind, id string) func(ctx context.Context, s *sqlitestore.Store) string {
		return func(ctx context.Context, s *sqlitestore.Store) string {
			return outcome(s.Put(ctx, "s", session.Item{ID: id, Kind: kind, By: "me", Data: json.RawMessage(`"` + id + `"`)}))
		}
	}
	change := func(id string, version int64, data json.RawMessage) func(ctx context.Context, s *sqlitestore.Store) string {
		return func(ctx context.Context, s *sqlitestore.Store) string {
			return outcome(s.Change(ctx, "s", id, version, data))
		}
	}
	fork := func(id string, at int64, to string) func(ctx context.Context, s *sqlitestore.Store) string {
		return func(ctx context.Context, s *sqlitestore.Store) string {
			return outcome(s.Fork(ctx, id, at, session.New{ID: to, Values: map[string]json.RawMessage{to: json.RawMessage("1"), "v": nil}}))
		}
	}
	remove := func(id string) func(ctx context.Context, s *sqlitestore.Store) string {
		return func(ctx context.Context, s *sqlitestore.Store) string { return outcome(nil, s.Delete(ctx, id)) }
	}
	load := func(id string, after int64) func(ctx context.Context, s *sqlitestore.Store) string {
		return func(ctx context.Context, s *sqlitestore.Store) string { return all(s.Load(ctx, id, after)) }
	}
	title := "Title"
	return []step{
		{"create", create(session.New{ID: "s", Title: "A title", Dir: "/repo", Values: map[string]json.RawMessage{"v": json.RawMessage(`{"x":1}`)}})},
		{"create again", create(session.New{ID: "s"})},
		{"create too many", create(session.New{ID: "t", Limit: 1})},
		{"acquire", acquire},
		{"append", append(0, session.Batch{Entries: []session.Entry{
			message(`"one"`), run(session.KindStep, "r"), run(session.KindStep, "r/1/x"), run(session.KindStep, "r0"), run(session.KindStep, "r2"), run(session.KindView, "r"),
		}})},
		{"append media", append(6, session.Batch{Entries: []session.Entry{image(session.KindMessage, "k", "x"), image(session.KindStep, "", "y")}})},
		{"supersede media", append(8, session.Batch{Entries: []session.Entry{message(`"two"`)}})},
		{"append views", append(9, session.Batch{Entries: []session.Entry{run(session.KindView, "r")}})},
		{"end", append(10, session.Batch{Entries: []session.Entry{run(session.KindEnd, "r")}})},
		{"put", put(session.ItemPrompt, "one")},
		{"put again", put(session.ItemPrompt, "one")},
		{"put a note", put(session.ItemNote, "two")},
		{"put another", put(session.ItemPrompt, "three")},
		{"change", change("one", 1, json.RawMessage(`2`))},
		{"change what has changed", change("one", 1, json.RawMessage(`2`))},
		{"change what is not there", change("none", 1, json.RawMessage(`2`))},
		{"consume", append(11, session.Batch{Consumed: []session.Ref{{ID: "one", Version: 2}, {ID: "two", Version: 1}}})},
		{"remove", change("three", 1, nil)},
		{"put one that waits", put(session.ItemPrompt, "four")},
		{"items", func(ctx context.Context, s *sqlitestore.Store) string { return all(s.Items(ctx, "s", 0)) }},
		{"items after", func(ctx context.Context, s *sqlitestore.Store) string {
			return all(s.Items(ctx, "s", 2, session.ItemPrompt, session.ItemNote))
		}},
		{"update", func(ctx context.Context, s *sqlitestore.Store) string {
			return outcome(s.Update(ctx, "s", session.Change{Title: &title, Values: map[string]json.RawMessage{"a": json.RawMessage(`1`)}}))
		}},
		{"fork", fork("s", 9, "f")},
		{"fork the fork", fork("f", 8, "g")},
		{"fork too far", fork("f", 10, "h")},
		{"get", func(ctx context.Context, s *sqlitestore.Store) string { return outcome(s.Get(ctx, "s")) }},
		{"list", func(ctx context.Context, s *sqlitestore.Store) string {
			return outcome(s.List(ctx, session.Query{Limit: 2}))
		}},
		{"load", load("s", 0)},
		{"load the fork", load("g", 1)},
		{"watch", func(ctx context.Context, s *sqlitestore.Store) string {
			for e, err := range s.Watch(ctx, "g", 4) {
				return outcome(e, err)
			}
			return "nothing"
		}},
		{"listen", func(ctx context.Context, s *sqlitestore.Store) string {
			for id, err := range s.Listen(ctx) {
				return outcome(id, err)
			}
			return "nothing"
		}},
		{"delete what is held", remove("s")},
		{"release", release},
		{"release again", release},
		{"work", func(ctx context.Context, s *sqlitestore.Store) string { return all(s.Work(ctx)) }},
		{"acquire again", acquire},
		{"release what was acquired again", release},
		{"delete", remove("s")},
		{"delete the fork", remove("f")},
		{"delete the fork of the fork", remove("g")},
		{"compact", func(ctx context.Context, s *sqlitestore.Store) string { return outcome(nil, s.Compact(ctx)) }},
	}
}

// dump returns all that a database has, but for files that may be needed no more.
func dump(t *testing.T, db *sql.DB) string {
	t.Helper()
	var b strings.Builder
	for _, table := range []string{"state", "sessions", "entries", "items", "media"} {
		rows, err := db.Query("SELECT * FROM " + table)
		require.NoError(t, err)
		columns, err := rows.Columns()
		require.NoError(t, err)
		for rows.Next() {
			fmt.Fprint(&b, table)
			row := make([]any, len(columns))
			into := make([]any, len(columns))
			for n := range row {
				into[n] = &row[n]
			}
			require.NoError(t, rows.Scan(into...))
			for n, v := range row {
				if text, ok := v.([]byte); ok {
					v = string(text)
				}
				fmt.Fprintf(&b, " %s=%v", columns[n], v)
			}
			fmt.Fprintln(&b)
		}
		require.NoError(t, rows.Err())
		require.NoError(t, rows.Close())
	}
	return varying.ReplaceAllString(b.String(), "#")
}

// shown shortens what a method says, and leaves out what differs from run to run.
func shown(said, dir string) string {
	for _, long := range []string{"x", "y"} {
		said = strings.ReplaceAll(said, strings.Repeat(long, 300<<10), long+"…")
	}
	return varying.ReplaceAllString(strings.ReplaceAll(said, dir, "DIR"), "#")
}

// TestEveryStatementCanFail has each call of SQLite that a method makes fail once. What the method says then is recorded. It has done
// nothing, and can be called again, with the result that it has without trouble.
func TestEveryStatementCanFail(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the system has other words")
	}
	for name, trouble := range map[string]error{"failing": errFire, "busy": busyError(t)} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			synctest.Test(t, func(t *testing.T) {
				dir, calmly := t.TempDir(), t.TempDir()
				s, tr := troubled(t, dir, sqlitestore.Options{})
				calm, err := sqlitestore.Open(calmly, sqlitestore.Options{})
				require.NoError(t, err)
				defer func() {
					require.NoError(t, s.Close())
					require.NoError(t, calm.Close())
				}()
				db, calmDB := database(t, dir), database(t, calmly)
				undisturbed := steps()
				for n, step := range steps() {
					fmt.Fprintf(&b, "%s:\n", step.name)
					failed := map[string]bool{}
					before := dump(t, db)
					for {
						seen, fired := map[string]int{}, ""
						tr.ask(func(call string) error {
							seen[call]++
							key := fmt.Sprintf("%s (%d)", short(call), seen[call])
							if fired != "" || failed[key] || call == "exec ROLLBACK" || name == "busy" && call == "exec BEGIN IMMEDIATE" {
								return nil
							}
							fired, failed[key] = key, true
							return trouble
						})
						said := shown(step.do(t.Context(), s), dir)
						tr.ask(nil)
						if fired != "" {
							fmt.Fprintf(&b, "  %s: %s\n", fired, said)
							left, err := filepath.Glob(filepath.Join(dir, "media", "new-*"))
							require.NoError(t, err)
							require.Empty(t, left)
							after := dump(t, db)
							if strings.HasPrefix(said, "error") {
								require.Equal(t, before, after, "%s: %s", step.name, fired)
							}
							if before == after {
								continue
							}
						} else {
							fmt.Fprintf(&b, "  %s\n", said)
						}
						require.Equal(t, shown(undisturbed[n].do(t.Context(), calm), calmly), said, step.name)
						break
					}
				}
				left := dump(t, db)
				require.Equal(t, dump(t, calmDB), left)
				fmt.Fprintf(&b, "left:\n%s", left)
				require.Empty(t, media(t, dir))
			})
			golden(t, "statements-"+name+".txt", b.String())
		})
	}
}

// golden compares a text with that of a file.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text)
}
