// SPDX-License-Identifier: Apache-2.0

package acphttp

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	chunk        = 64 << 10         // of a message, after which a client is seen to have read something
	writeTimeout = 30 * time.Second // for a client to read one
	handOver     = time.Second      // for a stream to notice that its client has left it
)

// Reasons to refuse a stream. Both are answered with 409.
var (
	errOpen    = errors.New("the stream is open already")
	errDropped = errors.New("messages of this stream were dropped, because they were not read in time: load the session again")
)

// reader is a response that sends a stream's messages.
type reader struct {
	out  *http.ResponseController
	once sync.Once
	quit chan struct{}
}

// stop ends the response, even if its client does not read.
func (r *reader) stop() {
	r.once.Do(func() {
		close(r.quit)
		_ = r.out.SetWriteDeadline(time.Unix(1, 0))
	})
}

// events sends the agent's messages as they come.
func (h *Handler) events(w http.ResponseWriter, r *http.Request) {
	if accept := r.Header.Get("Accept"); !strings.Contains(accept, "text/event-stream") {
		http.Error(w, "Accept must be text/event-stream", http.StatusNotAcceptable)
		return
	}
	c := h.find(w, r)
	if c == nil {
		return
	}
	var after *uint64
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		n, err := strconv.ParseUint(id, 10, 64)
		if err != nil {
			http.Error(w, "Last-Event-ID must be the id of an event of this stream", http.StatusBadRequest)
			return
		}
		after = &n
	}
	rd := &reader{out: http.NewResponseController(w), quit: make(chan struct{})}
	box, err := c.open(r.Context(), r.Header.Get(HeaderSession), rd, after)
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	defer c.leave(box)
	defer context.AfterFunc(c.ctx, func() { c.interrupt(box, rd) })()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set(HeaderConnection, c.id)
	w.WriteHeader(http.StatusOK)
	if rd.out.Flush() == nil {
		c.send(r.Context(), w, rd, box)
	}
}

// open opens the stream of a session, or the connection's, for a reader. With after, it continues
// after the message of that number, and ends a response that is still open: its client would not
// resume a stream that it reads.
func (c *connection) open(ctx context.Context, session string, rd *reader, after *uint64) (*mailbox, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.box(session)
	if b.reader != nil && after != nil {
		b.reader.stop()
	}
	for deadline := time.After(handOver); b.reader != nil; {
		changed := c.changed
		c.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-deadline:
			err = errOpen
		case <-ctx.Done():
			err = errOpen
		}
		c.mu.Lock()
		if err != nil {
			return nil, err
		}
	}
	if b.lost || after != nil && !b.rewind(*after) {
		b.lost = false
		return nil, errDropped
	}
	b.reader, b.moved = rd, time.Now()
	c.streams++
	c.idle.Stop()
	return b, nil
}

// interrupt ends a response that may be waiting for its client.
func (c *connection) interrupt(b *mailbox, rd *reader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.reader == rd {
		rd.stop()
	}
}

// leave closes a stream.
func (c *connection) leave(b *mailbox) {
	c.mu.Lock()
	b.reader = nil
	c.release(b)
	c.wake()
	c.mu.Unlock()
	c.busy(-1)
}

// send sends the messages of a stream until it ends. A message counts as sent when all of it could
// be written.
func (c *connection) send(ctx context.Context, w http.ResponseWriter, rd *reader, b *mailbox) {
	beat := time.NewTicker(c.handler.config.Heartbeat)
	defer beat.Stop()
	for {
		c.mu.Lock()
		changed := c.changed
		var event []byte
		if b.unsent() > 0 {
			line, number := b.next()
			event = append(append(strconv.AppendUint([]byte("id: "), number, 10), "\ndata: "...), line...)
			event = append(event, "\n\n"...)
		}
		c.mu.Unlock()
		if event != nil {
			if !c.transmit(w, rd, b, event) || !c.sent(b) {
				return
			}
			continue
		}
		select {
		case <-changed:
		case <-beat.C:
			if !c.transmit(w, rd, b, []byte(":\n\n")) {
				return
			}
		case <-rd.quit:
			return
		case <-ctx.Done():
			return
		case <-c.ctx.Done():
			return
		}
	}
}

// sent notes that the stream's next message has been sent. It is false if the stream has been given
// up meanwhile.
func (c *connection) sent(b *mailbox) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.lost {
		return false
	}
	b.advance(c.handler.config.MaxBuffered)
	c.release(b)
	c.wake()
	return true
}

// transmit sends data in chunks, which distinguishes a slow client from one that takes nothing.
func (c *connection) transmit(w http.ResponseWriter, rd *reader, b *mailbox, data []byte) bool {
	for len(data) > 0 {
		n := min(len(data), chunk)
		_ = rd.out.SetWriteDeadline(time.Now().Add(writeTimeout)) // where there are none, the client's connection ends the writing
		select {
		case <-rd.quit: // its deadline may have been set before this one
			return false
		default:
		}
		if _, err := w.Write(data[:n]); err != nil || rd.out.Flush() != nil {
			return false
		}
		data = data[n:]
		c.mu.Lock()
		b.moved = time.Now()
		c.mu.Unlock()
	}
	return true
}
