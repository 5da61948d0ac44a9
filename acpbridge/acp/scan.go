// SPDX-License-Identifier: Apache-2.0

package acp

import "encoding/binary"

// maxDepth is how deep JSON may nest: as deep as encoding/json allows.
const maxDepth = 10_000

// valid reports whether data is one JSON value, with nothing but white space around it. Invalid
// UTF-8 is let through: decoding replaces it.
func valid(data []byte) bool {
	s := scanner{data: data}
	s.space()
	return s.value(0) && s.atEnd()
}

// scanner validates JSON. Its methods report false at the first syntax error.
type scanner struct {
	data []byte
	pos  int
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) atEnd() bool {
	s.space()
	return s.pos == len(s.data)
}

// peek returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

func (s *scanner) accept(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.pos++
	return true
}

// value skips one value, which must not be preceded by white space.
func (s *scanner) value(depth int) bool {
	switch c := s.peek(); c {
	case '{':
		return depth < maxDepth && s.object(depth, nil)
	case '[':
		return depth < maxDepth && s.array(depth)
	case '"':
		return s.string()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		return s.number()
	}
}

// object passes over the object at hand. If member is not nil, it is called for each member, with
// the quoted key as it stands, and has to pass over the value itself.
func (s *scanner) object(depth int, member func(key []byte) bool) bool {
	s.pos++
	s.space()
	if s.accept('}') {
		return true
	}
	for {
		start := s.pos
		if !s.string() {
			return false
		}
		key := s.data[start:s.pos]
		s.space()
		if !s.accept(':') {
			return false
		}
		s.space()
		if member != nil {
			if !member(key) {
				return false
			}
		} else if !s.value(depth + 1) {
			return false
		}
		s.space()
		if s.accept('}') {
			return true
		}
		if !s.accept(',') {
			return false
		}
		s.space()
	}
}

func (s *scanner) array(depth int) bool {
	s.pos++
	s.space()
	if s.accept(']') {
		return true
	}
	for {
		if !s.value(depth + 1) {
			return false
		}
		s.space()
		if s.accept(']') {
			return true
		}
		if !s.accept(',') {
			return false
		}
		s.space()
	}
}

// elements calls f for each element of the valid array at hand, and does nothing if it is not an
// array.
func (s *scanner) elements(f func(element []byte)) {
	if s.space(); s.peek() != '[' {
		return
	}
	s.pos++
	for s.space(); s.peek() != ']'; s.space() {
		if s.accept(',') {
			continue
		}
		start := s.pos
		if !s.value(1) {
			return
		}
		f(s.data[start:s.pos])
	}
}

func (s *scanner) string() bool {
	if !s.accept('"') {
		return false
	}
	for {
		s.pos += plainPrefix(s.data[s.pos:])
		switch s.peek() {
		case '"':
			s.pos++
			return true
		case '\\':
			if !s.escape() {
				return false
			}
		default: // a control character, or the end
			return false
		}
	}
}

func (s *scanner) escape() bool {
	s.pos++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return true
	case 'u':
		if len(s.data)-s.pos < 5 {
			return false
		}
		_, ok := hex4(s.data[s.pos+1 : s.pos+5])
		s.pos += 5
		return ok
	}
	return false
}

func (s *scanner) literal(want string) bool {
	if len(s.data)-s.pos < len(want) || string(s.data[s.pos:s.pos+len(want)]) != want {
		return false
	}
	s.pos += len(want)
	return true
}

func (s *scanner) number() bool {
	s.accept('-')
	switch {
	case s.accept('0'):
	case !s.digits():
		return false
	}
	if s.accept('.') && !s.digits() {
		return false
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		return s.digits()
	}
	return true
}

func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.data) && '0' <= s.data[s.pos] && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > start
}

// plainPrefix returns the number of bytes before the first quote, backslash or control character:
// of eight bytes at a time it asks whether one of them is among these.
func plainPrefix(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		if ((w-ones*' ')&^w|(quote-ones)&^quote|(slash-ones)&^slash)&highs != 0 {
			break
		}
	}
	for i < len(b) && unescaped[b[i]] {
		i++
	}
	return i
}

// hex4 decodes the four digits of a \u escape.
func hex4(b []byte) (r rune, ok bool) {
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
