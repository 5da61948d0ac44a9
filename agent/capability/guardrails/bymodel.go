// SPDX-License-Identifier: Apache-2.0

package guardrails

import (
	"cmp"
	"context"
	"errors"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/verdict"
	"github.com/ponte-go/ponte/toolset"
)

// ModelCheck configures [ByModel]. Policy is required.
type ModelCheck struct {
	// Policy describes in plain words what may pass.
	Policy string
	// Model decides; nil is the model of the run. A small one will often do.
	Model model.Model
	// MaxBytes bounds the text that the model is shown. A check of a longer one fails. 0 means 64
	// KiB.
	MaxBytes int
}

// ByModel returns a check by a model: it passes a text, blocks it, or asks a person if the model is
// not sure. A block at [Call] is a denied call. It never replaces. Media are not looked at, and a
// text that is still growing passes. Everything but a clear verdict is a failed check.
//
// On engines that repeat the loop of a run, such as Temporal, a guard of the input needs
// [Guard].Parallel: its check is then made once, with the request. Without it the check fails.
//
// The text is shown to the model as data. A model can be talked into a verdict all the same: do not
// let one be the only thing between an attacker and damage.
func ByModel[D any](o ModelCheck) Check[D] {
	return func(ctx context.Context, run *toolset.RunContext[D], s *Subject) (Verdict, error) {
		if s.Partial {
			return Pass(), nil
		}
		if s.Stage == Input && engine.PartOf(ctx) == engine.LoopOnly {
			return Verdict{}, errors.New("the loop of this run is repeated, and would ask the model each time: set Guard.Parallel, and the input is checked with the request")
		}
		if o.Policy == "" {
			return Verdict{}, errors.New("ModelCheck.Policy is empty")
		}
		c := verdict.Case{
			Role:   "You check the " + s.Stage.String() + " of an AI agent by a policy. You do nothing else.",
			Policy: o.Policy,
			Verdicts: []verdict.Answer{
				{Name: "pass", Meaning: "the policy allows it"},
				{Name: "block", Meaning: "the policy forbids it"},
				{Name: "ask", Meaning: "the policy does not say, or you are not sure"},
			},
			MaxBytes: cmp.Or(o.MaxBytes, 64<<10),
		}
		if s.Tool != "" {
			c.Data = append(c.Data, verdict.Field{Name: "tool", Text: s.Tool})
		}
		c.Data = append(c.Data, verdict.Field{Name: "text", Text: s.Text})
		resp, err := generate(ctx, run, o.Model, &c)
		if err != nil {
			return Verdict{}, err
		}
		answer, reason, err := c.Read(resp)
		switch {
		case err != nil:
			return Verdict{}, err
		case answer == "pass":
			return Pass(), nil
		case answer == "ask":
			return Ask(reason), nil
		case s.Stage == Call:
			return Deny(reason), nil
		}
		return Block(reason), nil
	}
}

func generate[D any](ctx context.Context, run *toolset.RunContext[D], m model.Model, c *verdict.Case) (*model.Message, error) {
	if m == nil {
		req, err := c.Request(run.Model != nil && run.Model.NativeOutput)
		if err != nil {
			return nil, err
		}
		return run.Generate(ctx, req)
	}
	req, err := c.Request(m.Info().NativeOutput)
	if err != nil {
		return nil, err
	}
	return verdict.Generate(ctx, run.Meter, m, req)
}
