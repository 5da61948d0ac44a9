// SPDX-License-Identifier: Apache-2.0

// Package partial makes the most of a JSON document that is still being written.
package partial

// Complete returns a valid JSON document with the content of prefix: open strings, arrays and
// objects are closed; a name without a value, a number or literal that may continue, and an
// unfinished escape are left out. It returns nil if nothing can be said yet. Prefix need not be the
// beginning of a valid document; what comes out then need not be valid either. The work is linear
// in the length of prefix, and prefix is not changed.
func Complete(prefix []byte) []byte {
	var s scanner
	for i, c := range prefix {
		s.step(i, c)
	}
	return s.close(prefix)
}

// scanner follows the structure of a document. It keeps the last place behind which the document can be cut off.
type scanner struct {
	// open holds the closers of the arrays and objects that are open, innermost last.
	open []byte
	// cut is the length of the longest prefix that is complete but for closers, and depth how many of them it needs.
	cut, depth int
	// key is set if the next or current string is the name of a field.
	key     bool
	inText  bool
	escape  int  // characters of an escape that are still to come
	escaped int  // where it begins
	scalar  bool // in a number or literal
}

func (s *scanner) step(i int, c byte) {
	if s.inText {
		s.inString(i, c)
		return
	}
	switch c {
	case ' ', '\t', '\n', '\r':
		s.endScalar(i)
	case '{', '[':
		s.open = append(s.open, c+2) // '{'+2 is '}', '['+2 is ']'
		s.key = c == '{'
		s.mark(i + 1)
	case '}', ']':
		s.endScalar(i)
		if n := len(s.open); n > 0 {
			s.open = s.open[:n-1]
		}
		s.key = false
		s.mark(i + 1)
	case ',':
		s.endScalar(i)
		s.key = len(s.open) > 0 && s.open[len(s.open)-1] == '}'
	case ':':
		s.key = false
	case '"':
		s.inText, s.escape = true, 0
	default:
		s.scalar = true
	}
}

func (s *scanner) inString(i int, c byte) {
	switch {
	case s.escape > 1 || s.escape == 1 && c != 'u':
		s.escape--
	case s.escape == 1:
		s.escape = 4 // \uXXXX
	case c == '\\':
		s.escape, s.escaped = 1, i
	case c == '"':
		s.inText = false
		if !s.key {
			s.mark(i + 1)
		}
	}
}

func (s *scanner) endScalar(i int) {
	if s.scalar {
		s.scalar = false
		s.mark(i)
	}
}

func (s *scanner) mark(i int) { s.cut, s.depth = i, len(s.open) }

// close cuts the document off where it can be and closes what is open there.
func (s *scanner) close(prefix []byte) []byte {
	cut, depth, quote := s.cut, s.depth, false
	if s.inText && !s.key {
		cut, depth, quote = len(prefix), len(s.open), true
		if s.escape > 0 {
			cut = s.escaped
		}
	}
	if cut == 0 {
		return nil
	}
	out := make([]byte, 0, cut+depth+1)
	out = append(out, prefix[:cut]...)
	if quote {
		out = append(out, '"')
	}
	for i := depth - 1; i >= 0; i-- {
		out = append(out, s.open[i])
	}
	return out
}
