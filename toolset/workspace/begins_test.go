// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a text begins with counts like what stands later in it.
func TestTextsThatBeginWithWhatCounts(t *testing.T) {
	nul := Command{Line: "\x00ls"}
	require.EqualError(t, nul.Check(), "malformed command: it contains a NUL byte")
	for _, c := range []struct {
		text, old, new, want string
		all                  bool
	}{
		{"\r\na\r\n", "\na", "\nb", "\r\nb\r\n", false},
		{"\r\na\nb\r\n", "a\nb", "1\n2", "\r\n1\n2\r\n", false},
		{"\r\na\n", "a", "\nb", "\r\n\r\nb\n", false},
		// A line that is added ends like the one before it, wherever that is.
		{"a\r\na\na\n", "a\n", "aX\nY\n", "aX\r\nY\r\naX\r\nY\naX\nY\n", true},
		{"1\r\n\n2\r\nend\n", "1\n\n2\n", "A\nB\nC\n", "A\r\nB\nC\r\nend\n", false},
		{"a\na\r\na\r\n", "a\n", "aX\nY\n", "aX\nY\naX\nY\r\naX\r\nY\r\n", true},
	} {
		got, err := ApplyEdits([]byte(c.text), []Edit{{OldText: c.old, NewText: c.new, ReplaceAll: c.all}})
		require.NoError(t, err)
		require.Equal(t, c.want, string(got), "%+v", c)
	}
	_, err := ApplyEdits([]byte("a"), []Edit{{OldText: "b", NewText: "c"}})
	require.EqualError(t, err, "old_text was not found, and nothing like it. Read the file again with read_file.")
	require.True(t, IsLossyView([]byte("\r\na"), []byte("\na")))
	require.True(t, IsLossyView([]byte("\ra"), []byte("\na")))
	require.Equal(t, "Lines 3 to 5 are now:\n     3\n     4\n     5\tb", ChangedLines([]byte("\n\n\n\na\n"), []byte("\n\n\n\nb\n")))
	m, err := newMatcher("^$", false, false)
	require.NoError(t, err)
	require.True(t, m.byLine([]byte("\r\n")))
	_, err = Windows.Abs(`C:\p`, `\\?\UNC\`)
	require.EqualError(t, err, "the path needs a server and a share")
	require.Equal(t, `C:\`, Windows.Parent("C:"))
}

// Lines that are shown of a file that is too long end at the end of one, or of a character.
func TestFilesAreCutWhereLinesOrCharactersEnd(t *testing.T) {
	const long = "\n\n[Cut here: line 2 is longer than 7 bytes, the rest of it cannot be shown.]"
	for _, c := range []struct {
		data  string
		lines int
		want  string
	}{
		{"a\nb", 3, "a\n\n[Cut here: these are the lines 2 to 2 of 3. To read on, call read_file with line 3.]"},
		{"a\nb", 1, "a\n\n[Cut here: these are the lines 2 to 2 of 1. To read on, call read_file with line 3.]"},
		{"a\nb\nc", 0, "a\nb\n\n[Cut here: these are the lines 2 to 3. To read on, call read_file with line 4.]"},
		{"\nb", 0, "\n\n[Cut here: these are the lines 2 to 2. To read on, call read_file with line 3.]"},
		{"ab", 0, "ab" + long}, {"ab\xc3", 0, "ab" + long}, {"a\xe2\x82", 0, "a" + long}, {"a\xf0\x9f\x98", 0, "a" + long}, {"aä", 0, "aä" + long}, {"\xc3", 0, "" + long},
		{"ab", 1, "ab" + strings.TrimSuffix(long, "]") + " The file has 1 lines.]"},
	} {
		require.Equal(t, c.want, showFile(&File{Data: []byte(c.data), More: true, Lines: c.lines}, 2, 7), "%q", c.data)
	}
	require.Empty(t, showFile(&File{}, 3, 7), "an empty file has nothing to say")
	require.Equal(t, "[The file ends before line 2.]", showFile(&File{Info: Info{Size: 1}}, 2, 7))
	w, err := NewMemory(MemoryConfig{Commands: map[string]MemoryScript{"print": MemoryPrint("ä", 0)}})
	require.NoError(t, err)
	o := options{outputLimit: 10}
	c := &call{Session: NewSession(w), ws: w, options: &o}
	p, err := w.Start(t.Context(), Command{Line: "print"})
	require.NoError(t, err)
	_, err = p.Wait(t.Context())
	require.NoError(t, err)
	for from, want := range map[int64]string{0: "ä\n", 1: "[No output after position 1.]\n", 2: "[No output after position 2.]\n"} {
		res, err := c.readOn(t.Context(), &Terminal{Process: p}, from)
		require.NoError(t, err)
		require.Equal(t, want+"[exit code 0]", res.Text)
	}
	require.NoError(t, p.Close(t.Context()))
}

// Truncated sequences of UTF-8 are as long as the bytes that may follow their first one.
func TestSequencesAreAsLongAsTheirFirstByteSays(t *testing.T) {
	for first := range 256 {
		want := 1
		switch {
		case first >= 0xc2 && first <= 0xdf:
			want = 2
		case first >= 0xe0 && first <= 0xef:
			want = 3
		case first >= 0xf0 && first <= 0xf4:
			want = 4
		}
		second := map[int]byte{0xe0: 0xa0, 0xf0: 0x90}[first]
		data := []byte{byte(first), max(second, 0x80), 0x80, 0x80, 0x80, 0x80}
		require.Equal(t, want, truncated(data), "%x", first)
		data[2] = 0x7f
		require.Equal(t, min(want, 2), truncated(data), "%x", first)
		data[2] = 0xc0
		require.Equal(t, min(want, 2), truncated(data), "%x", first)
	}
	for data, want := range map[string]bool{
		"a\x80\x80": true, "a\x80\x80\x80": false, "\xe9\xe9aaaaaa": true, "\xe9\xe9\xe9aaaaaaaaaaaa": false, "aaaa\xe9\x7f\xe9\xe9aaaa": true, "@\xe9@": false, "`\xe9`": false,
	} {
		require.Equal(t, want, plausibleLatin([]byte(data)), "%q", data)
	}
	require.True(t, isASCII("\x7f"))
	require.False(t, isASCII("\x80"))
}
