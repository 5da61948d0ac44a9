// SPDX-License-Identifier: Apache-2.0

package program

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

// disk is the directory of a file system of 4 MiB.
func disk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4194304"); err != nil {
		t.Skipf("a file system of its own is needed, which takes the rights to mount one: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

func TestFullDiskIsAnErrorForNow(t *testing.T) {
	full, work := disk(t), workDir(t)
	at := filepath.Join(full, "sessions")
	p := startAgent(t, work, "-store", at)
	s, err := p.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	mustWork(t, s)

	ballast, err := os.Create(filepath.Join(full, "ballast"))
	require.NoError(t, err)
	for err == nil {
		_, err = ballast.Write(make([]byte, 4096))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, ballast.Close())
	for { // the store has some room of its own
		if _, err = s.Say(t.Context(), "help"); err != nil {
			break
		}
	}
	requireStoreError(t, err, "the disk is full", "Make room")
	_, err = p.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
	requireStoreError(t, err, "the session cannot be made: ", "the disk is full")
	for info, err := range p.Sessions(t.Context(), work) {
		require.NoError(t, err)
		require.Equal(t, s.ID(), info.SessionID)
	}

	require.NoError(t, os.Remove(ballast.Name()))
	mustWork(t, s)
	before := shown(s.Snapshot())
	p.kill()
	again := startAgent(t, work, "-store", at)
	loaded, err := again.LoadSession(t.Context(), s.ID(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	after := shown(loaded.Snapshot())
	require.Equal(t, before[0].Text(), after[0].Text())
	require.Equal(t, before[len(before)-1].Text(), after[len(after)-1].Text())
	mustWork(t, loaded)
}

func TestReadOnlyDirectoryIsNamed(t *testing.T) {
	full, work := disk(t), workDir(t)
	at := filepath.Join(full, "sessions")
	p := startAgent(t, work, "-store", at)
	s, err := p.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	mustWork(t, s)
	p.kill()
	require.NoError(t, syscall.Mount("tmpfs", full, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	p = startAgent(t, work, "-store", at)
	_, err = p.LoadSession(t.Context(), s.ID(), acpclient.SessionConfig{Cwd: work})
	requireStoreError(t, err, "the session cannot be loaded: ", "cannot be written to", at, "Make it writable")
	memory, err := p.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	mustWork(t, memory)
	require.Contains(t, p.stderr.String(), "this session is kept in memory")
	require.NoError(t, syscall.Mount("tmpfs", full, "tmpfs", syscall.MS_REMOUNT, ""))
	s, err = p.LoadSession(t.Context(), s.ID(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err, "as soon as it can be written to")
	mustWork(t, s)
}
