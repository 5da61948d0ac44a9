// SPDX-License-Identifier: Apache-2.0

package lsp

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// Encoding is the unit in which a server counts the characters of a line.
type Encoding string

// The encodings of positions that are supported.
const (
	UTF8  Encoding = "utf-8"
	UTF16 Encoding = "utf-16"
)

// LineEnds are the characters that end a line for a server.
type LineEnds uint8

const (
	// EndsCR follows the protocol: "\n", "\r\n" and "\r" end a line.
	EndsCR LineEnds = iota
	// EndsLF is "\n" alone, with a "\r" before it or not.
	EndsLF
	// EndsJS is as in JavaScript: U+2028 and U+2029 end a line, too.
	EndsJS
)

// Text is a text with the starts of its lines. It is immutable.
type Text struct {
	data   string
	starts []int // of lines, in bytes
	// ascii is set if every character is one byte, and so one unit of every encoding.
	ascii bool
}

// NewText returns a text, which must be UTF-8.
func NewText(data string, ends LineEnds) *Text {
	t := &Text{data: data, starts: append(make([]int, 0, 1+len(data)/32), 0), ascii: true}
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\n':
			t.starts = append(t.starts, i+1)
		case c == '\r' && ends != EndsLF && (i+1 == len(data) || data[i+1] != '\n'):
			t.starts = append(t.starts, i+1)
		case c >= utf8.RuneSelf:
			t.ascii = false
			if ends == EndsJS && c == 0xe2 &&
				(strings.HasPrefix(data[i:], "\u2028") || strings.HasPrefix(data[i:], "\u2029")) {
				t.starts = append(t.starts, i+3)
			}
		}
	}
	return t
}

// String returns the text.
func (t *Text) String() string { return t.data }

// Lines returns how many lines there are. The last one may be empty.
func (t *Text) Lines() int { return len(t.starts) }

// Line returns a line without its end, counted from 0. Beyond the last one it is empty.
func (t *Text) Line(i int) string {
	if i < 0 || i >= len(t.starts) {
		return ""
	}
	return t.data[t.starts[i]:t.lineEnd(i)]
}

// Start returns where a line starts, in bytes; beyond the last one, the length of the text.
func (t *Text) Start(line int) int {
	if line >= len(t.starts) {
		return len(t.data)
	}
	return t.starts[max(line, 0)]
}

// lineEnd returns the end of a line before what ends it.
func (t *Text) lineEnd(i int) int {
	if i+1 == len(t.starts) {
		return len(t.data)
	}
	line := t.data[t.starts[i]:t.starts[i+1]]
	for _, end := range []string{"\r\n", "\n", "\r", "\u2028", "\u2029"} {
		if strings.HasSuffix(line, end) {
			return t.starts[i+1] - len(end)
		}
	}
	return t.starts[i+1]
}

var errPosition = errors.New("a position is outside of the text")

// Offset returns the place of a position in bytes. A character beyond the end of its line means the
// end of the line, and the line after the last one means the end of the text. Everything else that
// is not in the text, or within a character, is an error.
func (t *Text) Offset(p Position, e Encoding) (int, error) {
	line := int(p.Line)
	switch {
	case line == len(t.starts) && p.Character == 0:
		return len(t.data), nil
	case line >= len(t.starts):
		return 0, fmt.Errorf("%w: line %d of %d", errPosition, line+1, len(t.starts))
	}
	start, end, units := t.starts[line], t.lineEnd(line), int(p.Character)
	if t.ascii {
		return min(start+units, end), nil
	}
	for i, r := range t.data[start:end] {
		if units <= 0 {
			if units < 0 {
				return 0, fmt.Errorf(
					"%w: character %d of line %d is within another",
					errPosition,
					p.Character,
					line+1,
				)
			}
			return start + i, nil
		}
		units -= width(r, e)
	}
	if units < 0 {
		return 0, fmt.Errorf(
			"%w: character %d of line %d is within another", errPosition, p.Character, line+1,
		)
	}
	return end, nil
}

// Position returns the position of a place in bytes.
func (t *Text) Position(offset int, e Encoding) Position {
	line := t.LineOf(offset)
	start := t.starts[line]
	units := offset - start
	if !t.ascii && e != UTF8 {
		units = 0
		for _, r := range t.data[start:offset] {
			units += width(r, e)
		}
	}
	return Position{Line: uint32(line), Character: uint32(units)}
}

// LineOf returns the line of a place in bytes, counted from 0.
func (t *Text) LineOf(offset int) int {
	return sort.Search(len(t.starts), func(i int) bool { return t.starts[i] > offset }) - 1
}

// End returns the position of the end.
func (t *Text) End(e Encoding) Position { return t.Position(len(t.data), e) }

func width(r rune, e Encoding) int {
	switch {
	case e == UTF8:
		return utf8.RuneLen(r)
	case r >= 0x10000:
		return 2
	}
	return 1
}

// Edited returns the text after edits, which refer to the text as it is and must not overlap. Of
// several at one place, the first comes first.
func (t *Text) Edited(edits []TextEdit, e Encoding) (string, error) {
	type piece struct {
		from, to int
		text     string
	}
	pieces := make([]piece, len(edits))
	for i := range edits {
		from, err := t.Offset(edits[i].Range.Start, e)
		if err != nil {
			return "", err
		}
		to, err := t.Offset(edits[i].Range.End, e)
		if err != nil {
			return "", err
		}
		if to < from {
			return "", errors.New("an edit ends before it begins")
		}
		pieces[i] = piece{from, to, edits[i].NewText}
	}
	slices.SortStableFunc(
		pieces,
		func(a, b piece) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) },
	)
	var b strings.Builder
	done := 0
	for _, p := range pieces {
		if p.from < done {
			return "", errors.New("two edits overlap")
		}
		b.WriteString(t.data[done:p.from])
		b.WriteString(p.text)
		done = p.to
	}
	b.WriteString(t.data[done:])
	return b.String(), nil
}
