// SPDX-License-Identifier: Apache-2.0

package otelagent

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// modelNames are the names of the model that was asked and of the one that answered. A wrapper may
// choose among several.
type modelNames struct{ provider, requested, answered string }

// namesIn are the names of the model that a run asks.
func namesIn(info *model.Info) modelNames {
	if info == nil {
		return modelNames{}
	}
	return modelNames{provider: providerName(info.Provider), requested: info.Name}
}

// namesOf finds the names in a response or in a provider's error. Otherwise it is taken to be the
// model that was asked or that answered the run's last request.
func namesOf(resp *model.Message, err error, last modelNames) modelNames {
	var failed *model.APIError
	switch {
	case err == nil && resp != nil && (resp.Provider != "" || resp.Model != ""):
		return modelNames{providerName(resp.Provider), resp.Model, resp.Model}
	case errors.As(err, &failed):
		return modelNames{provider: providerName(failed.Provider), requested: failed.Model}
	}
	return modelNames{provider: last.provider, requested: last.requested}
}

// request is the Request hook.
func (h *hooks) request(ctx context.Context, run *toolset.RunContext[any], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
	ctx, c := h.task(ctx, run)
	if c == nil || ctx.Value(requestKey{}) == c {
		return next(ctx, req)
	}
	began := time.Now()
	inside, span := h.tracer.Start(context.WithValue(ctx, requestKey{}, c), opChat, startChat...)
	var resp *model.Message
	var err error
	class := errPanic // until next has returned
	defer func() { h.endRequest(inside, c, span, resp, err, class, time.Since(began)) }()
	told := c.asked(req)
	if c.span.IsRecording() {
		c.note(run.RunID, req.Messages, run.Step, h.content)
	}
	if span.IsRecording() {
		span.SetAttributes(h.asks(run, req, told)...)
		h.begin(inside, run, span)
		inside = watched(inside, span)
	}
	resp, err = next(inside, req)
	class = classOf(inside, err)
	return resp, err
}

// asked keeps what later spans need of a request. It reports whether the previous request had the
// same instructions.
func (c *current) asked(req *model.Request) (told bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	told = c.instructions == req.Instructions
	c.instructions, c.tools = req.Instructions, req.Tools
	c.requests++
	return told
}

// asks returns the attributes of a request.
func (h *hooks) asks(run *toolset.RunContext[any], req *model.Request, told bool) []attribute.KeyValue {
	attrs := make([]attribute.KeyValue, 0, 12)
	attrs = appendString(attrs, keyConversation, run.ConversationID)
	attrs = append(attrs, keyStep.Int(run.Step), keyHistory.Int(len(req.Messages)))
	if req.Output != nil {
		attrs = append(attrs, keyOutputType.String("json"))
	}
	if s := req.Settings; s != nil {
		attrs = appendSettings(attrs, s)
	}
	if h.content.on {
		if req.Instructions != "" && !told {
			attrs = append(attrs, keyInstructions.String(h.content.instructions(req.Instructions)))
		}
		if fresh := unanswered(req.Messages); len(fresh) > 0 {
			attrs = append(attrs, keyInput.String(h.content.messages(fresh)))
		}
	}
	return attrs
}

func appendSettings(attrs []attribute.KeyValue, s *model.Settings) []attribute.KeyValue {
	if s.MaxTokens != 0 {
		attrs = append(attrs, keyRequestMaxTokens.Int(s.MaxTokens))
	}
	if s.Temperature != nil {
		attrs = append(attrs, keyRequestTemperature.Float64(*s.Temperature))
	}
	if s.TopP != nil {
		attrs = append(attrs, keyRequestTopP.Float64(*s.TopP))
	}
	if len(s.Stop) > 0 {
		attrs = append(attrs, keyRequestStop.StringSlice(s.Stop))
	}
	if s.Seed != nil {
		attrs = append(attrs, keyRequestSeed.Int64(*s.Seed))
	}
	return attrs
}

func (h *hooks) endRequest(ctx context.Context, c *current, span trace.Span, resp *model.Message, err error, class string, took time.Duration) {
	if err != nil {
		resp = nil
	}
	names := c.answered(resp, err)
	h.metrics.endRequest(ctx, names, resp, class, took)
	if span.IsRecording() {
		if names.requested != "" {
			span.SetName(opChat + " " + names.requested)
		}
		attrs := make([]attribute.KeyValue, 0, 12)
		attrs = appendString(attrs, keyProvider, names.provider)
		attrs = appendString(attrs, keyRequestModel, names.requested)
		if resp != nil {
			attrs = h.answers(attrs, resp)
		}
		span.SetAttributes(attrs...)
		h.fail(span, class, err)
	}
	span.End()
}

// answered counts a response and returns the name of its model.
func (c *current) answered(resp *model.Message, err error) modelNames {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := namesOf(resp, err, c.model)
	c.model = names
	if resp != nil {
		c.usage.Add(resp.Usage)
	}
	return names
}

// answers appends the attributes of a response.
func (h *hooks) answers(attrs []attribute.KeyValue, resp *model.Message) []attribute.KeyValue {
	attrs = appendString(attrs, keyResponseModel, resp.Model)
	attrs = appendString(attrs, keyResponseID, resp.ResponseID)
	if resp.Finish != "" {
		attrs = append(attrs, keyResponseFinish.StringSlice([]string{string(resp.Finish)}))
	}
	attrs = appendUsage(attrs, resp.Usage)
	if h.content.on {
		attrs = append(attrs, keyOutput.String(h.content.messages([]*model.Message{resp})))
	}
	return attrs
}
