// SPDX-License-Identifier: Apache-2.0

package keys_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zalando/go-keyring"

	"github.com/ponte-go/ponte/app/internal/keys"
	_ "github.com/ponte-go/ponte/app/keyring"
)

// in returns an environment with one variable.
func in(name, value string) func(string) string {
	return func(n string) string {
		if n == name {
			return value
		}
		return ""
	}
}

func TestKeysAreKeptInAFileOfTheUsers(t *testing.T) {
	name := filepath.Join(t.TempDir(), "new", "keys.json")
	k, ctx := keys.Open("ideagent", in("IDEAGENT_KEYS", name)), t.Context()
	_, err := k.Get(ctx, "A_KEY")
	require.ErrorIs(t, err, keys.ErrNone)
	require.NoFileExists(t, name, "nothing is made before it is needed")
	require.ErrorIs(t, k.Remove(ctx, "A_KEY"), keys.ErrNone)

	where, err := k.Set(ctx, "A_KEY", "secret")
	require.NoError(t, err)
	require.Equal(t, name, where)
	_, err = k.Set(ctx, "B_KEY", "other")
	require.NoError(t, err)
	got, err := keys.Open("ideagent", in("IDEAGENT_KEYS", name)).Get(ctx, "A_KEY")
	require.NoError(t, err)
	require.Equal(t, "secret", got)
	if runtime.GOOS != "windows" {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
	}
	require.NoError(t, k.Remove(ctx, "A_KEY"))
	_, err = k.Get(ctx, "A_KEY")
	require.ErrorIs(t, err, keys.ErrNone)
	left, err := os.ReadDir(filepath.Dir(name))
	require.NoError(t, err)
	require.Len(t, left, 1, "no copies")
}

func TestFileThatOthersCanReadIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	name := filepath.Join(t.TempDir(), "keys.json")
	require.NoError(t, os.WriteFile(name, []byte(`{"A_KEY":"secret"}`), 0o600))
	require.NoError(t, os.Chmod(name, 0o644))
	k := keys.Open("ideagent", in("IDEAGENT_KEYS", name))
	_, err := k.Get(t.Context(), "A_KEY")
	require.ErrorContains(t, err, "other users can read it")
	_, err = k.Set(t.Context(), "A_KEY", "new")
	require.ErrorContains(t, err, "the key is not stored")
	require.NotContains(t, err.Error(), "new\"")
}

func TestBrokenFileIsNotReplaced(t *testing.T) {
	name := filepath.Join(t.TempDir(), "keys.json")
	for _, content := range []string{"", "secret", "[]", "null", `{"A_KEY":1}`} {
		require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
		k := keys.Open("ideagent", in("IDEAGENT_KEYS", name))
		_, err := k.Set(t.Context(), "A_KEY", "new")
		require.ErrorContains(t, err, "it is not a JSON object of strings")
		require.NotContains(t, err.Error(), "secret")
		got, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, content, string(got))
	}
}

// The keyring comes first, and the file where the keyring fails.
func TestKeysAreKeptInTheKeyring(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
		t.Setenv(name, home)
	}
	k, ctx := keys.Open("ideagent", in("DBUS_SESSION_BUS_ADDRESS", "unix:path=/none")), t.Context()
	keyring.MockInit()
	where, err := k.Set(ctx, "A_KEY", "secret")
	require.NoError(t, err)
	require.Equal(t, "the system's keyring", where)
	got, err := k.Get(ctx, "A_KEY")
	require.NoError(t, err)
	require.Equal(t, "secret", got)
	require.Equal(t, []string{"A_KEY"}, k.Names(), "without asking the keyring")
	require.NoError(t, filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NotContains(t, string(data), "secret", "the key is in the keyring only")
		}
		return err
	}))
	require.NoError(t, k.Remove(ctx, "A_KEY"))
	require.ErrorIs(t, k.Remove(ctx, "A_KEY"), keys.ErrNone)
	require.Empty(t, k.Names())

	keyring.MockInitWithError(keyring.ErrUnsupportedPlatform)
	where, err = k.Set(ctx, "A_KEY", "filed")
	require.NoError(t, err)
	require.Equal(t, "keys.json", filepath.Base(where))
	got, err = k.Get(ctx, "A_KEY")
	require.NoError(t, err)
	require.Equal(t, "filed", got)
	_, err = k.Get(ctx, "B_KEY")
	require.ErrorContains(t, err, "the system's keyring: ", "that a place could not be asked is told")
}
