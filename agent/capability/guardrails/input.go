// SPDX-License-Identifier: Apache-2.0

package guardrails

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// stateKey is the context key of what the guards of a policy keep of a run.
type stateKey struct{ guardrails any }

// state holds the calls of a run between the response that makes them and their execution.
type state struct {
	mu    sync.Mutex
	calls map[callKey]*decision
	// outputs have passed, in one spelling. Runs inside share them.
	outputs *outputs
}

type callKey struct {
	step       int
	tool, args string
}

func (g *guardrails[D]) stateOf(ctx context.Context) *state {
	s, _ := ctx.Value(stateKey{g}).(*state)
	return s
}

func (s *state) put(k callKey, d *decision) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[k] = d
}

func (s *state) get(k callKey) *decision {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[k]
}

// run is the Run hook.
func (g *guardrails[D]) run(ctx context.Context, _ *toolset.RunContext[D], next agent.RunFunc) error {
	own := &state{calls: map[callKey]*decision{}, outputs: new(outputs)}
	if around := g.stateOf(ctx); around != nil {
		own.outputs = around.outputs
	}
	_, err := next(context.WithValue(ctx, stateKey{g}, own))
	return err
}

// input is the Input hook.
func (g *guardrails[D]) input(ctx context.Context, run *toolset.RunContext[D], parts []model.Part) ([]model.Part, error) {
	s := subjectOf(parts)
	d, err := g.decide(ctx, run, s, func(c *Guard[D]) bool { return !c.Parallel })
	if err != nil || !d.replaced {
		return parts, err
	}
	return replaced(parts, model.PartUser, d.text), nil
}

// subjectOf returns the parts of a prompt as a subject.
func subjectOf(parts []model.Part) *Subject {
	s := &Subject{Stage: Input}
	var texts []string
	for i := range parts {
		if p := &parts[i]; p.Kind == model.PartMedia {
			s.Media = append(s.Media, *p)
		} else {
			texts = append(texts, p.Text)
		}
	}
	s.Text = strings.Join(texts, "\n")
	return s
}

// replaced returns parts in which one part of a kind, with this text, takes the place of all
// text. Media stay.
func replaced(parts []model.Part, kind model.PartKind, text string) []model.Part {
	made := []model.Part{{Kind: kind, Text: text}}
	for i := range parts {
		if parts[i].Kind == model.PartMedia {
			made = append(made, parts[i])
		}
	}
	return made
}

// tripwire checks the input while the model works.
type tripwire struct {
	done   chan struct{}
	err    error // once done is closed
	cancel context.CancelFunc
}

// trip begins to check what the user has said since the last response, if a guard does that in
// parallel. The context that it returns ends when the check does not pass.
func (g *guardrails[D]) trip(ctx context.Context, run *toolset.RunContext[D], messages []*model.Message) (*tripwire, context.Context) {
	parallel := func(c *Guard[D]) bool { return c.Parallel }
	if !g.has(parallel) {
		return nil, ctx
	}
	s := subjectOf(fresh(messages))
	if s.Text == "" && s.Media == nil {
		return nil, ctx
	}
	request, fail := context.WithCancelCause(ctx)
	checks, cancel := context.WithCancel(ctx)
	t := &tripwire{done: make(chan struct{}), cancel: func() { cancel(); fail(nil) }}
	go func() {
		defer close(t.done)
		d, err := g.decide(checks, run, s, parallel)
		if err == nil && d.replaced {
			err = blocked(d.by, s, "text that was already sent cannot be replaced", nil)
		}
		if t.err = err; err != nil {
			fail(err)
		}
	}()
	return t, request
}

// wait waits for the check of the input, and returns its decision. failed means that the request
// has failed and nothing depends on the check any more: it is cancelled, and passed is false
// unless it was over.
func (t *tripwire) wait(failed bool) (tripped error, passed bool) {
	if t == nil {
		return nil, true
	}
	if failed {
		t.cancel()
	}
	<-t.done
	t.cancel()
	if failed && errors.Is(t.err, context.Canceled) {
		return nil, false
	}
	return t.err, t.err == nil
}

// waiting returns the channel that is closed when the check is over, or nil.
func (t *tripwire) waiting() <-chan struct{} {
	if t == nil {
		return nil
	}
	return t.done
}

// fresh returns what the user has said since the last response. What tools have shown beside
// their results is not the user's.
func fresh(messages []*model.Message) (parts []model.Part) {
	for i := len(messages) - 1; i >= 0 && messages[i].Kind == model.KindRequest; i-- {
		var own []model.Part
		for _, p := range messages[i].Parts {
			if p.Kind == model.PartToolReturn || p.Kind == model.PartRetry {
				own = nil
				break
			}
			own = append(own, p)
		}
		parts = append(own, parts...)
	}
	return parts
}
