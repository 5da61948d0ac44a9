// SPDX-License-Identifier: Apache-2.0

package lsp_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/lsp"
)

// Every position of a text is a place in bytes, the end of a line, or an error that says where it
// would be.
func TestPlacesOfPositions(t *testing.T) {
	const outside = "error: a position is outside of the text: "
	within := func(character, line int) string {
		return fmt.Sprintf("%scharacter %d of line %d is within another", outside, character, line)
	}
	for _, c := range []struct {
		text      string
		ends      lsp.LineEnds
		encoding  lsp.Encoding
		positions string
	}{
		{"", lsp.EndsCR, lsp.UTF16, "0:0=0 0:1=0 1:0=0 1:1=line 2:0=line"},
		{"ab\nc", lsp.EndsCR, lsp.UTF16, "0:0=0 0:1=1 0:2=2 0:3=2 0:9=2 1:0=3 1:1=4 1:2=4 2:0=4 2:1=line 3:0=line"},
		{"ab\r\nc\rd", lsp.EndsCR, lsp.UTF16, "0:2=2 0:3=2 1:0=4 1:1=5 1:2=5 2:0=6 2:1=7 3:0=7"},
		{"ab\r\nc\rd", lsp.EndsLF, lsp.UTF8, "0:2=2 0:3=2 1:1=5 1:2=6 1:3=7 1:4=7 2:0=7 3:0=line"},
		{"a\r", lsp.EndsCR, lsp.UTF16, "0:1=1 0:2=1 1:0=2 2:0=2"},
		{"😀x\nß", lsp.EndsCR, lsp.UTF16, "0:0=0 0:1=within 0:2=4 0:3=5 0:4=5 1:0=6 1:1=8 1:2=8"},
		{"😀x\nß", lsp.EndsCR, lsp.UTF8, "0:0=0 0:1=within 0:3=within 0:4=4 0:5=5 1:0=6 1:1=within 1:2=8 1:3=8"},
		{"\uffffx\U00010000y", lsp.EndsCR, lsp.UTF16, "0:1=3 0:2=4 0:3=within 0:4=8 0:5=9"},
		{"x😀", lsp.EndsCR, lsp.UTF16, "0:1=1 0:2=within 0:3=5 0:4=5"},
		{"a\u2028b\u2029ß", lsp.EndsJS, lsp.UTF16, "0:1=1 0:2=1 1:0=4 1:1=5 1:2=5 2:0=8 2:1=10"},
		{"a\u2028b", lsp.EndsCR, lsp.UTF16, "0:1=1 0:2=4 0:3=5 1:0=5"},
		{"a\u2027b", lsp.EndsJS, lsp.UTF16, "0:1=1 0:2=4 0:3=5"},
	} {
		doc := lsp.NewText(c.text, c.ends)
		for _, one := range strings.Fields(c.positions) {
			var line, character int
			place, want, _ := strings.Cut(one, "=")
			_, err := fmt.Sscanf(place, "%d:%d", &line, &character)
			require.NoError(t, err)
			offset, err := doc.Offset(at(uint32(line), uint32(character)), c.encoding)
			got := fmt.Sprint(offset)
			if err != nil {
				got = "error: " + err.Error()
				require.Zero(t, offset)
			}
			switch want {
			case "within":
				want = within(character, line+1)
			case "line":
				want = fmt.Sprintf("%sline %d of %d", outside, line+1, doc.Lines())
			}
			require.Equal(t, want, got, "%q %s", c.text, one)
		}
	}
}

// The lines of a text begin and end where its line ends say.
func TestLinesOfTexts(t *testing.T) {
	for _, c := range []struct {
		text   string
		ends   lsp.LineEnds
		lines  []string
		starts []int
	}{
		{"", lsp.EndsCR, []string{""}, []int{0}}, {"a", lsp.EndsCR, []string{"a"}, []int{0}}, {"a\n", lsp.EndsCR, []string{"a", ""}, []int{0, 2}},
		{"a\r\nb\rc\n", lsp.EndsCR, []string{"a", "b", "c", ""}, []int{0, 3, 5, 7}}, {"a\r\nb\rc\n", lsp.EndsLF, []string{"a", "b\rc", ""}, []int{0, 3, 7}},
		{"a\r", lsp.EndsCR, []string{"a", ""}, []int{0, 2}}, {"a\u2028b\u2029c", lsp.EndsJS, []string{"a", "b", "c"}, []int{0, 4, 8}}, {"a\u2028b", lsp.EndsLF, []string{"a\u2028b"}, []int{0}},
		{"\r\r\n\n", lsp.EndsJS, []string{"", "", "", ""}, []int{0, 1, 3, 4}}, {"a\xe2", lsp.EndsJS, []string{"a\xe2"}, []int{0}},
	} {
		doc := lsp.NewText(c.text, c.ends)
		require.Equal(t, c.text, doc.String())
		require.Equal(t, len(c.lines), doc.Lines(), "%q", c.text)
		for i := range c.lines {
			require.Equal(t, c.lines[i], doc.Line(i), "%q", c.text)
			require.Equal(t, c.starts[i], doc.Start(i), "%q", c.text)
			require.Equal(t, i, doc.LineOf(c.starts[i]), "%q", c.text)
			if i > 0 {
				require.Equal(t, i-1, doc.LineOf(c.starts[i]-1), "%q", c.text)
			}
		}
		require.Empty(t, doc.Line(-1))
		require.Empty(t, doc.Line(len(c.lines)))
		require.Equal(t, 0, doc.Start(-1))
		require.Equal(t, len(c.text), doc.Start(len(c.lines)))
		require.Equal(t, len(c.text), doc.Start(99))
		require.Equal(t, doc.Position(len(c.text), lsp.UTF16), doc.End(lsp.UTF16))
	}
	doc := lsp.NewText("ß😀x\n", lsp.EndsCR)
	require.Equal(t, []lsp.Position{at(0, 2), at(0, 6), at(0, 7)}, []lsp.Position{doc.Position(2, lsp.UTF8), doc.Position(6, lsp.UTF8), doc.Position(7, lsp.UTF8)})
	require.Equal(t, []lsp.Position{at(0, 1), at(0, 3), at(0, 4), at(1, 0)}, []lsp.Position{doc.Position(2, lsp.UTF16), doc.Position(6, lsp.UTF16), doc.Position(7, lsp.UTF16), doc.End(lsp.UTF16)})
}

// Edits that do not fit say why.
func TestEditsThatDoNotFit(t *testing.T) {
	edit := func(a, b, c, d uint32, text string) lsp.TextEdit {
		return lsp.TextEdit{Range: lsp.Range{Start: at(a, b), End: at(c, d)}, NewText: text}
	}
	doc := lsp.NewText("one\ntwo\n", lsp.EndsCR)
	for _, c := range []struct {
		edits []lsp.TextEdit
		want  string
		err   string
	}{
		{nil, "one\ntwo\n", ""},
		{[]lsp.TextEdit{edit(0, 1, 0, 2, "x"), edit(0, 2, 0, 3, "y")}, "oxy\ntwo\n", ""},
		{[]lsp.TextEdit{edit(0, 2, 0, 3, "y"), edit(0, 1, 0, 2, "x")}, "oxy\ntwo\n", ""},
		{[]lsp.TextEdit{edit(0, 1, 0, 2, "x"), edit(0, 1, 0, 1, "y")}, "oyxe\ntwo\n", ""},
		{[]lsp.TextEdit{edit(0, 1, 0, 1, "x"), edit(0, 1, 0, 1, "y")}, "oxyne\ntwo\n", ""},
		{[]lsp.TextEdit{edit(0, 0, 2, 0, "")}, "", ""},
		{[]lsp.TextEdit{edit(0, 1, 0, 3, "x"), edit(0, 2, 0, 3, "y")}, "", "two edits overlap"},
		{[]lsp.TextEdit{edit(0, 2, 0, 1, "")}, "", "an edit ends before it begins"},
		{[]lsp.TextEdit{edit(5, 0, 5, 0, "")}, "", "a position is outside of the text: line 6 of 3"},
		{[]lsp.TextEdit{edit(0, 0, 5, 0, "")}, "", "a position is outside of the text: line 6 of 3"},
	} {
		got, err := doc.Edited(c.edits, lsp.UTF16)
		require.Equal(t, c.want, got)
		if c.err != "" {
			require.EqualError(t, err, c.err)
		} else {
			require.NoError(t, err)
		}
	}
}

// What is not the URI of a file of this machine is named, up to eighty bytes of it.
func TestURIsThatAreNone(t *testing.T) {
	long := "http://" + strings.Repeat("x", 80)
	for uri, want := range map[string]string{
		"": `"" is not the URI of a file`, "untitled:1": `"untitled:1" is not the URI of a file`, long: `"` + long[:80] + `" is not the URI of a file`, "file:": `"file:" is not the URI of a file`,
		"file:///a%00": `"file:///a%00" is not the URI of a file`, "%": `"%" is not the URI of a file`, "file://other/a": `"file://other/a" is on another machine`,
	} {
		path, err := lsp.Path(uri)
		require.EqualError(t, err, want)
		require.Empty(t, path)
	}
	require.Equal(t, "file:///C:/a", lsp.URI("C:/a"))
}

// bubble runs a part of a test in a bubble, as a subtest: a test of its own for those who note which
// tests run.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Run("bubble", func(t *testing.T) { synctest.Test(t, f) })
}
