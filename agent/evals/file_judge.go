// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
)

type judgeArgs struct {
	Rubric   string          `json:"rubric"`
	Model    string          `json:"model"`
	Input    bool            `json:"include_input"`
	Expected bool            `json:"include_expected_output"`
	Settings json.RawMessage `json:"model_settings"`
	Score    json.RawMessage `json:"score"`
	Pass     json.RawMessage `json:"assertion"`
}

// outputConfig configures a score of LLMJudge.
type outputConfig struct {
	Name   string `json:"evaluation_name"`
	Reason bool   `json:"include_reason"`
}

func outputOf(data json.RawMessage, byDefault bool) (c outputConfig, wanted bool, err error) {
	switch {
	case data == nil:
		return outputConfig{Reason: true}, byDefault, nil
	case string(data) == "false":
		return c, false, nil
	}
	return c, true, strictly(data, &c)
}

// judgeModel returns the model of a judge.
func (o FileOptions) judgeModel(name string) (model.Model, error) {
	switch {
	case name == "" && o.Judge == nil:
		return nil, errors.New("there is no model: set FileOptions.Judge")
	case name == "":
		return o.Judge, nil
	case o.Open == nil:
		return nil, fmt.Errorf("model %q cannot be opened: set FileOptions.Open", name)
	}
	return o.Open(name)
}

// judgeSettings reads those settings that all models have.
func judgeSettings(data json.RawMessage) (s model.Settings, err error) {
	var known struct {
		MaxTokens   int      `json:"max_tokens"`
		Temperature *float64 `json:"temperature"`
		TopP        *float64 `json:"top_p"`
		Seed        *int64   `json:"seed"`
	}
	if isNull(data) {
		return s, nil
	}
	if err := strictly(data, &known); err != nil {
		return s, fmt.Errorf("model_settings: %w", err)
	}
	return model.Settings{
		MaxTokens: known.MaxTokens, Temperature: known.Temperature,
		TopP: known.TopP, Seed: known.Seed,
	}, nil
}

// binary is a verdict with a score from 0 to 1 beside it.
type binary struct {
	Reason string  `json:"reason" jsonschema:"description=One or two sentences."`
	Pass   bool    `json:"pass" jsonschema:"description=Whether the rubric is true."`
	Score  float64 `json:"score" validate:"gte=0,lte=1"`
}

func llmJudge(o FileOptions, args json.RawMessage) ([]Evaluator, error) {
	var a judgeArgs
	if err := strictly(args, &a); err != nil {
		return nil, err
	}
	m, err := o.judgeModel(a.Model)
	if err != nil {
		return nil, err
	}
	settings, err := judgeSettings(a.Settings)
	if err != nil {
		return nil, err
	}
	options := JudgeOptions{Input: a.Input, Expected: a.Expected, Settings: settings}
	j, err := newJudge(m, a.Rubric, options)
	if err != nil {
		return nil, err
	}
	number, scored, errScore := outputOf(a.Score, false)
	yes, passed, errPass := outputOf(a.Pass, true)
	if err := errors.Join(errScore, errPass); err != nil {
		return nil, err
	}
	if !scored {
		if !passed {
			return nil, errors.New("it gives neither a score nor an assertion")
		}
		e := Judge(m, a.Rubric, options).Named(cmp.Or(yes.Name, "LLMJudge"))
		return []Evaluator{e}, nil
	}
	scoreName, passName := "LLMJudge", "LLMJudge"
	if passed {
		scoreName, passName = "LLMJudge_score", "LLMJudge_pass"
	}
	both, err := newScorer(m, j)
	if err != nil {
		return nil, err
	}
	share := func(b binary) Score { return Number(b.Score) }
	all := []Evaluator{both.evaluator(cmp.Or(number.Name, scoreName), share)}
	if passed {
		says := func(b binary) Score { return Pass(b.Pass) }
		all = append(all, both.evaluator(cmp.Or(yes.Name, passName), says))
	}
	return all, nil
}

// scorer is a judge that gives two scores for one request.
type scorer struct {
	*judge
	ask func(ctx context.Context, prompt string) (binary, error)
}

// evaluator returns one of the two. The judge is asked once for a trial.
func (s *scorer) evaluator(name string, score func(b binary) Score) Evaluator {
	return untyped(name, func(ctx context.Context, t *trial) (Score, error) {
		b, ok := t.said[s]
		if !ok {
			prompt, err := s.prompt(t)
			if err != nil {
				return Score{}, err
			}
			if b, err = s.ask(ctx, prompt); err != nil {
				return Score{}, err
			}
			if t.said == nil {
				t.said = map[*scorer]binary{}
			}
			t.said[s] = b
		}
		return score(b).Because("%s", b.Reason), nil
	})
}

type gEvalArgs struct {
	evaluationName
	Criteria string          `json:"criteria"`
	Steps    []string        `json:"evaluation_steps"`
	Range    []int           `json:"score_range"`
	Input    bool            `json:"include_input"`
	Model    string          `json:"model"`
	Settings json.RawMessage `json:"model_settings"`
}

func gEval(o FileOptions, args json.RawMessage) ([]Evaluator, error) {
	a := gEvalArgs{Range: []int{1, 5}}
	if err := strictly(args, &a); err != nil {
		return nil, err
	}
	m, err := o.judgeModel(a.Model)
	if err != nil {
		return nil, err
	}
	settings, err := judgeSettings(a.Settings)
	if err != nil {
		return nil, err
	}
	if len(a.Range) != 2 || a.Range[0] >= a.Range[1] || len(a.Steps) == 0 {
		return nil, errors.New("it needs evaluation_steps, and a score_range of two numbers, " +
			"the lower one first")
	}
	options := JudgeOptions{
		Input: a.Input, Steps: a.Steps, Low: a.Range[0], High: a.Range[1], Settings: settings,
	}
	if _, err := newJudge(m, a.Criteria, options); err != nil {
		return nil, err
	}
	return []Evaluator{Judge(m, a.Criteria, options)}, nil
}
