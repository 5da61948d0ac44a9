// SPDX-License-Identifier: Apache-2.0

// Package linediff compares two texts line by line and shows the difference as a unified diff.
package linediff

import "strings"

// Op is the operation on a line.
type Op byte

// The operations, by the character that marks them in a unified diff.
const (
	Keep   Op = ' '
	Delete Op = '-'
	Insert Op = '+'
)

// Line is a line of a diff.
type Line struct {
	Op Op
	// Text is the line without its end.
	Text string
	// NoNewline is set for the last line of a text without a line end.
	NoNewline bool
}

// Hunk is a group of changes with the lines around them.
type Hunk struct {
	// OldStart and NewStart count lines from 1; a range of no lines has the number of the line before it.
	OldStart, OldLines int
	NewStart, NewLines int
	Lines              []Line
}

// maxEdits bounds the work of a comparison, which grows with the square of the number of changed lines. Texts that
// differ in more lines are shown as replaced as a whole, but for what they begin and end with.
const maxEdits = 1000

// Hunks compares two texts. Each hunk has up to context unchanged lines on either side. Equal texts have no hunks.
func Hunks(before, after string, context int) []Hunk {
	return group(compare(split(before), split(after)), context)
}

// Count returns how many lines the hunks insert and delete.
func Count(hunks []Hunk) (inserted, deleted int) {
	for _, h := range hunks {
		for _, l := range h.Lines {
			switch l.Op {
			case Insert:
				inserted++
			case Delete:
				deleted++
			}
		}
	}
	return inserted, deleted
}

// split cuts a text behind each line break.
func split(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func line(op Op, text string) Line {
	cut, ended := strings.CutSuffix(text, "\n")
	return Line{Op: op, Text: cut, NoNewline: !ended}
}

// compare returns all lines of both texts in order, with what happens to them.
func compare(a, b []string) []Line {
	prefix := 0
	for prefix < len(a) && prefix < len(b) && a[prefix] == b[prefix] {
		prefix++
	}
	suffix := 0
	for suffix < len(a)-prefix && suffix < len(b)-prefix && a[len(a)-1-suffix] == b[len(b)-1-suffix] {
		suffix++
	}
	lines := make([]Line, 0, max(len(a), len(b)))
	for _, l := range a[:prefix] {
		lines = append(lines, line(Keep, l))
	}
	lines = append(lines, myers(a[prefix:len(a)-suffix], b[prefix:len(b)-suffix])...)
	for _, l := range a[len(a)-suffix:] {
		lines = append(lines, line(Keep, l))
	}
	return lines
}

// myers finds a shortest script of edits by the greedy algorithm of E. W. Myers, "An O(ND) Difference Algorithm and Its
// Variations" (1986): in round d it knows, for each diagonal k = x-y, how far d edits reach.
func myers(a, b []string) []Line {
	limit := min(len(a)+len(b), maxEdits)
	reach := make([]int, 2*limit+3) // x by diagonal, shifted by limit+1
	at := limit + 1
	var rounds [][]int // reach before each round, from diagonal -d to d
	for d := 0; d <= limit; d++ {
		rounds = append(rounds, append([]int(nil), reach[at-d:at+d+1]...))
		for k := -d; k <= d; k += 2 {
			x := reach[at+k-1] + 1 // delete
			if k == -d || k != d && reach[at+k-1] < reach[at+k+1] {
				x = reach[at+k+1] // insert
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			reach[at+k] = x
			if x >= len(a) && x-k >= len(b) {
				return trace(a, b, rounds)
			}
		}
	}
	lines := make([]Line, 0, len(a)+len(b))
	for _, l := range a {
		lines = append(lines, line(Delete, l))
	}
	for _, l := range b {
		lines = append(lines, line(Insert, l))
	}
	return lines
}

// trace goes back from the end to the beginning. The texts begin with different lines, which makes
// that the first edit.
func trace(a, b []string, rounds [][]int) []Line {
	x, y := len(a), len(b)
	var reversed []Line
	for d := len(rounds) - 1; d > 0; d-- {
		reach := func(k int) int { return rounds[d][k+d] }
		k := x - y
		down := k == -d || k != d && reach(k-1) < reach(k+1)
		var from int // x before the lines that are kept
		if down {
			from = reach(k + 1)
		} else {
			from = reach(k-1) + 1
		}
		for x > from {
			x, y = x-1, y-1
			reversed = append(reversed, line(Keep, a[x]))
		}
		if down {
			y--
			reversed = append(reversed, line(Insert, b[y]))
		} else {
			x--
			reversed = append(reversed, line(Delete, a[x]))
		}
	}
	for i, j := 0, len(reversed)-1; i < j; i, j = i+1, j-1 {
		reversed[i], reversed[j] = reversed[j], reversed[i]
	}
	return reversed
}

// group makes hunks of the changed lines and those around them.
func group(lines []Line, context int) []Hunk {
	var hunks []Hunk
	oldLine, newLine := 1, 1
	last := 0 // index behind the last change of the open hunk, 0 if none is open
	var h Hunk
	flush := func() {
		if last == 0 {
			return
		}
		if h.OldLines == 0 {
			h.OldStart--
		}
		if h.NewLines == 0 {
			h.NewStart--
		}
		hunks = append(hunks, h)
		last = 0
	}
	add := func(l Line) {
		h.Lines = append(h.Lines, l)
		if l.Op != Insert {
			h.OldLines++
		}
		if l.Op != Delete {
			h.NewLines++
		}
	}
	for i, l := range lines {
		switch {
		case l.Op != Keep:
			if last == 0 {
				from := i
				for from > 0 && i-from < context && lines[from-1].Op == Keep {
					from--
				}
				h = Hunk{OldStart: oldLine - (i - from), NewStart: newLine - (i - from)}
				for _, before := range lines[from:i] {
					add(before)
				}
			}
			add(l)
			last = i + 1
		case last > 0 && (i < last+context || changeWithin(lines, i, 2*context-(i-last))):
			add(l)
		default:
			flush()
		}
		if l.Op != Insert {
			oldLine++
		}
		if l.Op != Delete {
			newLine++
		}
	}
	flush()
	return hunks
}

// changeWithin reports whether one of the next n lines from i is a change.
func changeWithin(lines []Line, i, n int) bool {
	for j := i; j <= i+n && j < len(lines); j++ {
		if lines[j].Op != Keep {
			return true
		}
	}
	return false
}
