// SPDX-License-Identifier: Apache-2.0

package term

import (
	"bufio"
	"io"
	"sync"
)

// lines is what the user enters. Nothing is read before somebody wants a line.
type lines struct {
	from io.Reader
	once sync.Once
	next chan string
}

func newLines(from io.Reader) *lines { return &lines{from: from, next: make(chan string)} }

// read returns the channel of lines, which is closed at the end of the input. The goroutine that reads ends there; until
// then nothing can stop it from waiting for a person.
func (l *lines) read() <-chan string {
	l.once.Do(func() {
		go func() {
			defer close(l.next)
			s := bufio.NewScanner(l.from)
			s.Buffer(nil, 1<<20)
			for s.Scan() {
				l.next <- s.Text()
			}
		}()
	})
	return l.next
}
