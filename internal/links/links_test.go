// SPDX-License-Identifier: Apache-2.0

package links_test

import (
	"os"
	"path/filepath"
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
		"chain/x": "a/new/x", "missing/x": "missing/x", "missing/../x": "x", "./a//b/": "a/b", "self": "self", "self/x": "self/x", "out" + root + "/l": "a",
	} {
		require.Equal(t, filepath.Join(root, want), filepath.Clean(links.Resolve(root+"/"+name)), name)
	}
}
