// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest/internal/describe"
	"github.com/ponte-go/ponte/internal/generate"
)

// Auto returns a model that tries out an agent: it calls every tool that it is offered once, with arguments made from
// the tool's schema, and then answers:
//
//   - through the output tool if one is offered (see [OutputTool]), with generated arguments;
//   - with a generated JSON text if the request binds the response to a schema ([model.Request.Output]);
//   - otherwise with a text that shows the results of the tools as a JSON object.
//
// All tools are called in one response unless options or the request's settings say otherwise. Tools that are offered
// later are called when they appear. What has been called is read from the history since the user's last words, so the
// model has no state: it may be used by many runs, and by a run that is resumed elsewhere. It keeps
// [model.Request.ToolChoice].
//
// Generated arguments keep the schema, and so all of a struct's validate rules that a schema can express. Rules that it
// cannot express are up to the tool: those about several fields (gtfield, required_if), ne, alternatives (ipv4|ipv6),
// versions of UUIDs but 4, a second pattern, date layouts other than RFC 3339, bounds with "omitempty" on a field that is
// not omitted in JSON, and types that decode themselves. If a tool or the output asks for a retry, the model fails with an
// error that says what was refused, for it would only generate the same again; leave such a tool out ([Skipping]).
func Auto(opts ...AutoOption) model.Model {
	a := &auto{outputs: isDefaultOutput}
	for _, o := range opts {
		o(a)
	}
	return double("auto", a.generate)
}

// AutoOption changes what an [Auto] model does.
type AutoOption func(*auto)

// OneByOne calls one tool per response.
func OneByOne() AutoOption { return func(a *auto) { a.oneByOne = true } }

// Calling calls only the named tools. Several such options add up.
func Calling(names ...string) AutoOption {
	return func(a *auto) { a.only = append(slices.Clip(a.only), names...) }
}

// Skipping does not call the named tools.
func Skipping(names ...string) AutoOption {
	return func(a *auto) { a.skip = append(slices.Clip(a.skip), names...) }
}

// OutputTool names the tools by which an answer is given; the first one that is offered is used. Without it these are
// "final_result", which is agent's default, and tools whose names begin with "final_result_".
func OutputTool(names ...string) AutoOption {
	return func(a *auto) { a.outputs = func(name string) bool { return slices.Contains(names, name) } }
}

// Answering gives the text to answer with where the answer is text.
func Answering(text string) AutoOption { return func(a *auto) { a.text = &text } }

// Seeded varies the generated values: with optional properties, longer lists, other choices. The same seed gives the same
// values. Seed 0 is the default: the plainest values.
func Seeded(seed uint64) AutoOption { return func(a *auto) { a.seed = seed } }

func isDefaultOutput(name string) bool {
	return name == "final_result" || strings.HasPrefix(name, "final_result_")
}

// autoID begins the ids of calls; a number that the history does not have follows.
const autoID = "auto_"

type auto struct {
	oneByOne   bool
	only, skip []string
	outputs    func(name string) bool
	text       *string
	seed       uint64
}

func (a *auto) generate(_ context.Context, req *model.Request) (*model.Message, error) {
	if err := refused(req.Messages); err != nil {
		return nil, err
	}
	tools := a.next(req)
	if len(tools) == 0 {
		return a.answer(req)
	}
	parts := make([]model.Part, len(tools))
	last := turn(req.Messages).lastID()
	for i, t := range tools {
		args := json.RawMessage("{}")
		if len(t.Schema) > 0 {
			var err error
			if args, err = generate.Seeded(t.Schema, a.seed); err != nil {
				return nil, fmt.Errorf("modeltest: auto: no arguments for the tool %q: %w", t.Name, err)
			}
		}
		parts[i] = model.ToolCall(autoID+strconv.Itoa(last+i+1), t.Name, string(args))
	}
	return respond(parts...), nil
}

// next returns the tools to call now, none if it is time to answer with text.
func (a *auto) next(req *model.Request) []*model.ToolDef {
	if req.ToolChoice.Mode == model.ToolChoiceNone {
		return nil
	}
	var open, outputs []*model.ToolDef
	done := lastTurn(req.Messages)
	for i := range req.Tools {
		t := &req.Tools[i]
		switch {
		case req.ToolChoice.Mode == model.ToolChoiceTool:
			if t.Name == req.ToolChoice.Tool {
				return []*model.ToolDef{t}
			}
		case a.outputs(t.Name):
			outputs = append(outputs, t)
		case done.called(t.Name), len(a.only) > 0 && !slices.Contains(a.only, t.Name), slices.Contains(a.skip, t.Name):
		default:
			open = append(open, t)
		}
	}
	alone := a.oneByOne || req.Settings != nil && req.Settings.ParallelToolCalls != nil && !*req.Settings.ParallelToolCalls
	switch {
	case len(open) > 0 && alone:
		return open[:1]
	case len(open) > 0:
		return open
	case len(outputs) > 0:
		return outputs[:1]
	case req.ToolChoice.Mode == model.ToolChoiceRequired && len(req.Tools) > 0:
		return []*model.ToolDef{&req.Tools[0]}
	}
	return nil
}

func (a *auto) answer(req *model.Request) (*model.Message, error) {
	switch {
	case a.text != nil:
		return respond(model.Text(*a.text)), nil
	case req.Output != nil:
		text, err := generate.Seeded(req.Output.Schema, a.seed)
		if err != nil {
			return nil, fmt.Errorf("modeltest: auto: no output: %w", err)
		}
		return respond(model.Text(string(text))), nil
	}
	return respond(model.Text(lastTurn(req.Messages).summary())), nil
}

// refused returns an error if the last response has to be corrected.
func refused(messages []*model.Message) error {
	for _, p := range describe.Latest(messages) {
		switch {
		case p.Kind != model.PartRetry:
		case p.Tool == "":
			return fmt.Errorf("modeltest: auto: the answer was refused: %s"+
				" (if the run has an output tool, name it with OutputTool; to answer with another text use Answering)", p.Text)
		default:
			return fmt.Errorf("modeltest: auto: the tool %q refused the generated arguments %s: %s (to leave it out use Skipping)",
				p.Tool, turn(messages).args(p.CallID), p.Text)
		}
	}
	return nil
}
