// SPDX-License-Identifier: Apache-2.0

package genkitdev

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/firebase/genkit/go/core/tracing"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// The attributes by which Genkit's tools recognise a span. Genkit's package core/tracing sets them
// on its own spans.
const (
	keyType    = attribute.Key("genkit:type")
	keySubtype = attribute.Key("genkit:metadata:subtype")
	keyName    = attribute.Key("genkit:name")
	keyInput   = attribute.Key("genkit:input")
	keyOutput  = attribute.Key("genkit:output")
	keyState   = attribute.Key("genkit:state")
	keyFailure = attribute.Key("genkit:isFailureSource")
)

// The instrumentation scopes of the spans that this package describes, and of those it makes.
const (
	scopeOtelagent = "github.com/ponte-go/ponte/agent/otelagent"
	scopeOwn       = "github.com/ponte-go/ponte/agent/model/genkitmodel/genkitdev"
)

// shown is a span that Genkit's tools show.
type shown struct {
	span trace.Span
	own  bool // made here, not by otelagent
}

// place is the position of a context in Genkit's trace: the innermost shown span, and Genkit's own
// span around it.
type place struct {
	span   trace.SpanContext
	genkit tracing.TraceInfo
}

type placeKey struct{}

// placeOf returns the place of a context within a flow.
func placeOf(ctx context.Context) place {
	info := tracing.SpanTraceInfo(ctx)
	if p, ok := ctx.Value(placeKey{}).(place); ok && p.genkit == info {
		return p
	}
	traceID, _ := trace.TraceIDFromHex(info.TraceID)
	spanID, _ := trace.SpanIDFromHex(info.SpanID)
	flags := trace.SpanContextFromContext(ctx).TraceFlags() // the same for a whole trace
	return place{trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID, TraceFlags: flags}), info}
}

// show starts to describe a span: the one that otelagent has just started, or else a new one. It
// returns nil if the trace is not recorded.
func show(ctx context.Context, subtype, name string) (context.Context, *shown) {
	if !inFlow(ctx) {
		return ctx, nil
	}
	provider, here := tracing.TracerProvider(), placeOf(ctx)
	s := &shown{span: trace.SpanFromContext(ctx)}
	if !isNew(s.span, provider, here.span) {
		s.own = true
		parent := trace.ContextWithSpanContext(ctx, here.span)
		_, s.span = provider.Tracer(scopeOwn).Start(parent, name)
		ctx = trace.ContextWithSpan(ctx, s.span)
	}
	if !s.span.IsRecording() {
		return ctx, nil
	}
	s.span.SetAttributes(keyType.String("action"), keySubtype.String(subtype), keyName.String(name))
	return context.WithValue(ctx, placeKey{}, place{s.span.SpanContext(), here.genkit}), s
}

// isNew reports whether a span was made by otelagent, has not been described yet, and is exported
// like Genkit's own spans.
func isNew(span trace.Span, provider *sdktrace.TracerProvider, last trace.SpanContext) bool {
	known, ok := span.(sdktrace.ReadOnlySpan)
	return ok && known.InstrumentationScope().Name == scopeOtelagent && span.TracerProvider() == provider &&
		span.SpanContext().SpanID() != last.SpanID()
}

// set adds a value in its JSON form.
func (s *shown) set(key attribute.Key, value any) { s.span.SetAttributes(key.String(encode(value))) }

// end records the outcome, and ends a span that was made here.
func (s *shown) end(output any, err error) {
	if err != nil {
		s.span.SetAttributes(keyState.String("error"), keyFailure.Bool(true))
		s.span.SetStatus(codes.Error, err.Error())
		s.span.RecordError(err) // otelagent may remove the text from the status again
	} else {
		s.span.SetAttributes(keyState.String("success"))
		if output != nil {
			s.set(keyOutput, output)
		}
	}
	if s.own {
		s.span.End()
	}
}

// encode encodes a value as JSON without HTML escaping. If that fails, it returns a string that
// says so.
func encode(value any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		text, _ := json.Marshal("not JSON: " + err.Error())
		return string(text)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
