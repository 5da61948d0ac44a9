// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"
)

// Pieces cuts a growing text into pieces that can be rendered by themselves. Earlier pieces are not
// rendered again with every word, and only the visible pieces of a long text are rendered at all.
// The zero value is ready to use.
type Pieces struct {
	// Code is set if the text is not Markdown: it is then cut after some lines.
	Code bool

	text  string
	done  []string // whole pieces
	gaps  []bool   // whether a blank line is above each piece, the last one included
	start int      // where the text that is in no piece begins
	at    int      // where the first line that has not been looked at begins
	lines int      // since start
	blank bool     // the line before is blank
	fence string   // the line that opened the block of code, empty outside of one
	over  string   // the fence that the piece in progress begins in
}

// Bounds of pieces.
const (
	maxPieceLines = 100
	maxPieceBytes = 16 << 10
)

// Set replaces the text. If the text has grown, only what is new is looked at.
func (p *Pieces) Set(text string) {
	if !strings.HasPrefix(text, p.text) || p.text == "" {
		*p = Pieces{Code: p.Code}
	}
	p.text = text
	for {
		n := strings.IndexByte(text[p.at:], '\n')
		if n < 0 {
			break
		}
		p.line(text[p.at : p.at+n+1])
	}
	// A line without an end is cut as well.
	for len(text)-p.start > 2*maxPieceBytes {
		end := p.start + maxPieceBytes
		for end > p.start && text[end]&0xc0 == 0x80 { // within a character
			end--
		}
		p.cut(end)
		p.at = max(p.at, end)
	}
}

// line looks at a line at p.at.
func (p *Pieces) line(line string) {
	body := strings.TrimLeft(strings.TrimRight(line, "\r\n"), " ")
	indent := len(line) - len(strings.TrimLeft(line, " "))
	if !p.Code {
		switch {
		case p.fence == "" && indent < 4 && (strings.HasPrefix(body, "```") || strings.HasPrefix(body, "~~~")):
			if p.lines > 0 && p.blank {
				p.cut(p.at)
			}
			p.fence = body
		case p.fence != "" && closes(p.fence, body):
			p.fence = ""
		case p.fence == "" && p.blank && body != "" && indent == 0 && p.lines > 0:
			p.cut(p.at)
		}
	}
	p.at += len(line)
	p.lines++
	p.blank = body == ""
	if p.lines >= maxPieceLines || p.at-p.start > maxPieceBytes {
		p.cut(p.at)
	}
}

// closes reports whether a line closes the block of code that another line has opened.
func closes(fence, line string) bool {
	mark := fence[:1]
	n := len(fence) - len(strings.TrimLeft(fence, mark))
	rest := strings.TrimLeft(line, mark)
	return len(line)-len(rest) >= n && strings.TrimSpace(rest) == ""
}

func (p *Pieces) cut(end int) {
	p.done = append(p.done, p.open(p.text[p.start:end]))
	if len(p.gaps) == 0 {
		p.gaps = []bool{false}
	}
	said := strings.TrimSpace(p.text[:end]) != ""
	p.gaps = append(p.gaps, !p.Code && p.blank && p.fence == "" && said)
	p.start, p.lines, p.blank, p.over = end, 0, false, p.fence
}

// Gap reports whether there is a blank line between a piece and the one before it. The last piece has the number of whole ones.
func (p *Pieces) Gap(i int) bool { return i < len(p.gaps) && p.gaps[i] }

func (p *Pieces) open(text string) string {
	if p.over != "" {
		return p.over + "\n" + text
	}
	return text
}

// Whole returns the pieces that do not change any more.
func (p *Pieces) Whole() []string { return p.done }

// Last returns what follows them, which may be empty.
func (p *Pieces) Last() string {
	if p.start == len(p.text) {
		return ""
	}
	return p.open(p.text[p.start:])
}
