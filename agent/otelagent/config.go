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

// Config configures what is recorded and where it is sent. The zero value records no content and
// uses the global providers.
type Config struct {
	// TracerProvider and MeterProvider make the spans and metrics. Nil is the global one, also if
	// that is set later.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider

	// Content records what was said, in spans: instructions, messages, arguments and results of
	// tools, and the texts of errors and retries. It is off by default, because all of these may
	// hold what should not leave the process.
	Content bool
	// MaxContent bounds the bytes of content in one attribute. Longer content is cut at the end
	// of a character. The parts of an attribute share the bound. Zero means [DefaultMaxContent],
	// a negative number no bound.
	MaxContent int

	// Attributes, if not nil, returns more attributes for a span. It is called when a span that
	// is recorded begins, of a run, a request or a call. run.Deps is what the run was given;
	// agents differ in its type. The run's ids are not known yet when its own span begins.
	// Attributes must be safe for concurrent use.
	Attributes func(ctx context.Context, run *toolset.RunContext[any]) []attribute.KeyValue
}

// Install records every run of every agent in the program, and replaces the instrumentation that
// was installed before. Call it once, in main. It is [agent.SetInstrumentation] of [New].
func Install(config Config) { agent.SetInstrumentation(New(config)) }

// New returns hooks that record runs. [Install] installs them for the program. A test or a
// library passes them to [agent.WithInstrumentation] instead. One value serves any number of
// agents, of any dependencies.
//
// Hooks of this package record a run once: if a run has several, by the program and by an agent's
// capability for example, only the outermost ones do.
func New(config Config) agent.Hooks[any] {
	if config.TracerProvider == nil {
		config.TracerProvider = otel.GetTracerProvider()
	}
	if config.MeterProvider == nil {
		config.MeterProvider = otel.GetMeterProvider()
	}
	if config.MaxContent == 0 {
		config.MaxContent = DefaultMaxContent
	}
	h := &hooks{
		tracer:     config.TracerProvider.Tracer(scope, trace.WithSchemaURL(schemaURL)),
		metrics:    newMetrics(config.MeterProvider.Meter(scope, metric.WithSchemaURL(schemaURL))),
		content:    content{on: config.Content, limit: config.MaxContent},
		attributes: config.Attributes,
	}
	return agent.Hooks[any]{Run: h.run, Request: h.request, Call: h.call}
}

// hooks is the immutable state that the hooks of an agent share.
type hooks struct {
	tracer     trace.Tracer
	metrics    metrics
	content    content
	attributes func(context.Context, *toolset.RunContext[any]) []attribute.KeyValue
}

// The options with which spans start are made once: they cost nothing for a span that is not
// recorded. They hold what is known then and the conventions have samplers look at.
var (
	startRun  = startOptions(trace.SpanKindInternal, opInvokeAgent)
	startChat = startOptions(trace.SpanKindClient, opChat)
	startCall = startOptions(trace.SpanKindInternal, opExecuteTool)
)

func startOptions(kind trace.SpanKind, operation string) []trace.SpanStartOption {
	return []trace.SpanStartOption{trace.WithSpanKind(kind), trace.WithAttributes(keyOperation.String(operation))}
}

// begin adds the user's own attributes to a span that is recorded.
func (h *hooks) begin(ctx context.Context, run *toolset.RunContext[any], span trace.Span) {
	if h.attributes != nil {
		span.SetAttributes(h.attributes(ctx, run)...)
	}
}
