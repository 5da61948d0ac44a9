// SPDX-License-Identifier: Apache-2.0

package clean_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/clean"
)

func TestCutsLeaveWholeCharacters(t *testing.T) {
	const text = "aé日😀é"
	whole := []string{"", "a", "a", "aé", "aé", "aé", "aé日", "aé日", "aé日", "aé日", "aé日😀", "aé日😀", text}
	for n, want := range whole {
		require.Equal(t, want, clean.Whole(text[:n]))
		require.Equal(t, want, string(clean.Whole([]byte(text[:n]))))
	}
	for _, broken := range []string{"a\xff", "a\x80", "日\x80\x80\x80", "\xe6\x97\x80x", "a\xf0\x28", "\xc0"} {
		require.Equal(t, broken, clean.Whole(broken), "it was no text before the cut")
	}
	require.Equal(t, "日\xff", clean.Whole("日\xff\xe6\x97"))
}

func TestTextFitsIntoItsBytes(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 0, ""}, {"a", 0, ""}, {"a", -1, ""}, {"a", 1, "a"}, {"ab", 1, "a"}, {"éa", 1, ""}, {"éa", 2, "é"}, {"aé", 2, "a"}, {"日本", 4, "日"}, {"日本", 5, "日"}, {"日本", 6, "日本"},
		{"12345\n789", 8, "12345\n78"}, {"123456\n89", 8, "123456\n"}, {"1234567\n9", 8, "1234567\n"}, {"\n2345", 4, "\n234"}, {"a\nb\nc\nd", 6, "a\nb\nc\n"},
	} {
		got, cut := clean.Cut(c.text, c.n)
		require.Equal(t, c.want, got, "%q in %d", c.text, c.n)
		require.Equal(t, got != c.text, cut, "%q in %d", c.text, c.n)
	}
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"abcdefgh", 8, "abcdefgh"}, {"abcdefghi", 8, "abcde…"}, {"ab cdefghi", 6, "ab…"}, {"a    \t\n   b", 3, "a b"}, {"a           b", 3, "…"}, {"x\u202e", 13, "x⟨U+202E⟩"}, {"x\u202e", 12, "x⟨U+202…"},
		{"é é é é", 8, "é é…"}, {"abcd", 3, "…"}, {"", 3, ""}, {" a ", 3, "a"},
	} {
		require.Equal(t, c.want, clean.Short(c.text, c.n), "%q in %d", c.text, c.n)
	}
	for text, want := range map[string]string{
		"a\r\n\rb\r": "a\n⟨CR⟩b⟨CR⟩", "\ufffd": "⟨U+FFFD⟩", "a\xe9\xff": "a⟨0xE9⟩⟨0xFF⟩", "\u2003\u00a0": "\u2003\u00a0", "\u2028": "⟨U+2028⟩", "a\tb\u200c\u200d\ufe0e\ufe0f": "a\tb\u200c\u200d\ufe0e\ufe0f", "\ufe0d": "⟨U+FE0D⟩", "\x7f": "⟨DEL⟩", "\u200b": "⟨U+200B⟩",
	} {
		require.Equal(t, want, clean.Text(text), "%q", text)
	}
}
