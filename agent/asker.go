// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/toolset"
)

// WithAsker sets who is asked to approve calls and to answer the questions of tools. The run waits for the answers. The option
// takes precedence over [Config.Asker] and over the asker of an outer run. Nil changes nothing. To decide by rules before a person
// is asked, wrap the asker; see package agent/approval.
func WithAsker(a toolset.Asker) RunOption {
	return runOption(func(o *runOptions) { o.more().asker = a })
}

// approved is an asker that has the approvals of policies before another one.
type approved struct {
	toolset.Asker
	behind toolset.Asker
}

// seat makes a run and the runs inside it ask one question at a time.
type seat struct {
	asker toolset.Asker

	mu   sync.Mutex
	turn chan struct{} // holds a token while a question is open; nil until the first one
}

// findAsker returns where the questions of a run go, or nil. place is its own seat, and own is the
// agent's asker.
//
//go:noinline
func (o *runOptions) findAsker(place *seat, own toolset.Asker) *seat {
	if place.asker = own; o.asker != nil {
		place.asker = o.asker
	}
	asking := place
	if place.asker == nil {
		asking = o.outer.asking
	}
	if o.rule != nil {
		asking = o.rule.says.seat(place, asking)
	}
	return asking
}

// enter waits until no other question is open, or until ctx ends.
func (s *seat) enter(ctx context.Context) (leave func(), err error) {
	turn := s.queue()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// queue returns the channel that holds a token while a question is open.
func (s *seat) queue() chan struct{} {
	s.mu.Lock()
	if s.turn == nil {
		s.turn = make(chan struct{}, 1)
	}
	turn := s.turn
	s.mu.Unlock()
	return turn
}

// maxUnreadable bounds how often a person is asked again because changed arguments are not JSON.
const maxUnreadable = 5

// approve asks about a call. Arguments that are not JSON are refused at once, because they could not be recorded.
func (s *seat) approve(ctx context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return toolset.Decision{}, err
	}
	defer leave()
	for range maxUnreadable {
		d, err := s.asker.Approve(ctx, r)
		switch {
		case errors.Is(err, toolset.ErrNobody):
			return toolset.Defer(), nil
		case err != nil:
			return toolset.Decision{}, err
		}
		if err := checkVerdict(&d); err != nil {
			return toolset.Decision{}, err
		}
		if len(d.Args) == 0 || json.Valid(d.Args) {
			return d, nil
		}
		r.Invalid = "the arguments are not valid JSON"
	}
	return toolset.Deny("Not executed: the arguments were changed to something that is not valid JSON."), nil
}

// answer asks a question. One that the asker does not answer goes to behind, which may be nil.
func (s *seat) answer(ctx context.Context, behind engine.Answerer, q toolset.Question) (reply toolset.Reply, err error) {
	if err = toolset.ErrNobody; s != nil {
		reply, err = s.ask(ctx, q)
	}
	if behind != nil && errors.Is(err, toolset.ErrNobody) {
		return behind.Answer(ctx, q)
	}
	return reply, err
}

func (s *seat) ask(ctx context.Context, q toolset.Question) (toolset.Reply, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return toolset.Reply{}, err
	}
	defer leave()
	return s.asker.Answer(ctx, q)
}

// origin identifies the call that a question is about. It is nil for an output that is not made by
// a call.
func (r *agentRun[D, O]) origin(c *engine.Call) toolset.Origin {
	o := toolset.Origin{Path: r.options.outer.path, Agent: r.context.Agent, RunID: r.context.RunID, Step: r.context.Step}
	if c == nil {
		return o
	}
	o.Path, o.Tool = extended(o.Path, c.ID), c.Tool
	if t := r.tool(c.Tool); t != nil {
		o.Kind, o.Title = t.Kind, t.Title
	}
	return o
}

// extended returns a copy of path with an id appended.
func extended(path []string, callID string) []string {
	return append(append(make([]string, 0, len(path)+1), path...), callID)
}
