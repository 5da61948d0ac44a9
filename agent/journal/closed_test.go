// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/journal"
)

// TestClosedLogsAreOfNoMoreUse: and they do not disturb the next holder of the run.
func TestClosedLogsAreOfNoMoreUse(t *testing.T) {
	ctx := context.Background()
	for name, j := range map[string]journal.Journal{"memory": new(journal.Memory), "directory": newDir(t, t.TempDir())} {
		l := open(t, j, "run")
		write(t, l, `{"a":1}`)
		require.NoError(t, l.Close(), name)
		for range 2 {
			_, err := l.Load(ctx)
			require.ErrorIs(t, err, journal.ErrClosed, name)
			require.ErrorIs(t, l.Append(ctx, []byte(`{}`)), journal.ErrClosed, name)
			require.Error(t, l.Close(), name)
		}
		next := open(t, j, "run")
		require.Error(t, l.Close(), name)
		require.ErrorIs(t, l.Append(ctx, []byte(`{}`)), journal.ErrClosed, name)
		_, err := j.Open(ctx, "run")
		require.ErrorIs(t, err, journal.ErrInUse, name)
		write(t, next, `{"b":1}`)
		require.Equal(t, []string{`{"a":1}`, `{"b":1}`}, read(t, next), name)
		require.NoError(t, next.Close())
	}
	closed := open(t, new(journal.Memory), "run")
	require.NoError(t, closed.Close())
	require.Equal(t, journal.ErrClosed, closed.Close())
}

// TestTheFirstRecordMayFail: the error is that of the write, and nothing is there when the run is opened again.
func TestTheFirstRecordMayFail(t *testing.T) {
	d := newDir(t, t.TempDir())
	l := open(t, d, "run")
	mend := journal.Break(l)
	require.ErrorIs(t, l.Append(context.Background(), []byte(`{"lost":true}`)), os.ErrClosed)
	mend()
	require.NoError(t, l.Close())
	l = open(t, d, "run")
	require.Empty(t, read(t, l))
	write(t, l, three...)
	require.Equal(t, three, read(t, l))
	require.NoError(t, l.Close())
}

// TestAJournalMayBeMovedWhileItIsOpen: only the first record needs the directory.
func TestAJournalMayBeMovedWhileItIsOpen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not move a directory with open files")
	}
	root := t.TempDir()
	here, there := filepath.Join(root, "here"), filepath.Join(root, "there")
	l := open(t, newDir(t, here), "run")
	write(t, l, three[0])
	require.NoError(t, os.Rename(here, there))
	write(t, l, three[1:]...)
	require.Equal(t, three, read(t, l))
	require.NoError(t, l.Close())
	require.Equal(t, three, read(t, open(t, newDir(t, there), "run")))
}
