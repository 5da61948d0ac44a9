// SPDX-License-Identifier: Apache-2.0

package program

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

// TestNothingReadableIsKept looks at all files that an agent with -encrypt keeps, while it runs and after it was killed: sessions, and what
// /undo needs.
func TestNothingReadableIsKept(t *testing.T) {
	state, work := t.TempDir(), filepath.Join(workDir(t), "planted-directory")
	require.NoError(t, os.Mkdir(work, 0o755))
	at, key := filepath.Join(state, "sessions"), filepath.Join(t.TempDir(), "key")
	run := func(args ...string) (stdout string, code int) {
		t.Helper()
		stdout, stderr, code := ideagent(t, append(args, "-store", at)...)
		return stdout + stderr, code
	}
	secrets := []string{"planted-one", "planted-two", "planted-three", filepath.Base(work)}
	readable := func() (found []string) {
		t.Helper()
		require.NoError(t, filepath.WalkDir(state, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			for _, secret := range secrets {
				if bytes.Contains(data, []byte(secret)) {
					found = append(found, secret)
				}
			}
			return err
		}))
		return found
	}

	said, code := run("doctor", "-no-request", "-encrypt", key)
	require.Equal(t, 1, code)
	require.Contains(t, said, "wrong  store: "+at+", encrypted: -encrypt "+key+`: there is no key: make one with "ideagent sessions key"`)
	require.Contains(t, said, `run "ideagent sessions key", with the same -encrypt`)
	said, code = run("sessions", "key", "-encrypt", key)
	require.Equal(t, 0, code, said)
	require.Contains(t, said, "The key is kept in "+key)
	if runtime.GOOS != "windows" {
		info, err := os.Stat(key)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	}
	said, code = run("sessions", "key", "-encrypt", key)
	require.Equal(t, 1, code)
	require.Contains(t, said, "there is a key in "+key+" already")

	write(t, work, map[string]string{"a.txt": "planted-one\n"})
	start := func() *agentProcess { return startAgent(t, work, "-store", at, "-encrypt", key) }
	p := start()
	s := newSession(t, p, work)
	answer(t, s, "replace planted-one with planted-two in a.txt")
	answer(t, s, "replace planted-two with planted-three in a.txt")
	require.DirExists(t, filepath.Join(at, "undo", string(s.ID())))
	require.Empty(t, readable())
	p.kill()
	require.Empty(t, readable())

	said, code = run("sessions", "key", "-rotate", "-encrypt", key)
	require.Equal(t, 0, code, said)
	p = start()
	s, err := p.LoadSession(t.Context(), s.ID(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	require.Contains(t, answer(t, s, "/undo"), "Files taken back: a.txt")
	require.Equal(t, "planted-two\n", text(t, work, "a.txt"))
	require.NoError(t, s.Close(t.Context()))
	require.Empty(t, readable())

	said, code = run("sessions", "list", "-encrypt", key)
	require.Equal(t, 0, code)
	require.Contains(t, said, "planted-one")
	said, code = run("doctor", "-no-request", "-encrypt", key)
	require.Contains(t, said, "ok     store: "+at+", encrypted with key ", code)
	for _, other := range []string{"", filepath.Join(t.TempDir(), "other")} {
		args := []string{"sessions", "list"}
		if other != "" {
			args = append(args, "-encrypt", other)
			_, code = run("sessions", "key", "-encrypt", other)
			require.Equal(t, 0, code)
		}
		said, code = run(args...)
		require.Equal(t, 1, code)
		require.NotContains(t, said, "planted")
		require.Contains(t, said, map[bool]string{true: "the sessions there are encrypted", false: "does not have the key"}[other == ""])
	}
}

// TestPlainSessionsAreMoved takes sessions that are not encrypted to a place where they are.
func TestPlainSessionsAreMoved(t *testing.T) {
	at, work := filepath.Join(t.TempDir(), "sessions"), workDir(t)
	t.Setenv("SESSIONS_KEY", "")
	key, _, code := ideagent(t, "sessions", "key", "-encrypt", "env:SESSIONS_KEY")
	require.Equal(t, 0, code)
	t.Setenv("SESSIONS_KEY", key)
	p := startAgent(t, work, "-store", at)
	s := newSession(t, p, work)
	answer(t, s, "help")
	p.kill()
	_, stderr, code := ideagent(t, "sessions", "list", "-store", at, "-encrypt", "env:SESSIONS_KEY")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "the sessions there are not encrypted: export them, and import them with -encrypt and another -store")
	file, _, code := ideagent(t, "sessions", "export", "-store", at)
	require.Equal(t, 0, code)
	name := filepath.Join(t.TempDir(), "export")
	require.NoError(t, os.WriteFile(name, []byte(file), 0o600))
	_, stderr, code = ideagent(t, "sessions", "import", "-store", at+"2", "-encrypt", "env:SESSIONS_KEY", name)
	require.Equal(t, 0, code, stderr)
	list, _, _ := ideagent(t, "sessions", "list", "-store", at+"2", "-encrypt", "env:SESSIONS_KEY")
	require.Contains(t, list, string(s.ID()))
	require.Contains(t, list, "help")
}
