// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/markdown"
	"github.com/ponte-go/ponte/app/internal/term/render"
	"github.com/ponte-go/ponte/app/internal/term/text"
)

const source = "# One\n\npara one\nstill one\n\n- a\n- b\n\n  more of b\n\nlast\n\n```go\nx := 1\n\ny := 2\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend\n"

func plainOf(lines []text.Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimRight(l.Plain(), " ") + "\n")
	}
	return b.String()
}

func document(t *testing.T, width int, changes ...view.Change) *render.Document {
	d := render.NewDocument("/repo")
	d.SetWidth(width)
	d.Apply(changes)
	return d
}

func whole(d *render.Document) string {
	lines, _ := d.From(render.Pos{}, 1<<30)
	return plainOf(lines)
}

func message(text string) view.Change {
	return view.Change{Op: view.Upsert, ID: "m", Entity: &view.Entity{ID: "m", Kind: view.Message, Role: view.Assistant, Content: []view.Content{{Kind: view.Text, Text: text}}}}
}

// However a text comes, it looks as if it had come at once.
func TestStreamedTextLooksLikeWholeText(t *testing.T) {
	want := plainOf(markdown.Render(source, 40))
	require.Equal(t, want, whole(document(t, 40, message(source))))
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		d := document(t, 40)
		for n := 0; n < len(source); {
			n = min(len(source), n+1+r.IntN(30))
			d.Apply([]view.Change{message(source[:n])})
			if r.IntN(3) == 0 {
				whole(d)
			}
		}
		require.Equal(t, want, whole(d), "seed %d", seed)
	}
}

func TestTextThatIsReplaced(t *testing.T) {
	d := document(t, 40, message(source))
	whole(d)
	d.Apply([]view.Change{message("para two\n\nand more")})
	require.Equal(t, "para two\n\nand more\n", whole(d))
	d.Apply([]view.Change{{Op: view.Remove, ID: "m"}})
	require.Empty(t, whole(d))
}

func TestPiecesHaveTheWholeText(t *testing.T) {
	for _, code := range []bool{false, true} {
		text := strings.Repeat("word ", 30_000) + "\n" + strings.Repeat("line\n", 1000) + strings.Repeat("漢", 30_000)
		p := render.Pieces{Code: code}
		for n := 0; n < len(text); n += 10_000 {
			p.Set(text[:n])
		}
		p.Set(text)
		require.Equal(t, text, strings.Join(p.Whole(), "")+p.Last())
		for _, piece := range append(p.Whole(), p.Last()) {
			require.LessOrEqual(t, len(piece), 40<<10)
			require.True(t, strings.ToValidUTF8(piece, "?") == piece)
		}
	}
}

// A piece ends with its 100th line, or with the first one that is beyond 16 KB. A line without an end
// is cut if it has more than 32 KB.
func TestPiecesEndAtTheirBounds(t *testing.T) {
	for _, code := range []bool{false, true} {
		for line, lines := range map[int]int{1: 100, 100: 100, 163: 100, 164: 100, 165: 100, 166: 99, 1024: 17, 1025: 16, 16 << 10: 2, 16<<10 + 1: 1} {
			text := strings.Repeat(strings.Repeat("x", line-1)+"\n", lines)
			p := render.Pieces{Code: code}
			p.Set(text[:len(text)-1])
			require.Empty(t, p.Whole(), "%d lines of %d bytes", lines, line)
			p.Set(text + "y")
			require.Equal(t, []string{text}, p.Whole(), "%d lines of %d bytes", lines, line)
			require.Equal(t, "y", p.Last())
		}
		p := render.Pieces{Code: code}
		p.Set(strings.Repeat("x", 32<<10))
		require.Empty(t, p.Whole())
		p.Set(strings.Repeat("x", 32<<10+1))
		require.Equal(t, []string{strings.Repeat("x", 16<<10)}, p.Whole())
	}
}

// A long block of code is cut, and each part is shown as code.
func TestLongCodeStaysCode(t *testing.T) {
	var b strings.Builder
	b.WriteString("Look:\n\n````go\n")
	for i := range 500 {
		fmt.Fprintf(&b, "x%d := \"*a* ```\"\n\n", i)
	}
	b.WriteString("````\n\n*done*\n")
	got := whole(document(t, 60, message(b.String())))
	for i := range 500 {
		require.Contains(t, got, fmt.Sprintf("\nx%d := \"*a* ```\"\n", i))
	}
	require.True(t, strings.HasSuffix(got, "\n\ndone\n"), got[len(got)-100:])
}

func TestScrollingFindsEveryLine(t *testing.T) {
	d := document(t, 30, message(source))
	d.Note("n", func(int, bool) []text.Line { return []text.Line{text.Of("a note", text.Style{})} })
	d.Apply([]view.Change{{Op: view.Upsert, ID: "t", Entity: &view.Entity{ID: "t", Kind: view.Thought, Content: []view.Content{{Kind: view.Text, Text: "a\nb\nc"}}}}})
	for _, expanded := range []bool{false, true} {
		d.Expand(expanded)
		all, _ := d.From(render.Pos{}, 1<<30)
		for n := range len(all) + 3 {
			lines, next := d.From(d.Back(d.End(), n), 1<<30)
			require.Equal(t, plainOf(all[max(0, len(all)-n):]), plainOf(lines), n)
			require.Equal(t, d.End(), next)
			head, next := d.From(render.Pos{}, n)
			rest, _ := d.From(next, 1<<30)
			require.Equal(t, plainOf(all), plainOf(append(head[:len(head):len(head)], rest...)))
		}
	}
}

func TestDiffsHighlightWords(t *testing.T) {
	old := "same\nreturn Fahrenheit(c*9/5 + 23)\nall of this\n"
	lines := render.Diff("a.go", &view.FileChange{Path: "/repo/a.go", Old: &old, New: "same\nreturn Fahrenheit(c*9/5 + 32)\nsomething else\n"}, 60)
	highlighted := map[string]bool{}
	for _, l := range lines {
		for _, s := range l {
			if s.Style.Highlighted {
				highlighted[s.Text] = true
			}
		}
	}
	require.Equal(t, map[string]bool{"23": true, "32": true}, highlighted, "lines that have nothing in common are not compared")
	require.Equal(t, "a.go  +2 -2\n@@ -1,3 +1,3 @@\n same\n-return Fahrenheit(c*9/5 + 23)\n-all of this\n+return Fahrenheit(c*9/5 + 32)\n+something else\n", plainOf(lines))
}

func TestDiffsShowWhatIsHidden(t *testing.T) {
	got := plainOf(render.Diff("\x1b[2Ja", &view.FileChange{New: "x\u202e\x1b[1m\r\n" + strings.Repeat("漢字", 40)}, 40))
	require.Equal(t, "⟨ESC⟩[2Ja (new)  +2 -0\n@@ -0,0 +1,2 @@\n+x⟨U+202E⟩⟨ESC⟩[1m⟨CR⟩\n+"+strings.Repeat("漢字", 9)+"漢\n "+
		"字"+strings.Repeat("漢字", 9)+"\n "+strings.Repeat("漢字", 9)+"漢\n "+"字"+strings.Repeat("漢字", 9)+"\n "+"漢字漢字\n\\ no line break at the end\n", got)
}

// Ten megabytes do not stall the screen: what a frame renders does not depend on how much there is.
func TestLongConversationsAreRenderedInParts(t *testing.T) {
	line := "The quick brown **fox** jumps over `the` lazy dog, and so on and on.\n\n"
	text := strings.Repeat(line, 10<<20/len(line))
	d := document(t, 80)
	step := len(text) / 200
	frame := func() {
		_, _ = d.From(d.Back(d.End(), 24), 24)
	}
	for n := step; n <= len(text); n += step {
		d.Apply([]view.Change{message(text[:n])})
		frame()
	}
	allocations := testing.AllocsPerRun(3, func() {
		d.SetWidth(60)
		frame()
		d.SetWidth(80)
		frame()
	})
	require.Less(t, allocations, 200_000.0, "a resize renders what is visible")
	output := strings.Repeat("output of a command, line after line\n", 1<<20/37)
	command := view.Entity{ID: "c", Kind: view.Command, Title: "make", Content: []view.Content{{Kind: view.Text, Text: output}}}
	d.Apply([]view.Change{{Op: view.Upsert, ID: "c", Entity: &command}})
	require.Less(t, testing.AllocsPerRun(3, func() {
		c := command
		d.Apply([]view.Change{{Op: view.Upsert, ID: "c", Entity: &c}})
		frame()
	}), 500.0, "of a folded output the last lines are looked at")
}

func TestSourcesAreShownWithTheirAddress(t *testing.T) {
	said := render.Said(&view.Entity{Kind: view.Message, Content: []view.Content{
		{Kind: view.Text, Text: "Tea."},
		{Kind: view.Link, URI: "https://a.test/\x1b[2J", Name: "On\ntea\x1b", Cites: []view.Span{{Start: 0, End: 3}}}, {Kind: view.Link, URI: "file:///main.go", Name: "main.go"},
	}})
	require.True(t, strings.HasPrefix(said, "Tea.\n\n- [On tea"), said)
	require.Contains(t, said, "] <https://a.test/")
	require.Contains(t, said, "> for “Tea”\n\n[main.go]")
	require.True(t, strings.HasSuffix(said, "[main.go]"), said)
	require.NotContains(t, said, "\x1b")
}

func TestSourcesAreListedWithWhatTheyAreCitedFor(t *testing.T) {
	answer := "Größe: **tea**\nis green. " + strings.Repeat("It grows. ", 20)
	source := func(name string, cites ...view.Span) view.Content {
		return view.Content{Kind: view.Link, URI: "https://a.test/", Name: name, Cites: cites}
	}
	e := &view.Entity{Kind: view.Message, Content: []view.Content{
		{Kind: view.Text, Text: answer},
		source("A", view.Span{Start: 9, End: 26}, view.Span{Start: 0, End: 1}),
		source("B", view.Span{Start: 27, End: len(answer)}),
		source("C"),
		source("D", view.Span{Start: -1, End: 3}, view.Span{Start: 5, End: 2}, view.Span{Start: 3, End: 9999}, view.Span{Start: 3, End: 6}),
	}}
	said := render.Said(e)
	require.Equal(t, answer+"\n\n"+
		"- [A] <https://a.test/> for “**tea** is green.” and 1 more\n"+
		"- [B] <https://a.test/> for “"+strings.Repeat("It grows. ", 5)+"It grows.…”\n"+
		"- [C] <https://a.test/>\n"+
		"- [D] <https://a.test/> for “ß”", said)
	e.Content = e.Content[:3]
	require.True(t, strings.HasPrefix(said, render.Said(e)), "what was printed stays")
}

// TestHalfAnswersEndWithWhy compares what was printed before the end with what follows it.
func TestHalfAnswersEndWithWhy(t *testing.T) {
	e := &view.Entity{Kind: view.Message, Role: view.Assistant, Content: []view.Content{{Kind: view.Text, Text: "Half a"}}}
	before := render.Said(e)
	for _, s := range []view.Status{view.Stopped, view.CutOff, view.Failed, view.Interrupted} {
		e.Status = s
		require.Equal(t, before+"\n\n*"+s.Ending()+"*", render.Said(e))
		require.NotEmpty(t, render.Said(&view.Entity{Kind: view.Message, Status: s}))
	}
}
