// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"context"
	"strings"
)

// foundLine is a line of a file, one that matches or one near it.
type foundLine struct {
	number  int
	text    string
	context bool
}

// fileMatches holds the matches in a file.
type fileMatches struct {
	lines   []foundLine
	matches int
	binary  bool
	err     error
}

const (
	searchBlock  = 1 << 20 // how much of a file is looked at, at a time
	maxShownLine = 400     // how much of a found line is shown, in bytes
	maxDecoded   = 8 << 20 // how large a file may be that is not UTF-8, to be searched as text
)

// fileSearch searches files one after the other. It reads each in blocks: its memory does not
// depend on their size. A file in another encoding than UTF-8 is read and decoded as a whole.
type fileSearch struct {
	ws      Workspace
	matcher *matcher
	context int
	limit   int // matches in a file
	buf     []byte
	folded  []byte // a block in lower case

	// Of the file at work: found so far, the number of the line that begins at counted, how many
	// lines to show after a match, and up to where lines have been shown.
	got       fileMatches
	number    int
	counted   int
	afterLeft int
	shown     int
}

// file searches a file.
func (s *fileSearch) file(ctx context.Context, path string) fileMatches {
	s.got, s.number, s.counted, s.afterLeft, s.shown = fileMatches{}, 1, 0, 0, 0
	if s.buf == nil {
		s.buf = make([]byte, searchBlock)
	}
	offset, plain := int64(0), true
	kept, todo := 0, 0 // buf[:kept] is of the block before, buf[todo:] has not been searched
	for {
		f, err := s.ws.Read(ctx, path, Range{
			Offset: offset, Limit: len(s.buf) - kept, Buf: s.buf[kept:kept:len(s.buf)], Saved: true,
		})
		if err != nil {
			s.got.err = err
			return s.got
		}
		n := kept + copy(s.buf[kept:], f.Data)
		block := s.buf[:n]
		offset += int64(len(f.Data))
		first := offset == int64(len(f.Data))
		wide := first && utf16Name(block) != ""
		binary := first && bytes.IndexByte(block[:min(n, 8000)], 0) >= 0
		if plain && (wide || !binary && !validUTF8(block)) {
			if plain = false; s.decoded(ctx, path) {
				return s.got
			}
		}
		if binary {
			s.got.binary = true
			return s.got
		}
		end := n
		if f.More {
			if i := bytes.LastIndexByte(block[todo:], '\n'); i >= 0 {
				end = todo + i + 1
			}
		}
		if s.block(block[:end], todo); s.got.matches >= s.limit || !f.More {
			return s.got
		}
		// Keep the lines that a match in the next block may show, and what comes after the last
		// whole line.
		from := end
		for range s.context {
			from = bytes.LastIndexByte(block[:max(from-1, 0)], '\n') + 1
		}
		if n-from > len(s.buf)/2 {
			from = end
		}
		s.number = s.numberAt(block, from)
		s.counted, s.shown = 0, max(s.shown-from, 0)
		kept = copy(s.buf, block[from:])
		todo = end - from
	}
}

// decoded searches a file in another encoding. It returns false, and has done nothing, if that is
// not known.
func (s *fileSearch) decoded(ctx context.Context, path string) bool {
	f, err := s.ws.Read(ctx, path, Range{Limit: maxDecoded, Saved: true})
	if err != nil || f.More {
		return false
	}
	text, ok := DecodeText(f.Data)
	if !ok {
		return false
	}
	s.got, s.number, s.counted, s.afterLeft, s.shown = fileMatches{}, 1, 0, 0, 0
	s.block(text.Data, 0)
	return true
}

// count sets number to the line at a position, which must not lie before the last one.
func (s *fileSearch) count(block []byte, at int) int {
	if at > s.counted {
		s.number += bytes.Count(block[s.counted:at], []byte{'\n'})
		s.counted = at
	}
	return s.number
}

// block searches block from the position todo on. It is made of whole lines.
func (s *fileSearch) block(block []byte, todo int) {
	byLine := s.matcher.byLine(block[todo:])
	text := block // what is searched
	if s.matcher.folded {
		s.folded = appendLower(s.folded[:0], block)
		text = s.folded
	}
	rare := s.matcher.rareIn(text[todo:])
	for at := todo; at < len(block) && s.got.matches < s.limit; {
		if !byLine {
			i := s.matcher.candidate(text[at:], rare)
			if i < 0 {
				break
			}
			at += bytes.LastIndexByte(block[at:at+i], '\n') + 1
		}
		next := len(block)
		if i := bytes.IndexByte(block[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		if where := s.matcher.match(trimEnding(text[at:next])); where >= 0 {
			s.after(block, at)
			s.before(block, at)
			s.show(block, at, next, where)
			s.got.matches++
			s.afterLeft = s.context
		}
		at = next
	}
	if s.got.matches < s.limit {
		s.after(block, len(block))
	}
}

// before shows the lines before a match.
func (s *fileSearch) before(block []byte, at int) {
	from := at
	for range s.context {
		if from <= s.shown {
			break
		}
		from = bytes.LastIndexByte(block[:from-1], '\n') + 1
	}
	for from = max(from, s.shown); from < at; from = s.shown {
		s.show(block, from, from+bytes.IndexByte(block[from:], '\n')+1, -1)
	}
}

// after shows the lines after the last match, up to a position.
func (s *fileSearch) after(block []byte, upTo int) {
	for s.afterLeft > 0 && s.shown < upTo {
		next := upTo
		if i := bytes.IndexByte(block[s.shown:upTo], '\n'); i >= 0 {
			next = s.shown + i + 1
		}
		s.show(block, s.shown, next, -1)
		s.afterLeft--
	}
}

// show adds a line to what was found. It matches at where, or is context if that is negative.
func (s *fileSearch) show(block []byte, from, next, where int) {
	s.got.lines = append(s.got.lines, foundLine{
		number: s.numberAt(block, from), text: cutAround(trimEnding(block[from:next]), where),
		context: where < 0,
	})
	s.shown = next
}

// numberAt returns the number of the line at a position.
func (s *fileSearch) numberAt(block []byte, at int) int {
	if at < s.counted {
		return s.number - bytes.Count(block[at:s.counted], []byte{'\n'})
	}
	return s.count(block, at)
}

func trimEnding(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'})
}

// cutAround shortens a line to what is around a position.
func cutAround(line []byte, where int) string {
	if len(line) <= maxShownLine {
		return strings.ToValidUTF8(string(line), "\ufffd")
	}
	from := max(0, min(where-maxShownLine/4, len(line)-maxShownLine))
	cut := strings.ToValidUTF8(string(line[from:from+maxShownLine]), "")
	if from > 0 {
		cut = "…" + cut
	}
	if from+maxShownLine < len(line) {
		cut += "…"
	}
	return cut
}
