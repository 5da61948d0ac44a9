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
)

// Auto returns a model that exercises an agent. It calls every tool it is offered once, with
// arguments generated from the tool's schema, and then answers:
//
//   - through the output tool if one is offered (see [OutputTool]), with generated arguments;
//   - with generated JSON text if the request constrains the response to a schema ([model.Request.Output]);
//   - otherwise with text that contains the results of the tools as a JSON object.
//
// All tools are called in one response, unless options or the request's settings say otherwise.
// Tools offered later are called when they appear. The model has no state: it reads the history
// since the last user message to find out which tools have been called. It can therefore serve many
// runs, and resumed runs. It obeys [model.Request.ToolChoice].
//
// Generated arguments match the schema. Where the schema is that of a Go type, they also keep its
// validate rules: the model tries values in the place of those that the type refuses. If it finds
// none, as for rules about files or a type's own decoding, its first response is an error that
// names the rule and the field. If a tool or the output asks for a retry, the model returns an
// error that names the problem, because it would generate the same arguments again. Use [Skipping]
// for such tools.
func Auto(opts ...AutoOption) model.Model {
	a := &auto{outputs: isDefaultOutput}
	for _, o := range opts {
		o(a)
	}
	return double("auto", a.generate)
}

// AutoOption configures an [Auto] model.
type AutoOption func(*auto)

// OneByOne makes the model call one tool per response.
func OneByOne() AutoOption { return func(a *auto) { a.oneByOne = true } }

// Calling makes the model call only the named tools. It may be given several times.
func Calling(names ...string) AutoOption {
	return func(a *auto) { a.only = append(slices.Clip(a.only), names...) }
}

// Skipping makes the model skip the named tools.
func Skipping(names ...string) AutoOption {
	return func(a *auto) { a.skip = append(slices.Clip(a.skip), names...) }
}

// OutputTool names the tools that return the final answer. The first one offered is used. The
// default is "final_result", as in package agent, and tools whose names start with "final_result_".
func OutputTool(names ...string) AutoOption {
	return func(a *auto) { a.outputs = func(name string) bool { return slices.Contains(names, name) } }
}

// Answering sets the text of text answers.
func Answering(text string) AutoOption { return func(a *auto) { a.text = &text } }

// Seeded varies the generated values: optional properties, longer lists, other choices. The same
// seed gives the same values. The default is seed 0, which generates the simplest values.
func Seeded(seed uint64) AutoOption { return func(a *auto) { a.seed = seed } }

func isDefaultOutput(name string) bool {
	return name == "final_result" || strings.HasPrefix(name, "final_result_")
}

// autoID is the prefix of call ids. It is followed by a number that is not yet in the history.
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
			if args, err = valid(t.Schema, a.seed); err != nil {
				return nil, fmt.Errorf("modeltest: auto: cannot generate arguments for tool %q: %w", t.Name, err)
			}
		}
		parts[i] = model.ToolCall(autoID+strconv.Itoa(last+i+1), t.Name, string(args))
	}
	return respond(parts...), nil
}

// next returns the tools to call next. It returns none if it is time to answer with text.
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
		text, err := valid(req.Output.Schema, a.seed)
		if err != nil {
			return nil, fmt.Errorf("modeltest: auto: cannot generate the output: %w", err)
		}
		return respond(model.Text(string(text))), nil
	}
	return respond(model.Text(lastTurn(req.Messages).summary())), nil
}

// refused returns an error if the agent asked for a retry of the last response.
func refused(messages []*model.Message) error {
	for _, p := range latestParts(messages) {
		switch {
		case p.Kind != model.PartRetry:
		case p.Tool == "":
			return fmt.Errorf("modeltest: auto: the answer was not accepted: %s"+
				" (use OutputTool to name the run's output tool, or Answering to set the text)", p.Text)
		default:
			return fmt.Errorf("modeltest: auto: tool %q did not accept the generated arguments %s: %s (use Skipping to leave it out)",
				p.Tool, turn(messages).args(p.CallID), p.Text)
		}
	}
	return nil
}
