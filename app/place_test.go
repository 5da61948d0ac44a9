// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/app/internal/stores"
)

// Wherever the address of a database is put, its password is not printed: editors keep what is printed.
func TestPasswordsOfAddressesAreNotPrinted(t *testing.T) {
	const address = "postgres://ann:secret@db/sessions"
	for _, c := range []struct {
		args   []string
		stderr string
	}{
		{[]string{"-store", address}, `this program has no stores of the kind "postgres": see examples/ideagent/postgres`},
		{[]string{"-store", "postgres:/ann:secret@db/sessions"}, "in the form postgres://user@host/database"},
		{[]string{"chat", "-store", address, "hi"}, `no stores of the kind "postgres"`},
		{[]string{"sessions", "list", "-store", address}, `no stores of the kind "postgres"`},
		{[]string{address}, `unknown command "postgres://…"`},
		{[]string{"-model", "offline", address}, `unknown argument "postgres://…"`},
		{[]string{"-stor=" + address}, "unknown flag -stor; did you mean -store?"},
		{[]string{"-" + address}, "unknown flag …"},
		{[]string{"-idle", address}, "invalid value"},
		{[]string{"sessions", address}, `unknown command "postgres://…"`},
		{[]string{"sessions", "list", address}, "belongs after -store"},
		{[]string{"sessions", "purge", address}, "belongs after -store"},
		{[]string{"chat", "-agent", "x", "-store", address}, "-store is for ideagent's own agent; leave it out with -agent"},
	} {
		stdout, stderr, code := ideagent(t, c.args...)
		require.Equal(t, 2, code, "%v: %s", c.args, stderr)
		require.Contains(t, stderr, c.stderr, "%v", c.args)
		require.NotContains(t, stdout+stderr, "secret", "%v", c.args)
	}
}

// silent is a database that does not answer.
func silent(t *testing.T) stores.Place {
	t.Helper()
	place, err := stores.Kinds{"postgres": func(ctx context.Context, _ string) (stores.Store, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}}.At("postgres://ann:secret@db/sessions", sample)
	require.NoError(t, err)
	return place
}

func TestSilentServerIsNotWaitedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []error
		s := newStore(silent(t), t.TempDir(), func(err error) { told = append(told, err) })
		begin := time.Now()
		info, err := s.Create(t.Context(), sessions.New{})
		require.NoError(t, err, "it is kept in memory")
		require.Equal(t, patience, time.Since(begin))
		require.Len(t, told, 1)
		require.ErrorIs(t, told[0], sessions.ErrUnavailable)
		require.ErrorContains(t, told[0], "no answer within 10s")
		_, err = s.Get(t.Context(), info.ID)
		require.NoError(t, err)
		require.Empty(t, s.undoDir(info.ID), "what is in memory leaves nothing on the disk")
		require.NotEmpty(t, s.undoDir("other"))

		// A request that is cancelled does not wait, and those that come meanwhile wait for the same attempt.
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("the editor has cancelled it")
		cancel(gone)
		_, err = s.List(ctx, sessions.Query{})
		require.ErrorIs(t, err, gone)
		_, err = s.Create(ctx, sessions.New{})
		require.ErrorIs(t, err, gone)
		require.Len(t, told, 1, "nobody wants this session any more")
		time.Sleep(patience / 2)
		begin = time.Now()
		_, err = s.List(t.Context(), sessions.Query{})
		require.ErrorIs(t, err, sessions.ErrUnavailable)
		require.Equal(t, patience/2, time.Since(begin))

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
		place, err := stores.Kinds{"postgres": func(context.Context, string) (stores.Store, error) { return nil, nil }}.At(name, sample)
		require.NoError(t, err)
		return localDir(place, env("XDG_STATE_HOME", state))
	}
	dir := at("postgres://ann:secret@db/sessions")
	require.Equal(t, filepath.Join(state, "ideagent", "databases"), filepath.Dir(dir))
	require.NotContains(t, dir, "secret")
	require.Equal(t, dir, at("postgres://bob@db/sessions"))
	require.NotEqual(t, dir, at("postgres://bob@db/other"))
	require.Equal(t, state, at(state))
}

// Sessions are also removed by other programs and on other machines.
func TestUndoForgetsSessionsThatAreGone(t *testing.T) {
	local, store := t.TempDir(), new(sessions.Memory)
	info, err := store.Create(t.Context(), sessions.New{})
	require.NoError(t, err)
	old := time.Now().Add(-gone - time.Hour)
	ids := map[string]bool{info.ID: true, "GONE": false, "GONE2": true, "odd id": true}
	for id := range ids {
		dir := undoDir(local, id)
		require.NoError(t, os.MkdirAll(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "log"), nil, 0o600))
		if id != "GONE2" { // its store may be empty for a day
			require.NoError(t, os.Chtimes(dir, old, old))
		}
	}
	forgetGone(t.Context(), store, local)
	for id, left := range ids {
		if left {
			require.DirExists(t, undoDir(local, id), id)
		} else {
			require.NoDirExists(t, undoDir(local, id), id)
		}
	}
	forgetGone(t.Context(), store, "")
	require.NoError(t, forgetUndo("", info))
}

func TestChatKeepsSessionsWhereItIsTold(t *testing.T) {
	at, work := filepath.Join(t.TempDir(), "sessions"), workDir(t)
	_, stderr, code := ideagent(t, "chat", "-model", "offline", "-dir", work, "-store", at, "help")
	require.Equal(t, 0, code, stderr)
	stdout, stderr, code := ideagent(t, "sessions", "list", "-store", at, "-dir", work)
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stdout, "  help\n")
}
