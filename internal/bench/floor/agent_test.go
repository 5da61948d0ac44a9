// SPDX-License-Identifier: Apache-2.0

package floor

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
)

// Agent is a model with tools and a typed output.
type Agent[D, O any] struct {
	model        Model
	instructions string
	tools        map[string]*Tool[D]
	defs         []*Def
	decode       func(text string) (O, error)
}

// The budgets of a run.
const (
	maxTurns      = 1000
	outputRetries = 1
)

// NewAgent returns an agent. Decode makes the output of the model's answer; its error goes back to the model.
func NewAgent[D, O any](model Model, instructions string, decode func(text string) (O, error), tools ...*Tool[D]) *Agent[D, O] {
	a := &Agent[D, O]{model: model, instructions: instructions, tools: map[string]*Tool[D]{}, decode: decode}
	for _, t := range tools {
		a.tools[t.Name] = t
		a.defs = append(a.defs, &t.Def)
	}
	return a
}

// Result is how a run ended.
type Result[O any] struct {
	Output   O
	Messages []Message
	Usage    Usage
}

var errTurns = errors.New("floor: too many turns")

// Run asks the model until there is an output.
func (a *Agent[D, O]) Run(ctx context.Context, deps D, prompt string) (*Result[O], error) {
	req := a.request(prompt)
	var usage Usage
	retries := 0
	for range maxTurns {
		resp, err := a.model.Generate(ctx, req)
		if err != nil {
			return nil, err
		}
		usage.Input += resp.Usage.Input
		usage.Output += resp.Usage.Output
		req.Messages = append(req.Messages, Message{RoleAssistant, resp.Parts})
		if results := a.call(ctx, deps, resp.Parts); results != nil {
			req.Messages = append(req.Messages, Message{RoleTool, results})
			continue
		}
		out, err := a.decode(resp.Parts[0].Text)
		if err == nil {
			return &Result[O]{out, req.Messages, usage}, nil
		}
		if retries++; retries > outputRetries {
			return nil, err
		}
		req.Messages = append(req.Messages, Message{RoleUser, []Part{{Text: err.Error()}}})
	}
	return nil, errTurns
}

func (a *Agent[D, O]) request(prompt string) *Request {
	return &Request{Instructions: a.instructions, Tools: a.defs, Messages: []Message{{RoleUser, []Part{{Text: prompt}}}}}
}

// call runs the tools that a response calls, in parallel if there are several.
func (a *Agent[D, O]) call(ctx context.Context, deps D, parts []Part) []Part {
	var results []Part
	for _, p := range parts {
		if p.CallID != "" {
			results = append(results, p)
		}
	}
	if len(results) == 1 {
		a.answer(ctx, deps, &results[0])
		return results
	}
	var running sync.WaitGroup
	for i := range results {
		running.Go(func() { a.answer(ctx, deps, &results[i]) })
	}
	running.Wait()
	return results
}

// answer turns a call into its result.
func (a *Agent[D, O]) answer(ctx context.Context, deps D, p *Part) {
	args := p.Args
	p.Args = ""
	t, ok := a.tools[p.Tool]
	if !ok {
		p.Text = "unknown tool"
		return
	}
	text, err := t.call(ctx, deps, args)
	if err != nil {
		text = err.Error()
	}
	p.Text = text
}

// Stream asks the model once and yields the text as it is written; all of it is left in full.
func (a *Agent[D, O]) Stream(ctx context.Context, prompt string, full *string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var text strings.Builder
		for p, err := range a.model.Stream(ctx, a.request(prompt)) {
			if err != nil {
				yield("", err)
				return
			}
			text.WriteString(p.Text)
			if !yield(p.Text, nil) {
				return
			}
		}
		*full = text.String()
	}
}
