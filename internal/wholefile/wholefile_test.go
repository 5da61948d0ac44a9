// SPDX-License-Identifier: Apache-2.0

package wholefile_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/wholefile"
)

func TestFilesAreReplacedAsAWhole(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	require.NoError(t, wholefile.Write(file, []byte("one"), 0o644))
	old, err := os.Open(file)
	require.NoError(t, err)
	defer old.Close()
	if runtime.GOOS != "windows" { // where an open file cannot be replaced
		require.NoError(t, wholefile.Write(file, []byte("two"), 0o600))
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, "two", string(text))
		was := make([]byte, 3)
		_, err = old.Read(was)
		require.NoError(t, err)
		require.Equal(t, "one", string(was), "it was not written to")
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
	}
}

func TestNothingIsLeftOfWhatFails(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "a"), 0o755))
	require.Error(t, wholefile.Write(filepath.Join(dir, "a"), []byte("x"), 0o644), "it is a directory")
	require.Error(t, wholefile.Write(filepath.Join(dir, "none", "a"), []byte("x"), 0o644))
	all, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, all, 1)
}
