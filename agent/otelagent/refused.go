// SPDX-License-Identifier: Apache-2.0

package otelagent

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/ponte-go/ponte/agent"
)

// refusedKey has what identifies the innermost span that records what policies refuse.
type refusedKey struct{}

// watched returns a context in which span records what policies refuse, whatever becomes of that,
// unless a span inside does.
func watched(ctx context.Context, span trace.Span) context.Context {
	own := &struct{ trace.Span }{span}
	record := func(ctx context.Context, r agent.Refusal) {
		if ctx.Value(refusedKey{}) != own {
			return
		}
		attrs := []attribute.KeyValue{
			keyPolicy.String(r.Policy), keyStage.String(string(r.Stage)),
		}
		attrs = appendString(appendString(attrs, keyTool, r.Tool), keyToolCall, r.CallID)
		span.AddEvent(eventRefused, trace.WithAttributes(attrs...))
		span.SetAttributes(keyPolicy.String(r.Policy))
	}
	return agent.WithRefusals(context.WithValue(ctx, refusedKey{}, own), record)
}
