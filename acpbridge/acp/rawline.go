// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// LineReader reads a peer's messages as lines, for a program that passes them on as they are, such
// as a proxy. It is not safe for concurrent use.
type LineReader struct{ lines *lineReader }

// NewLineReader returns a LineReader for lines of up to limit bytes; 0 means 64 MiB.
func NewLineReader(r io.Reader, limit int) *LineReader {
	if limit <= 0 {
		limit = defaultMaxLine
	}
	return &LineReader{newLineReader(r, limit)}
}

// Next returns the next line without its end, in new memory. A last line without an end counts. A
// line that is longer than the limit is skipped without being held in memory: its error is a
// [*LongLineError], and the next call returns the next line. All other errors come from the stream
// and are final.
func (l *LineReader) Next() ([]byte, error) {
	line, long, err := l.lines.next()
	if long == nil {
		return line, err
	}
	e := &LongLineError{Limit: l.lines.max, ID: long.id, Kind: KindInvalid}
	switch {
	case long.response && !long.method:
		e.Kind = KindResponse
	case long.method && long.hasID:
		e.Kind = KindRequest
	case long.method:
		e.Kind = KindNotification
	}
	return nil, e
}

// LongLineError reports a line that was skipped because it is too long, and what is known of it.
type LongLineError struct {
	// Limit is the most bytes that a line may have.
	Limit int
	// Kind is the apparent kind of the line. [KindResponse] includes errors.
	Kind Kind
	// ID is its id, null if it is not known.
	ID RequestID
}

func (e *LongLineError) Error() string {
	return fmt.Sprintf("acp: a %s is longer than %d bytes", e.Kind, e.Limit)
}

// Header is the information about a message that does not require decoding its parameters or
// result. Its slices share memory with the line.
type Header struct {
	// Kind is the kind of the message.
	Kind Kind
	// ID is the id of a request, or of the request that a response answers.
	ID RequestID
	// Method is the method of a request or a notification.
	Method string
	// Session is params.sessionId.
	Session SessionID
	// Params, Result and Error are the members of the message. They are nil if it does not have
	// them.
	Params, Result, Error json.RawMessage
}

// ParseHeader reads the header of a line. Its Kind is [KindInvalid] if the line is not a message.
func ParseHeader(line []byte) Header {
	env, object, ok := parseEnvelope(line)
	h := Header{ID: env.id, Method: env.method, Session: SessionID(env.session), Params: env.params, Result: env.result, Error: env.errorBody}
	switch {
	case !ok || !object:
		return Header{}
	case env.isResponse() && env.hasID && !env.badID && env.problem == "":
		h.Kind = KindResponse
		if env.errorBody != nil {
			h.Kind = KindError
		}
	case env.isResponse() || env.invalid() != "":
	case env.hasID:
		h.Kind = KindRequest
	default:
		h.Kind = KindNotification
	}
	return h
}

// Ambiguous says why two readers could take a message for different ones, or returns "": an object
// has a member twice, or the message or its parameters have members that differ in case only.
// Readers differ in which of them counts.
func Ambiguous(line []byte) string {
	var problem string
	s := scanner{data: line}
	s.space()
	if s.peek() == '{' {
		s.unique(0, &problem)
	}
	return problem
}

// unique passes over an object, and notes members that are there twice.
func (s *scanner) unique(depth int, problem *string) bool {
	seen := map[string]bool{}
	return s.object(depth, func(key []byte) bool {
		d := decoder{data: key}
		name := d.string()
		if depth < 2 {
			name = strings.ToLower(strings.ToUpper(name)) // as encoding/json folds it
		}
		if seen[name] && *problem == "" {
			*problem = fmt.Sprintf("it has the member %q twice", name)
		}
		seen[name] = true
		return s.uniqueValue(depth+1, problem)
	})
}

func (s *scanner) uniqueValue(depth int, problem *string) bool {
	switch s.peek() {
	case '{':
		return depth < maxDepth && s.unique(depth, problem)
	case '[':
		if depth >= maxDepth {
			return false
		}
		s.pos++
		s.space()
		if s.accept(']') {
			return true
		}
		for {
			if !s.uniqueValue(depth+1, problem) {
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
	return s.value(depth)
}

// SetParam returns a line in which edit has replaced the JSON of one member of the parameters, nil
// if it is absent. All other bytes stay as they are. It fails if the line is not a message with an
// object of parameters, or is [Ambiguous].
func SetParam(line []byte, name string, edit func(old json.RawMessage) (json.RawMessage, error)) ([]byte, error) {
	if problem := Ambiguous(line); problem != "" {
		return nil, fmt.Errorf("acp: the message cannot be changed: %s", problem)
	}
	var at, end, open int // of the member's value; of the object of parameters, after its brace
	empty := true
	s := scanner{data: line}
	s.space()
	ok := s.peek() == '{' && s.object(0, func(key []byte) bool {
		if string(key) != `"params"` || s.peek() != '{' {
			return s.value(1)
		}
		open = s.pos + 1
		return s.object(1, func(key []byte) bool {
			empty = false
			start := s.pos
			if !s.value(2) {
				return false
			}
			if d := (decoder{data: key}); d.string() == name {
				at, end = start, s.pos
			}
			return true
		})
	})
	if !ok || open == 0 {
		return nil, fmt.Errorf("acp: the message has no parameters")
	}
	var old json.RawMessage
	if end > 0 {
		old = bytes.Clone(line[at:end])
	}
	value, err := edit(old)
	if err != nil {
		return nil, err
	}
	if !valid(value) {
		return nil, fmt.Errorf("acp: the new value of %s is not JSON", name)
	}
	var e encoder
	if end == 0 {
		at, end = open, open
		e.string(name)
		e.b = append(e.b, ':')
		e.b = append(e.b, value...)
		if !empty {
			e.b = append(e.b, ',')
		}
		value = e.b
	}
	out := make([]byte, 0, len(line)+len(value))
	out = append(append(append(out, line[:at]...), value...), line[end:]...)
	return out, nil
}

// ResponseLine returns the line, without its end, that answers a request with a result, or with an
// error if failure is not nil. result must be JSON.
func ResponseLine(id RequestID, result json.RawMessage, failure *Error) []byte {
	m := rawMessage(result)
	e := encodeResponse(id, &m, failure)
	defer e.release()
	return bytes.Clone(e.b[:len(e.b)-1])
}
