// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/app/internal/linked"
	"github.com/ponte-go/ponte/internal/sealtest"
)

func TestPurgeLeavesLedgers(t *testing.T) {
	at := t.TempDir()
	store, err := sqlitestore.Open(at, sqlitestore.Options{})
	require.NoError(t, err)
	defer store.Close()
	for id, dir := range map[string]string{"ledger": sessions.InternalDir + "spend", "talk": "/repo"} {
		_, err := store.Create(t.Context(), sessions.New{ID: id, Dir: dir, Created: time.Now().Add(-time.Hour)})
		require.NoError(t, err)
	}
	for _, f := range []sessionsFlags{{all: true, at: at}, {older: time.Minute, at: at}} {
		var out strings.Builder
		require.NoError(t, purgeSessions(t.Context(), store, &out, &f))
	}
	_, err = store.Get(t.Context(), "ledger")
	require.NoError(t, err)
	_, err = store.Get(t.Context(), "talk")
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

// closable is a store that counts how often it is closed.
type closable struct {
	sessions.Store
	closed int
}

func (c *closable) Close() error { c.closed++; return nil }

func TestStoresThatCanBeClosedAreClosed(t *testing.T) {
	var c closable
	require.NoError(t, closeStore(&c))
	require.Equal(t, 1, c.closed)
	require.NoError(t, closeStore(struct{ sessions.Store }{&c}), "a store without Close has nothing to close")
	require.Equal(t, 1, c.closed)
}

// Where a program opens its own store, a directory may be relative, too.
func TestSessionsOfADirectoryInAStoreOfTheProgram(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Chdir(dir)
	store := new(sessions.Memory)
	for id, at := range map[string]string{"here": dir, "below": filepath.Join(dir, "sub")} {
		_, err := store.Create(t.Context(), sessions.New{ID: id, Dir: at, Title: "Tea"})
		require.NoError(t, err)
	}
	for at, want := range map[string]string{".": "here", "sub": "below", dir: "here"} {
		var said strings.Builder
		code := Run(t.Context(), Config[any, string]{
			Name: "tool", Agent: silentAgent(), Surfaces: []Surface{surface("x")}, Store: func(context.Context, *Env) (sessions.Store, error) { return store, nil },
		}, Process{Args: []string{"sessions", "list", "-dir", at}, Out: &said, Err: &said})
		require.Equal(t, 0, code, said.String())
		require.Equal(t, 1, strings.Count(said.String(), "\n"), said.String())
		require.True(t, strings.HasPrefix(said.String(), want+" "), said.String())
	}
}

// The address of a database has a password and is no id: no message repeats it.
func TestAddressesAreNotIDs(t *testing.T) {
	for _, verb := range []string{"list", "show", "export", "import", "purge", "salvage"} {
		err := (&sessionsFlags{ids: []string{"postgres://ann:secret@db/sessions"}}).check(verb)
		require.EqualError(t, err, verb+": this is not the id of a session; the address of a database belongs after -store")
	}
}

// A session that somebody works in is listed with their name.
func TestSessionsThatAreHeldAreListed(t *testing.T) {
	store := new(sessions.Memory)
	info, err := store.Create(t.Context(), sessions.New{ID: "s", Title: "Tea\x1b", Dir: "/repo"})
	require.NoError(t, err)
	when := info.Updated.Local().Format("2006-01-02 15:04")
	var out strings.Builder
	require.NoError(t, listSessions(t.Context(), store, &out, &sessionsFlags{}))
	require.Equal(t, "s  "+when+"  /repo  Tea⟨ESC⟩\n", out.String())
	_, err = store.Acquire(t.Context(), "s", sessions.Claim{Holder: "ann\x1b"})
	require.NoError(t, err)
	out.Reset()
	require.NoError(t, listSessions(t.Context(), store, &out, &sessionsFlags{}))
	require.Equal(t, "s  "+when+"  /repo  Tea⟨ESC⟩  in use by ann⟨ESC⟩\n", out.String())
}

// A session whose description or notes are damaged is listed beside the others, and it can be
// exported and removed by its id.
func TestDamagedSessionsAreListedExportedAndRemoved(t *testing.T) {
	inner := new(sessions.Memory)
	store, err := sessions.Encrypted(inner, sealtest.Ring())
	require.NoError(t, err)
	for _, id := range []string{"description", "note", "good"} {
		_, err := store.Create(t.Context(), sessions.New{ID: id, Title: "title of " + id})
		require.NoError(t, err)
	}
	_, err = inner.Update(t.Context(), "description", sessions.Change{Title: new("planted")})
	require.NoError(t, err)
	_, err = inner.Put(t.Context(), "note", sessions.Item{Kind: sessions.ItemNote, By: "planted"})
	require.NoError(t, err)
	before := linked.Evals
	defer func() { linked.Evals = before }()
	linked.Evals = &linked.WithEvals{
		Scores: func(ctx context.Context, store sessions.Store, id string) (string, error) {
			for _, err := range store.Items(ctx, id, 0) {
				return "some", err
			}
			return "", nil
		},
	}
	var out strings.Builder
	err = listSessions(t.Context(), store, &out, &sessionsFlags{})
	require.ErrorContains(t, err, "decrypt description")
	require.ErrorContains(t, err, "decrypt note")
	for _, id := range []string{"description  ", "title of note  scores: some", "title of good"} {
		require.Contains(t, out.String(), id)
	}
	out.Reset()
	f := &sessionsFlags{ids: []string{"description", "good"}, at: t.TempDir()}
	require.ErrorIs(t, exportSessions(t.Context(), store, &out, f), sessions.ErrCorrupt)
	require.Contains(t, out.String(), "title of good")
	out.Reset()
	require.NoError(t, purgeSessions(t.Context(), store, &out, f))
	require.Equal(t, "Removed: 2\n", out.String())
	_, err = inner.Get(t.Context(), "description")
	require.ErrorIs(t, err, sessions.ErrNotFound)
}
