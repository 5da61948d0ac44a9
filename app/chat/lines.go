// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"sync"
)

// maxLine bounds a line of the input in bytes. Agents take longer messages than that.
const maxLine = 32 << 20

// line is a line that the user entered, or an error in its place: it is too long, or the input
// cannot be read, which then ends.
type line struct {
	text string
	err  error
}

// lines is the user's input. Nothing is read before a line is requested.
type lines struct {
	from io.Reader
	once sync.Once
	next chan line
}

func newLines(from io.Reader) *lines { return &lines{from: from, next: make(chan line)} }

// read returns the channel of lines, which is closed at the end of the input. The goroutine that
// reads ends there; until then nothing can stop it from waiting for a person.
func (l *lines) read() <-chan line {
	l.once.Do(func() {
		go func() {
			defer close(l.next)
			in := bufio.NewReader(l.from)
			for {
				text, size, err := readWhole(in)
				switch {
				case size > maxLine:
					l.next <- line{err: fmt.Errorf("a line of the input has %d bytes; the longest that is read has %d: give the text as a file", size, maxLine)}
				case size > 0:
					l.next <- line{text: text}
				}
				if err == nil {
					continue
				}
				if err != io.EOF {
					l.next <- line{err: fmt.Errorf("the input cannot be read: %w", err)}
				}
				return
			}
		}()
	})
	return l.next
}

// readWhole reads a line without its end. Of one that is too long it counts the bytes. The size
// includes the line break.
func readWhole(in *bufio.Reader) (text string, size int, err error) {
	var all []byte
	for {
		part, err := in.ReadSlice('\n')
		size += len(part)
		if all = append(all, part...); size > maxLine {
			all = nil
		}
		if err != bufio.ErrBufferFull {
			all = bytes.TrimSuffix(bytes.TrimSuffix(all, []byte("\n")), []byte("\r"))
			return string(all), size, err
		}
	}
}
