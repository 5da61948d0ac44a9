// SPDX-License-Identifier: Apache-2.0

package otelagent

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// current is the state of a run in progress. Requests and calls find it through their context. A
// run makes its requests one after the other, but its calls in parallel, and other hooks may do as
// they like.
type current struct {
	// by are the hooks that record the run. meter is the run's own meter and identifies it.
	by    *hooks
	meter *toolset.Meter
	span  trace.Span

	mu sync.Mutex
	// requests and usage exclude agents that its tools run: these have their own spans, and
	// adding up the spans of a trace must not count a token twice.
	requests int
	usage    model.Usage
	// model is the model of the last request.
	model modelNames
	// instructions of the last request, if there was one.
	instructions string
	// tools offered by the last request.
	tools []model.ToolDef
	// noted is the last message that [current.note] has seen.
	noted *model.Message
}

// The keys of contexts: currentKey has the run, requestKey and callKey the run whose request or
// call has a span already.
type currentKey struct{}
type requestKey struct{}
type callKey struct{}

// of returns the run that ctx belongs to, or nil if h does not record it.
func (h *hooks) of(ctx context.Context) *current {
	if c, _ := ctx.Value(currentKey{}).(*current); c != nil && c.by == h {
		return c
	}
	return nil
}

// task returns the run that a request or a call belongs to, or nil if h does not record it. A task
// that is executed apart from the loop of its run is recorded by itself.
func (h *hooks) task(ctx context.Context, run *toolset.RunContext[any]) (context.Context, *current) {
	c := h.of(ctx)
	if c != nil || engine.PartOf(ctx) != engine.TaskOnly || ctx.Value(currentKey{}) != nil {
		return ctx, c
	}
	c = &current{by: h, span: trace.SpanFromContext(context.Background()), model: namesIn(run.Model)}
	return context.WithValue(ctx, currentKey{}, c), c
}

// run is the Run hook.
func (h *hooks) run(ctx context.Context, run *toolset.RunContext[any], next agent.RunFunc) error {
	if engine.PartOf(ctx) == engine.LoopOnly { // it may be repeated: its tasks are recorded
		_, err := next(ctx)
		return err
	}
	if outer, _ := ctx.Value(currentKey{}).(*current); outer != nil && outer.meter == run.Meter {
		_, err := next(ctx) // other hooks record this run already
		return err
	}
	began := time.Now()
	inside, span := h.tracer.Start(ctx, opInvokeAgent, startRun...)
	if !span.IsRecording() && !span.SpanContext().IsValid() && !h.metrics.enabled(ctx) {
		_, err := next(ctx) // there is no SDK, or none that wants anything
		return err
	}
	c := &current{by: h, meter: run.Meter, span: span, model: namesIn(run.Model)}
	inside = context.WithValue(inside, currentKey{}, c)
	var summary *agent.Summary
	var err error
	class := errPanic // until next has returned
	defer func() { h.endRun(inside, c, summary, err, class, time.Since(began)) }()
	if span.IsRecording() {
		if run.Agent != "" {
			span.SetName(opInvokeAgent + " " + run.Agent)
			span.SetAttributes(keyAgent.String(run.Agent))
		}
		h.begin(inside, run, span)
		inside = watched(inside, span)
	}
	summary, err = next(inside)
	class = classOf(inside, err)
	return err
}

func (h *hooks) endRun(ctx context.Context, c *current, summary *agent.Summary, err error, class string, took time.Duration) {
	if summary == nil { // the hook was left by a panic
		summary = &agent.Summary{}
	}
	var pending *agent.PendingError
	if errors.As(err, &pending) {
		class = "" // it is pending, it has not failed
	}
	h.metrics.endRun(ctx, summary.Agent, class, took)
	if c.span.IsRecording() {
		c.note(summary.RunID, summary.Messages, 0, h.content)
		if summary.Agent != "" {
			c.span.SetName(opInvokeAgent + " " + summary.Agent)
		}
		c.span.SetAttributes(c.totals(summary, pending)...)
		h.fail(c.span, class, err)
		var failed *agent.RunError
		if class != "" && errors.As(err, &failed) {
			c.span.SetAttributes(keyErrorStage.String(string(failed.Stage)))
		}
	}
	c.span.End()
}

// totals returns the attributes that are known at the end of a run.
func (c *current) totals(summary *agent.Summary, pending *agent.PendingError) []attribute.KeyValue {
	c.mu.Lock()
	defer c.mu.Unlock()
	attrs := make([]attribute.KeyValue, 0, 12)
	attrs = appendString(attrs, keyAgent, summary.Agent)
	attrs = appendString(attrs, keyProvider, c.model.provider)
	attrs = appendString(attrs, keyRequestModel, c.model.requested)
	attrs = appendString(attrs, keyConversation, summary.ConversationID)
	attrs = appendString(attrs, keyRun, summary.RunID)
	attrs = append(attrs, keyRequests.Int(c.requests))
	attrs = appendUsage(attrs, c.usage)
	if pending != nil {
		attrs = append(attrs, keyPending.Int(len(pending.Calls)))
	}
	return attrs
}

// appendString appends an attribute unless its value is empty.
func appendString(attrs []attribute.KeyValue, key attribute.Key, value string) []attribute.KeyValue {
	if value == "" {
		return attrs
	}
	return append(attrs, key.String(value))
}

// appendUsage appends what the provider reports. A provider that reports nothing has not used
// nothing.
func appendUsage(attrs []attribute.KeyValue, u model.Usage) []attribute.KeyValue {
	if u == (model.Usage{}) {
		return attrs
	}
	attrs = append(attrs, keyInputTokens.Int64(u.InputTokens), keyOutputTokens.Int64(u.OutputTokens))
	if u.CacheReadTokens != 0 {
		attrs = append(attrs, keyCacheReadTokens.Int64(u.CacheReadTokens))
	}
	if u.CacheWriteTokens != 0 {
		attrs = append(attrs, keyCacheWriteTokens.Int64(u.CacheWriteTokens))
	}
	if u.ReasoningTokens != 0 {
		attrs = append(attrs, keyReasoningTokens.Int64(u.ReasoningTokens))
	}
	return attrs
}
