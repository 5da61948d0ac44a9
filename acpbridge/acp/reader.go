// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"bytes"
	"io"
	"slices"
)

const (
	readSize    = 64 << 10 // bytes asked of the stream at a time: what a pipe holds
	maxIDLength = 256      // of an id that is looked for in a line over the limit
)

// lineReader cuts a stream into lines. A line that is longer than max is skipped, not buffered.
type lineReader struct {
	r          io.Reader
	max        int
	buf        []byte
	start, end int // the part of buf that has not been handed out
	err        error
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: r, max: limit, buf: make([]byte, readSize)}
}

// next returns the next line, without its end, in new memory; or, for a line over the limit, what
// could be found out about it. A last line that has no end counts. The error comes alone.
func (l *lineReader) next() (line []byte, long *longLine, err error) {
	for {
		chunk := l.buf[l.start:l.end]
		i := bytes.IndexByte(chunk, '\n')
		if i >= 0 {
			chunk = chunk[:i]
		}
		switch {
		case long != nil:
			long.feed(chunk)
		case len(line)+len(chunk) > l.max:
			long = new(longLine)
			long.feed(line)
			long.feed(chunk)
			line = nil
		default:
			if len(line) > 0 && len(line)+len(chunk) > cap(line) {
				line = slices.Grow(line, max(len(line), len(chunk))) // doubling: append would copy long lines more often
			}
			line = append(line, chunk...)
		}
		if i >= 0 {
			l.start += i + 1
			return line, long, nil
		}
		if !l.fill() {
			if len(line) > 0 || long != nil {
				return line, long, nil
			}
			return nil, nil, l.err
		}
	}
}

// fill replaces buf by what the stream has next. It reports false, and sets err, at the stream's
// end.
func (l *lineReader) fill() bool {
	l.start, l.end = 0, 0
	const patience = 100
	for range patience {
		if l.err != nil {
			return false
		}
		l.end, l.err = l.r.Read(l.buf)
		if l.end > 0 {
			return true
		}
	}
	if l.err == nil {
		l.err = io.ErrNoProgress
	}
	return false
}

// longLine looks for a message's id, and for what kind it is, in a line that is passed over in
// pieces. It does not validate.
type longLine struct {
	id       RequestID
	hasID    bool
	response bool // it has a result or an error, and no method
	method   bool
	foreign  bool // it has a member that no answer has

	depth    int
	inString bool
	escaped  bool
	inValue  bool   // behind the colon of a member of the message itself
	key      []byte // of that member, with quotes
	value    []byte // what of its value has been seen, if it is the id's
}

func (s *longLine) feed(b []byte) {
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch {
		case s.escaped:
			s.escaped = false
		case s.inString:
			if skip := plainPrefix(b[i:]); skip > 0 {
				s.collect(b[i : i+skip])
				i += skip - 1
				continue
			}
			s.escaped = c == '\\'
			s.inString = c != '"'
		case c == '"':
			s.inString = true
		default:
			s.structure(c)
			continue
		}
		s.collect(b[i : i+1])
	}
}

// structure handles a byte outside of strings.
func (s *longLine) structure(c byte) {
	switch c {
	case '{', '[':
		s.depth++
	case '}', ']':
		if s.depth == 1 {
			s.endMember()
		}
		s.depth--
	case ',':
		if s.depth == 1 {
			s.endMember()
		}
	case ':':
		if s.depth == 1 {
			s.inValue = true
		}
	case ' ', '\t', '\r':
	default:
		s.collect([]byte{c})
	}
}

func (s *longLine) collect(b []byte) {
	switch {
	case s.depth != 1:
	case !s.inValue:
		s.key = appendShort(s.key, b)
	case string(s.key) == `"id"`:
		s.value = appendShort(s.value, b)
	}
}

// appendShort appends to a name or an id. One that is too long to be kept ends up as no valid one.
func appendShort(to, b []byte) []byte {
	if len(to)+len(b) > maxIDLength {
		return append(to[:0], '?')
	}
	return append(to, b...)
}

func (s *longLine) endMember() {
	if string(s.key) == `"id"` && valid(s.value) {
		s.id, s.hasID = parseID(s.value)
	}
	s.note()
	s.key, s.value, s.inValue = s.key[:0], s.value[:0], false
}

// note notes what the name of a member says about the message.
func (s *longLine) note() {
	switch string(s.key) {
	case `"method"`:
		s.method = true
	case `"result"`, `"error"`:
		s.response = true
	}
	s.foreign = s.foreign || !ofAnswer(s.key)
}

// cutOff is called at the end of a line that is broken. A member whose value was not finished
// counts, but not its value. A line that has no member at all tells nothing.
func (s *longLine) cutOff() {
	if s.depth >= 1 {
		s.note()
	} else if !s.response && !s.hasID {
		s.foreign = true
	}
}
