// SPDX-License-Identifier: Apache-2.0

package guardrails

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// request is the Request hook: it checks the response before anything else has it.
func (g *guardrails[D]) request(ctx context.Context, run *toolset.RunContext[D], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
	if ctx.Value(ownKey{}) != nil || run.Call.ID != "" {
		return next(ctx, req) // of a check, or of a tool
	}
	wire, within := g.trip(ctx, run, req.Messages)
	t := g.tap(ctx, run, wire.waiting())
	resp, err := next(agent.WithSink(within, t.wrap), req)
	tripped, passed := wire.wait(err != nil || resp == nil)
	if tripped != nil {
		t.tellSpent(resp)
		return nil, tripped
	}
	if err != nil || resp == nil {
		if passed { // what was read before the request failed may be shown, and kept
			_ = t.flush() // the request fails already
		}
		_ = t.tellUsed()
		return resp, err
	}
	made, err := g.response(ctx, run, resp, t)
	if err != nil {
		t.tellSpent(resp)
		return nil, err
	}
	return made, t.finish(made)
}

// made checks a response that a hook has made.
func (g *guardrails[D]) made(
	ctx context.Context, run *toolset.RunContext[D], resp *model.Message,
) (*model.Message, error) {
	if ctx.Value(ownKey{}) != nil || run.Call.ID != "" {
		return resp, nil // of a check, or of a tool
	}
	return g.response(ctx, run, resp, new(tap))
}

// response checks the parts of a response.
func (g *guardrails[D]) response(ctx context.Context, run *toolset.RunContext[D], resp *model.Message, t *tap) (*model.Message, error) {
	made := *resp
	if err := g.texts(ctx, run, &made, t); err != nil {
		return nil, err
	}
	for i := range made.Parts {
		p := made.Parts[i]
		if p.Kind != model.PartToolCall {
			continue
		}
		s := &Subject{Stage: Call, Text: string(p.Args), Tool: p.Tool, CallID: p.CallID}
		switch {
		case agent.IsOutput(run, p.Tool):
			s.Stage = Output
		case !agent.IsCalled(run, p.Tool):
			s.final = true
		}
		d, err := g.decide(ctx, run, s, nil)
		if err != nil {
			return nil, err
		}
		if d.replaced {
			if !json.Valid([]byte(d.text)) { // of arguments that were none
				return nil, blocked(d.by, s, "", errors.New("the replacement is not JSON"))
			}
			own := append([]model.Part(nil), made.Parts...) // the model's message is shared
			own[i].Args = model.RawArgs(d.text)
			made.Parts = own
		}
		if s.Stage == Output {
			g.stateOf(ctx).passed(d.text)
		} else {
			d.replaced = false // what follows has the other arguments
			g.stateOf(ctx).put(callKey{run.Step, p.Tool, d.text}, d)
		}
	}
	return &made, nil
}

// texts checks thinking and text.
func (g *guardrails[D]) texts(ctx context.Context, run *toolset.RunContext[D], m *model.Message, t *tap) error {
	var thought strings.Builder
	var media []model.Part
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case model.PartThinking:
			thought.WriteString(p.Text)
		case model.PartMedia:
			media = append(media, *p)
		}
	}
	if text := thought.String(); text != "" && text != t.thought {
		d, err := g.decide(ctx, run, &Subject{Stage: Output, Text: text, Thinking: true}, nil)
		if err != nil {
			return err
		}
		t.dropThought = d.replaced // a signature would not fit another text
	}
	if t.dropThought {
		m.Parts = without(m.Parts, model.PartThinking)
	}
	text := m.Text()
	if text == "" && media == nil {
		return nil
	}
	d, err := g.decide(ctx, run, &Subject{Stage: Output, Text: text, Media: media}, nil)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(d.text, t.shown) {
		return blocked(d.by, &Subject{Stage: Output}, "", errShown)
	}
	g.stateOf(ctx).passed(d.text)
	if t.rest = d.text[len(t.shown):]; d.replaced {
		m.Parts = withText(m.Parts, d.text)
	}
	return nil
}

// errShown means that a text was replaced after a part of it had been shown.
var errShown = errors.New("text that was already shown cannot be replaced")

// without returns the parts that are not of a kind.
func without(parts []model.Part, kinds ...model.PartKind) []model.Part {
	var made []model.Part
	for _, p := range parts {
		keep := true
		for _, k := range kinds {
			keep = keep && p.Kind != k
		}
		if keep {
			made = append(made, p)
		}
	}
	return made
}

// withText returns parts in which one text takes the place of all text and its citations, where the
// first text was.
func withText(parts []model.Part, text string) []model.Part {
	var made []model.Part
	put := false
	for _, p := range parts {
		switch p.Kind {
		case model.PartText:
			if !put && text != "" {
				made = append(made, model.Text(text))
			}
			put = true
		case model.PartCitation, model.PartOpaque: // they may quote it
		default:
			made = append(made, p)
		}
	}
	return made
}

// tellSpent reports the usage of a response that the run will not see. It is counted already.
func (t *tap) tellSpent(resp *model.Message) {
	if resp != nil && t.sink != nil {
		t.used = &resp.Usage
	}
	_ = t.tellUsed() // the run fails already
}
