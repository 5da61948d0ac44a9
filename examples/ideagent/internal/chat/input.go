// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"bufio"
	"io"
	"sync"
)

// input is the lines that the user enters. Nothing is read before somebody wants a line.
type input struct {
	from  io.Reader
	once  sync.Once
	lines chan string
}

func newInput(from io.Reader) *input { return &input{from: from, lines: make(chan string)} }

// read returns the channel of lines, which is closed at the end of the input. The goroutine that reads ends there; until
// then nothing can stop it from waiting for a person.
func (in *input) read() <-chan string {
	in.once.Do(func() {
		go func() {
			defer close(in.lines)
			lines := bufio.NewScanner(in.from)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				in.lines <- lines.Text()
			}
		}()
	})
	return in.lines
}

// forget drops a line that was entered before it was asked for.
func (in *input) forget() {
	select {
	case <-in.read():
	default:
	}
}
