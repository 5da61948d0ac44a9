// SPDX-License-Identifier: Apache-2.0

// Package edit is the line editor: text of several lines with a cursor, a history, and completion.
package edit

import (
	"strings"
	"unicode"

	"github.com/clipperhouse/displaywidth"

	"github.com/ponte-go/ponte/app/internal/term/text"
)

// Buffer is text with a cursor. The zero value is empty and ready to use. Its methods report
// whether anything has changed or moved.
type Buffer struct {
	text   string
	cursor int // a byte, at the beginning of a cluster
	killed string
	undo   []state
	column int // that Up and Down aim at, plus one; 0 for none
}

type state struct {
	text   string
	cursor int
}

const maxUndo = 200

// Text returns the text.
func (b *Buffer) Text() string { return b.text }

// Cursor returns the cursor's place, in bytes.
func (b *Buffer) Cursor() int { return b.cursor }

// Set replaces the text and puts the cursor at its end.
func (b *Buffer) Set(s string) { b.put(s, len(s)) }

func (b *Buffer) put(s string, cursor int) bool {
	b.column = 0
	if s == b.text {
		moved := cursor != b.cursor
		b.cursor = cursor
		return moved
	}
	if b.undo = append(b.undo, state{b.text, b.cursor}); len(b.undo) > maxUndo {
		b.undo = b.undo[1:]
	}
	b.text, b.cursor = s, cursor
	return true
}

// Undo takes back the last change.
func (b *Buffer) Undo() bool {
	n := len(b.undo) - 1
	if n < 0 {
		return false
	}
	b.text, b.cursor, b.column = b.undo[n].text, b.undo[n].cursor, 0
	b.undo = b.undo[:n]
	return true
}

// Insert inserts text at the cursor. Control characters are dropped, besides line breaks and tabs.
func (b *Buffer) Insert(s string) bool {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
	return b.put(b.text[:b.cursor]+s+b.text[b.cursor:], b.cursor+len(s))
}

// Replace replaces the bytes from start to the cursor.
func (b *Buffer) Replace(start int, s string) bool {
	return b.put(b.text[:start]+s+b.text[b.cursor:], start+len(s))
}

// before and after return where the cluster before or after a place begins or ends.
func (b *Buffer) before(at int) int {
	last := 0
	start := strings.LastIndexByte(b.text[:max(at-1, 0)], '\n') + 1
	g := displaywidth.StringGraphemes(b.text[start:at])
	for i := start; g.Next(); i += len(g.Value()) {
		last = i
	}
	return last
}

func (b *Buffer) after(at int) int {
	g := displaywidth.StringGraphemes(b.text[at:])
	if g.Next() {
		return at + len(g.Value())
	}
	return at
}

// Move moves the cursor by a cluster, forward or back.
func (b *Buffer) Move(back bool) bool {
	to := b.cursor
	if back {
		to = b.before(to)
	} else {
		to = b.after(to)
	}
	return b.put(b.text, to)
}

// word returns the end of the word after the cursor, or the beginning of the one before it.
func (b *Buffer) word(back bool) int {
	isWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_' }
	if !back {
		rest := b.text[b.cursor:]
		i := strings.IndexFunc(rest, isWord)
		if i < 0 {
			return len(b.text)
		}
		j := strings.IndexFunc(rest[i:], func(r rune) bool { return !isWord(r) })
		if j < 0 {
			return len(b.text)
		}
		return b.cursor + i + j
	}
	head := strings.TrimRightFunc(b.text[:b.cursor], func(r rune) bool { return !isWord(r) })
	return len(strings.TrimRightFunc(head, isWord))
}

// MoveWord moves the cursor by a word, forward or back.
func (b *Buffer) MoveWord(back bool) bool { return b.put(b.text, b.word(back)) }

func (b *Buffer) lineStart() int { return strings.LastIndexByte(b.text[:b.cursor], '\n') + 1 }

func (b *Buffer) lineEnd() int {
	if i := strings.IndexByte(b.text[b.cursor:], '\n'); i >= 0 {
		return b.cursor + i
	}
	return len(b.text)
}

// Home and End move to the beginning and the end of the line.
func (b *Buffer) Home() bool { return b.put(b.text, b.lineStart()) }

// End moves to the end of the line.
func (b *Buffer) End() bool { return b.put(b.text, b.lineEnd()) }

// Vertical moves the cursor a line up or down, if that line exists. Lines are lines of the text,
// however they are wrapped.
func (b *Buffer) Vertical(up bool) bool {
	column := b.column
	if column == 0 {
		column = text.Width(b.text[b.lineStart():b.cursor]) + 1
	}
	var start int
	if up {
		if start = b.lineStart(); start == 0 {
			return false
		}
		start = strings.LastIndexByte(b.text[:start-1], '\n') + 1
	} else {
		if start = b.lineEnd() + 1; start > len(b.text) {
			return false
		}
	}
	at, width := start, 0
	g := displaywidth.StringGraphemes(b.text[start:])
	for g.Next() && g.Value() != "\n" && width+g.Width() < column {
		at, width = at+len(g.Value()), width+g.Width()
	}
	b.put(b.text, at)
	b.column = column
	return true
}

// delete removes what is between two places, and keeps it for Yank if kill is set.
func (b *Buffer) delete(from, to int, kill bool) bool {
	if from == to {
		return false
	}
	if kill {
		b.killed = b.text[from:to]
	}
	return b.put(b.text[:from]+b.text[to:], from)
}

// Backspace deletes the cluster before the cursor, Delete the one after it.
func (b *Buffer) Backspace() bool { return b.delete(b.before(b.cursor), b.cursor, false) }

// Delete deletes the cluster after the cursor.
func (b *Buffer) Delete() bool { return b.delete(b.cursor, b.after(b.cursor), false) }

// KillWord deletes the word before the cursor, or after it.
func (b *Buffer) KillWord(back bool) bool {
	to := b.word(back)
	return b.delete(min(to, b.cursor), max(to, b.cursor), true)
}

// KillSpace deletes what is before the cursor back to a space, as a shell does with Ctrl-W.
func (b *Buffer) KillSpace() bool {
	head := strings.TrimRightFunc(b.text[:b.cursor], unicode.IsSpace)
	return b.delete(len(strings.TrimRightFunc(head, func(r rune) bool { return !unicode.IsSpace(r) })), b.cursor, true)
}

// KillToEnd deletes the rest of the line, or the line break at the end of it.
func (b *Buffer) KillToEnd() bool {
	end := b.lineEnd()
	if end == b.cursor {
		end = min(end+1, len(b.text))
	}
	return b.delete(b.cursor, end, true)
}

// KillToStart deletes the line up to the cursor.
func (b *Buffer) KillToStart() bool { return b.delete(b.lineStart(), b.cursor, true) }

// Yank inserts what was killed last.
func (b *Buffer) Yank() bool { return b.Insert(b.killed) }

// Layout returns the lines of the text for a width, and the row and the column of the cursor.
func (b *Buffer) Layout(width int) (lines []text.Line, row, column int) {
	start := 0
	for l := range strings.SplitSeq(b.text, "\n") {
		end := start + len(l)
		if b.cursor >= start && b.cursor <= end {
			head := text.Break(text.Of(text.Clean(l[:b.cursor-start]), text.Style{}), width)
			// The text before the cursor wraps like the whole line.
			row, column = len(lines)+len(head)-1, head[len(head)-1].Width()
		}
		lines = append(lines, text.Break(text.Of(text.Clean(l), text.Style{}), width)...)
		start = end + 1
	}
	if column >= width { // behind a full line
		row, column = row+1, 0
		if row == len(lines) {
			lines = append(lines, nil)
		}
	}
	return lines, row, column
}
