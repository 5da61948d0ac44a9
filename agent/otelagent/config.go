// SPDX-License-Identifier: Apache-2.0

package otelagent

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/toolset"
)

// scope is the name of the tracer and the meter.
const scope = "github.com/ponte-go/ponte/agent/otelagent"

// DefaultMaxContent is how many bytes of content an attribute holds if [Config] says nothing.
const DefaultMaxContent = 32 << 10

// Config says what is recorded and where it goes. The zero value records no content and uses the global providers.
type Config[D any] struct {
	// TracerProvider and MeterProvider make the spans and metrics. Nil is the global one, also if that is set later.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider

	// Content records what was said, in spans: instructions, messages, arguments and results of tools, and the texts of
	// errors and retries. It is off by default, because all of these may hold what should not leave the process.
	Content bool
	// MaxContent bounds the bytes of content in one attribute. What is longer is cut off where a character ends; an
	// attribute with several parts shares the bound out among them. Zero is [DefaultMaxContent], a negative number is no
	// bound.
	MaxContent int

	// Attributes, if not nil, returns more attributes for a span: it is called when a span that is recorded begins, of a
	// run, a request or a call, with what the hook was given. The run's ids are not known yet when its own span begins.
	// It must be safe for concurrent use.
	Attributes func(ctx context.Context, run *toolset.RunContext[D]) []attribute.KeyValue
}

// Hooks returns hooks that record the runs of an agent. Put them first in [agent.Config.Hooks], so that the spans cover what
// other hooks do. One value may serve several agents with the same dependencies.
func Hooks[D any](config Config[D]) agent.Hooks[D] {
	if config.TracerProvider == nil {
		config.TracerProvider = otel.GetTracerProvider()
	}
	if config.MeterProvider == nil {
		config.MeterProvider = otel.GetMeterProvider()
	}
	if config.MaxContent == 0 {
		config.MaxContent = DefaultMaxContent
	}
	h := &hooks[D]{
		tracer:     config.TracerProvider.Tracer(scope, trace.WithSchemaURL(schemaURL)),
		metrics:    newMetrics(config.MeterProvider.Meter(scope, metric.WithSchemaURL(schemaURL))),
		content:    content{on: config.Content, limit: config.MaxContent},
		attributes: config.Attributes,
	}
	return agent.Hooks[D]{Run: h.run, Request: h.request, Call: h.call}
}

// hooks is what the hooks of an agent share. Nothing in it changes.
type hooks[D any] struct {
	tracer     trace.Tracer
	metrics    metrics
	content    content
	attributes func(context.Context, *toolset.RunContext[D]) []attribute.KeyValue
}

// The options with which spans start are made once, so that a span that is not recorded costs nothing for them. They hold
// what is known then and the conventions have samplers look at.
var (
	startRun  = startOptions(trace.SpanKindInternal, opInvokeAgent)
	startChat = startOptions(trace.SpanKindClient, opChat)
	startCall = startOptions(trace.SpanKindInternal, opExecuteTool)
)

func startOptions(kind trace.SpanKind, operation string) []trace.SpanStartOption {
	return []trace.SpanStartOption{trace.WithSpanKind(kind), trace.WithAttributes(keyOperation.String(operation))}
}

// begin adds the user's own attributes to a span that is recorded.
func (h *hooks[D]) begin(ctx context.Context, run *toolset.RunContext[D], span trace.Span) {
	if h.attributes != nil {
		span.SetAttributes(h.attributes(ctx, run)...)
	}
}
