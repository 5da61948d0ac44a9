// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"
)

// ConnOptions are the settings of a connection. The zero value, and nil, are good ones.
type ConnOptions struct {
	// MaxLine is the longest message that is read, in bytes; 0 means 64 MiB. A longer one is
	// skipped without being held in memory: a request is answered with -32600, a call whose answer
	// it is fails with a [TooLongError].
	MaxLine int

	// MaxQueue bounds the bytes that wait to be written; 0 means 1 MiB. While the queue is full,
	// sending blocks. A message that is larger goes out when the queue is empty; answers to the
	// peer's requests do not count the bound.
	MaxQueue int

	// MaxBacklog bounds the bytes of messages that have been read and wait for their lane; 0 means
	// 64 MiB. Beyond it requests are answered with -32603, and before a notification the reader
	// waits for room, unless a handler that holds its lane is itself waiting for an answer that the
	// reader has to bring.
	MaxBacklog int

	// FlushTimeout bounds how long the end of the connection waits for the peer to read what has
	// been queued; 0 means 2 s.
	FlushTimeout time.Duration

	// ExtMethod handles the requests that the role does not have: extension methods, whose names
	// begin with an underscore, and unstable ones such as session/fork. params is nil if there are
	// none; a nil result is answered as {}. nil answers -32601. For what it may do it is a handler
	// like any other.
	ExtMethod func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

	// ExtNotification handles the notifications that the role does not have. nil ignores them.
	ExtNotification func(ctx context.Context, method string, params json.RawMessage) error

	// OutgoingMeta, if not nil, returns members to add to the _meta of a request that is sent with
	// ctx, such as the trace that it belongs to. Members that the request has already stay as they
	// are. It is called once for a request, and must be safe for concurrent use.
	OutgoingMeta func(ctx context.Context) map[string]json.RawMessage

	// IncomingMeta, if not nil, returns the ctx of a request's handler, derived from the one that
	// it is given. It is called for requests that have a _meta, on the handler's goroutine, and
	// must be safe for concurrent use. Nil leaves the ctx as it is.
	IncomingMeta func(ctx context.Context, meta map[string]json.RawMessage) context.Context

	// Logger gets panics of handlers, with their stacks, and notifications that could not be
	// handled; nil logs nothing. No payload is ever logged: of an error or a panic only the type
	// is.
	Logger *slog.Logger

	// Trace is called for every message, without its payload, on the goroutine that reads, sends or
	// answers. It must be quick, safe for concurrent use, and must not use the connection.
	Trace func(Event)

	// Tap is called with every line in full, without its end, in the order of the wire per
	// direction, with a lock held. It is meant for transcripts in tests: lines hold everything that
	// users and files hold. It must not keep line or use the connection.
	Tap func(dir Direction, line []byte)
}

const (
	defaultMaxLine      = 64 << 20
	defaultMaxQueue     = 1 << 20
	defaultMaxBacklog   = 64 << 20
	defaultFlushTimeout = 2 * time.Second
)

func (o *ConnOptions) withDefaults() ConnOptions {
	var out ConnOptions
	if o != nil {
		out = *o
	}
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&out.MaxLine, defaultMaxLine)
	def(&out.MaxQueue, defaultMaxQueue)
	def(&out.MaxBacklog, defaultMaxBacklog)
	if out.FlushTimeout <= 0 {
		out.FlushTimeout = defaultFlushTimeout
	}
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	return out
}
