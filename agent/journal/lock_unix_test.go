// SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package journal

import (
	"context"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClosedRunIsFreeWhileItsFileIsShared: a process that is being forked off has all files of its parent until it
// becomes another program.
func TestClosedRunIsFreeWhileItsFileIsShared(t *testing.T) {
	d, err := NewDir(t.TempDir())
	require.NoError(t, err)
	l, err := d.Open(context.Background(), "run")
	require.NoError(t, err)
	shared, err := syscall.Dup(int(l.(*fileLog).file.Fd()))
	require.NoError(t, err)
	defer syscall.Close(shared)
	require.NoError(t, l.Close())
	l, err = d.Open(context.Background(), "run")
	require.NoError(t, err)
	require.NoError(t, l.Close())
}
