// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/lsp"
)

// numbers returns lines "1" to "n".
func numbers(n int) (lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprint(i+1))
	}
	return lines
}

// Answers come in pages of 100 lines and 32 KiB. A page says what it is of, and where the next one
// begins; a line that is longer than a page is one.
func TestPagesEndAtTheirBounds(t *testing.T) {
	text := func(n int, c string) string { return strings.Repeat(c, n) }
	for _, c := range []struct {
		lines  []string
		offset int
		want   string
	}{
		{nil, 0, ""},
		{nil, 1, "[There are 0 places.]"},
		{numbers(1), 0, "1"},
		{numbers(1), 1, "[There are 1 places.]"},
		{numbers(100), 0, strings.Join(numbers(100), "\n")},
		{numbers(101), 0, strings.Join(numbers(100), "\n") + "\n[1 to 100 of 101 places. For more, call again with offset 100.]"},
		{numbers(101), 1, strings.Join(numbers(101)[1:], "\n") + "\n[2 to 101 of 101 places.]"},
		{numbers(103), 2, strings.Join(numbers(102)[2:], "\n") + "\n[3 to 102 of 103 places. For more, call again with offset 102.]"},
		{numbers(101), 100, "101\n[101 to 101 of 101 places.]"},
		{[]string{text(32<<10-2, "a"), "b"}, 0, text(32<<10-2, "a") + "\nb"},
		{[]string{text(32<<10-1, "a"), "b"}, 0, text(32<<10-1, "a") + "\n[1 to 1 of 2 places. For more, call again with offset 1.]"},
		{[]string{text(40<<10, "a"), "b"}, 0, text(40<<10, "a") + "\n[1 to 1 of 2 places. For more, call again with offset 1.]"},
		{[]string{"a", text(32<<10, "b")}, 1, text(32<<10, "b") + "\n[2 to 2 of 2 places.]"},
	} {
		require.Equal(t, c.want, page(c.lines, c.offset, "places"), "%d of %d", c.offset, len(c.lines))
	}
}

// Places of the project come first, then by path, line and character, each once.
func TestPlacesAreSorted(t *testing.T) {
	at := func(path string, inside bool, line, character, end uint32) place {
		return place{path: path, inside: inside, span: lsp.Range{
			Start: lsp.Position{Line: line, Character: character}, End: lsp.Position{Line: line, Character: end},
		}}
	}
	all := []place{
		at("/a", false, 1, 1, 2), at("/z", true, 0, 0, 1), at("/b", true, 2, 3, 4), at("/b", true, 2, 1, 2), at("/b", true, 1, 9, 10),
		at("/z", true, 0, 0, 1), at("/a", false, 0, 5, 6), at("/b", true, 2, 3, 4), at("/b", true, 10, 0, 1), at("/y", true, 0, 0, 1), at("/b", true, 2, 1, 3),
	}
	var got []string
	for _, p := range sortPlaces(all) {
		got = append(got, fmt.Sprintf("%s %d:%d", p.path, p.span.Start.Line, p.span.Start.Character))
	}
	require.Equal(t, []string{
		"/b 1:9", "/b 2:1", "/b 2:1", "/b 2:3", "/b 10:0", "/y 0:0", "/z 0:0", "/a 0:5", "/a 1:1",
	}, got)
}

// symbolsOf makes symbols of "A.run", and of "p|A.run" those that have a package in front.
func symbolsOf(names string) (all []symbol) {
	for _, name := range strings.Fields(names) {
		pkg := strings.Count(name, "|")
		all = append(all, symbol{path: strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '|' }), pkg: pkg})
	}
	return all
}

func titles(all []symbol) string {
	var names []string
	for i := range all {
		names = append(names, all[i].title())
	}
	return strings.Join(names, " ")
}

// A name means the symbols that end with it, in another case if there are none in its own, and what
// is at the top of a file or package if that is one.
func TestNamesMeanSymbols(t *testing.T) {
	for _, c := range []struct{ all, name, found, others string }{
		{"", "run", "", ""},
		{"run", "run", "run", ""},
		{"A.run B.run", "run", "A.run B.run", ""},
		{"A.run B.run", "B.run", "B.run", ""},
		{"A.run run B.run", "run", "run", "A.run B.run"},
		{"run A.run", "run", "run", "A.run"},
		{"A.run run", "run", "run", "A.run"},
		{"run A.run run", "run", "run A.run run", ""},
		{"Run A.RUN", "run", "Run", "A.RUN"},
		{"Run run", "run", "run", ""},
		{"Run walk", "run", "Run", ""},
		{"A.Run", "a.rUN", "A.Run", ""},
		{"overrun run.x", "run", "", ""},
		{"run", "A.run", "", ""},
		{"run", "a.RUN", "", ""},
		{"p|run p|A.run", "run", "p.run", "p.A.run"},
		{"p|A.run q|B.run", "run", "p.A.run q.B.run", ""},
		{"p|run q|run", "run", "p.run q.run", ""},
		{"p|A.run q.A.run", "A.run", "p.A.run", "q.A.run"},
	} {
		all := symbolsOf(c.all)
		path := strings.Split(c.name, ".")
		found, others := matching(all, path)
		require.Equal(t, c.found, titles(found), "%+v", c)
		require.Equal(t, c.others, titles(others), "%+v", c)
		require.Equal(t, strings.TrimSpace(c.found+" "+c.others), titles(named(all, path)), "%+v", c)
		require.Equal(t, titles(symbolsOf(c.all)), titles(all), "the symbols stay as they are")
	}
	require.False(t, endsWith([]string{"a"}, nil))
	require.False(t, endsWithFold([]string{"a"}, nil))
}

// A name is where it is a word of its own.
func TestWordsAreWhole(t *testing.T) {
	for _, c := range []struct {
		text, name string
		want       []int
	}{
		{"run", "run", []int{0}},
		{"run run2 xrun run", "run", []int{0, 14}},
		{"_run run_ $run run$ 1run run1 ärun runß 漢run", "run", nil},
		{"(run) .run, run;run", "run", []int{1, 7, 12, 16}},
		{"😀run😀", "run", []int{4}},
		{"aaa aa", "aa", []int{4}},
		{"a", "", nil},
		{"", "a", nil},
	} {
		require.Equal(t, c.want, words(c.text, c.name), "%+v", c)
	}
}

// Of the places of a name, those behind what is in front of it in its path count, if there are any.
func TestMentionsAreQualified(t *testing.T) {
	for _, c := range []struct {
		text, path string
		want       []int
	}{
		{"run a.run", "run", []int{0, 6}},
		{"run a.run b.run", "a.run", []int{6}},
		{"run a->run a::run a/run a - run a\trun a > run", "a.run", []int{7, 14, 20, 28, 34, 42}},
		{"run b.run", "a.run", []int{0, 6}},
		{"x.a.run", "x.a.run", []int{4}},
		{"a,run", "a.run", []int{2}},
		{"a,run a.run", "a.run", []int{8}},
		{"walk", "a.run", nil},
	} {
		require.Equal(t, c.want, mentions(c.text, strings.Split(c.path, ".")), "%+v", c)
	}
}

// Names that contain the one that was meant, or of which it has more than three letters, are similar.
func TestSimilarNames(t *testing.T) {
	for _, c := range []struct{ all, name, want string }{
		{"", "run", ""},
		{"walk go", "run", ""},
		{"Runner A.overrun walk", "run", " Similar names: A.overrun, Runner"},
		{"b.run a.run a.run", "RUN", " Similar names: a.run, b.run"},
		{"run walk", "runner", ""},
		{"Walk", "x.sleepwalker", " Similar names: Walk"},
		{"x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11", "x", " Similar names: x1, x10, x11, x2, x3, x4, x5, x6, x7, x8"},
	} {
		require.Equal(t, c.want, similar(symbolsOf(c.all), strings.Split(c.name, ".")), "%+v", c)
	}
}

// The extension of a file is in lower case. A file whose name is one, and a directory, have none.
func TestExtensions(t *testing.T) {
	for name, want := range map[string]string{
		"a.go": ".go", "A.GO": ".go", "/x.y/a.b.c": ".c", "/x.y/a": "", `x.y\a`: "", ".go": ".go", "go": "", "": "", "a.": ".",
	} {
		require.Equal(t, want, extension(name), name)
	}
}

// Edits get the line ends of a file whose lines all end with CRLF.
func TestEditsGetLineEnds(t *testing.T) {
	for _, c := range []struct{ text, edit, want string }{
		{"", "a\nb", "a\nb"},
		{"x", "a\nb", "a\nb"},
		{"x\n", "a\nb\r\n", "a\nb\r\n"},
		{"x\r\ny\n", "a\nb", "a\nb"},
		{"x\r\ny\r\n", "a\nb\r\nc", "a\r\nb\r\nc"},
	} {
		given := []lsp.TextEdit{{NewText: c.edit}}
		require.Equal(t, []lsp.TextEdit{{NewText: c.want}}, withEnds([]byte(c.text), given), "%+v", c)
		require.Equal(t, c.edit, given[0].NewText, "the caller's edits stay as they are")
	}
}

// published makes the problems of files, "a:3 message" each, of a severity and source.
func publishedOf(severity lsp.DiagnosticSeverity, texts ...string) map[string]*published {
	all := map[string]*published{}
	for _, text := range texts {
		place, message, _ := strings.Cut(text, " ")
		path, number, _ := strings.Cut(place, ":")
		var line uint32
		_, _ = fmt.Sscan(number, &line)
		if all[path] == nil {
			all[path] = &published{path: path}
		}
		all[path].items = append(all[path].items, lsp.Diagnostic{
			Message: message, Severity: severity, Range: lsp.Range{Start: lsp.Position{Line: line - 1}},
		})
	}
	return all
}

// A problem is new if there was none like it: one that has moved, on its line or with it, is not.
func TestProblemsThatHaveMovedAreNotNew(t *testing.T) {
	const e = lsp.SeverityError
	texts := func(text string) map[string]*lsp.Text {
		return map[string]*lsp.Text{"a": lsp.NewText(text, lsp.EndsCR)}
	}
	for name, c := range map[string]struct {
		before, after map[string]*published
		old, now      string // the texts of file a
		want          string
	}{
		"nothing":                    {},
		"the first one":              {nil, publishedOf(e, "a:1 bad"), "x", "x", "a:1 bad"},
		"the same":                   {publishedOf(e, "a:1 bad"), publishedOf(e, "a:1 bad"), "x", "x", ""},
		"gone":                       {publishedOf(e, "a:1 bad"), nil, "x", "x", ""},
		"moved with its line":        {publishedOf(e, "a:1 bad"), publishedOf(e, "a:2 bad"), "x", "y\nx", ""},
		"on a line that was changed": {publishedOf(e, "a:1 bad"), publishedOf(e, "a:1 bad"), "x", "y", ""},
		"another on another line":    {publishedOf(e, "a:1 bad"), publishedOf(e, "a:1 bad", "a:2 bad"), "x\ny", "x\ny", "a:2 bad"},
		"of the same line twice":     {publishedOf(e, "a:1 bad"), publishedOf(e, "a:1 bad", "a:1 bad"), "x", "x", "a:1 bad"},
		"two of which one is old":    {publishedOf(e, "a:1 bad"), publishedOf(e, "a:1 bad", "a:2 bad"), "x", "y\nz", "a:2 bad"},
		"two that are old":           {publishedOf(e, "a:1 bad", "a:2 bad"), publishedOf(e, "a:1 bad", "a:2 bad"), "x\ny", "z\nz", ""},
		"the line's spaces":          {publishedOf(e, "a:1 bad", "a:2 bad"), publishedOf(e, "a:1 bad", "a:3 bad"), "  x\ny", "z\nz\nx", ""},
		"another message":            {publishedOf(e, "a:1 bad"), publishedOf(e, "a:1 worse"), "x", "x", "a:1 worse"},
		"another number of a line":   {publishedOf(e, "a:1 see line 12, Column 3 at 4"), publishedOf(e, "a:1 see line 13, Column 1 at 400"), "x", "x", ""},
		"another position":           {publishedOf(e, "a:1 see b.go:12:3, col 7"), publishedOf(e, "a:1 see b.go:1:99, col 8"), "x", "x", ""},
		"another number":             {publishedOf(e, "a:1 wants 2"), publishedOf(e, "a:1 wants 3"), "x", "x", "a:1 wants 3"},
		"another file":               {publishedOf(e, "a:1 bad"), publishedOf(e, "b:1 bad"), "x", "x", "b:1 bad"},
		"of a file without text":     {publishedOf(e, "b:1 bad"), publishedOf(e, "b:7 bad"), "x", "x", ""},
		"another severity":           {publishedOf(e, "a:1 bad"), publishedOf(lsp.SeverityWarning, "a:1 bad"), "x", "x", "a:1 bad"},
		"a hint":                     {nil, publishedOf(lsp.SeverityHint, "a:1 bad"), "x", "x", ""},
		"information":                {nil, publishedOf(lsp.SeverityInformation, "a:1 bad"), "x", "x", "a:1 bad"},
		"sorted":                     {nil, publishedOf(e, "b:1 b", "a:10 a", "a:9 a", "a:9 A"), "", "", "a:9 A, a:9 a, a:10 a, b:1 b"},
	} {
		var got []string
		for _, p := range newProblems(c.before, c.after, texts(c.old), texts(c.now)) {
			got = append(got, fmt.Sprintf("%s:%d %s", p.path, p.line, p.message))
		}
		require.Equal(t, c.want, strings.Join(got, ", "), name)
	}
}

// Errors come first, then by path, line, message and source.
func TestProblemsAreSorted(t *testing.T) {
	var all []problem
	want := []problem{
		{"a", 1, lsp.SeverityError, "s", "m"}, {"a", 1, lsp.SeverityError, "t", "m"}, {"a", 1, lsp.SeverityError, "a", "n"},
		{"a", 2, lsp.SeverityError, "a", "a"}, {"a", 10, lsp.SeverityError, "a", "a"}, {"b", 1, lsp.SeverityError, "a", "a"},
		{"a", 1, lsp.SeverityWarning, "a", "a"}, {"a", 1, lsp.SeverityInformation, "a", "a"}, {"a", 1, lsp.SeverityHint, "a", "a"},
	}
	for i := range want {
		all = append(all, want[(i*4+5)%len(want)])
	}
	sortProblems(all)
	require.Equal(t, want, all)
}

// Settings of a section are merged at every depth.
func TestSettingsAreMerged(t *testing.T) {
	type m = map[string]any
	for _, c := range []struct{ settings, changes, want any }{
		{nil, 1, 1},
		{1, 2, 2},
		{m{"a": 1}, 2, 2},
		{1, m{"a": 1}, m{"a": 1}},
		{m{"a": 1}, m{"b": 2}, m{"a": 1, "b": 2}},
		{m{"a": 1}, m{"a": 2}, m{"a": 2}},
		{m{"a": m{"x": 1, "y": 1}, "b": 1}, m{"a": m{"y": 2, "z": 2}}, m{"a": m{"x": 1, "y": 2, "z": 2}, "b": 1}},
		{m{"a": 1}, nil, nil},
	} {
		require.Equal(t, c.want, merged(c.settings, c.changes), "%+v", c)
	}
	given := m{"a": m{"x": 1}}
	merged(given, m{"a": m{"x": 2}})
	require.Equal(t, m{"a": m{"x": 1}}, given, "what was there stays as it is")
}
