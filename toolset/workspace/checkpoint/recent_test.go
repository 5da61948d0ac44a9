// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// readCounter counts the reads of whole files.
type readCounter struct {
	*workspace.Memory
	reads int
}

func (c *readCounter) Read(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
	c.reads++
	return c.Memory.Read(ctx, path, r)
}

// Of the files that were read, a recorder keeps the last four, and 8 MiB: those are not read again for a quick look.
func TestLastReadsAreKeptWithinBounds(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		sizes []int
		again []int // reads of each file, looked at again
	}{
		"four":          {[]int{1, 1, 1, 1}, []int{0, 0, 0, 0}},
		"five":          {[]int{1, 1, 1, 1, 1}, []int{1, 0, 0, 0, 0}},
		"8 MiB":         {[]int{8 * mib}, []int{0}},
		"more":          {[]int{8*mib + 1}, []int{1}},
		"together":      {[]int{4 * mib, 4 * mib}, []int{0, 0}},
		"together more": {[]int{4 * mib, 4*mib + 1}, []int{1, 0}},
	} {
		ws, err := workspace.NewMemory(workspace.MemoryConfig{})
		require.NoError(t, err)
		counter := &readCounter{Memory: ws}
		r := checkpoint.New(counter, checkpoint.Options{})
		for i, size := range c.sizes {
			file := "/project/" + string(rune('a'+i))
			require.NoError(t, ws.Disk().WriteFile(file, []byte(strings.Repeat("x", size)), 0o644))
			_, err := r.Read(t.Context(), file, workspace.Range{})
			require.NoError(t, err)
		}
		for i := len(c.again) - 1; i >= 0; i-- {
			counter.reads = 0
			doc, err := r.Open(t.Context(), "/project/"+string(rune('a'+i)), true)
			require.NoError(t, err)
			require.Len(t, doc.Disk.Data, c.sizes[i])
			require.Equal(t, c.again[i], counter.reads, "%s, file %d", name, i)
		}
	}
}
