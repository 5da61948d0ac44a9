// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
)

// Scripted is a model that returns prepared responses and records requests.
type Scripted struct {
	Captured

	steps []Step
}

// Step answers one request of a [Scripted] model.
type Step func(ctx context.Context, req *model.Request) (*model.Message, error)

// Script returns a model that takes one step per request, in order. A request after the last step
// is an error that describes the request.
func Script(steps ...Step) *Scripted {
	s := &Scripted{steps: steps}
	s.Model = double("script", s.next)
	return s
}

// Generate implements [model.Model].
func (s *Scripted) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	return s.Model.Generate(ctx, req, sink)
}

func (s *Scripted) next(ctx context.Context, req *model.Request) (*model.Message, error) {
	n := s.keep(req)
	if n >= len(s.steps) {
		return nil, fmt.Errorf("modeltest: request %d, but the script has %d steps; the request: %s", n+1, len(s.steps), describeRequest(req))
	}
	return s.steps[n](ctx, req)
}

// Left returns the number of steps not yet taken.
func (s *Scripted) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, len(s.steps)-len(s.requests))
}

// Say returns a step that answers with the given parts.
func Say(parts ...model.Part) Step {
	return func(context.Context, *model.Request) (*model.Message, error) { return respond(parts...), nil }
}

// respond makes a complete response of parts, with a matching finish reason and some usage.
func respond(parts ...model.Part) *model.Message {
	resp := model.Response(parts...)
	resp.Finish = model.FinishStop
	if resp.HasToolCalls() {
		resp.Finish = model.FinishToolCalls
	}
	resp.Usage = model.Usage{InputTokens: 10, OutputTokens: 5}
	return resp
}

// SayText returns a step that answers with text.
func SayText(text string) Step { return Say(model.Text(text)) }

// Fail returns a step that fails with err.
func Fail(err error) Step {
	return func(context.Context, *model.Request) (*model.Message, error) { return nil, err }
}

// Finish returns a step that answers with the given parts and finish reason.
func Finish(reason model.FinishReason, parts ...model.Part) Step {
	return func(context.Context, *model.Request) (*model.Message, error) {
		resp := model.Response(parts...)
		resp.Finish = reason
		return resp, nil
	}
}
