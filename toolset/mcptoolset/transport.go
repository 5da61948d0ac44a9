// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"context"
	"errors"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Transport connects to a server. The implementations are [Command], [HTTP], [SSE] and [Func]. A
// Transport is written in logs and errors without its secrets.
type Transport interface {
	check() error
	// open prepares a connection. Ctx lasts as long as the connection.
	open(ctx context.Context, limits *Limits) (*opened, error)
	// secrets returns what must not be shown.
	secrets() []string
	// String describes the transport without secrets.
	String() string
	slog.LogValuer
}

// opened is a connection before the handshake.
type opened struct {
	mcp.Transport
	// ordered reports that messages can be read through the connection, in order.
	ordered bool
	// end ends the connection and what belongs to it at once. It waits until nothing is left, but
	// not for long.
	end func()
	// why returns what is known about the end of a connection that was lost, or nil.
	why func() error
	// note returns what else people should know about a connection that was lost, or "". It may
	// wait for that, but not long.
	note func(ctx context.Context) string
}

// Func is a transport made by a function, such as one half of [mcp.NewInMemoryTransports]. It is
// called for each connection.
type Func func(ctx context.Context) (mcp.Transport, error)

func (f Func) check() error {
	if f == nil {
		return errors.New("the transport function is nil")
	}
	return nil
}

func (f Func) open(ctx context.Context, limits *Limits) (*opened, error) {
	t, err := f(ctx)
	if err != nil {
		return nil, err
	}
	if streamable, ok := t.(*mcp.StreamableClientTransport); ok { // the SDK needs to see its connection
		return &opened{Transport: rewritingClient(streamable, limits.Message)}, nil
	}
	return &opened{Transport: t, ordered: true}, nil
}

func (Func) secrets() []string { return nil }

// String implements [fmt.Stringer].
func (Func) String() string { return "function" }

// LogValue implements [slog.LogValuer].
func (f Func) LogValue() slog.Value { return slog.StringValue(f.String()) }
