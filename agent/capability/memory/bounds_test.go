// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/memory"
	disk "github.com/ponte-go/ponte/toolset/workspace"
)

// The list of notes has 4 KiB unless something else is said, to the byte.
func TestListOfNotesIsBounded(t *testing.T) {
	lines := func(n int) string { // a list of so many bytes behind the header
		var b strings.Builder
		b.WriteString("\n")
		for i := 1; b.Len() < n; i++ {
			fmt.Fprintf(&b, "\n- n%03d", i)
			b.WriteString(strings.Repeat("x", 57)) // 64 bytes
		}
		return b.String()[:n]
	}
	for size, o := range map[int]memory.Options{4096: {}, 500: {MaxList: 500}} {
		for _, n := range []int{size, size + 1} {
			s := new(memory.Map)
			list := lines(n)
			for line := range strings.SplitSeq(strings.TrimPrefix(list, "\n\n- "), "\n- ") {
				require.NoError(t, s.Put(t.Context(), line, " ", ""))
			}
			requests, _ := run(t, o, s, nil)
			if n > size {
				list = list[:strings.LastIndex(list, "\n")] + "\n[1 more: search for them.]"
			}
			require.True(t, strings.HasSuffix(requests[0].Instructions, list), requests[0].Instructions)
		}
	}
}

// Words count for the order only, however many there are: a note that is not named is shown in
// part.
func TestOnlyANamedNoteIsShownWhole(t *testing.T) {
	s := new(memory.Map)
	require.NoError(t, s.Put(t.Context(), "tea", "word "+strings.Repeat("x", 8000), ""))
	a := agent.Must(agent.New(agent.Config[deps, string]{Model: nil, Capabilities: []agent.Capability[deps]{memory.New(store, memory.Options{})}}))
	res, _, err := a.Command(t.Context(), deps{s}, "/memory "+strings.Repeat("tea ", 6000), nil)
	require.NoError(t, err)
	require.Equal(t, "# Note tea\nword "+strings.Repeat("x", 2043)+"\n[The note is longer. Search for \"tea\" to read more of it.]", res.Notice)
}

// A file with a zero byte, be it the first, is no note.
func TestFilesWithAZeroByteAreNoNotes(t *testing.T) {
	ws := newDisk(t, map[string]string{"n/a.md": "\x00a", "n/b.md": "b\x00", "n/c.md": "c\x01", "n/d.md": "d\xff"})
	all, err := memory.Files(ws, "n").All(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, "c", all[0].Name)
}

// shallow is a workspace in which no directory may be looked into but the one that is asked for.
type shallow struct{ disk.Workspace }

func (s shallow) Walk(ctx context.Context, dir string, o disk.WalkOptions) iter.Seq2[disk.Info, error] {
	return func(yield func(disk.Info, error) bool) {
		for info, err := range s.Workspace.Walk(ctx, dir, o) {
			if strings.Contains(info.Path, "/n/private/") {
				err = fs.ErrPermission
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

// Notes lie in their directory, and what is below is left alone.
func TestDirectoriesBelowTheNotesAreNotLookedInto(t *testing.T) {
	ws := newDisk(t, map[string]string{"n/a.md": "a", "n/private/b.md": "b", "n/private/deep/c.md": "c"})
	all, err := memory.Files(shallow{ws}, "n").All(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, "a", all[0].Name)
}
