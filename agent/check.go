// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// detach copies the slices and settings of the configuration, which the caller may change after
// [New]. install copies those that capabilities append to.
func (c *Config[D, O]) detach() {
	c.Alternatives = slices.Clone(c.Alternatives)
	c.Validators = slices.Clone(c.Validators)
	c.ToolRetries, c.OutputRetries = copied(c.ToolRetries), copied(c.OutputRetries)
	c.Observer = copied(c.Observer)
}

// copied returns a pointer to a copy of what p points to, or nil.
func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// checkNumbers reports numbers that are out of range.
func (c *Config[D, O]) checkNumbers() error {
	var wrong problems
	wrong.negative("ToolTimeout", int64(c.ToolTimeout))
	wrong.negative("MaxParallelCalls", int64(c.MaxParallelCalls))
	if n := c.ToolRetries; n != nil {
		wrong.negative("ToolRetries", int64(*n))
	}
	if n := c.OutputRetries; n != nil {
		wrong.negative("OutputRetries", int64(*n))
	}
	for i, validate := range c.Validators {
		if validate == nil {
			wrong.add("Config: Validators[%d] is nil", i)
		}
	}
	return wrong.join(checkLimits(c.Limits), checkChoice(c.ToolChoice), c.Settings.Check())
}

// check reports limits that are out of range.
func checkLimits(l Limits) error {
	var wrong problems
	if l.ToolCalls < 0 && l.ToolCalls != Unlimited && l.ToolCalls != NoToolCalls {
		wrong.add("Limits: ToolCalls is %d, must be positive, 0 (not set), Unlimited or NoToolCalls", l.ToolCalls)
	}
	for _, limit := range []struct {
		name string
		n    int64
	}{
		{"Requests", int64(l.Requests)}, {"InputTokens", l.InputTokens}, {"OutputTokens", l.OutputTokens}, {"TotalTokens", l.TotalTokens},
	} {
		if limit.n < 0 && limit.n != Unlimited {
			wrong.add("Limits: %s is %d, must be positive, 0 (not set) or Unlimited", limit.name, limit.n)
		}
	}
	if l.Cost != Unlimited && !(l.Cost >= 0 && l.Cost <= math.MaxFloat64) {
		wrong.add("Limits: Cost is %v, must be positive, 0 (not set) or Unlimited", l.Cost)
	}
	return wrong.join()
}

// check reports invalid options of a run.
func (o *runOptions) check() error {
	var wrong problems
	if n := o.toolRetries; n != nil {
		wrong.negative("WithToolRetries: the number", int64(*n))
	}
	var policies error
	if o.rule != nil {
		policies = o.rule.wrong
	}
	return wrong.join(policies, checkLimits(o.limits), checkChoice(o.choice), o.settings.Check())
}

// checkChoice reports an invalid tool choice.
func checkChoice(c model.ToolChoice) error {
	switch c.Mode {
	case model.ToolChoiceTool:
		if c.Tool == "" {
			return errors.New("ToolChoice: the mode is tool, but no tool is named")
		}
		return nil
	case model.ToolChoiceAuto, model.ToolChoiceNone, model.ToolChoiceRequired:
		if c.Tool != "" {
			return fmt.Errorf("ToolChoice: the tool %q is named, so the mode must be tool, not %q", c.Tool, c.Mode)
		}
		return nil
	}
	return fmt.Errorf("ToolChoice: unknown mode %q", c.Mode)
}

// problems collects what is wrong with a configuration. Its methods are called in many places, so they are not inlined.
type problems []error

//go:noinline
func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

// negative adds a problem if a number is negative that must not be.
func (p *problems) negative(name string, n int64) {
	if n < 0 {
		p.add("%s is %d, must not be negative", name, n)
	}
}

// join allocates only if there is a problem: each run checks its options.
//
//go:noinline
func (p *problems) join(more ...error) error {
	for _, err := range more {
		if err != nil {
			*p = append(*p, err)
		}
	}
	return errors.Join(*p...)
}

// checkTools reports the errors of toolsets that can be found before a run.
func checkTools[D, O any](sets []toolset.Toolset[D], all toolset.Toolset[D], out *output[D, O]) error {
	wrong := problems{all.(toolset.Checker).Check()}
	mode := out.mode
	if mode == OutputAuto {
		mode = OutputTool // the mode of an agent with tools
	}
	for _, set := range sets {
		fixed, ok := set.(toolset.Fixed[D])
		if !ok {
			continue
		}
		for _, t := range fixed.FixedTools() {
			if t != nil && t.Yield == nil && out.isTool(t.Def.Name, mode) {
				wrong = append(wrong, clashWithOutput(t.Def.Name, set.Name()))
			}
		}
	}
	return wrong.join()
}

// checkChosen reports a tool choice of a name that no run will offer, if that can be known before a run: if all toolsets are static, so
// that they are their own instances.
func (a *Agent[D, O]) checkChosen() error {
	choice := a.config.ToolChoice
	if _, static := a.tools.(toolset.Instance[D]); !static || choice.Mode != model.ToolChoiceTool || choice.Tool == "" || a.output.alternative(choice.Tool) != nil {
		return nil
	}
	for _, t := range a.tools.(toolset.Fixed[D]).FixedTools() {
		if t.Def.Name == choice.Tool {
			return nil
		}
	}
	return fmt.Errorf("ToolChoice: unknown tool %q", choice.Tool)
}

func clashWithOutput(tool, set string) error {
	return &toolset.NameClashError{Tool: tool, First: "the agent's output", Second: set}
}
