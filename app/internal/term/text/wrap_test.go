// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/app/internal/term/text"
)

// drawn is how lines are written in the tests: spans that are not plain have their colour in front.
func drawn(lines ...text.Line) []string {
	all := []string{}
	for _, l := range lines {
		var b strings.Builder
		for _, s := range l {
			b.WriteString(s.Style.SGR(true) + s.Text)
		}
		all = append(all, b.String())
	}
	return all
}

// TestLinesAreWrappedAtSpaces has words at the edge, wide characters, and spaces that disappear.
func TestLinesAreWrappedAtSpaces(t *testing.T) {
	for _, c := range []struct {
		in           string
		width        int
		wrap, broken string
	}{
		{"", 5, "", ""},
		{"abcde", 5, "abcde", "abcde"},
		{"abcdef", 5, "abcde|f", "abcde|f"},
		{"ab cd", 5, "ab cd", "ab cd"},
		{"ab cde", 5, "ab|cde", "ab cd|e"},
		{"abc de f", 5, "abc|de f", "abc d|e f"},
		{"abcde fgh", 5, "abcde|fgh", "abcde| fgh"},
		{"abcde  gh", 5, "abcde| gh", "abcde|  gh"},
		{" abcdef", 5, " abcd|ef", " abcd|ef"},
		{"a b c d", 3, "a b|c d", "a b| c |d"},
		{"ab", 1, "ab", "ab"},
		{"abc", 1, "ab|c", "ab|c"},
		{"abc", -1, "ab|c", "ab|c"},
		{"日本語", 4, "日本|語", "日本|語"},
		{"日本語", 5, "日本|語", "日本|語"},
		{"日本語", 6, "日本語", "日本語"},
		{"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301", "e\u0301e\u0301e\u0301"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301e\u0301|e\u0301", "e\u0301e\u0301|e\u0301"},
		{"one two three four", 9, "one two|three|four", "one two t|hree four"},
	} {
		require.Equal(t, c.wrap, strings.Join(drawn(text.Wrap(text.Of(c.in, text.Style{}), c.width)...), "|"), "%q at %d", c.in, c.width)
		require.Equal(t, c.broken, strings.Join(drawn(text.Break(text.Of(c.in, text.Style{}), c.width)...), "|"), "%q at %d", c.in, c.width)
	}
	line := text.Line{{Text: "ab ", Style: text.Style{Bold: true}}, {Text: "cd", Style: text.Style{Color: text.Red}}, {Text: "ef"}}
	require.Equal(t, []string{"\x1b[1mab", "\x1b[31mcdef"}, drawn(text.Wrap(line, 4)...))
	require.Equal(t, []string{"\x1b[1mab \x1b[31mc", "\x1b[31mdef"}, drawn(text.Break(line, 4)...))
}

func TestLinesAreCut(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"abcd", 1, "…"}, {"abcd", 0, ""}, {"abcd", -3, ""}, {"", 0, ""},
		{"日本", 4, "日本"}, {"日本", 3, "日…"}, {"日本", 2, "…"},
	} {
		require.Equal(t, []string{c.want}, drawn(text.Cut(text.Of(c.in, text.Style{}), c.width)), "%q at %d", c.in, c.width)
	}
	line := text.Line{{Text: "ab", Style: text.Style{Bold: true}}, {Text: "cd"}}
	require.Equal(t, text.Line{{Text: "a…", Style: text.Style{Bold: true}}}, text.Cut(line, 2))
	require.Equal(t, text.Line{{Text: "ab…", Style: text.Style{Bold: true}}}, text.Cut(line, 3))
}

func TestLinesAreIndented(t *testing.T) {
	a, b := text.Of("a", text.Style{}), text.Of("b", text.Style{})
	require.Equal(t, []string{"- a", "  b"}, drawn(text.Indent([]text.Line{a, b}, text.Of("- ", text.Style{}), text.Of("  ", text.Style{}))...))
	require.Empty(t, text.Indent(nil, a, b))
	require.Equal(t, "ab", text.Line{a[0], b[0]}.Plain())
	require.Equal(t, "a", a.Plain())
	require.Equal(t, 3, text.Line{a[0], {Text: "日"}}.Width())
	require.Nil(t, text.Of("", text.Style{Bold: true}))
	require.Equal(t, "a    b⟨LF⟩c", text.Of("a\tb\nc", text.Style{}).Plain())
}

func TestStylesOfTerminals(t *testing.T) {
	for _, c := range []struct {
		style        text.Style
		color, plain string
	}{
		{text.Style{}, "", ""},
		{text.Style{Bold: true}, "\x1b[1m", "\x1b[1m"},
		{text.Style{Dim: true}, "\x1b[2m", "\x1b[2m"},
		{text.Style{Italic: true}, "\x1b[3m", "\x1b[3m"},
		{text.Style{Underline: true}, "\x1b[4m", "\x1b[4m"},
		{text.Style{Highlighted: true}, "\x1b[7m", "\x1b[7m"},
		{text.Style{Strikethrough: true}, "\x1b[9m", "\x1b[9m"},
		{text.Style{Color: 1}, "\x1b[30m", ""},
		{text.Style{Color: text.Red}, "\x1b[31m", ""},
		{text.Style{Color: 8}, "\x1b[37m", ""},
		{text.Style{Color: text.Gray}, "\x1b[90m", ""},
		{text.Style{Color: 16, Bold: true, Strikethrough: true}, "\x1b[1;9;97m", "\x1b[1;9m"},
	} {
		require.Equal(t, c.color, c.style.SGR(true))
		require.Equal(t, c.plain, c.style.SGR(false))
	}
	for in, want := range map[string]string{
		"a\u2028b": "a⟨U+2028⟩b", "a\u2029b": "a⟨U+2029⟩b", "\u2029\u202a": "⟨U+2029⟩⟨U+202A⟩", "\u202f\u2065\u206a": "\u202f\u2065\u206a",
		"\u200e\u200f\u061c\u200d": "⟨U+200E⟩⟨U+200F⟩⟨U+061C⟩\u200d", "\u2069": "⟨U+2069⟩", "\U000DFFFF\U000E0000\U000E007F\U000E0080": "\U000DFFFF⟨U+E0000⟩⟨U+E007F⟩\U000E0080",
	} {
		require.Equal(t, want, text.Clean(in))
	}
}
