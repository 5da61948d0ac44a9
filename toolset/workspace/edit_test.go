// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
)

type edits = []workspace.Edit

func TestApplyEdits(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		edits edits
		want  string
	}{
		"one":                  {"a\nb\nc\n", edits{{OldText: "b\n", NewText: "B\nb2\n"}}, "a\nB\nb2\nc\n"},
		"several in order":     {"one two", edits{{OldText: "one", NewText: "two"}, {OldText: "two two", NewText: "three"}}, "three"},
		"all":                  {"x.x.x", edits{{OldText: "x", NewText: "yy", ReplaceAll: true}}, "yy.yy.yy"},
		"delete":               {"a\nb\nc\n", edits{{OldText: "b\n"}}, "a\nc\n"},
		"no newline at end":    {"a\nb", edits{{OldText: "b", NewText: "c\nd"}}, "a\nc\nd"},
		"byte order mark":      {"\ufeffa\nb\n", edits{{OldText: "a\n", NewText: "A\n"}}, "\ufeffA\nb\n"},
		"CRLF":                 {"a\r\nb\r\nc\r\n", edits{{OldText: "a\nb\n", NewText: "a\nx\ny\n"}}, "a\r\nx\r\ny\r\nc\r\n"},
		"CRLF given":           {"a\r\nb\r\n", edits{{OldText: "a\r\nb", NewText: "a\r\nB\r\nC"}}, "a\r\nB\r\nC\r\n"},
		"CRLF given for LF":    {"a\nb\n", edits{{OldText: "a\r\nb", NewText: "a\r\nB"}}, "a\nB\n"},
		"mixed, untouched":     {"a\r\nb\nc\r\nd\n", edits{{OldText: "a\nb\nc\nd\n", NewText: "a\nb\nX\nd\n"}}, "a\r\nb\nX\r\nd\n"},
		"mixed, line for line": {"a\r\nb\nc\r\nd\n", edits{{OldText: "a\nb\nc\n", NewText: "1\n2\n3\n4\n"}}, "1\r\n2\n3\n4\r\nd\n"},
		"CRLF, within a line":  {"a\r\nbcd\r\n", edits{{OldText: "c", NewText: "\n"}}, "a\r\nb\r\nd\r\n"},
		"CRLF, first line":     {"ab\r\nc\n", edits{{OldText: "a", NewText: "1\n2"}}, "1\r\n2b\r\nc\n"},
		"CRLF, last line":      {"a\r\nb", edits{{OldText: "b", NewText: "b\nc"}}, "a\r\nb\r\nc"},
		"lone CR":              {"a\rb\nc\n", edits{{OldText: "a\rb", NewText: "x\ry"}}, "x\ry\nc\n"},
		"the newline itself":   {"a\r\nb\r\n", edits{{OldText: "\nb", NewText: "b"}}, "ab\r\n"},
		"all, CRLF":            {"x\r\nx\r\n", edits{{OldText: "x\n", NewText: "y\nz\n", ReplaceAll: true}}, "y\r\nz\r\ny\r\nz\r\n"},
	} {
		got, err := workspace.ApplyEdits([]byte(c.text), c.edits)
		require.NoError(t, err, name)
		require.Equal(t, c.want, string(got), name)
	}
}

func TestApplyEditsSaysWhatIsWrong(t *testing.T) {
	const text = "package main\n\nfunc main() {\n\tfmt.Println(\"hello, world\")\n}\n\nfunc a() {}\n\nfunc b() {}\n"
	for name, c := range map[string]struct {
		edits edits
		want  string
	}{
		"white space": {edits{{OldText: "func main() {\n    fmt.Println(\"hello, world\")\n}", NewText: "x"}},
			"old_text was not found. These lines differ from it in white space alone:\n     3\tfunc main() {\n     4\t\tfmt.Println(\"hello, world\")\n     5\t}\nCopy them exactly."},
		"a line of it": {edits{{OldText: "func main() {\n\tfmt.Println(\"goodbye\")\n}", NewText: "x"}},
			"old_text was not found. The nearest lines are:\n     3\tfunc main() {\n     4\t\tfmt.Println(\"hello, world\")\n     5\t}\nCopy the text exactly from the file."},
		"like a line": {edits{{OldText: "fmt.Printl(\"hello world\")", NewText: "x"}},
			"old_text was not found. The nearest lines are:\n     4\t\tfmt.Println(\"hello, world\")\nCopy the text exactly from the file."},
		"nothing like it": {edits{{OldText: "SELECT name FROM users", NewText: "x"}}, "old_text was not found, and nothing like it. Read the file again with read_file."},
		"twice":           {edits{{OldText: "() {}", NewText: "x"}}, "old_text occurs 2 times, at lines 7, 9. Include more of the lines around it, or set replace_all."},
		"empty":           {edits{{NewText: "x"}}, "old_text is empty. Give the text to replace, or use write_file to write the whole file."},
		"the same":        {edits{{OldText: "a", NewText: "a"}}, "old_text and new_text are the same."},
		"which edit":      {edits{{OldText: "func a", NewText: "func c"}, {OldText: "func a", NewText: "x"}}, "Edit 2 of 2: old_text was not found."},
	} {
		before := strings.Clone(text)
		_, err := workspace.ApplyEdits([]byte(text), c.edits)
		require.ErrorContains(t, err, c.want, name)
		require.Equal(t, before, text)
	}
	_, err := workspace.ApplyEdits(nil, edits{{OldText: "a", NewText: "b"}})
	require.EqualError(t, err, "old_text was not found: the file is empty.")
	_, err = workspace.ApplyEdits([]byte(strings.Repeat("a\n", 50)), edits{{OldText: "a", NewText: "b"}})
	require.ErrorContains(t, err, "occurs 50 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …")
}

// FuzzApplyEdits checks edits against what they must leave alone.
func FuzzApplyEdits(f *testing.F) {
	f.Add("a\r\nb\nc", "b", "x\ny", false)
	f.Add("\ufeffa\r\na\r\n", "a\n", "b\n\n", true)
	f.Add("\r\r\n\n", "\n", "\r\n", true)
	f.Fuzz(func(t *testing.T, text, old, replacement string, all bool) {
		got, err := workspace.ApplyEdits([]byte(text), edits{{OldText: old, NewText: replacement, ReplaceAll: all}})
		fold := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
		count := strings.Count(fold(text), fold(old))
		if old == "" || fold(old) == fold(replacement) || count == 0 || count > 1 && !all {
			require.Error(t, err)
			require.Less(t, len(err.Error()), 4000)
			return
		}
		require.NoError(t, err)
		if !strings.Contains(text, "\r") && !strings.Contains(replacement, "\r") && !strings.Contains(old, "\r") {
			require.Equal(t, strings.ReplaceAll(text, old, replacement), string(got))
		}
		// With line endings made equal, the edit is a plain replacement, unless a "\r" of the text
		// meets a "\n" of the replacement.
		if plain := strings.ReplaceAll(text, "\r\n", ""); !strings.Contains(plain, "\r") && !strings.Contains(fold(replacement), "\r") && !strings.Contains(fold(old), "\r") {
			require.Equal(t, strings.ReplaceAll(fold(text), fold(old), fold(replacement)), fold(string(got)))
		}
		// A text whose lines all end alike keeps that.
		if lf := strings.Count(text, "\n"); lf > 0 && strings.Count(text, "\r\n") == lf && !strings.Contains(fold(text)+fold(replacement), "\r") {
			require.Equal(t, strings.Count(string(got), "\n"), strings.Count(string(got), "\r\n"))
		}
	})
}
