// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"bytes"
	"errors"
	"io"
)

// maxEvent limits the size of one event of a stream, in bytes. A longer one can only be a mistake or an attack.
const maxEvent = 16 << 20

var errEventTooLong = exceeds("an event of the stream is longer than %d MiB", maxEvent>>20)

// eventReader reads server-sent events (WHATWG HTML standard, section 9.2.6) from r. It deviates in three ways to suit
// servers: an event cut short by the end of the stream is still delivered, a field "error" becomes an error event, and
// "id" and "retry" are ignored, because there is no reconnecting.
type eventReader struct {
	r   io.Reader
	buf []byte
	// buf[pos:end] has been read from r but not consumed.
	pos, end int
	err      error // of r
	limit    int   // for an event, in bytes
	// began is set once a byte order mark has been checked for, skipLF after a line that ended in CR.
	began, skipLF bool
	joined        []byte // data of an event with several lines
}

// event is valid until the next one is read.
type event struct {
	name string
	data []byte
	// atEnd reports that the stream ended within the event, so data may be incomplete.
	atEnd bool
}

func newEventReader(r io.Reader) *eventReader {
	return &eventReader{r: r, buf: make([]byte, 0, 4<<10), limit: maxEvent}
}

// next returns the next event with data. The error is that of the underlying reader, or errEventTooLong.
func (e *eventReader) next() (event, error) {
	var ev event
	lines := 0
	for {
		line, err := e.line()
		if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
			if lines > 0 && errors.Is(err, io.EOF) {
				ev.atEnd = true
				return ev, nil
			}
			return event{}, err
		}
		if len(line) == 0 {
			if lines > 0 {
				return ev, nil
			}
			ev = event{}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(field) {
		case "event":
			ev.name = eventName(value)
		case "error":
			ev.name = "error"
			fallthrough
		case "data":
			if lines++; lines == 1 {
				e.joined = e.joined[:0]
				ev.data = e.hold(value)
			} else {
				if lines == 2 {
					e.joined = append(e.joined[:0], ev.data...)
				}
				e.joined = append(append(e.joined, '\n'), value...)
				ev.data = e.joined
			}
			if len(ev.data) > e.limit {
				return event{}, errEventTooLong
			}
		}
		if err != nil {
			ev.atEnd = true
			if lines == 0 {
				return event{}, err
			}
			return ev, nil
		}
	}
}

// hold makes value valid beyond the next line. Usually an event is one line of data followed by an empty line that has
// been read already. Then nothing is copied, because reading an empty line does not move the buffer.
func (e *eventReader) hold(value []byte) []byte {
	rest := e.buf[e.pos:e.end]
	if !e.skipLF && (bytes.HasPrefix(rest, []byte("\n")) || bytes.HasPrefix(rest, []byte("\r\n"))) {
		return value
	}
	e.joined = append(e.joined[:0], value...)
	return e.joined
}

// eventName avoids an allocation for common names.
func eventName(value []byte) string {
	switch string(value) {
	case "error":
		return "error"
	case "message", "":
		return ""
	}
	return string(value)
}

// line returns the next line without its end, which is LF, CRLF or CR. The line is valid until the next call. If the
// stream does not terminate the last line, it is returned together with io.EOF.
func (e *eventReader) line() ([]byte, error) {
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
					return nil, errEventTooLong
				}
				line := window[:i]
				e.pos += i + 1
				if window[i] == '\r' {
					// An LF that has already been read is skipped now, otherwise when it arrives: waiting for it would
					// delay the event.
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
				return nil, errEventTooLong
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
func (e *eventReader) fill() {
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
