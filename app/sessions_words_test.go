// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	sessions "github.com/ponte-go/ponte/agent/session"
)

// broken is a store that fails in one operation.
type broken struct {
	sessions.Store
	op string
}

var errBroken = errors.New("the disk is on fire")

func (b *broken) fail(op string) error {
	if b.op == op {
		return errBroken
	}
	return nil
}

func (b *broken) Get(ctx context.Context, id string) (sessions.Info, error) {
	info, err := b.Store.Get(ctx, id)
	return info, errors.Join(err, b.fail("get"))
}

func (b *broken) List(ctx context.Context, q sessions.Query) (sessions.Page, error) {
	page, err := b.Store.List(ctx, q)
	return page, errors.Join(err, b.fail("list"))
}

func (b *broken) Create(ctx context.Context, n sessions.New) (sessions.Info, error) {
	if err := b.fail("create"); err != nil {
		return sessions.Info{}, err
	}
	return b.Store.Create(ctx, n)
}

func (b *broken) Fork(ctx context.Context, id string, at int64, n sessions.New) (sessions.Info, error) {
	if err := b.fail("fork"); err != nil {
		return sessions.Info{}, err
	}
	return b.Store.Fork(ctx, id, at, n)
}

func (b *broken) Delete(ctx context.Context, id string) error {
	if err := b.fail("delete"); err != nil {
		return err
	}
	return b.Store.Delete(ctx, id)
}

func (b *broken) Compact(context.Context) error { return b.fail("compact") }

func (b *broken) Load(ctx context.Context, id string, after int64) iter.Seq2[sessions.Entry, error] {
	if err := b.fail("load"); err != nil {
		return func(yield func(sessions.Entry, error) bool) { yield(sessions.Entry{}, err) }
	}
	return b.Store.Load(ctx, id, after)
}

// chance finds what is different each time.
var chance = regexp.MustCompile(`[A-Z2-7]{26}|\d{4}-\d\d-\d\d[T ][0-9:]+(\.\d+)?Z?`)

// TestCommandsAboutSessionsInWords compares all that the commands say of sessions, in stores that fail in one operation, too, with a
// file. To write it anew, set UPDATE, and read what has changed.
func TestCommandsAboutSessionsInWords(t *testing.T) {
	exported := ""
	fill := func() sessions.Store {
		store := new(sessions.Memory)
		for i, n := range []sessions.New{{ID: "one", Title: "First\x1b", Dir: "/repo"}, {ID: "two", Title: "Second", Dir: "/other"}, {ID: "ledger", Dir: sessions.InternalDir + "x"}} {
			n.Created = time.Now().Add(-time.Duration(70-10*i) * time.Minute)
			_, err := store.Create(t.Context(), n)
			require.NoError(t, err)
		}
		return store
	}
	require.NoError(t, exportSessions(t.Context(), fill(), &writer{&exported}, &sessionsFlags{}))
	e := &Env{Name: "desk"}
	var got strings.Builder
	for _, c := range []struct {
		name string
		do   func(context.Context, sessions.Store, io.Writer, *sessionsFlags) error
		f    sessionsFlags
		held bool
	}{
		{"list", listSessions, sessionsFlags{}, false}, {"list -dir /repo", listSessions, sessionsFlags{dir: "/repo"}, false}, {"list -json", listSessions, sessionsFlags{json: true}, false},
		{"show one", showSession, sessionsFlags{ids: []string{"one"}}, false}, {"show -json one", showSession, sessionsFlags{ids: []string{"one"}, json: true}, false}, {"show none", showSession, sessionsFlags{ids: []string{"none"}}, false},
		{"export one", exportSessions, sessionsFlags{ids: []string{"one"}}, false}, {"export one none", exportSessions, sessionsFlags{ids: []string{"one", "none"}}, false},
		{"export -dir /repo", exportSessions, sessionsFlags{dir: "/repo"}, false}, {"export -dir /none", exportSessions, sessionsFlags{dir: "/none"}, false},
		{"import -", importSessions, sessionsFlags{ids: []string{"-"}}, false}, {"import none", importSessions, sessionsFlags{ids: []string{"/nowhere/at/all"}}, false},
		{"purge one", purgeSessions, sessionsFlags{ids: []string{"one"}}, false}, {"purge none two", purgeSessions, sessionsFlags{ids: []string{"none", "two"}}, false}, {"purge none", purgeSessions, sessionsFlags{ids: []string{"none"}}, false},
		{"purge ledger", purgeSessions, sessionsFlags{ids: []string{"ledger"}}, false}, {"purge -all", purgeSessions, sessionsFlags{all: true}, false}, {"purge -dir /repo", purgeSessions, sessionsFlags{dir: "/repo"}, false},
		{"purge -older 1m", purgeSessions, sessionsFlags{older: time.Minute}, false}, {"purge -older 2h", purgeSessions, sessionsFlags{older: 2 * time.Hour}, false}, {"purge -older 1m -dir /repo", purgeSessions, sessionsFlags{older: time.Minute, dir: "/repo"}, false},
		{"purge -all, one is in use", purgeSessions, sessionsFlags{all: true}, true}, {"purge -older 1m, one is in use", purgeSessions, sessionsFlags{older: time.Minute}, true}, {"purge one, which is in use", purgeSessions, sessionsFlags{ids: []string{"one"}}, true},
		{"salvage one", salvageSession, sessionsFlags{ids: []string{"one"}}, false}, {"salvage none", salvageSession, sessionsFlags{ids: []string{"none"}}, false},
	} {
		usual := ""
		for _, op := range []string{"", "get", "list", "create", "fork", "delete", "load", "compact", "write"} {
			store := &broken{fill(), ""}
			if c.held {
				_, err := store.Acquire(t.Context(), "one", sessions.Claim{Holder: "ann"})
				require.NoError(t, err)
			}
			f := c.f
			f.e = e
			e.In = strings.NewReader(strings.NewReplacer(`"one"`, `"three"`, `"two"`, `"four"`, `"ledger"`, `"book"`).Replace(exported))
			if op == "create" {
				e.In = strings.NewReader(exported) // they are there
			}
			store.op = op
			said := ""
			out := io.Writer(&writer{&said})
			if op == "write" {
				out = fullDisk{}
			}
			if err := c.do(t.Context(), store, out, &f); err != nil {
				said += "error: " + err.Error() + "\n"
			}
			store.op = ""
			for i, id := range []string{"one", "two", "ledger"} {
				if _, err := store.Get(t.Context(), id); err != nil {
					said += "gone: " + []string{"one", "two", "ledger"}[i] + "\n"
				}
			}
			if said = chance.ReplaceAllString(said, "CHANCE"); op == "" {
				usual = said
			} else if said == usual {
				continue // what makes no difference is left out
			}
			fmt.Fprintf(&got, "=== %s", c.name)
			if op != "" {
				fmt.Fprintf(&got, ", %s fails", op)
			}
			got.WriteString("\n" + said)
		}
	}
	const path = "testdata/sessions.want"
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(got.String()), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}

// writer keeps what is written.
type writer struct{ text *string }

func (w *writer) Write(p []byte) (int, error) { *w.text += string(p); return len(p), nil }
