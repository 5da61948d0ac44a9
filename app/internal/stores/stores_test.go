// SPDX-License-Identifier: Apache-2.0

package stores_test

import (
	"context"
	"io"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/app/internal/stores"
)

// asked is the last address that the store of tests was opened with.
var asked string

func init() {
	open := func(_ context.Context, address string) (session.Store, error) {
		asked = address
		return nil, session.ErrUnavailable
	}
	stores.Register("postgres", open)
	stores.Register("postgresql", open)
}

// directories registers what opens directories, once.
var directories = sync.OnceFunc(func() {
	stores.Register("", func(_ context.Context, dir string) (session.Store, error) {
		return sqlitestore.Open(dir, sqlitestore.Options{})
	})
})

func TestPlaces(t *testing.T) {
	if !stores.Directories() { // or it is not the first time
		_, err := stores.At(t.TempDir())
		require.ErrorContains(t, err, "import package app/sqlite")
	}
	directories()
	for _, name := range []string{"postgres://u:p@h/db", "PostGres://u:p@h/db"} {
		place, err := stores.At(name)
		require.NoError(t, err)
		require.Empty(t, place.Dir())
		require.Equal(t, "the postgres database", place.String())
		_, err = place.Open(t.Context())
		require.ErrorIs(t, err, session.ErrUnavailable)
		require.Equal(t, "postgres://u:p@h/db", asked)
	}
	dir := t.TempDir()
	place, err := stores.At(dir)
	require.NoError(t, err)
	require.Equal(t, dir, place.Dir())
	require.Equal(t, dir, place.String())
	store, err := place.Open(t.Context())
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(dir, "sessions.db"))
	require.NoError(t, store.(io.Closer).Close())
	place, err = stores.At("a:b")
	require.NoError(t, err)
	require.True(t, filepath.IsAbs(place.Dir()))
}

// What looks like an address of a database is none of the directories whose names are shown.
func TestPasswordsAreNoDirectories(t *testing.T) {
	for name, want := range map[string]string{
		"mysql://user:secret@host/db":             `no stores of the kind "mysql": see docs/app.md`,
		"postgresqls://user:secret@host/db":       `no stores of the kind "postgresqls"`,
		"postgres:/user:secret@host/db":           "in the form postgres://user@host/database",
		"postgres:user:secret@host/db":            "in the form",
		" postgres://user:secret@host/db":         "in the form",
		"1sql://user:secret@host/db":              "in the form",
		"m1+.-://user:secret@host/db":             `no stores of the kind "m1+.-"`,
		"JDBC:postgres://host/db?password=secret": "in the form",
		"host=h user=u password=secret":           "in the form",
		"host=h PASSWORD = 'secret'":              "in the form",
		"user:secret@://host":                     "in the form",
		"://user:secret@host":                     "in the form",
	} {
		_, err := stores.At(name)
		require.ErrorContains(t, err, want, name)
		require.NotContains(t, err.Error(), "secret")
		require.NotContains(t, stores.Mask(name), "secret")
	}
	require.Equal(t, "postgres://…", stores.Mask("postgres://user:secret"))
	require.Equal(t, "a b", stores.Mask("a b"))
}

func TestKeysOfDatabases(t *testing.T) {
	env := map[string]string{"PGHOST": "other", "PGDATABASE": "sessions"}
	key := func(name string) string {
		place, err := stores.At(name)
		require.NoError(t, err)
		return place.Key(func(v string) string { return env[v] })
	}
	same := key("postgres://ann@db/sessions")
	require.Len(t, same, 16)
	for _, name := range []string{
		"postgresql://bob:x@db/sessions", "postgres://@db/sessions", "postgres://db/sessions?sslmode=require", "postgres://db/", "postgres:///sessions?host=db", "postgres://p@ss:word@db/sessions",
	} {
		require.Equal(t, same, key(name), name)
	}
	for _, name := range []string{"postgres://db:5433/sessions", "postgres://db2/sessions", "postgres://db/other", "postgres:///sessions", "postgres://db/sessions?port=1"} {
		require.NotEqual(t, same, key(name), name)
	}
	env = nil
	require.NotEqual(t, key("postgres://ann@db"), key("postgres://bob@db"), "the database has the user's name")
}
