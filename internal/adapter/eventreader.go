// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"bytes"
	"errors"
	"io"
	"strings"
)

// EventReader reads server-sent events (WHATWG HTML standard, section 9.2.6) from r. It deviates in
// three ways to suit servers: an event cut short by the end of the stream is still delivered, a
// field "error" becomes an error event, and "id" and "retry" are ignored, because it does not
// reconnect.
type EventReader struct {
	// Stray turns an object, a list or a page outside of a field into a separate event: Google's
	// servers report some errors as plain JSON within a stream, and proxies may send an unstreamed
	// response.
	Stray bool

	r   io.Reader
	buf []byte
	// buf[pos:end] has been read from r but not consumed.
	pos, end int
	err      error // of r
	limit    int   // for an event, in bytes
	// began is set once a byte order mark has been checked for, skipLF after a line that ended in
	// CR.
	began, skipLF bool
	// event has had this many lines of data. Its memory is used again.
	event    Event
	lines    int
	straying bool
	plain    string
	any      bool // there was an event
}

// Event is valid until the next one is read.
type Event struct {
	// Name is empty for events of the name "message".
	Name string
	Data []byte
	// AtEnd reports that the stream ended within the event, so Data may be incomplete.
	AtEnd bool
}

// Foreign reports whether the event is none of the protocol, such as a proxy's ping: it has a name
// that begins with none of the marks, and data that contains none.
func (e *Event) Foreign(marks ...string) bool {
	for _, mark := range marks {
		if strings.HasPrefix(e.Name, mark) || bytes.Contains(e.Data, []byte(mark)) {
			return false
		}
	}
	return e.Name != "" && e.Name != "error"
}

// NewEventReader returns a reader of events that have limit bytes at most.
func NewEventReader(r io.Reader, limit int) *EventReader {
	return &EventReader{r: r, buf: make([]byte, 0, 4<<10), limit: limit}
}

// Plain returns the first line that is no field of an event, in a stream without any event: the
// answer is something else.
func (e *EventReader) Plain() string {
	if e.any {
		return ""
	}
	return e.plain
}

// Next returns the next event with data. The error comes from the underlying reader, or is a
// [*FloodError].
func (e *EventReader) Next() (*Event, error) {
	e.event, e.lines, e.straying = Event{Data: e.event.Data[:0]}, 0, false
	for {
		line, err := e.line()
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return nil, err
		}
		if e.field(line); len(e.event.Data) > e.limit {
			return nil, &FloodError{int64(e.limit)}
		}
		if len(line) > 0 && !ended {
			continue
		}
		if e.lines > 0 {
			e.event.AtEnd, e.any = ended, true
			return &e.event, nil
		}
		if ended {
			return nil, err
		}
		e.event.Name = "" // of an event without data
	}
}

// field adds a line to the event.
func (e *EventReader) field(line []byte) {
	field, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(field) {
	case "event":
		e.event.Name = eventName(value)
		return
	case "error":
		e.event.Name = "error"
	case "data":
	default:
		if !e.Stray || len(line) == 0 || e.lines > 0 && !e.straying || e.lines == 0 && !strings.Contains("{[<", string(line[:1])) {
			if e.plain == "" && !strings.Contains("data event id retry", string(field)) {
				e.plain = string(line)
			}
			return
		}
		value, e.straying = line, true
	}
	if e.lines > 0 {
		e.event.Data = append(e.event.Data, '\n')
	}
	e.lines++
	e.event.Data = append(e.event.Data, value...)
}

// eventName returns the name of an event, which is empty for the usual one.
func eventName(value []byte) string {
	if string(value) == "message" {
		return ""
	}
	return string(value)
}

// line returns the next line without its end, which is LF, CRLF or CR. The line is valid until the
// next call. If the stream does not terminate the last line, it is returned together with io.EOF.
func (e *EventReader) line() ([]byte, error) {
	scanned := 0
	for {
		if e.skipLF && e.pos < e.end {
			e.skipLF = false
			if e.buf[e.pos] == '\n' {
				e.pos++
			}
		}
		if !e.began && (e.end-e.pos >= 3 || e.err != nil) {
			e.began = true
			if bytes.HasPrefix(e.buf[e.pos:e.end], []byte("\ufeff")) {
				e.pos += 3
				scanned = 0
			}
		}
		if e.began {
			window := e.buf[e.pos:e.end]
			if i := indexLineEnd(window[scanned:]); i >= 0 {
				i += scanned
				if i > e.limit {
					return nil, &FloodError{int64(e.limit)}
				}
				line := window[:i]
				e.pos += i + 1
				if window[i] == '\r' {
					// An LF that has already been read is skipped now, otherwise when it arrives:
					// waiting for it would delay the event.
					if i+1 < len(window) {
						if window[i+1] == '\n' {
							e.pos++
						}
					} else {
						e.skipLF = true
					}
				}
				return line, nil
			}
			scanned = len(window)
			if scanned > e.limit {
				return nil, &FloodError{int64(e.limit)}
			}
			if e.err != nil {
				e.pos = e.end
				return window, e.err
			}
		}
		e.fill()
	}
}

// indexLineEnd returns the index of the first CR or LF, or -1.
func indexLineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// fill reads more data, after making room.
func (e *EventReader) fill() {
	if e.pos > 0 {
		copy(e.buf[:cap(e.buf)], e.buf[e.pos:e.end])
		e.end -= e.pos
		e.pos = 0
	}
	if e.end == cap(e.buf) {
		grown := make([]byte, 2*cap(e.buf))
		copy(grown, e.buf[:e.end])
		e.buf = grown
	}
	e.buf = e.buf[:cap(e.buf)]
	for range 100 {
		n, err := e.r.Read(e.buf[e.end:])
		e.end += n
		if e.err = err; n > 0 || err != nil {
			return
		}
	}
	e.err = io.ErrNoProgress
}
