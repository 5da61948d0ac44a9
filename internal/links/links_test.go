// SPDX-License-Identifier: Apache-2.0

package links_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/links"
)

func TestResolve(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "a", "b"), 0o700))
	for link, to := range map[string]string{
		"l": "a", "abs": filepath.Join(root, "a"), "deep": "a/b", "a/up": "../a", "dangling": "a/new", "chain": "dangling", "self": "self", "out": "/",
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(root, link)))
	}
	for name, want := range map[string]string{
		"a": "a", "l": "a", "l/b": "a/b", "abs/b": "a/b", "deep/..": "a", "deep/../x": "a/x", "a/up/up/b": "a/b", "dangling": "a/new", "chain": "a/new",
		"chain/x": "a/new/x", "missing/x": "missing/x", "missing/../x": "x", "missing/y/../../l": "a", "missing/../l/b": "a/b", "missin/../missing/l": "missing/l",
		"missing/../l/missing/../b/../../missing/z": "missing/z", "no/../nothing/l": "nothing/l", "no/../l/no/l": "a/no/l", "a/n/../up/l": "a/l", "./a//b/": "a/b", "self": "self", "self/x": "self/x", "out" + root + "/l": "a",
	} {
		require.Equal(t, filepath.Join(root, want), filepath.Clean(links.Resolve(root+"/"+name)), name)
	}
}

// A path may lead through as many links as Linux follows. One with more stays as it is.
func TestLinksAreFollowedAsOftenAsTheSystemDoes(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	name := func(n int) string { return filepath.Join(root, strconv.Itoa(n)) }
	require.NoError(t, os.WriteFile(name(0), nil, 0o600))
	for n := range 41 {
		require.NoError(t, os.Symlink(strconv.Itoa(n), name(n+1)))
	}
	require.Equal(t, name(0), links.Resolve(name(40)))
	require.Equal(t, name(41), links.Resolve(name(41)))
	if runtime.GOOS == "linux" {
		_, err = os.Stat(name(40))
		require.NoError(t, err)
		_, err = os.Stat(name(41))
		require.ErrorIs(t, err, syscall.ELOOP)
	}
}

// The work for a long path of nothing is in its bytes, and not in their square: a model could hold up a decision otherwise.
func TestLongPathsCostTheirBytes(t *testing.T) {
	const n = 100_000
	for path, want := range map[string]string{
		strings.Repeat("/d", n): strings.Repeat("/d", n), strings.Repeat("/d", n) + strings.Repeat("/..", n-1): "/d",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := links.Resolve(path)
		runtime.ReadMemStats(&after)
		require.True(t, want == got, "%.20s… of %d bytes", got, len(got))
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100*len(path)))
	}
}
