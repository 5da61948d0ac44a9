// SPDX-License-Identifier: Apache-2.0

package acphttp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// connection is an agent and the streams of its client.
type connection struct {
	handler *Handler
	id      string
	ctx     context.Context
	end     context.CancelFunc
	in      io.WriteCloser // what the agent reads
	first   chan []byte    // the answer to initialize
	hello   string         // the id of that request

	mu       sync.Mutex
	changed  chan struct{} // closed when something has changed
	boxes    map[string]*mailbox
	sessions map[string]string // of the client's requests that have not been answered, by id
	buffered int
	streams  int
	idle     *time.Timer

	writing sync.Mutex // the client's messages go in one after another
	rest    []byte     // of the agent's output: a line that has not ended
}

// mailbox holds the messages of a stream that have not been sent.
type mailbox struct {
	lines [][]byte
	open  bool
}

// connect makes a connection and starts its agent. The handler's mu is held.
func (h *Handler) connect(hello string) *connection {
	c := &connection{
		handler: h, id: rand.Text(), first: make(chan []byte, 1), hello: hello, changed: make(chan struct{}),
		boxes: map[string]*mailbox{}, sessions: map[string]string{},
	}
	c.ctx, c.end = context.WithCancel(h.ctx)
	c.idle = time.AfterFunc(h.config.Idle, c.end)
	in, w := acp.Pipe()
	c.in = w
	h.connections[c.id] = c
	h.work.Go(func() {
		defer c.gone()
		stop := context.AfterFunc(c.ctx, func() { _ = w.Close() }) // the agent ends as if its input had
		defer stop()
		if err := h.config.Serve(c.ctx, in, (*agentOutput)(c)); err != nil && c.ctx.Err() == nil {
			h.config.Logger.Warn("acphttp: the agent ended with an error", "connection", c.id[:6])
		}
		_ = in.Close()
	})
	h.config.Logger.Info("acphttp: connection begins", "connection", c.id[:6])
	return c
}

// gone forgets the connection when its agent has ended.
func (c *connection) gone() {
	c.end()
	c.idle.Stop()
	h := c.handler
	h.mu.Lock()
	delete(h.connections, c.id)
	h.mu.Unlock()
	h.config.Logger.Info("acphttp: connection ends", "connection", c.id[:6])
}

// take gives the agent a message of the client.
func (c *connection) take(ctx context.Context, m *message, line []byte) error {
	c.busy(0)
	if m.Method != "" && m.ID != nil && m.Params.SessionID != "" {
		c.mu.Lock()
		c.sessions[string(m.ID)] = m.Params.SessionID
		c.mu.Unlock()
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	_, err := c.in.Write(line)
	return err
}

// busy puts off the end of an idle connection. It counts the streams that are open.
func (c *connection) busy(streams int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams += streams
	if c.streams > 0 {
		c.idle.Stop()
	} else if c.ctx.Err() == nil {
		c.idle.Reset(c.handler.config.Idle)
	}
}

// wake tells those who wait that something has changed. mu is held.
func (c *connection) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// open opens the stream of a session, or the connection's. It reports false if it is open.
func (c *connection) open(session string) (*mailbox, bool) {
	c.mu.Lock()
	b := c.box(session)
	if b.open {
		c.mu.Unlock()
		return nil, false
	}
	b.open = true
	c.mu.Unlock()
	c.busy(1)
	return b, true
}

func (c *connection) box(session string) *mailbox {
	b := c.boxes[session]
	if b == nil {
		b = &mailbox{}
		c.boxes[session] = b
	}
	return b
}

func (c *connection) leave(b *mailbox) {
	c.mu.Lock()
	b.open = false
	c.mu.Unlock()
	c.busy(-1)
}

// next returns the next message of a stream. It waits until there is one, or the stream ends.
func (c *connection) next(ctx context.Context, b *mailbox) ([]byte, bool) {
	for {
		c.mu.Lock()
		changed := c.changed
		if len(b.lines) > 0 {
			line := b.lines[0]
			b.lines = b.lines[1:]
			c.mu.Unlock()
			return line, true
		}
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, false
		case <-c.ctx.Done():
			return nil, false
		}
	}
}

// sent makes room for what the agent writes.
func (c *connection) sent(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buffered -= n
	c.wake()
}

// agentOutput is what the agent writes to.
type agentOutput connection

// Write takes lines apart and gives each to its stream. It waits while too much has not been read.
func (o *agentOutput) Write(p []byte) (int, error) {
	c := (*connection)(o)
	c.rest = append(c.rest, p...)
	for {
		i := bytes.IndexByte(c.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		line := bytes.Clone(c.rest[:i])
		c.rest = c.rest[i+1:]
		if err := c.deliver(line); err != nil {
			return 0, err
		}
	}
}

func (c *connection) deliver(line []byte) error {
	var m message
	_ = json.Unmarshal(line, &m)
	if m.Method == "" && string(m.ID) == c.hello && c.hello != "" {
		c.hello = ""
		c.first <- line
		return nil
	}
	for {
		c.mu.Lock()
		changed := c.changed
		if c.buffered == 0 || c.buffered+len(line) <= c.handler.config.MaxBuffered {
			break // with mu held
		}
		c.mu.Unlock()
		select {
		case <-changed:
		case <-c.ctx.Done():
			return io.ErrClosedPipe
		}
	}
	defer c.mu.Unlock()
	session := m.Params.SessionID
	if m.Method == "" {
		session = c.sessions[string(m.ID)]
		delete(c.sessions, string(m.ID))
	}
	b := c.box(session)
	b.lines = append(b.lines, line)
	c.buffered += len(line)
	c.wake()
	return nil
}
