// SPDX-License-Identifier: Apache-2.0

package text

import "github.com/clipperhouse/displaywidth"

// cluster is a unit of cursor movement: a character with the characters that combine with it.
type cluster struct {
	text  string
	style Style
	width int
}

func clusters(l Line) []cluster {
	var all []cluster
	for _, s := range l {
		g := displaywidth.StringGraphemes(s.Text)
		for g.Next() {
			all = append(all, cluster{g.Value(), s.Style, g.Width()})
		}
	}
	return all
}

func lineOf(all []cluster) Line {
	var l Line
	for i := 0; i < len(all); {
		var text []byte
		style := all[i].style
		for ; i < len(all) && all[i].style == style; i++ {
			text = append(text, all[i].text...)
		}
		l = append(l, Span{string(text), style})
	}
	return l
}

// Wrap breaks a line between words into parts of at most width columns, if width is at least 2.
// Words that are too wide are broken. The spaces at a break are dropped. There is at least one
// line.
func Wrap(l Line, width int) []Line {
	width = max(width, 2)
	if narrow(l, width) {
		return []Line{l}
	}
	all := clusters(l)
	var lines []Line
	start, column, space := 0, 0, 0 // space is where the line can be broken, if it is behind start
	for i := 0; i < len(all); i++ {
		c := all[i]
		if column+c.width > width && i > start {
			end, next := i, i
			if c.text == " " {
				next = i + 1
			} else if space > start {
				end, next = space, space+1
			}
			lines = append(lines, lineOf(all[start:end]))
			start, column = next, 0
			i = next - 1
			continue
		}
		if c.text == " " && i > start {
			space = i
		}
		column += c.width
	}
	return append(lines, lineOf(all[start:]))
}

// Break breaks a line where it is full, and drops nothing. There is at least one line.
func Break(l Line, width int) []Line {
	width = max(width, 2)
	if narrow(l, width) {
		return []Line{l}
	}
	all := clusters(l)
	var lines []Line
	start, column := 0, 0
	for i, c := range all {
		if column+c.width > width && i > start {
			lines = append(lines, lineOf(all[start:i]))
			start, column = i, 0
		}
		column += c.width
	}
	return append(lines, lineOf(all[start:]))
}

// narrow reports whether a line surely fits.
func narrow(l Line, width int) bool {
	n := 0
	for _, s := range l {
		n += len(s.Text)
	}
	return n <= width || l.Width() <= width
}

// Cut returns as much of a line as fits, with … at its end if something is left out. It is for
// titles that are shown elsewhere in full.
func Cut(l Line, width int) Line {
	if narrow(l, width) {
		return l
	}
	if width < 1 {
		return nil
	}
	all := clusters(l)
	column, i := 0, 0
	for i < len(all) && column+all[i].width <= width-1 {
		column += all[i].width
		i++
	}
	last := Style{}
	if i > 0 {
		last = all[i-1].style
	}
	return lineOf(append(all[:i:i], cluster{text: "…", style: last}))
}

// Indent puts the prefix before the first of the lines, and rest before the others. The prefixes
// are as wide as each other.
func Indent(lines []Line, prefix, rest Line) []Line {
	out := make([]Line, len(lines))
	for i, l := range lines {
		p := rest
		if i == 0 {
			p = prefix
		}
		out[i] = append(p[:len(p):len(p)], l...)
	}
	return out
}
