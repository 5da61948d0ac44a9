// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"context"
	"encoding/json"
)

// incoming is a request or notification from its reading to its end, or an answer that waits for
// the messages before it.
type incoming struct {
	conn    *conn
	deliver func() // of an answer; nothing else is set
	id      RequestID
	request bool
	turn    bool // a prompt
	method  string
	session string
	params  json.RawMessage
	size    int

	ctx    context.Context // a request's own; what its handler gets
	cancel context.CancelCauseFunc

	lane     *lane                   // guarded by conn.mu
	released bool                    // the lane goes on without it; guarded by conn.mu
	after    []func(context.Context) // guarded by conn.mu
	extra    json.RawMessage         // fields of the answer beside the handler's; guarded by conn.mu
	answered bool                    // guarded by conn.out.mu

	before *incoming     // of a turn: the one that was read before it and not answered; nil if there is none
	done   chan struct{} // of a turn: closed when it has been answered
}

// handlerCtx is a handler's ctx: it leads back to the message.
type handlerCtx struct {
	context.Context
	in *incoming
}

type incomingKey struct{}

func (c *handlerCtx) Value(key any) any {
	if key == (incomingKey{}) {
		return c.in
	}
	return c.Context.Value(key)
}

// incomingOf returns the message whose handler the ctx belongs to, nil if there is none.
func incomingOf(ctx context.Context) *incoming {
	in, _ := ctx.Value(incomingKey{}).(*incoming)
	return in
}

// Async lets the next message of the session be handled while the calling handler is still running.
// A handler that takes long, such as a prompt's, calls it with its ctx after registering what the
// next message must find. Until then, no later message of the session is handled. Calling it twice,
// or with a ctx that is not a handler's, does nothing.
func Async(ctx context.Context) {
	if in := incomingOf(ctx); in != nil {
		in.conn.release(in)
	}
}

// AfterResponse registers a function to call after the handler's response has been queued, on the
// handler's goroutine and before the next message of the session is handled. Messages that f sends
// with its ctx are written after the response. For example, an agent announces the commands of a
// session that the client must know first. Functions are called in the order of their registration,
// and not at all if the response is an error or the connection has ended.
//
// If ctx is not a request handler's, as in a test without a connection, f is not called, and ok is
// false.
func AfterResponse(ctx context.Context, f func(ctx context.Context)) (ok bool) {
	in := incomingOf(ctx)
	if in == nil || !in.request {
		return false
	}
	in.conn.mu.Lock()
	defer in.conn.mu.Unlock()
	in.after = append(in.after, f)
	return true
}
