// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
)

const (
	chunkSize  = 64 << 10 // small messages are joined into writes of up to this size
	freeChunks = 4        // buffers kept for the next ones
)

// outbox is the queue before the one goroutine that writes. A message that does not fit waits,
// first come first served, until there is room, its ctx ends, or the connection does; an answer
// never waits.
type outbox struct {
	limit int
	tap   func(line []byte) // called in the order of the wire

	mu      sync.Mutex
	wake    sync.Cond // of the writer
	full    [][]byte  // to be written before chunk
	chunk   []byte    // being filled
	free    [][]byte
	queued  int // bytes that are not written yet
	waiters []*waiter
	ending  bool  // nobody waits any more
	closed  error // nothing is taken any more
}

// waiter is a message that waits for room.
type waiter struct {
	e    *encoder
	in   *incoming
	done chan struct{} // closed when the message has been taken or refused
	err  error
}

func newOutbox(limit int, tap func([]byte)) *outbox {
	o := &outbox{limit: limit, tap: tap}
	o.wake.L = &o.mu
	return o
}

// send takes over the encoder, whose bytes are one line. Its error is nil once the message has its
// place in the order of the wire. A message sent with the ctx of a request that has been answered
// is refused.
func (o *outbox) send(ctx context.Context, e *encoder) error {
	if e.err != nil {
		defer e.release()
		return e.err
	}
	in := incomingOf(ctx)
	o.mu.Lock()
	if err := o.refuse(in); err != nil {
		o.mu.Unlock()
		e.release()
		return err
	}
	if len(o.waiters) == 0 && o.fits(len(e.b)) {
		o.put(e)
		o.mu.Unlock()
		return nil
	}
	if o.ending {
		o.mu.Unlock()
		e.release()
		return ErrClosed
	}
	w := &waiter{e: e, in: in, done: make(chan struct{})}
	o.waiters = append(o.waiters, w)
	o.mu.Unlock()
	if in != nil {
		release, _ := in.conn.holdLane(ctx)
		defer release()
	}

	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		return o.leave(ctx, w)
	}
}

// leave takes a waiter whose ctx has ended out of the queue, unless its turn has come meanwhile.
func (o *outbox) leave(ctx context.Context, w *waiter) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.Index(o.waiters, w)
	if i < 0 {
		return w.err
	}
	o.waiters = slices.Delete(o.waiters, i, i+1)
	w.e.release()
	o.admit() // the next one may be smaller
	return context.Cause(ctx)
}

// answer queues the answer to a request at once, whatever the bound: the reader and the handlers
// must not depend on a peer that does not read. From here on messages with the request's ctx are
// refused.
func (o *outbox) answer(in *incoming, e *encoder) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if in != nil {
		in.answered = true
	}
	if o.closed != nil {
		e.release()
		return o.closed
	}
	o.put(e)
	return nil
}

// offer queues a message unless more than bound bytes are queued already.
func (o *outbox) offer(e *encoder, bound int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed != nil || o.queued > bound {
		e.release()
		return
	}
	o.put(e)
}

func (o *outbox) refuse(in *incoming) error {
	switch {
	case o.closed != nil:
		return o.closed
	case in != nil && in.answered:
		return ErrAnswered
	}
	return nil
}

func (o *outbox) fits(n int) bool { return o.queued == 0 || o.queued+n <= o.limit }

// put appends a message. Small ones are copied into the chunk, large ones are passed on as they
// are.
func (o *outbox) put(e *encoder) {
	n := len(e.b)
	o.queued += n
	if o.tap != nil {
		o.tap(e.b[:n-1])
	}
	if n > maxPooled {
		o.flushChunk()
		o.full = append(o.full, e.b)
	} else {
		if len(o.chunk)+n > chunkSize {
			o.flushChunk()
		}
		if o.chunk == nil {
			o.chunk = o.newChunk()
		}
		o.chunk = append(o.chunk, e.b...)
		e.release()
	}
	o.wake.Signal()
}

func (o *outbox) flushChunk() {
	if len(o.chunk) > 0 {
		o.full = append(o.full, o.chunk)
		o.chunk = nil
	}
}

func (o *outbox) newChunk() []byte {
	if n := len(o.free); n > 0 {
		c := o.free[n-1]
		o.free = o.free[:n-1]
		return c
	}
	return make([]byte, 0, chunkSize)
}

// admit lets in the waiters that fit, from the front.
func (o *outbox) admit() {
	for len(o.waiters) > 0 {
		w := o.waiters[0]
		if w.err = o.refuse(w.in); w.err != nil {
			w.e.release()
		} else if o.fits(len(w.e.b)) {
			o.put(w.e)
		} else {
			return
		}
		o.waiters = slices.Delete(o.waiters, 0, 1)
		close(w.done)
	}
}

// write is the writer: it returns when the outbox is closed and empty, or when a write fails.
func (o *outbox) write(w io.Writer) error {
	var batch [][]byte
	for {
		if batch = o.take(batch[:0]); len(batch) == 0 {
			return nil
		}
		for i, b := range batch {
			if _, err := w.Write(b); err != nil {
				err = fmt.Errorf("acp: write: %w", err)
				o.close(err)
				return err
			}
			o.written(b)
			batch[i] = nil
		}
	}
}

// take waits for something to write; it returns nothing when the outbox is closed and empty.
func (o *outbox) take(batch [][]byte) [][]byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.full) == 0 && len(o.chunk) == 0 {
		if o.closed != nil {
			return nil
		}
		o.wake.Wait()
	}
	o.flushChunk()
	batch = append(batch, o.full...)
	clear(o.full)
	o.full = o.full[:0]
	return batch
}

func (o *outbox) written(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queued -= len(b)
	if cap(b) == chunkSize && len(o.free) < freeChunks {
		o.free = append(o.free, b[:0])
	}
	o.admit()
}

// end makes everybody who waits for room, now or later, fail. Messages that fit are still taken.
func (o *outbox) end(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ending = true
	o.fail(err)
}

// close accepts no further messages. The writer ends when the queue has been written.
func (o *outbox) close(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed == nil {
		o.closed = err
	}
	o.ending = true
	o.fail(o.closed)
	o.wake.Signal()
}

func (o *outbox) fail(err error) {
	for _, w := range o.waiters {
		w.err = err
		w.e.release()
		close(w.done)
	}
	o.waiters = nil
}
