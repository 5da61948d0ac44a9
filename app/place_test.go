// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/app/internal/stores"
)

func init() {
	stores.Register("", func(_ context.Context, dir string) (sessions.Store, error) {
		return sqlitestore.Open(dir, sqlitestore.Options{})
	})
	stores.Register("silent", func(ctx context.Context, _ string) (sessions.Store, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
}

// silent is a database that does not answer.
func silent(t *testing.T) stores.Place {
	t.Helper()
	place, err := stores.At("silent://ann:secret@db/sessions")
	require.NoError(t, err)
	return place
}

// opens opens a place without encryption.
func opens(place stores.Place) func(context.Context) (sessions.Store, func() error, error) {
	return func(ctx context.Context) (sessions.Store, func() error, error) {
		store, err := openWithin(ctx, place)
		return store, func() error { return closeStore(store) }, err
	}
}

func TestSilentServerIsNotWaitedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []error
		s := newStore("ideagent", opens(silent(t)), t.TempDir(), func(err error) { told = append(told, err) })
		begin := time.Now()
		info, err := s.Create(t.Context(), sessions.New{})
		require.NoError(t, err, "it is kept in memory")
		require.Equal(t, 10*time.Second, time.Since(begin))
		require.Len(t, told, 1)
		require.ErrorIs(t, told[0], sessions.ErrUnavailable)
		require.ErrorContains(t, told[0], "no answer within 10s")
		_, err = s.Get(t.Context(), info.ID)
		require.NoError(t, err)
		require.Empty(t, s.beside(info.ID), "what is in memory leaves nothing on the disk")
		require.NotEmpty(t, s.beside("other"))

		// A request that is cancelled does not wait, and those that come meanwhile wait for the same attempt.
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("the editor has cancelled it")
		cancel(gone)
		_, err = s.List(ctx, sessions.Query{})
		require.ErrorIs(t, err, gone)
		_, err = s.Create(ctx, sessions.New{})
		require.ErrorIs(t, err, gone)
		require.Len(t, told, 1, "nobody wants this session any more")
		time.Sleep(5 * time.Second)
		begin = time.Now()
		_, err = s.List(t.Context(), sessions.Query{})
		require.ErrorIs(t, err, sessions.ErrUnavailable)
		require.Equal(t, 5*time.Second, time.Since(begin))

		ended := make(chan error)
		go func() {
			_, err := s.List(t.Context(), sessions.Query{})
			ended <- err
		}()
		synctest.Wait()
		begin = time.Now()
		require.NoError(t, s.Close())
		require.Error(t, <-ended)
		require.Zero(t, time.Since(begin))
	})
}

func TestLocalFilesOfADatabase(t *testing.T) {
	state := t.TempDir()
	at := func(name string) string {
		place, err := stores.At(name)
		require.NoError(t, err)
		return newEnv(Process{Getenv: env("XDG_STATE_HOME", state)}, "ideagent").localDir(place)
	}
	dir := at("silent://ann:secret@db/sessions")
	require.Equal(t, filepath.Join(state, "ideagent", "databases"), filepath.Dir(dir))
	require.NotContains(t, dir, "secret")
	require.Equal(t, dir, at("silent://bob@db/sessions"))
	require.NotEqual(t, dir, at("silent://bob@db/other"))
}

// Sessions are also removed by other programs and on other machines.
func TestUndoForgetsSessionsThatAreGone(t *testing.T) {
	local, store := t.TempDir(), new(sessions.Memory)
	info, err := store.Create(t.Context(), sessions.New{})
	require.NoError(t, err)
	old := time.Now().Add(-gone - time.Hour)
	ids := map[string]bool{info.ID: true, "GONE": false, "GONE2": true, "odd id": true}
	for id := range ids {
		dir := besideDir(local, id)
		require.NoError(t, os.MkdirAll(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "log"), nil, 0o600))
		if id != "GONE2" { // its store may be empty for a day
			require.NoError(t, os.Chtimes(dir, old, old))
		}
	}
	forgetGone(t.Context(), store, local)
	for id, left := range ids {
		if left {
			require.DirExists(t, besideDir(local, id), id)
		} else {
			require.NoDirExists(t, besideDir(local, id), id)
		}
	}
	forgetGone(t.Context(), store, "")
	require.NoError(t, forgetBeside("", info))
}

func TestUndoDirectoryIsBelowTheStore(t *testing.T) {
	seen := map[string]bool{}
	for _, id := range []string{"ABC-1_2", "abc-1_2", "..", ".", "", "../../x", "a/b", `a\b`, "x\x00y", string(make([]byte, 100))} {
		dir := besideDir("/store", id)
		require.Equal(t, filepath.FromSlash("/store/undo"), filepath.Dir(dir), id)
		require.False(t, seen[dir], id)
		seen[dir] = true
	}
}

func TestStoreOpensOnceItCan(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	var told []error
	place, err := stores.At(filepath.Join(file, "sessions"))
	require.NoError(t, err)
	s := newStore("ideagent", opens(place), place.Dir(), func(err error) { told = append(told, err) })
	ctx := t.Context()
	first, err := s.Create(ctx, sessions.New{})
	require.NoError(t, err)
	require.Len(t, told, 1)
	require.NoError(t, os.Remove(file))
	second, err := s.Create(ctx, sessions.New{})
	require.NoError(t, err)
	require.Len(t, told, 1)
	page, err := s.List(ctx, sessions.Query{})
	require.NoError(t, err)
	require.Len(t, page.Sessions, 1)
	require.Equal(t, second.ID, page.Sessions[0].ID)
	for _, id := range []string{first.ID, second.ID} {
		_, err := s.Get(ctx, id)
		require.NoError(t, err)
	}
	require.NoError(t, s.Close())
	_, err = s.Create(ctx, sessions.New{})
	require.ErrorIs(t, err, sessions.ErrClosed)
}

func TestStateDirectory(t *testing.T) {
	if runtime.GOOS == "linux" {
		t.Setenv("HOME", "/home/ann")
		place, err := newEnv(Process{Getenv: env("XDG_STATE_HOME", "relative")}, "ideagent").placeOf("")
		require.NoError(t, err)
		require.Equal(t, "/home/ann/.local/state/ideagent/sessions", place.Dir())
	}
}
