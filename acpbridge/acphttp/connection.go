// SPDX-License-Identifier: Apache-2.0

package acphttp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
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
	ended   chan struct{}  // closed when the agent has ended
	in      io.WriteCloser // what the agent reads
	first   chan []byte    // the answer to initialize
	hello   string         // the id of that request

	mu       sync.Mutex
	changed  chan struct{} // closed when something has changed
	boxes    map[string]*mailbox
	requests map[string]route // of the client's requests that have not been answered, by id
	streams  int
	idle     *time.Timer
	silent   time.Time // when the last stream closed, or the last request came

	writing sync.Mutex // the client's messages go in one after another
	rest    []byte     // of the agent's output: a line that has not ended
}

// route determines where the answer to a request of the client goes.
type route struct{ method, session string }

const (
	methodLoad   = "session/load"
	methodResume = "session/resume"
)

// connect makes a connection and starts its agent. The handler's mu is held.
func (h *Handler) connect(hello string) *connection {
	c := &connection{
		handler: h, id: rand.Text(), first: make(chan []byte, 1), hello: hello, changed: make(chan struct{}),
		boxes: map[string]*mailbox{}, requests: map[string]route{}, ended: make(chan struct{}), silent: time.Now(),
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
	close(c.ended)
	h.config.Logger.Info("acphttp: connection ends", "connection", c.id[:6])
}

// take gives the agent a message of the client.
func (c *connection) take(m *message, line []byte) error {
	c.busy(0)
	if m.Method != "" && m.ID != nil {
		c.mu.Lock()
		c.requests[string(m.ID)] = route{m.Method, m.Params.SessionID}
		c.mu.Unlock()
	}
	return c.write(line)
}

// write gives the agent a line.
func (c *connection) write(line []byte) error {
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
	c.silent = time.Now()
	if c.streams > 0 {
		c.idle.Stop()
	} else if c.ctx.Err() == nil {
		c.idle.Reset(c.handler.config.Idle)
	}
}

// silentSince returns when the connection last had a sign of life of its client; ok is false while
// a stream is open.
func (c *connection) silentSince() (since time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silent, c.streams == 0
}

// abandoned reports whether the connection has a session and no stream on which its client could
// see it.
func (c *connection) abandoned(session string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.streams == 0 && c.boxes[session] != nil
}

// wake tells those who wait that something has changed. mu is held.
func (c *connection) wake() { close(c.changed); c.changed = make(chan struct{}) }

// box returns the mailbox of a session, or the connection's. mu is held.
func (c *connection) box(session string) *mailbox {
	b := c.boxes[session]
	if b == nil {
		b = &mailbox{}
		c.boxes[session] = b
	}
	return b
}

// agentOutput is the writer for the agent's output.
type agentOutput connection

// Remote tells [acpbridge.Serve] that the client is on a network and must not see the texts of
// errors.
func (o *agentOutput) Remote() bool { return true }

// Write takes lines apart and gives each to its stream.
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

// deliver puts a message of the agent into the mailbox of its stream. It waits while the stream's
// client is behind and still reading.
func (c *connection) deliver(line []byte) error {
	var m message
	_ = json.Unmarshal(line, &m)
	if id := string(m.ID); m.Method == "" && c.hello != "" && (id == c.hello || id == "null") {
		c.hello = ""
		c.first <- line
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	session, after := c.route(&m)
	b := c.box(session)
	if after != nil && after.reader != nil && after.unsent() > 0 {
		after.held = append(after.held, held{after.last, line})
		return nil
	}
	switch ok, err := c.room(b, len(line)); {
	case err != nil:
		return err
	case !ok && session == "":
		c.end() // its client cannot be told anything any more
		return io.ErrClosedPipe
	case !ok:
		c.drop(session, b, &m)
		return nil
	}
	b.add(line)
	c.wake()
	return nil
}

// route returns the session on whose stream a message goes: none for the connection's. The answer
// to session/load uses the connection's stream, after the history on the session's stream. So does
// an answer about a session of which the client has seen nothing here: it may never open a stream
// for that. mu is held.
func (c *connection) route(m *message) (session string, after *mailbox) {
	if m.Result.SessionID != "" {
		c.box(m.Result.SessionID) // of a new session: it is known from now on
	}
	if m.Method != "" {
		return m.Params.SessionID, nil
	}
	r := c.requests[string(m.ID)]
	delete(c.requests, string(m.ID))
	b := c.boxes[r.session]
	if (r.method == methodLoad || r.method == methodResume) && m.Error == nil {
		c.box(r.session) // it is known from now on
	}
	if r.method == methodLoad || b == nil {
		return "", b
	}
	return r.session, nil
}

// room waits until a mailbox has room for n bytes. It is false if the stream's client takes
// nothing: the stream is then abandoned, and its session has to be loaded again. mu is held, but
// not while it waits.
func (c *connection) room(b *mailbox, n int) (bool, error) {
	stalled := time.NewTimer(c.handler.config.Stall)
	defer stalled.Stop()
	moved := b.moved
	for !b.lost && b.waiting > 0 && b.waiting+n > c.handler.config.MaxBuffered {
		if b.moved != moved {
			moved = b.moved
			stalled.Reset(c.handler.config.Stall)
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
			c.mu.Lock()
		case <-stalled.C:
			c.mu.Lock()
			if b.moved == moved {
				return false, nil
			}
		case <-c.ctx.Done():
			c.mu.Lock()
			return false, io.ErrClosedPipe
		}
	}
	return !b.lost, nil
}

// drop abandons a session's stream, and a message that does not fit into it. mu is held.
func (c *connection) drop(session string, b *mailbox, m *message) {
	var tell []byte
	if !b.lost {
		c.handler.config.Logger.Warn("acphttp: a session's messages were dropped, because its client does not read them", "connection", c.id[:6])
		for _, line := range b.lose() {
			var lost message
			_ = json.Unmarshal(line, &lost)
			tell = append(tell, refusal(&lost)...)
		}
		c.release(b)
		id, _ := json.Marshal(session)
		tell = fmt.Appendf(tell, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%s}}`+"\n", id)
	}
	if tell = append(tell, refusal(m)...); len(tell) > 0 {
		c.handler.work.Go(func() { _ = c.write(tell) })
	}
	c.wake()
}

// refusal answers a request of the agent that its client will not see.
func refusal(m *message) []byte {
	if m.Method == "" || m.ID == nil {
		return nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"the client does not read this session's stream"}}`+"\n", m.ID)
}

// release puts what has waited for a mailbox into the connection's. mu is held.
func (c *connection) release(b *mailbox) {
	for _, line := range b.free() {
		c.box("").add(line)
		c.wake()
	}
}
