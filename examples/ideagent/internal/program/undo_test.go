// SPDX-License-Identifier: Apache-2.0

package program

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

func text(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	require.NoError(t, err)
	return string(data)
}

// The session is asleep whenever it can be: what /undo needs comes from the disk, also for the next process.
func TestUndoAfterSleepAndKill(t *testing.T) {
	at, work := filepath.Join(t.TempDir(), "sessions"), workDir(t)
	write(t, work, map[string]string{"a.txt": "one\n"})
	start := func() *agentProcess { return startAgent(t, work, "-store", at, "-idle", "1ns") }
	p := start()
	s := newSession(t, p, work)
	answer(t, s, "replace one with two in a.txt")
	answer(t, s, "replace two with three in a.txt")
	require.Contains(t, answer(t, s, "/undo"), "Files taken back: a.txt")
	require.Equal(t, "two\n", text(t, work, "a.txt"))

	p.kill()
	p = start()
	s, err := p.LoadSession(t.Context(), s.ID(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	require.Contains(t, answer(t, s, "/undo"), "Files taken back: a.txt")
	require.Equal(t, "one\n", text(t, work, "a.txt"))

	// What is kept goes with the session.
	kept := filepath.Join(at, "undo", string(s.ID()))
	require.DirExists(t, kept)
	require.NoError(t, s.Close(t.Context()))
	require.DirExists(t, kept)
	require.NoError(t, p.DeleteSession(t.Context(), s.ID()))
	require.NoDirExists(t, kept)

	s = newSession(t, p, work)
	answer(t, s, "replace one with two in a.txt")
	require.NoError(t, s.Close(t.Context()))
	require.DirExists(t, filepath.Join(at, "undo", string(s.ID())))
	_, stderr, code := ideagent(t, "sessions", "purge", "-store", at, "-all")
	require.Equal(t, 0, code, stderr)
	left, err := os.ReadDir(filepath.Join(at, "undo"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A store that cannot be opened keeps nothing on the disk, so what was recorded stays in memory while the session sleeps.
func TestUndoAfterSleepWithoutStore(t *testing.T) {
	at, work := filepath.Join(t.TempDir(), "file"), workDir(t)
	require.NoError(t, os.WriteFile(at, nil, 0o600))
	write(t, work, map[string]string{"a.txt": "one\n"})
	p := startAgent(t, work, "-store", filepath.Join(at, "sessions"), "-idle", "1ns")
	s := newSession(t, p, work)
	answer(t, s, "replace one with two in a.txt")
	require.Contains(t, answer(t, s, "/undo"), "Files taken back: a.txt")
	require.Equal(t, "one\n", text(t, work, "a.txt"))
}
