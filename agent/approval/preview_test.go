// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
)

func text(s string) *string { return &s }

func TestPreviewTextShowsEverything(t *testing.T) {
	for _, c := range []struct {
		preview toolset.Preview
		want    string
	}{
		{toolset.Preview{Command: &toolset.CommandLine{Args: []string{"go", "test", "a b"}, Dir: "/repo"}}, "Run:\n  go test 'a b'\nDirectory:\n  /repo"},
		{toolset.Preview{Command: &toolset.CommandLine{Line: "a", Env: []string{"A=1"}}}, "Run in a shell:\n  a\nEnvironment:\n  A=1"},
		{toolset.Preview{Command: &toolset.CommandLine{Args: []string{"a"}, Env: []string{"A", "B="}, Sandbox: "network"}}, "Run, with the network:\n  a\nEnvironment:\n  A=''\n  B=''"},
		{toolset.Preview{Command: &toolset.CommandLine{Line: "a", Sandbox: "none"}}, "Run in a shell, outside of the sandbox:\n  a"},
		{toolset.Preview{Command: &toolset.CommandLine{Line: "a\nb\x1b\u202e", Dir: "/w\n", Env: []string{"A=x y", "B=1\n2"}}},
			"Run in a shell:\n  a⟨LF⟩\n  b⟨ESC⟩⟨U+202E⟩\nDirectory:\n  /w⟨LF⟩\n  \nEnvironment:\n  A='x y'\n  B='1⟨LF⟩\n  2'"},
		{toolset.Preview{Diff: &toolset.Diff{Path: "f", Old: text("a\nb\nc"), New: text("a\nB\u200b\nc")}},
			"Change f\n@@ -1,3 +1,3 @@\n a\n-b\n+B⟨U+200B⟩\n c\n\\ No newline at end of file"},
		{toolset.Preview{Diff: &toolset.Diff{Path: "f\n", New: text("a\r\n")}}, "Create f⟨LF⟩\n@@ -0,0 +1,1 @@\n+a⟨CR⟩"},
		{toolset.Preview{Diff: &toolset.Diff{Path: "f", Old: text("a\n")}}, "Delete f\n@@ -1,1 +0,0 @@\n-a"},
		{toolset.Preview{Text: "a\n\tb\u2066"}, "a\n\tb⟨U+2066⟩"},
	} {
		require.Equal(t, c.want, approval.PreviewText(&c.preview))
	}
	a := &toolset.Approval{Title: "T\r", Reason: "R", Preview: []toolset.Preview{{Text: "a"}, {Text: "b"}}}
	require.Equal(t, "T⟨CR⟩\n\nR\n\na\n\nb", approval.Text(a))
}

func TestHiddenNamesLinesWithInvisibleCharacters(t *testing.T) {
	d := &toolset.Diff{Path: "f", Old: text("old\u200b\nb\n"), New: text("old\u200b\nB\r\n\tc\u202e\n")}
	require.Equal(t, "line 3: \tc⟨U+202E⟩", approval.Hidden(&toolset.Preview{Diff: d}), "what was there before, and the end of a line, is nothing new")
	require.Empty(t, approval.Hidden(&toolset.Preview{Text: "\u202e"}))
	require.Empty(t, approval.Hidden(&toolset.Preview{Diff: &toolset.Diff{Path: "f", Old: text("\u202e")}}))
}

func TestPreviewOfALongDiffIsWhole(t *testing.T) {
	var before, after strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&before, "old %d\n", i)
		fmt.Fprintf(&after, "new %d\n", i)
	}
	shown := approval.PreviewText(&toolset.Preview{Diff: &toolset.Diff{Path: "f", Old: text(before.String()), New: text(after.String())}})
	for _, want := range []string{"-old 0\n", "-old 4999", "+new 0\n", "+new 4999"} {
		require.Contains(t, shown, want)
	}
}

// Whatever a command is, its preview shows different commands differently, and nobody can forge a label.
func FuzzPreviewText(f *testing.F) {
	f.Add("ls", "/repo", "A=b", "ls\nDirectory:\n  /repo", "/tmp", "A=b")
	f.Add("a", "b", "", "a\n  b", "", "")
	f.Fuzz(func(t *testing.T, line1, dir1, env1, line2, dir2, env2 string) {
		preview := func(line, dir, env string) string {
			c := &toolset.CommandLine{Line: line, Dir: dir}
			if env != "" {
				c.Env = []string{"A=" + env}
			}
			return approval.PreviewText(&toolset.Preview{Command: c})
		}
		if line1 == "" || line2 == "" {
			return
		}
		one, two := preview(line1, dir1, env1), preview(line2, dir2, env2)
		if line1 != line2 || dir1 != dir2 || env1 != env2 {
			require.NotEqual(t, one, two)
		}
		for i, l := range strings.Split(one, "\n") {
			require.True(t, strings.HasPrefix(l, "  ") || i == 0 || l == "Directory:" || l == "Environment:", l)
			for _, r := range l {
				require.True(t, unicode.IsGraphic(r))
			}
		}
	})
}
