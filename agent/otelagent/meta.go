// SPDX-License-Identifier: Apache-2.0

package otelagent

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"go.opentelemetry.io/otel/propagation"
)

// JoinTrace returns a ctx whose spans belong to the trace that the _meta of a request names, as
// traceparent and tracestate. Without a valid traceparent it returns ctx. It fits
// acp.ConnOptions.IncomingMeta.
func JoinTrace(ctx context.Context, meta map[string]json.RawMessage) context.Context {
	return propagation.TraceContext{}.Extract(ctx, carrier(meta))
}

// TraceMeta returns the members of a _meta that name the trace of ctx, nil if it has none. It fits
// acp.ConnOptions.OutgoingMeta. Baggage is not included: it may hold what the other side should not
// have.
func TraceMeta(ctx context.Context) map[string]json.RawMessage {
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
func (c carrier) Keys() []string { return slices.Collect(maps.Keys(c)) }
