// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain makes the command of this program, too.
func TestMain(m *testing.M) {
	if os.Getenv("ENGLISH_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// The command lists the rooms, or those with a name, and their phrases if that is wanted.
func TestTheCommand(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.md": "Nothing.\nnobody is here\n", "b.md": "All is well here, and in the next line.\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	run := func(dir string, args ...string) (string, int) {
		cmd := exec.Command(os.Args[0], args...)
		if filepath.Base(os.Args[0]) == os.Args[0] {
			cmd.Path, _ = os.Executable()
		}
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "ENGLISH_MAIN=1")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			require.NoError(t, err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	out, code := run(dir)
	require.Equal(t, " 2500  a.md                                              4 words     1 phrases\n    0  b.md                                              9 words     0 phrases\n", out)
	require.Zero(t, code)
	out, _ = run(dir, "-v", "a.")
	require.Equal(t, " 2500  a.md                                              4 words     1 phrases\n       a.md:2: nobody: nobody is here\n", out)
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "z.md")))
	out, code = run(dir)
	require.Contains(t, out, "english: ")
	require.Contains(t, out, "z.md")
	require.Equal(t, 1, code)
	require.Equal(t, 10_000.0, (&room{found: make([]found, 1)}).rate())
	require.Equal(t, 5_000.0, (&room{found: make([]found, 1), words: 2}).rate())
}
