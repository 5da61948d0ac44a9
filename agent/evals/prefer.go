// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/jsonvalue"
)

// Prefer asks a model which of two outputs is better: the trial's, or the output of the same case
// in a baseline. It is asked in both orders, because judges prefer a place. The number is 1 for the
// trial, 0 for the baseline, and 0.5 if the judge cannot tell, or says something else in the other
// order. Cases without an output in the baseline are not scored. If the interval of the mean does
// not contain 0.5, one of the two is better.
func Prefer(m model.Model, rubric string, base *Report, o JudgeOptions) Evaluator {
	chooser, invalid := newChooser(m, rubric, o)
	return untyped("preferred", func(ctx context.Context, t *trial) (Score, error) {
		if invalid != nil || base == nil {
			return Score{}, cmp.Or(invalid, errors.New("there is no baseline"))
		}
		return chooser.score(ctx, base, t)
	})
}

type choice struct {
	Reason string `json:"reason" jsonschema:"description=One or two sentences."`
	Better string `json:"better" validate:"oneof=first second neither"`
}

const chooserInstructions = `You compare two outputs of a program.
Say which one meets <rubric> better: the first, the second, or neither.
` + onlyMaterial + `
Their order says nothing. Give the reason first, in one or two sentences.`

type chooser struct {
	judge
	agent *agent.Agent[any, choice]
}

func newChooser(m model.Model, rubric string, o JudgeOptions) (*chooser, error) {
	if m == nil || strings.TrimSpace(rubric) == "" {
		return nil, errors.New("a judge needs a model and a rubric")
	}
	a, err := agent.New(agent.Config[any, choice]{
		Name: "judge", Model: m, Instructions: chooserInstructions, Settings: &o.Settings,
	})
	return &chooser{judge{options: o, rubric: rubric}, a}, err
}

// score asks in both orders.
func (c *chooser) score(ctx context.Context, base *Report, t *trial) (Score, error) {
	at := slices.IndexFunc(base.Cases, func(x ReportCase) bool { return x.Name == t.name })
	if at < 0 {
		return Score{}, nil
	}
	trials := base.Cases[at].Trials
	i := slices.IndexFunc(trials, func(x TrialResult) bool { return x.Status == StatusCompleted })
	if i < 0 {
		return Score{}, nil
	}
	own, err := t.json()
	if err != nil {
		return Score{}, fmt.Errorf("the output is not JSON: %w", err)
	}
	other, err := jsonvalue.Parse(trials[i].Output)
	if err != nil {
		return Score{}, fmt.Errorf("the output of the baseline is not JSON: %w", err)
	}
	first, err := c.ask(ctx, t, own, other)
	if err != nil {
		return Score{}, err
	}
	second, err := c.ask(ctx, t, other, own)
	if err != nil {
		return Score{}, err
	}
	switch {
	case first.Better == "first" && second.Better == "second":
		return Number(1).Because("better: %s", first.Reason), nil
	case first.Better == "second" && second.Better == "first":
		return Number(0).Because("worse: %s", first.Reason), nil
	}
	return Number(0.5).Because("%s, and in the other order %s: %s | %s",
		first.Better, second.Better, first.Reason, second.Reason), nil
}

func (c *chooser) ask(ctx context.Context, t *trial, first, second any) (choice, error) {
	var b strings.Builder
	if c.options.Input {
		section(&b, "input", t.input)
	}
	section(&b, "first", first)
	section(&b, "second", second)
	if c.options.Expected && !t.unlabeled {
		section(&b, "expected", t.expected)
	}
	section(&b, "rubric", c.rubric)
	res, err := c.agent.Run(ctx, nil, b.String())
	if err != nil {
		return choice{}, err
	}
	return res.Output, nil
}
