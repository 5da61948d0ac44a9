// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// The line feed is a byte of other characters in UTF-16, such as 上, and half of the bytes of
// those lines are ASCII.
func TestLinesAreThoseOfTheText(t *testing.T) {
	const note = "[The file is encoded in UTF-16%s. Edits keep that.]"
	lines := []string{"\ufeff上上上\n", "一上\n", "上\n", "end"}
	for name, order := range map[string]unicode.Endianness{"LE": unicode.LittleEndian, "BE": unicode.BigEndian} {
		data := encodedIn(t, unicode.UTF16(order, unicode.IgnoreBOM), strings.Join(lines, ""))
		r, ws := inMemory(t, workspace.MemoryConfig{})
		require.NoError(t, ws.Disk().WriteFile("/project/a", []byte(data), 0o644))
		for i, line := range lines {
			want := line + "\n" + fmt.Sprintf(note, name)
			if !strings.HasSuffix(line, "\n") {
				want = line + "\n\n[No newline at the end.]\n" + fmt.Sprintf(note, name)
			}
			require.Equal(t, want, r.call("read_file", args{"path": "a", "line": i + 1, "limit": 1}))
		}
		for _, line := range []int{5, 6, 100} {
			want := fmt.Sprintf("[The file ends before line %d.]\n"+note, line, name)
			require.Equal(t, want, r.call("read_file", args{"path": "a", "line": line}))
		}
	}
}

// A line that is cut is cut between characters.
func TestCutLinesEndWithAWholeCharacter(t *testing.T) {
	const line = "a上é😀上上😀😀éé上x"
	for limit := 1; limit < len(line); limit++ {
		r, _ := inMemory(t, workspace.MemoryConfig{Files: map[string]string{"a": line + "\nb\n"}}, workspace.WithReadLimit(limit))
		told := r.call("read_file", args{"path": "a"})
		shown, _, cut := strings.Cut(told, "\n\n[Cut here: line 1 is longer than")
		require.True(t, cut, told)
		require.True(t, strings.HasPrefix(line, shown), "%d: %q", limit, shown)
		require.True(t, utf8.ValidString(shown), "%d: %q", limit, shown)
		require.Greater(t, len(shown), limit-utf8.UTFMax)
	}
}

// Searches find text, not bytes.
func TestSearchReadsOtherEncodings(t *testing.T) {
	const japaneseText = "これは日本語のテキストです。\nneedle は二行目\n"
	long := strings.Repeat("a line of text\n", 100_000) // more than a block
	utf16 := func(s string) string {
		return encodedIn(t, unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM), s)
	}
	r, ws := inMemory(t, workspace.MemoryConfig{})
	for name, data := range map[string]string{
		"latin1": "caf\xe9 au lait\nneedle\nd\xe9j\xe0 vu\n", "utf16": utf16("one\nNeedle 上\ncafé"), "sjis": encodedIn(t, japanese.ShiftJIS, japaneseText),
		"late": long + "caf\xe9\nneedle\n", "two": "caf\xc3\xa9\ncaf\xe9 needle\n", "nul": "needle\x00caf\xe9", "odd": utf16("needle") + "x",
	} {
		require.NoError(t, ws.Disk().WriteFile("/project/"+name, []byte(data), 0o644))
	}
	for _, c := range []struct {
		args args
		want []string // sorted
	}{
		{args{"pattern": "café"}, []string{"late:100001: café", "latin1:1: café au lait", "two:1: café", "utf16:3: café"}},
		{args{"pattern": "needle"}, []string{
			"late:100002: needle", "latin1:2: needle", "sjis:2: needle は二行目", "two:2: caf\ufffd needle",
		}},
		{args{"pattern": "NEEDLE", "ignore_case": true, "literal": true, "glob": "utf16"}, []string{"utf16:2: Needle 上"}},
		{args{"pattern": "^.. au", "path": "latin1"}, nil},
		{args{"pattern": "^.... au", "path": "latin1", "context": 1}, []string{"latin1-2- needle", "latin1:1: café au lait"}},
	} {
		text := r.call("search_files", c.args)
		var found []string
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "[") {
				found = append(found, strings.TrimSuffix(line, "\n"))
			}
		}
		slices.Sort(found)
		require.Equal(t, c.want, found, "%v: %s", c.args, text)
	}
	require.Contains(t, r.call("search_files", args{"pattern": "needle"}), "[2 binary files were not searched.]")
}

// A change after which the encoding could not be told any more, or would be taken for another
// one, is refused: the question would show other text, and the next read would.
func TestEditKeepsTheEncodingRecognisable(t *testing.T) {
	japaneseText := encodedIn(t, japanese.ShiftJIS, "これは日本語のテキストです。\n次の行も日本語で書かれています。\n")
	for name, c := range map[string]struct{ data, old, text string }{
		"bytes of UTF-8":           {"caf\xe9\n", "café", "Ã©"},
		"UTF-8 beside Latin-1":     {"caf\xe9\nplain\nd\xe9j\xe0\n", "plain", "Ã©"},
		"unlike a language":        {"caf\xe9\n", "café", "éÉà€"},
		"too little text":          {japaneseText, "これは日本語のテキストです。\n次の行も日本語で書かれています。", "x 日"},
		"no byte order mark":       {"\xff\xfea\x00b\x00", "\ufeffa", "a"},
		"half of a surrogate pair": {"caf\xe9\n", "café", "caf\x81"},
	} {
		r, ws := inMemory(t, workspace.MemoryConfig{})
		require.NoError(t, ws.Disk().WriteFile("/project/a", []byte(c.data), 0o644))
		told := r.calls(edit("a", c.old, c.text))[0].Text
		require.Contains(t, told, "Nothing was changed in a: the file is encoded in ", name)
		require.Contains(t, told, "Use other characters, or write_file for the whole file, which makes it UTF-8.")
		require.Equal(t, c.data, r.file(t, "a"), name)
		require.Empty(t, r.asked)

		text, ok := workspace.DecodeText([]byte(c.data))
		require.True(t, ok)
		whole := strings.Replace(string(text.Data), c.old, c.text, 1)
		r.calls(toolCall{"write_file", args{"path": "a", "content": whole}})
		if got := r.file(t, "a"); name != "no byte order mark" {
			require.Equal(t, strings.ToValidUTF8(whole, "\ufffd"), got, name)
			require.Contains(t, r.asked[0].Approval.Preview[1].Text, "and will be in UTF-8.")
		} else {
			require.Equal(t, c.data, got, "write_file keeps the mark of UTF-16")
		}
	}
	// All of it may go.
	r, ws := inMemory(t, workspace.MemoryConfig{})
	require.NoError(t, ws.Disk().WriteFile("/project/a", []byte("caf\xe9\nx\n"), 0o644))
	require.Contains(t, r.calls(edit("a", "café", "coffee"))[0].Text, "Edited a.")
	require.Equal(t, "coffee\nx\n", r.file(t, "a"))
}

// What a difference does not show is said in the question.
func TestUnseenChangesAreNamed(t *testing.T) {
	const mark = "The byte order mark at the beginning of the file is removed."
	lines := func(from, to string) string {
		return "The lines of the file end in " + from + " now, and will end in " + to + "."
	}
	for _, c := range []struct {
		data, text string
		want       []string
	}{
		{"\ufeffone\r\ntwo\r\n", "one\n2\n", []string{mark, lines("CRLF", "LF")}},
		{"\ufeffone\n", "\ufefftwo\n", nil},
		{"\ufeffone\n", "", []string{mark}},
		{"one\ntwo\n", "one\r\n2\r\n", []string{lines("LF", "CRLF")}},
		{"one\r\ntwo\n", "one\n2\n", []string{lines("CRLF and LF", "LF")}},
		{"one\r\n", "1\r\n2\r\n", nil},
		{"one", "1\r\n", nil},
		{"one\r\n", "1", nil},
	} {
		r, _ := inMemory(t, workspace.MemoryConfig{Files: map[string]string{"a": c.data}})
		r.calls(toolCall{"write_file", args{"path": "a", "content": c.text}})
		require.Len(t, r.asked, 1)
		var got []string
		for _, p := range r.asked[0].Approval.Preview[1:] {
			got = append(got, p.Text)
		}
		require.Equal(t, c.want, got, "%q to %q", c.data, c.text)
	}
}
