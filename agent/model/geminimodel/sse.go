// SPDX-License-Identifier: Apache-2.0

package geminimodel

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/ponte-go/ponte/internal/adapter"
)

// maxEvent limits the size of one event of a stream, in bytes. An image is sent in one event.
const maxEvent = 64 << 20

var errEventTooLong = fmt.Errorf("an event of the stream is longer than %d MiB", maxEvent>>20)

// eventReader reads the data of server-sent events (WHATWG HTML standard, section 9.2.6). Lines that are not fields of an
// event are joined to a separate event, because Google's servers report some errors as plain JSON within a stream, and
// proxies may send an unstreamed response.
type eventReader struct {
	r     *bufio.Reader
	limit int
}

func newEventReader(r io.Reader) *eventReader {
	return &eventReader{r: bufio.NewReaderSize(r, 16<<10), limit: maxEvent}
}

// maxNoise limits the ignored lines between two events, in bytes.
const maxNoise = 1 << 20

// next returns the next event with data, in newly allocated memory. atEnd reports that the stream ended within the event,
// so it may be incomplete. The error is that of the underlying reader, errEventTooLong, or a [*adapter.FloodError].
func (e *eventReader) next() (data []byte, atEnd bool, err error) {
	var stray []byte
	noise := 0
	for {
		line, err := e.line()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, false, err
		}
		ended := err != nil
		field, value, _ := bytes.Cut(line, []byte{':'})
		switch string(field) {
		case "data":
			if len(data) > 0 {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(value, []byte{' '})...)
			if len(value) == 0 {
				noise += len(line)
			}
		case "", "event", "id", "retry": // an empty line ends an event, a colon starts a comment
			noise += len(line) + 1
		default:
			stray = append(append(stray, line...), '\n')
		}
		if len(data)+len(stray) > e.limit {
			return nil, false, errEventTooLong
		}
		if noise > maxNoise {
			return nil, false, &adapter.FloodError{Bytes: maxNoise}
		}
		if len(line) == 0 || ended {
			switch {
			case len(bytes.TrimSpace(data)) > 0:
				return data, ended, nil
			case len(bytes.TrimSpace(stray)) > 0:
				return stray, ended, nil
			case ended:
				return nil, true, io.EOF
			}
			data, stray = data[:0], stray[:0]
		}
	}
}

// line returns the next line without its end, LF or CRLF. It is valid until the next call. If the stream ends within the
// line, the error is io.EOF.
func (e *eventReader) line() ([]byte, error) {
	line, err := e.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(long) > e.limit {
				return nil, errEventTooLong
			}
			line, err = e.r.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	return bytes.TrimRight(line, "\r\n"), err
}
