// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// conn is a JSON-RPC 2.0 peer over lines of JSON. [AgentConn] and [ClientConn] give it a role.
//
// Locks: mu guards the state shared by the reader and the handlers; out has its own lock. Neither
// is held while a handler, a hook other than Tap, or the streams are called, and out's may be taken
// with mu held, never the other way round.
type conn struct {
	r    io.Reader
	w    io.Writer
	opts ConnOptions
	role role
	out  *outbox

	handlers sync.WaitGroup
	ending   chan struct{} // closed when the connection begins to end
	done     chan struct{} // closed when all goroutines have ended
	room     chan struct{} // capacity 1: the backlog has shrunk

	mu      sync.Mutex
	base    context.Context // of every handler
	serving bool
	gate    gate
	held    []*incoming // requests that wait for initialize to be answered
	lanes   map[string]*lane
	backlog int // bytes in held and lanes
	waiting int // handlers that hold their lane and wait for an answer

	inflight map[RequestID]*incoming   // requests read and not answered
	turns    map[string][]*incoming    // prompts among them, by session
	calls    map[RequestID]pendingCall // ours
	nextID   int64

	closed error // why the connection ends, wrapped in ErrClosed; nil while it does not
	cause  error // the same, as Serve returns it
	drain  bool  // the peer has ended its side: what it wrote before is still handled
}

// role handles the messages of one side of the protocol.
type role interface {
	serve(ctx context.Context, method string, params json.RawMessage) (result message, ok bool, err error)
	notify(ctx context.Context, method string, params json.RawMessage) (ok bool, err error)
	isAgent() bool
}

// closeGrace is how long the end of the connection waits for a read or a write to notice that its
// stream has been closed.
const closeGrace = 100 * time.Millisecond

// gate decides whether requests are let in. A client's is always open.
type gate uint8

const (
	gateShut    gate = iota // initialize has not been read
	gateWaiting             // it has, but not been answered
	gateOpen
)

func (c *conn) init(r io.Reader, w io.Writer, opts *ConnOptions) {
	c.r, c.w, c.opts = r, w, opts.withDefaults()
	c.ending, c.done, c.room = make(chan struct{}), make(chan struct{}), make(chan struct{}, 1)
	c.lanes = map[string]*lane{}
	c.inflight = map[RequestID]*incoming{}
	c.turns = map[string][]*incoming{}
	c.calls = map[RequestID]pendingCall{}
	var tap func([]byte)
	if c.opts.Tap != nil {
		tap = func(line []byte) { c.opts.Tap(Sent, line) }
	}
	c.out = newOutbox(c.opts.MaxQueue, tap)
}

// Serve reads and handles messages until the peer ends its side, a stream fails, ctx ends, or Close
// is called. Then the ctx of every handler ends, calls fail with [ErrClosed], and Serve waits for
// the handlers, for what is queued to be written (for at most FlushTimeout), and for its own
// goroutines. It closes both streams if they are [io.Closer]s, which is also how it ends a read or
// a write that blocks: a goroutine blocked on a stream that cannot be closed, or whose Close does
// not interrupt it (a process's standard input is one), is left behind after a tenth of a second.
//
// When the peer has ended its side, the messages that it wrote before are still handled, with a ctx
// that has ended; prompts that have not been started are not.
//
// It returns nil after the end of the peer's side and after Close, ctx's cause, or the stream's
// error. It may be called once. Sending and calling may begin before Serve does.
func (c *conn) Serve(ctx context.Context) error {
	base, cancel := context.WithCancelCause(ctx)
	defer cancel(ErrClosed)
	if err := c.start(base); err != nil {
		return err
	}
	defer close(c.done)

	written := make(chan struct{})
	go func() {
		defer close(written)
		if err := c.out.write(c.w); err != nil {
			c.end(err, false)
		}
	}()
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.read()
	}()

	select {
	case <-ctx.Done():
		c.end(context.Cause(ctx), false)
	case <-c.ending:
	}
	c.shutdown(cancel, read, written)
	return c.result()
}

func (c *conn) start(base context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.serving {
		return errors.New("acp: Serve may be called once")
	}
	if c.closed != nil {
		return c.closed
	}
	c.serving, c.base = true, base
	return nil
}

// end begins the end of the connection. The first cause stays. drain keeps handling messages that
// were already read.
func (c *conn) end(cause error, drain bool) {
	c.mu.Lock()
	if c.closed != nil {
		c.mu.Unlock()
		return
	}
	c.cause, c.drain = cause, drain
	c.closed = ErrClosed
	if cause != nil {
		c.closed = fmt.Errorf("%w: %w", ErrClosed, cause)
	}
	closed, calls := c.closed, c.calls
	c.calls = nil
	if !drain {
		for _, l := range c.lanes {
			l.drop()
		}
		c.held = nil
	}
	close(c.ending)
	c.mu.Unlock()

	for _, call := range calls {
		call.done <- answer{err: closed}
	}
	c.out.end(closed)
}

func (c *conn) shutdown(cancel context.CancelCauseFunc, read, written <-chan struct{}) {
	cancel(c.Err())
	c.handlers.Wait()
	c.out.close(c.Err())
	await(written, c.opts.FlushTimeout)
	closeStream(c.w) // not before all is written: r may be the same stream
	closeStream(c.r)
	await(written, closeGrace)
	await(read, closeGrace)
}

func (c *conn) result() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(c.cause, io.EOF) {
		return nil
	}
	return c.cause
}

// Close begins the end of the connection and returns at once. A handler may call it too; Done
// reports the end. Queued messages are still written. Without Serve it closes the streams. Its
// error is always nil.
func (c *conn) Close() error {
	c.end(nil, false)
	c.mu.Lock()
	serving := c.serving
	c.serving = true
	c.mu.Unlock()
	if !serving {
		c.out.close(c.Err())
		closeStream(c.w)
		closeStream(c.r)
		close(c.done)
	}
	return nil
}

// Done is closed when the connection has ended and all its goroutines have.
func (c *conn) Done() <-chan struct{} { return c.done }

// Err returns nil until the connection begins to end, then an error that wraps [ErrClosed] and the
// reason; the end of the peer's side is [io.EOF].
func (c *conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

func closeStream(s any) {
	if closer, ok := s.(io.Closer); ok {
		_ = closer.Close() // it has served its purpose, whatever it says
	}
}

// await waits for the channel to be closed, for at most d.
func await(ch <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ch:
	case <-timer.C:
	}
}
