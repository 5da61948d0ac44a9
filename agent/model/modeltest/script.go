package modeltest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/ponte-go/ponte/agent/model"
)

// Scripted is a model that gives prepared answers and remembers what it was asked.
type Scripted struct {
	model.Model

	mu       sync.Mutex
	steps    []Step
	requests []*model.Request
}

// Step answers one request of a [Scripted] model.
type Step func(ctx context.Context, req *model.Request) (*model.Message, error)

// Script returns a model that takes one step for each request, in order. A request beyond the last step is an error that
// says so.
func Script(steps ...Step) *Scripted {
	s := &Scripted{steps: steps}
	s.Model = Func(s.next)
	return s
}

func (s *Scripted) next(ctx context.Context, req *model.Request) (*model.Message, error) {
	s.mu.Lock()
	n := len(s.requests)
	kept := *req
	kept.Messages, kept.Tools = slices.Clone(req.Messages), slices.Clone(req.Tools)
	s.requests = append(s.requests, &kept)
	s.mu.Unlock()
	if n >= len(s.steps) {
		return nil, fmt.Errorf("modeltest: request %d, but the script has only %d steps", n+1, len(s.steps))
	}
	return s.steps[n](ctx, req)
}

// Requests returns the requests so far. The messages in them are shared with the runs.
func (s *Scripted) Requests() []*model.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Left returns how many steps have not been taken.
func (s *Scripted) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, len(s.steps)-len(s.requests))
}

// Say is a step that answers with the given parts.
func Say(parts ...model.Part) Step {
	return func(context.Context, *model.Request) (*model.Message, error) {
		resp := model.Response(parts...)
		resp.Finish = model.FinishStop
		if resp.HasToolCalls() {
			resp.Finish = model.FinishToolCalls
		}
		resp.Usage = model.Usage{InputTokens: 10, OutputTokens: 5}
		return resp, nil
	}
}

// SayText is a step that answers with text.
func SayText(text string) Step { return Say(model.Text(text)) }

// Fail is a step that fails.
func Fail(err error) Step {
	return func(context.Context, *model.Request) (*model.Message, error) { return nil, err }
}

// Finish is a step that answers with the given parts and finish reason.
func Finish(reason model.FinishReason, parts ...model.Part) Step {
	return func(context.Context, *model.Request) (*model.Message, error) {
		resp := model.Response(parts...)
		resp.Finish = reason
		return resp, nil
	}
}
