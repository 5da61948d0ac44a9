// SPDX-License-Identifier: Apache-2.0

package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

// Handler gets what a server sends by itself. Its methods are called one at a time, in the order of
// the messages, and must be quick: meanwhile nothing else is read.
type Handler interface {
	// Request answers a request. The error is sent as its message.
	Request(method string, params json.RawMessage) (any, error)
	// Notify takes a notification.
	Notify(method string, params json.RawMessage)
}

// Limits bound what a server may send. A server that exceeds one loses its connection.
type Limits struct {
	// Message is the size of a message in bytes, 64 MiB by default.
	Message int
	// Messages and Bytes bound what is sent within ten seconds: 50,000 messages and 512 MiB by
	// default.
	Messages int
	Bytes    int64
}

var (
	// ErrClosed is wrapped by the errors of calls on a connection that has ended.
	ErrClosed = errors.New("the connection to the language server has ended")
	// ErrNotSupported is returned by handlers for unknown methods.
	ErrNotSupported = errors.New("method not found")
)

// ResponseError is an error that a server has answered with.
type ResponseError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *ResponseError) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

const (
	codeNotFound = -32601
	codeInternal = -32603
	// codeContentModified means that the text changed while the server worked.
	codeContentModified = -32801

	window   = 10 * time.Second
	maxQueue = 512
	// maxStray bounds the answers to unknown requests that are ignored.
	maxStray = 1000
)

// Modified reports whether err means that the text changed while the server worked.
func Modified(err error) bool {
	r, ok := errors.AsType[*ResponseError](err)
	return ok && r.Code == codeContentModified
}

// Conn is a connection to a server. It is safe for concurrent use.
type Conn struct {
	stream  io.ReadWriteCloser
	handler Handler
	limits  Limits
	queue   chan []byte
	done    chan struct{}
	work    sync.WaitGroup

	mu      sync.Mutex
	err     error
	next    int64
	pending map[int64]chan response
}

type response struct {
	result json.RawMessage
	err    error
}

// message is any message of JSON-RPC.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *ResponseError  `json:"error"`
}

// NewConn returns a connection over a stream. Close must be called. The stream is closed when the
// connection ends; this must make its Read and Write return.
func NewConn(stream io.ReadWriteCloser, h Handler, l Limits) *Conn {
	if l.Message <= 0 {
		l.Message = 64 << 20
	}
	if l.Messages <= 0 {
		l.Messages = 50_000
	}
	if l.Bytes <= 0 {
		l.Bytes = 512 << 20
	}
	c := &Conn{
		stream: stream, handler: h, limits: l, queue: make(chan []byte, maxQueue), done: make(chan struct{}),
		pending: map[int64]chan response{},
	}
	c.work.Go(c.read)
	c.work.Go(c.write)
	return c
}

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns why the connection has ended, nil while it has not.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection and waits until nothing of it is left.
func (c *Conn) Close() {
	c.End(errors.New("closed"))
	c.work.Wait()
}

// End ends the connection for a reason. It does not wait.
func (c *Conn) End(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = fmt.Errorf("%w: %w", ErrClosed, why)
	close(c.done)
	for id, p := range c.pending {
		p <- response{err: c.err}
		delete(c.pending, id)
	}
	_ = c.stream.Close()
}

// Call makes a request and waits for its answer. If ctx ends first, the server is told, and the
// error is the cause of ctx. An answer that does not fit result is an error.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	answer := make(chan response, 1)
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return c.err
	}
	c.next++
	id := c.next
	c.pending[id] = answer
	c.mu.Unlock()
	if err := c.send(ctx, struct {
		Version string `json:"jsonrpc"`
		ID      int64  `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
	}{"2.0", id, method, params}); err != nil {
		c.forget(id)
		return err
	}
	select {
	case r := <-answer:
		if r.err != nil {
			return r.err
		}
		if result == nil {
			return nil
		}
		if err := json.Unmarshal(r.result, result); err != nil {
			return fmt.Errorf("the answer to %s is malformed: %w", method, err)
		}
		return nil
	case <-ctx.Done():
		if c.forget(id) {
			c.tryNotify("$/cancelRequest", map[string]int64{"id": id})
		}
		return context.Cause(ctx)
	}
}

func (c *Conn) forget(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, there := c.pending[id]
	delete(c.pending, id)
	return there
}

type notification struct {
	Version string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  any    `json:"params,omitempty"`
}

// Notify sends a notification. It waits until there is room for it, not until it is sent.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	return c.send(ctx, notification{"2.0", method, params})
}

func (c *Conn) send(ctx context.Context, m any) error {
	data, err := frame(m)
	if err != nil {
		return err
	}
	if err := c.Err(); err != nil {
		return err
	}
	select {
	case c.queue <- data:
		return nil
	case <-c.done:
		return c.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tryNotify sends a notification if there is room for it.
func (c *Conn) tryNotify(method string, params any) {
	if data, err := frame(notification{"2.0", method, params}); err == nil {
		select {
		case c.queue <- data:
		default:
		}
	}
}

func frame(m any) ([]byte, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return append([]byte("Content-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"), body...), nil
}

func (c *Conn) write() {
	for {
		select {
		case data := <-c.queue:
			if _, err := c.stream.Write(data); err != nil {
				c.End(err)
				return
			}
		case <-c.done:
			return
		}
	}
}

func (c *Conn) read() {
	r := newReader(c.stream, c.limits.Message)
	var began time.Time
	var messages, stray int
	var size int64
	for {
		body, err := r.next()
		if err != nil {
			c.End(err)
			return
		}
		if now := time.Now(); now.Sub(began) > window {
			began, messages, size = now, 0, 0
		}
		messages, size = messages+1, size+int64(len(body))
		if messages > c.limits.Messages || size > c.limits.Bytes {
			c.End(
				fmt.Errorf(
					"it has sent %d messages with %d bytes within %v", messages, size, window,
				),
			)
			return
		}
		var m message
		if err := json.Unmarshal(body, &m); err != nil {
			c.End(fmt.Errorf("it has sent a message that is not JSON-RPC: %w", err))
			return
		}
		switch {
		case m.Method == "":
			if !c.answered(&m) {
				stray++
			}
		case m.ID != nil:
			if !c.reply(&m) {
				c.End(errors.New("it does not read what it is sent"))
				return
			}
		default:
			c.handler.Notify(m.Method, m.Params)
		}
		if stray > maxStray {
			c.End(errors.New("it keeps answering requests that nobody has made"))
			return
		}
	}
}

// answered hands an answer to its call. It reports false if there is none.
func (c *Conn) answered(m *message) bool {
	id, err := strconv.ParseInt(string(m.ID), 10, 64)
	if err != nil {
		return false
	}
	c.mu.Lock()
	answer := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()
	if answer == nil {
		return false
	}
	switch {
	case m.Error != nil:
		answer <- response{err: m.Error}
	case m.Result == nil:
		answer <- response{result: json.RawMessage("null")}
	default:
		answer <- response{result: m.Result}
	}
	return true
}

// reply answers a request of the server. It reports false if the queue is full.
func (c *Conn) reply(m *message) bool {
	var data []byte
	result, err := c.handler.Request(m.Method, m.Params)
	if err == nil {
		data, err = frame(struct {
			Version string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Result  any             `json:"result"`
		}{"2.0", m.ID, result})
	}
	if err != nil {
		code := codeInternal
		if errors.Is(err, ErrNotSupported) {
			code = codeNotFound
		}
		data, _ = frame(struct {
			Version string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Error   ResponseError   `json:"error"`
		}{"2.0", m.ID, ResponseError{code, err.Error()}})
	}
	select {
	case c.queue <- data:
		return true
	default:
		return false
	}
}
