// SPDX-License-Identifier: Apache-2.0

package acpproxy

import (
	"errors"
	"io"
	"sync"
)

const (
	maxQueue    = 1 << 20  // bytes that wait to be written
	maxInjected = 1 << 20  // bytes of the proxy's own answers among them
	joined      = 64 << 10 // small lines are joined into writes of up to this size
)

var (
	errEnded  = errors.New("the other side has ended")
	errUnread = errors.New("too many answers have not been read")
)

// queue is a bounded queue of lines before the goroutine that writes them.
type queue struct {
	w    io.Writer
	done chan struct{} // closed when the writer has ended

	mu       sync.Mutex
	change   sync.Cond
	lines    []queued
	size     int
	injected int
	ending   bool
	err      error
}

type queued struct {
	line []byte
	own  bool // an answer of the proxy's own
}

func newQueue(w io.Writer) *queue {
	q := &queue{w: w, done: make(chan struct{})}
	q.change.L = &q.mu
	go q.write()
	return q
}

// send queues a line, and waits for room first.
func (q *queue) send(line []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.err == nil && !q.ending && q.size > 0 && q.size+len(line) > maxQueue {
		q.change.Wait()
	}
	return q.put(queued{line: line})
}

// inject queues an answer of the proxy's own without waiting: the goroutine that carries the other
// direction must not depend on a side that does not read.
func (q *queue) inject(line []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.injected+len(line) > maxInjected {
		return errUnread
	}
	return q.put(queued{line, true})
}

func (q *queue) put(l queued) error {
	switch {
	case q.err != nil:
		return q.err
	case q.ending:
		return errEnded
	}
	q.lines = append(q.lines, l)
	q.size += len(l.line) + 1
	if l.own {
		q.injected += len(l.line)
	}
	q.change.Broadcast()
	return nil
}

// finish refuses further lines, writes the queued ones, and closes the stream.
func (q *queue) finish() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ending = true
	q.change.Broadcast()
}

// abort ends the writer, whatever is queued. A write that is in progress ends because its stream is
// closed, or is left behind if it cannot be.
func (q *queue) abort() {
	q.mu.Lock()
	if q.err == nil {
		q.err = errEnded
	}
	q.change.Broadcast()
	q.mu.Unlock()
	if c, ok := q.w.(io.Closer); ok {
		_ = c.Close()
	}
}

// failure returns why the writer has ended.
func (q *queue) failure() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

func (q *queue) write() {
	defer close(q.done)
	var chunk []byte
	for {
		batch := q.take()
		if len(batch) == 0 {
			if c, ok := q.w.(io.Closer); ok {
				_ = c.Close()
			}
			return
		}
		for len(batch) > 0 {
			n := 0 // lines that are written at once
			for chunk = chunk[:0]; n < len(batch) && len(chunk)+len(batch[n].line) < joined; n++ {
				chunk = append(append(chunk, batch[n].line...), '\n')
			}
			var err error
			if n > 0 {
				_, err = q.w.Write(chunk)
			} else { // a large one
				n = 1
				if _, err = q.w.Write(batch[0].line); err == nil {
					_, err = q.w.Write([]byte{'\n'})
				}
			}
			q.written(batch[:n], err)
			clear(batch[:n])
			batch = batch[n:]
		}
	}
}

// take waits for lines. It returns none at the end.
func (q *queue) take() []queued {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.lines) == 0 && !q.ending && q.err == nil {
		q.change.Wait()
	}
	if q.err != nil {
		return nil
	}
	batch := q.lines
	q.lines = nil
	return batch
}

func (q *queue) written(batch []queued, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range batch {
		q.size -= len(l.line) + 1
		if l.own {
			q.injected -= len(l.line)
		}
	}
	if err != nil && q.err == nil {
		q.err = err
	}
	q.change.Broadcast()
}
