// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "lower the bounds to what there is")

// enough words that a rate says something.
const enough = 300

// bound is the number of phrases that a room may have in 10,000 words.
const bound = 30

// TestRoomsReadAsNativeEnglish keeps what has been reached: rooms above the bound are listed with the number of their phrases, which only goes down.
func TestRoomsReadAsNativeEnglish(t *testing.T) {
	rooms, err := read(filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	listed := map[string]int{}
	text, err := os.ReadFile("testdata/bounds.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		var name string
		var most int
		_, err := fmt.Sscan(line, &most, &name)
		require.NoError(t, err, line)
		listed[name] = most
	}
	var now strings.Builder
	for _, r := range rooms {
		if r.words < enough {
			continue
		}
		if r.rate() > bound {
			fmt.Fprintf(&now, "%4d %s\n", len(r.found), r.name)
			if !*update {
				assert.LessOrEqual(t, len(r.found), listed[r.name], "go run ./internal/dev/english -v %s", r.name)
			}
		}
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/bounds.txt", []byte(now.String()), 0o600))
	}
}

func TestCommentsAndProseAreRead(t *testing.T) {
	r := &room{}
	r.read("a.go", "package a\n\n// Ask goes on.\nvar s = \"somebody\" // nobody\n//go:generate somebody\n")
	require.Len(t, r.found, 1)
	require.Equal(t, found{"a.go", 3, "goes on", "Ask goes on."}, r.found[0])
	require.Equal(t, 3, r.words)

	r = &room{}
	r.read("a.md", "Whoever asks, somebody\n```sh\nnobody\n```\nanswers.\n")
	require.Len(t, r.found, 1)
	require.Equal(t, 4, r.words)

	require.Equal(t, "agent/session", roomOf("agent/session/host/turn.go"))
	require.Equal(t, "agent", roomOf("agent/run.go"))
	require.Equal(t, "docs/web.md", roomOf("docs/web.md"))
	require.Equal(t, "docs/decisions", roomOf("docs/decisions/one-way-to-ask.md"))
	require.True(t, readable("a/b.tsx"))
	require.False(t, readable("a/b_test.go"))
	require.False(t, readable("a/types_gen.go"))
}

// TestRoomsAreSortedByTheirRate has rooms of several kinds, in the order of the report.
func TestRoomsAreSortedByTheirRate(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/b/c.go": "package c\n\n// Whoever, somebody: nobody asks.\n// Two.\n", "a/b/d/d.ts": "// nobody\n", "a/b/testdata/x.md": "nobody\n",
		"b.md": "nobody is here\n", "c.md": "nobody is here\n", "d.md": "All is well.\n", ".git/e.md": "nobody\n", "e/f_test.go": "// nobody\n",
	} {
		file := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	rooms, err := read(root)
	require.NoError(t, err)
	var got []string
	for _, r := range rooms {
		got = append(got, fmt.Sprintf("%s %d/%d %.0f", r.name, len(r.found), r.words, r.rate()))
	}
	require.Equal(t, []string{"a/b 3/6 5000", "b.md 1/3 3333", "c.md 1/3 3333", "d.md 0/3 0"}, got)
	require.Zero(t, (&room{}).rate())

	_, err = read(filepath.Join(root, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.Symlink("nowhere", filepath.Join(root, "z.md")))
	_, err = read(root)
	require.ErrorIs(t, err, os.ErrNotExist)
}
