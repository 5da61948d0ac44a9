// SPDX-License-Identifier: Apache-2.0

package lsp_test

import (
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/lsp"
)

func at(
	line, character uint32,
) lsp.Position {
	return lsp.Position{Line: line, Character: character}
}

func TestPositions(t *testing.T) {
	text := "ab\r\n😀x\tß\n\ufeffy\rz"
	for _, c := range []struct {
		ends     lsp.LineEnds
		encoding lsp.Encoding
		position lsp.Position
		offset   int
	}{
		{lsp.EndsCR, lsp.UTF16, at(0, 2), 2}, {lsp.EndsCR, lsp.UTF16, at(1, 0), 4}, {lsp.EndsCR, lsp.UTF16, at(1, 2), 8},
		{lsp.EndsCR, lsp.UTF8, at(1, 4), 8}, {lsp.EndsCR, lsp.UTF16, at(1, 5), 12}, {lsp.EndsCR, lsp.UTF8, at(1, 8), 12},
		{lsp.EndsCR, lsp.UTF16, at(2, 1), 16}, {lsp.EndsCR, lsp.UTF8, at(2, 3), 16}, {lsp.EndsCR, lsp.UTF16, at(3, 1), 19},
		{lsp.EndsLF, lsp.UTF16, at(2, 4), 19},
	} {
		doc := lsp.NewText(text, c.ends)
		offset, err := doc.Offset(c.position, c.encoding)
		require.NoError(t, err)
		require.Equal(t, c.offset, offset, "%+v", c)
		require.Equal(t, c.position, doc.Position(c.offset, c.encoding), "%+v", c)
	}
	doc := lsp.NewText(text, lsp.EndsCR)
	for position, want := range map[lsp.Position]int{at(0, 99): 2, at(4, 0): len(text), at(3, 5): len(text)} {
		offset, err := doc.Offset(position, lsp.UTF16)
		require.NoError(t, err)
		require.Equal(t, want, offset)
	}
	for _, position := range []lsp.Position{at(1, 1), at(4, 1), at(5, 0), at(4_000_000_000, 0)} {
		_, err := doc.Offset(position, lsp.UTF16)
		require.Error(t, err, position)
	}
	require.Equal(t, "😀x\tß", doc.Line(1))
	require.Empty(t, doc.Line(99))
	require.Equal(t, 3, lsp.NewText("a\u2028b\u2029c", lsp.EndsJS).Lines())
	require.Equal(t, 1, lsp.NewText("a\u2028b\u2029c", lsp.EndsCR).Lines())
}

func TestEdited(t *testing.T) {
	doc := lsp.NewText("one\ntwo\nthree\n", lsp.EndsCR)
	edit := func(a, b, c, d uint32, text string) lsp.TextEdit {
		return lsp.TextEdit{Range: lsp.Range{Start: at(a, b), End: at(c, d)}, NewText: text}
	}
	got, err := doc.Edited(
		[]lsp.TextEdit{
			edit(2, 0, 2, 5, "3"),
			edit(0, 0, 0, 0, "a"),
			edit(0, 0, 0, 0, "b"),
			edit(0, 3, 1, 0, " "),
			edit(3, 0, 3, 0, "end"),
		},
		lsp.UTF16,
	)
	require.NoError(t, err)
	require.Equal(t, "abone two\n3\nend", got)
	for _, wrong := range [][]lsp.TextEdit{
		{edit(0, 0, 1, 0, ""), edit(0, 2, 0, 3, "")}, {edit(1, 0, 0, 0, "")}, {edit(9, 0, 9, 0, "")}, {edit(0, 0, 9, 0, "")},
	} {
		_, err := doc.Edited(wrong, lsp.UTF16)
		require.Error(t, err)
	}
}

// Every place between characters has a position, and the position leads back.
func FuzzPositions(f *testing.F) {
	f.Add("a\r\n😀\r\u2028x", uint8(0))
	f.Fuzz(func(t *testing.T, text string, ends uint8) {
		if !utf8.ValidString(text) || len(text) > 1000 {
			t.Skip("not a text, or a long one")
		}
		doc := lsp.NewText(text, lsp.LineEnds(ends%3))
		for i := range text + "x" {
			for _, e := range []lsp.Encoding{lsp.UTF8, lsp.UTF16} {
				line := doc.LineOf(i)
				if i > doc.Start(line)+len(doc.Line(line)) {
					continue // within a line's end
				}
				p := doc.Position(i, e)
				before := text[doc.Start(line):i]
				if e == lsp.UTF16 {
					require.Len(t, utf16.Encode([]rune(before)), int(p.Character))
				} else {
					require.Len(t, before, int(p.Character))
				}
				back, err := doc.Offset(p, e)
				require.NoError(t, err)
				require.Equal(t, i, back)
			}
		}
		var lines []string
		for i := range doc.Lines() {
			lines = append(lines, doc.Line(i))
		}
		require.Equal(
			t,
			strings.NewReplacer("\r", "", "\n", "", "\u2028", "", "\u2029", "").Replace(text),
			strings.NewReplacer("\r", "", "\u2028", "", "\u2029", "").
				Replace(strings.Join(lines, "")),
		)
	})
}

func TestURIs(t *testing.T) {
	for path, uri := range map[string]string{
		"/a/b c.go": "file:///a/b%20c.go", "/ä/%/#?.go": "file:///%C3%A4/%25/%23%3F.go",
	} {
		require.Equal(t, uri, lsp.URI(path))
		back, err := lsp.Path(uri)
		require.NoError(t, err)
		require.Equal(t, path, back)
	}
	for _, wrong := range []string{"", "a.go", "http://x/a", "file:", "file://other/a", "untitled:1", "file:///a%00b", "%"} {
		_, err := lsp.Path(wrong)
		require.Error(t, err, wrong)
	}
	got, err := lsp.Path("file://localhost/a/../b")
	require.NoError(t, err)
	require.Equal(t, "/b", got)
}
