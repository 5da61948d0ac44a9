// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// maxSkippedLines and maxSkippedBytes bound the output that a server may write before and
	// between messages.
	maxSkippedLines = 10_000
	maxSkippedBytes = 1 << 20
	// shownLines and shownLine bound what of it errors show.
	shownLines = 3
	shownLine  = 200
)

var errNoMessages = errors.New("the server keeps writing lines that are not messages to its standard output")

// maxLine is the length of a line that is looked at as a whole. Of a longer one, only so much is.
const maxLine = 64 << 10

// lineReader reads lines and returns the results of each. For a line that is longer than the limit,
// each gets the beginning, without a line break at its end. If it returns that unchanged, the rest
// of the line follows; otherwise the line is dropped.
type lineReader struct {
	from  *bufio.Reader
	limit int
	each  func(line []byte) ([]byte, error)

	line, ready []byte
	long, drop  bool // in the rest of a long line, which is left out
	err         error
}

func newLineReader(from io.Reader, limit int, each func([]byte) ([]byte, error)) *lineReader {
	return &lineReader{from: bufio.NewReader(from), limit: limit, each: each}
}

// Read implements [io.Reader].
func (l *lineReader) Read(p []byte) (int, error) {
	for len(l.ready) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		l.next()
	}
	n := copy(p, l.ready)
	l.ready = l.ready[n:]
	return n, nil
}

// next reads on to the end of a line, or to the limit.
func (l *lineReader) next() {
	l.line = l.line[:0]
	for {
		part, err := l.from.ReadSlice('\n')
		l.line = append(l.line, part...)
		more := errors.Is(err, bufio.ErrBufferFull)
		switch {
		case l.long:
			if l.ready = l.line; l.drop {
				l.ready = nil
			}
			if l.long = more; !more {
				l.err = err
			}
			return
		case more && len(l.line) <= l.limit:
			continue
		}
		ready, wrong := l.each(l.line)
		l.ready = ready
		if l.long, l.drop = more, len(ready) == 0; more {
			err = nil
		}
		if l.err = err; wrong != nil {
			l.err = wrong
		}
		return
	}
}

// messages reads the messages of a process and notes what else it writes.
type messages struct {
	process *process
	lines   *lineReader
	skipped skipped
	ended   chan struct{} // closed when there is nothing left to read
	ending  sync.Once
}

func newMessages(p *process) *messages {
	m := &messages{process: p, ended: make(chan struct{})}
	m.lines = newLineReader(p, maxLine, m.skipped.filter)
	return m
}

// Read implements [io.Reader].
func (m *messages) Read(b []byte) (int, error) {
	n, err := m.lines.Read(b)
	if err != nil {
		m.ending.Do(func() { close(m.ended) })
	}
	return n, err
}

// Close implements [io.Closer].
func (m *messages) Close() error { return m.process.Close() }

// note describes the skipped output. A process that ends at once is noticed before its output has
// been read, so note waits for that.
func (m *messages) note(ctx context.Context) string {
	select {
	case <-m.ended:
	case <-time.After(2 * drainTime):
	case <-ctx.Done():
	}
	return m.skipped.note()
}

// skipped is a server's output that is not a message.
type skipped struct {
	mu    sync.Mutex
	lines int      // in all
	shown []string // the first of them
	// row and bytes count since the last message.
	row, bytes int
}

var byteOrderMark = []byte("\ufeff")

// filter passes on messages and notes other lines, such as a banner.
func (s *skipped) filter(line []byte) ([]byte, error) {
	line = bytes.TrimPrefix(line, byteOrderMark)
	text := bytes.TrimSpace(line)
	s.mu.Lock()
	defer s.mu.Unlock()
	if isMessage(text) || len(line) > maxLine && beginsMessage(text) {
		s.row, s.bytes = 0, 0
		return line, nil
	}
	s.row++
	s.bytes += len(line)
	if len(text) > 0 {
		s.lines++
		if len(s.shown) < shownLines {
			s.shown = append(s.shown, visible(string(text), shownLine))
		}
	}
	if s.row > maxSkippedLines || s.bytes > maxSkippedBytes {
		return nil, errNoMessages
	}
	return nil, nil
}

// isMessage reports whether a line is a message, or several in a list.
func isMessage(text []byte) bool {
	type message struct {
		Version *string `json:"jsonrpc"`
	}
	if bytes.HasPrefix(text, []byte("[")) {
		var batch []message
		return json.Unmarshal(text, &batch) == nil && len(batch) > 0 && batch[0].Version != nil
	}
	var m message
	return bytes.HasPrefix(text, []byte("{")) && json.Unmarshal(text, &m) == nil && m.Version != nil
}

// beginsMessage reports whether a text may be the beginning of a message.
func beginsMessage(text []byte) bool {
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("["))), []byte("{"))
	return ok && bytes.HasPrefix(bytes.TrimSpace(rest), []byte(`"`))
}

// note describes the skipped output, for an error. It is empty if there was none.
func (s *skipped) note() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lines == 0 {
		return ""
	}
	text := ""
	for _, line := range s.shown {
		text += fmt.Sprintf(" %q", line)
	}
	if more := s.lines - len(s.shown); more > 0 {
		text += fmt.Sprintf(" and %d more lines", more)
	}
	return "its standard output had lines that are not messages:" + text
}
