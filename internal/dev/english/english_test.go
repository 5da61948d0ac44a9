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
