// SPDX-License-Identifier: Apache-2.0

//go:build unix

package config_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/app/config"
)

// A repository decides what is in its files, so it must not be able to stop the agent, or to show it other files. A link that leads nowhere is
// not the same as no file: rules that somebody has moved must not disappear unseen.
func TestProjectFileThatIsNoFile(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret.json")
	require.NoError(t, os.WriteFile(secret, []byte(`{"token": "s3cret"}`), 0o600))
	for name, make := range map[string]func(t *testing.T, dir, file string) error{
		"a pipe":             func(t *testing.T, dir, file string) error { return syscall.Mkfifo(file, 0o600) },
		"a directory":        func(t *testing.T, dir, file string) error { return os.Mkdir(file, 0o700) },
		"a link outside":     func(t *testing.T, dir, file string) error { return os.Symlink(secret, file) },
		"a link to nothing":  func(t *testing.T, dir, file string) error { return os.Symlink("nothing.json", file) },
		"a link to itself":   func(t *testing.T, dir, file string) error { return os.Symlink("ideagent.json", file) },
		"a link to a device": func(t *testing.T, dir, file string) error { return os.Symlink("/dev/zero", file) },
		"a directory outside": func(t *testing.T, dir, file string) error {
			require.NoError(t, os.Remove(filepath.Dir(file)))
			require.NoError(t, os.WriteFile(filepath.Join(outside, "ideagent.json"), []byte(`{"token": "s3cret"}`), 0o600))
			return os.Symlink(outside, filepath.Dir(file))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, ".agents", "ideagent.json")
			require.NoError(t, os.Mkdir(filepath.Dir(file), 0o700))
			require.NoError(t, make(t, dir, file))
			_, err := config.ReadProject("ideagent", dir)
			require.ErrorContains(t, err, file+": cannot be read: ")
			require.NotContains(t, err.Error(), "token")
		})
	}
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".agents"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.json"), []byte(`{"permissions": {"mode": "read-only"}}`), 0o600))
	require.NoError(t, os.Symlink("../rules.json", filepath.Join(dir, ".agents", "ideagent.json")))
	p, err := config.ReadProject("ideagent", dir)
	require.NoError(t, err, "links within the project are fine")
	require.EqualValues(t, "read-only", p.Permissions.Mode)
}
