// SPDX-License-Identifier: Apache-2.0

package acptrace

import (
	"context"
	"encoding/json"

	"go.opentelemetry.io/otel/propagation"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// Install has a connection with these options carry trace contexts, in both directions. Functions that the options have already are called
// too.
func Install(opts *acp.ConnOptions) {
	outgoing, incoming := opts.OutgoingMeta, opts.IncomingMeta
	opts.OutgoingMeta = func(ctx context.Context) map[string]json.RawMessage {
		meta := Meta(ctx)
		if outgoing == nil {
			return meta
		}
		for name, value := range outgoing(ctx) {
			if meta == nil {
				meta = map[string]json.RawMessage{}
			}
			meta[name] = value
		}
		return meta
	}
	opts.IncomingMeta = func(ctx context.Context, meta map[string]json.RawMessage) context.Context {
		ctx = Join(ctx, meta)
		if incoming != nil {
			if more := incoming(ctx, meta); more != nil {
				ctx = more
			}
		}
		return ctx
	}
}

// Join returns a ctx whose spans belong to the trace that a request's _meta names. Without a valid traceparent it is ctx itself.
func Join(ctx context.Context, meta map[string]json.RawMessage) context.Context {
	return propagation.TraceContext{}.Extract(ctx, carrier(meta))
}

// Meta returns the members of _meta that name the trace of ctx, nil if it has none.
func Meta(ctx context.Context) map[string]json.RawMessage {
	c := carrier{}
	propagation.TraceContext{}.Inject(ctx, c)
	if len(c) == 0 {
		return nil
	}
	return c
}

// carrier is a _meta whose members are strings.
type carrier map[string]json.RawMessage

var _ propagation.TextMapCarrier = carrier{}

// Get implements [propagation.TextMapCarrier].
func (c carrier) Get(key string) string {
	var s string
	_ = json.Unmarshal(c[key], &s) // a member of another type is none
	return s
}

// Set implements [propagation.TextMapCarrier].
func (c carrier) Set(key, value string) {
	c[key], _ = json.Marshal(value) // a string has a JSON form
}

// Keys implements [propagation.TextMapCarrier].
func (c carrier) Keys() []string {
	keys := make([]string, 0, len(c))
	for key := range c {
		keys = append(keys, key)
	}
	return keys
}
