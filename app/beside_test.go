// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/app/internal/stores"
)

// Names of directories are the ids of sessions, as long as all file systems tell them apart.
func TestNamesOfDirectoriesOfUndo(t *testing.T) {
	for _, id := range []string{"A", "Z", "0", "9", "_", "-", "AZ09_-", strings.Repeat("A", 64)} {
		require.Equal(t, filepath.Join("/store", "undo", id), besideDir("/store", id))
	}
	for _, id := range []string{"", "a", "z", "@", "[", "/", ":", "^", "`", ".", ",", strings.Repeat("A", 65)} {
		want := fmt.Sprintf("id-%x", sha256.Sum256([]byte(id)))
		require.Equal(t, filepath.Join("/store", "undo", want), besideDir("/store", id), id)
	}
}

// What undo needs is forgotten after 30 days, and only if the store says that there is no session.
func TestUndoIsForgottenAfterThirtyDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		local := t.TempDir()
		make := func(id string, age time.Duration) string {
			dir := filepath.Join(local, "undo", id)
			require.NoError(t, os.MkdirAll(dir, 0o700))
			at := time.Now().Add(-age)
			require.NoError(t, os.Chtimes(dir, at, at))
			return dir
		}
		young, old := make("YOUNG", 30*24*time.Hour-time.Microsecond), make("OLD", 30*24*time.Hour)
		forgetGone(t.Context(), &nothing{errors.New("no network")}, local)
		require.DirExists(t, old, "nobody knows whether there is such a session")
		forgetGone(t.Context(), &nothing{sessions.ErrNotFound}, local)
		require.DirExists(t, young)
		require.NoDirExists(t, old)
		forgetGone(t.Context(), &nothing{sessions.ErrNotFound}, filepath.Join(local, "none"))
	})
}

// What undo needs of a session goes when the session goes, and what does not go is told.
func TestUndoIsForgottenWithItsSession(t *testing.T) {
	local := t.TempDir()
	for _, id := range []string{"ONE", "TWO", "odd id"} {
		require.NoError(t, os.MkdirAll(besideDir(local, id), 0o700))
	}
	require.NoError(t, forgetBeside(local, sessions.Info{ID: "ONE"}, sessions.Info{ID: "odd id"}, sessions.Info{ID: "NONE"}))
	require.NoDirExists(t, besideDir(local, "ONE"))
	require.NoDirExists(t, besideDir(local, "odd id"))
	require.DirExists(t, besideDir(local, "TWO"))

	s := newStore("desk", func(context.Context) (sessions.Store, func() error, error) {
		return &noted{}, func() error { return nil }, nil
	}, local, nil)
	require.NoError(t, s.Delete(t.Context(), "TWO"))
	require.NoDirExists(t, besideDir(local, "TWO"))

	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.MkdirAll(file, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(file, "undo"), nil, 0o600))
	err := forgetBeside(file, sessions.Info{ID: "ONE"}, sessions.Info{ID: "TWO"})
	if err != nil { // some systems say that there is none
		require.ErrorContains(t, err, "the session ONE is removed, but not what /undo has of it: ")
	}
}

// inner is a store that is opened in tests, by the kind "inner".
var inner = struct {
	store sessions.Store
	err   error
}{}

func init() {
	stores.Register("inner", func(context.Context, string) (sessions.Store, error) { return inner.store, inner.err })
}

// An address that the store does not like is a mistake of the user's, not of what an editor asks.
func TestErrorsOfOpening(t *testing.T) {
	t.Cleanup(func() { inner.store, inner.err = nil, nil })
	place, err := stores.At("inner://db")
	require.NoError(t, err)
	inner.err = &sessions.Error{Op: "open", Err: errors.Join(sessions.ErrInvalid)}
	_, err = openWithin(t.Context(), place)
	require.EqualError(t, err, "session: open: "+sessions.ErrInvalid.Error())
	require.NotErrorIs(t, err, sessions.ErrInvalid)
	inner.err = sessions.ErrUnavailable
	_, err = openWithin(t.Context(), place)
	require.Equal(t, sessions.ErrUnavailable, err)

	inner.store, inner.err = &noted{}, nil
	store, err := openWithin(t.Context(), place)
	require.NoError(t, err)
	require.Equal(t, inner.store, store)

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("the editor has gone")
		cancel(gone)
		_, err := openWithin(ctx, silent(t))
		require.Equal(t, gone, err)

		begin := time.Now()
		_, err = openWithin(t.Context(), silent(t))
		require.EqualError(t, err, "session: open: "+sessions.ErrUnavailable.Error()+": no answer within 10s")
		require.Equal(t, 10*time.Second, time.Since(begin))
	})
}
