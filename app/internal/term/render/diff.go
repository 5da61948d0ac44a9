// SPDX-License-Identifier: Apache-2.0

// Package render makes lines for a terminal of what a conversation shows.
package render

import (
	"fmt"
	"unicode"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/text"
	"github.com/ponte-go/ponte/internal/linediff"
	"github.com/ponte-go/ponte/internal/show"
)

// Dim is the style of what matters less.
var Dim = text.Style{Color: text.Gray}

// Bold is the style of titles.
var Bold = text.Style{Bold: true}

// Diff returns a whole change of a file: a heading, and its hunks with three lines around each
// change. In a line that was replaced by another one, the words that differ are highlighted.
// Characters that people do not see are written out.
func Diff(name string, d *view.FileChange, width int) (lines []text.Line) {
	old := ""
	name = show.Line(name)
	if d.Old != nil {
		old = *d.Old
	} else {
		name += " (new)"
	}
	hunks := linediff.Hunks(old, d.New, 3)
	inserted, deleted := linediff.Count(hunks)
	heading := append(text.Of(name, Bold), text.Of(fmt.Sprintf("  +%d -%d", inserted, deleted), Dim)...)
	lines = append(lines, text.Break(heading, width)...)
	for _, h := range hunks {
		place := fmt.Sprintf("@@ -%d,%d +%d,%d @@", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		lines = append(lines, text.Break(text.Of(place, text.Style{Color: text.Cyan}), width)...)
		for i := 0; i < len(h.Lines); {
			n := changed(h.Lines[i:])
			lines = append(lines, group(h.Lines[i:i+max(n, 1)], width)...)
			i += max(n, 1)
		}
	}
	return lines
}

// changed returns how many lines at the beginning are deleted and then inserted.
func changed(lines []linediff.Line) int {
	n := 0
	for n < len(lines) && lines[n].Op == linediff.Delete {
		n++
	}
	for n < len(lines) && lines[n].Op == linediff.Insert {
		n++
	}
	return n
}

// group renders an unchanged line, or lines that were deleted with those that replace them.
func group(all []linediff.Line, width int) (lines []text.Line) {
	deleted := 0
	for deleted < len(all) && all[deleted].Op == linediff.Delete {
		deleted++
	}
	paired := deleted > 0 && deleted*2 == len(all) && deleted <= maxPairs
	shown := make([]text.Line, len(all))
	for i, l := range all {
		shown[i] = text.Of(show.Text(l.Text), styleOf(l.Op, false))
	}
	if paired {
		for i := range deleted {
			shown[i], shown[deleted+i] = words(show.Text(all[i].Text), show.Text(all[deleted+i].Text))
		}
	}
	for i, l := range all {
		mark := text.Of(string(l.Op), styleOf(l.Op, false))
		rest := text.Of(" ", text.Style{})
		lines = append(lines, text.Indent(text.Break(shown[i], width-1), mark, rest)...)
		if l.NoNewline {
			lines = append(lines, text.Break(text.Of(`\ no line break at the end`, Dim), width)...)
		}
	}
	return lines
}

func styleOf(op linediff.Op, differs bool) text.Style {
	switch op {
	case linediff.Delete:
		return text.Style{Color: text.Red, Highlighted: differs}
	case linediff.Insert:
		return text.Style{Color: text.Green, Highlighted: differs}
	}
	return text.Style{}
}

// Bounds on the comparison of words: how many words a line may have, and how many lines may be
// replaced at once.
const (
	maxWords = 300
	maxPairs = 100
)

// words highlights what differs between two lines. If hardly anything is the same, nothing is.
func words(before, after string) (b, a text.Line) {
	old, now := tokens(before), tokens(after)
	plain := func() (text.Line, text.Line) {
		return text.Of(before, styleOf(linediff.Delete, false)), text.Of(after, styleOf(linediff.Insert, false))
	}
	if len(old) > maxWords || len(now) > maxWords {
		return plain()
	}
	// common[i][j] is the length of what old[i:] and now[j:] have in common, in bytes.
	common := make([][]int, len(old)+1)
	for i := range common {
		common[i] = make([]int, len(now)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(now) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if old[i] == now[j] {
				common[i][j] = max(common[i][j], common[i+1][j+1]+len(old[i]))
			}
		}
	}
	if 3*common[0][0] < max(len(before), len(after)) {
		return plain()
	}
	i, j := 0, 0
	for i < len(old) || j < len(now) {
		switch {
		case i < len(old) && j < len(now) && old[i] == now[j]:
			b, a = append(b, text.Of(
				old[i], styleOf(linediff.Delete, false),
			)...), append(a, text.Of(now[j], styleOf(linediff.Insert, false))...)
			i, j = i+1, j+1
		case j == len(now) || i < len(old) && common[i+1][j] >= common[i][j+1]:
			b = append(b, text.Of(old[i], styleOf(linediff.Delete, true))...)
			i++
		default:
			a = append(a, text.Of(now[j], styleOf(linediff.Insert, true))...)
			j++
		}
	}
	return b, a
}

// tokens cuts a line into words, runs of spaces, and other characters.
func tokens(s string) (all []string) {
	kind := func(r rune) int {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r), r == '_', r == '\u200d', r == '\ufe0f':
			return 1
		case unicode.IsSpace(r):
			return 2
		}
		return 0
	}
	var start, last int
	for i, r := range s {
		k := kind(r)
		if i > 0 && (k != last || k == 0) {
			all = append(all, s[start:i])
			start = i
		}
		last = k
	}
	if start < len(s) {
		all = append(all, s[start:])
	}
	return all
}
