// SPDX-License-Identifier: Apache-2.0

package linediff

import "strings"

// Conflict is a place where both sides of a merge changed the same or neighbouring lines in different ways.
type Conflict struct {
	// Base, Ours and Theirs are the lines in each of the three texts, with their ends.
	Base, Ours, Theirs string
	// Line is the first of the lines in our text, counted from 1, and Lines is how many there are. If there are none, Line is the line that
	// follows.
	Line, Lines int
}

// Merge applies the changes from base to theirs to ours. If the two sides changed the same or neighbouring lines in different ways,
// Merge returns the conflicts and no text. Changes that both sides made are taken once.
//
// A side that differs from base in very many lines may count as changed throughout. That can add conflicts. It never loses lines.
func Merge(base, ours, theirs string) (merged string, conflicts []Conflict) {
	b, o, t := split(base), split(ours), split(theirs)
	left, right := edits(base, ours), edits(base, theirs)
	var out strings.Builder
	out.Grow(max(len(ours), len(theirs)))
	at := 0 // lines of base that have been dealt with
	for len(left) > 0 || len(right) > 0 {
		l, r, from, to := region(&left, &right)
		write(&out, b[at:from])
		at = to
		switch mine, other := l.lines(o, from, to), r.lines(t, from, to); {
		case len(r.edits) == 0 || same(mine, other):
			write(&out, mine)
		case len(l.edits) == 0:
			write(&out, other)
		default:
			conflicts = append(conflicts, Conflict{
				Base: strings.Join(b[from:to], ""), Ours: strings.Join(mine, ""), Theirs: strings.Join(other, ""),
				Line: l.start(from) + 1, Lines: len(mine),
			})
		}
	}
	if len(conflicts) > 0 {
		return "", conflicts
	}
	write(&out, b[at:])
	return out.String(), nil
}

// edit is a change: lines of the old text, counted from 0, and the lines of the new text that
// replace them.
type edit struct{ oldFrom, oldTo, newFrom, newTo int }

// edits returns the changes from one text to another.
func edits(before, after string) []edit {
	var list []edit
	for _, h := range Hunks(before, after, 0) {
		e := edit{oldFrom: h.OldStart - 1, newFrom: h.NewStart - 1}
		if h.OldLines == 0 {
			e.oldFrom++
		}
		if h.NewLines == 0 {
			e.newFrom++
		}
		e.oldTo, e.newTo = e.oldFrom+h.OldLines, e.newFrom+h.NewLines
		list = append(list, e)
	}
	return list
}

// side holds the changes of one side in a region.
type side struct{ edits []edit }

// region takes the next edits that belong together: edits of both sides that overlap or touch. from
// and to are the lines of base.
func region(left, right *[]edit) (l, r side, from, to int) {
	first := true
	take := func(s *side, list *[]edit) bool {
		if len(*list) == 0 || !first && (*list)[0].oldFrom > to {
			return false
		}
		e := (*list)[0]
		*list = (*list)[1:]
		s.edits = append(s.edits, e)
		if first {
			from, to, first = e.oldFrom, e.oldTo, false
		}
		to = max(to, e.oldTo)
		return true
	}
	if len(*left) > 0 && (len(*right) == 0 || (*left)[0].oldFrom <= (*right)[0].oldFrom) {
		take(&l, left)
	} else {
		take(&r, right)
	}
	for take(&l, left) || take(&r, right) {
	}
	return l, r, from, to
}

// start returns where the region that begins at a line of base begins on this side. The side has edits.
func (s *side) start(from int) int {
	first := s.edits[0]
	return first.newFrom - (first.oldFrom - from)
}

// lines returns the side's version of the lines from to to of base. It is nil if the side has no
// edits there.
func (s *side) lines(text []string, from, to int) []string {
	if len(s.edits) == 0 {
		return nil
	}
	last := s.edits[len(s.edits)-1]
	return text[s.start(from) : last.newTo+(to-last.oldTo)]
}

func same(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func write(b *strings.Builder, lines []string) {
	for _, l := range lines {
		b.WriteString(l)
	}
}
