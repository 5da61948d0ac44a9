// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// The memory of a search does not depend on the size of a file: all that is allocated for 64 MiB
// is far less than the file.
func TestSearchOfLargeFileUsesLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("searches 32 MB")
	}
	dir := t.TempDir()
	block := []byte(strings.Repeat(strings.Repeat("x", 127)+"\n", 8<<10))
	data := append(bytes.Repeat(block, 32), "needle\n"...)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "large"), data, 0o644))
	data = nil
	ws, err := local.Open(local.Config{Roots: []string{dir}, NoCommands: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ws.Close()) })
	r := newRig(t, ws)
	for _, pattern := range []string{"needle", "^need", "NEEDLE"} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		require.Equal(t, "large:262145: needle\n", r.call("search_files", args{"pattern": pattern, "ignore_case": pattern == "NEEDLE", "literal": pattern == "NEEDLE"}))
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20), pattern)
	}
}
