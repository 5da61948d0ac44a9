// SPDX-License-Identifier: Apache-2.0

package otelagent

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Outcomes of calls that are not a [model.Outcome]: the tool returned an error that does not fail
// the run.
const (
	outcomeRetry    = "retry"
	outcomeApproval = "approval_required"
	outcomeDeferred = "deferred"
)

// call is the Call hook.
func (h *hooks) call(ctx context.Context, run *toolset.RunContext[any], args any, next toolset.CallFunc) (toolset.Result, error) {
	ctx, c := h.task(ctx, run)
	if c == nil || ctx.Value(callKey{}) == c {
		return next(ctx, args)
	}
	began := time.Now()
	inside, span := h.tracer.Start(context.WithValue(ctx, callKey{}, c), opExecuteTool+" "+run.Call.Tool, startCall...)
	var res toolset.Result
	var err error
	outcome, class := "", errPanic // until next has returned
	defer func() {
		took := time.Since(began)
		h.metrics.endCall(inside, run.Call.Tool, class, took)
		if span.IsRecording() {
			h.endCall(span, &res, outcome, class, err)
		}
		span.End()
	}()
	if span.IsRecording() {
		span.SetAttributes(h.calls(c, run, run.Call.Args)...)
		h.begin(inside, run, span)
		inside = watched(inside, span)
	}
	res, err = next(inside, args)
	outcome, class = outcomeOf(inside, &res, err)
	return res, err
}

// calls returns the attributes of a call.
func (h *hooks) calls(c *current, run *toolset.RunContext[any], args model.RawArgs) []attribute.KeyValue {
	attrs := make([]attribute.KeyValue, 0, 8)
	attrs = append(attrs, keyTool.String(run.Call.Tool), keyToolType.String("function"), keyStep.Int(run.Step))
	attrs = appendString(attrs, keyToolCall, run.Call.ID)
	attrs = appendString(attrs, keyToolDescription, c.description(run.Call.Tool))
	if run.Call.Attempt > 0 {
		attrs = append(attrs, keyAttempt.Int(run.Call.Attempt))
	}
	if run.Call.Approved {
		attrs = append(attrs, keyApproved.Bool(true))
	}
	if d := run.Call.Decision; d != nil {
		attrs = appendString(attrs, keyApprovedBy, d.By)
		if len(d.Args) > 0 {
			attrs = append(attrs, keyChanged.Bool(true))
		}
	}
	if h.content.on && len(args) > 0 {
		attrs = append(attrs, keyArguments.String(h.content.text(string(args))))
	}
	return attrs
}

// description returns the description of a tool in the last request.
func (c *current) description(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.tool(name); t != nil {
		return t.Description
	}
	return ""
}

// tool finds a tool that the last request offered. c.mu is held.
func (c *current) tool(name string) *model.ToolDef {
	for i := range c.tools {
		if c.tools[i].Name == name {
			return &c.tools[i]
		}
	}
	return nil
}

func (h *hooks) endCall(span trace.Span, res *toolset.Result, outcome, class string, err error) {
	if outcome != "" {
		span.SetAttributes(keyOutcome.String(outcome))
	}
	if h.content.on && err == nil && class != errPanic {
		span.SetAttributes(keyResult.String(h.content.text(res.Text)))
	}
	h.fail(span, class, err)
}

// outcomeOf returns how a call ended: its outcome, empty for success, and the class of its error. A
// tool that failed has an error, whether it ends the run or not. One that asks for other arguments,
// for approval or for patience, or that was not permitted, has none.
func outcomeOf(ctx context.Context, res *toolset.Result, err error) (outcome, class string) {
	if err == nil {
		if res.Outcome == model.OutcomeFailed {
			class = errToolFailed
		}
		return string(res.Outcome), class
	}
	switch toolset.Outcome(err).(type) {
	case *toolset.RetryError:
		return outcomeRetry, ""
	case *toolset.FailedError:
		return string(model.OutcomeFailed), errToolFailed
	case *toolset.DeniedError:
		return string(model.OutcomeDenied), ""
	case *toolset.ApprovalRequiredError:
		return outcomeApproval, ""
	case *toolset.DeferredError, *toolset.PendingError:
		return outcomeDeferred, ""
	}
	return "", classOf(ctx, err)
}
