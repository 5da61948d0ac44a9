// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"github.com/ponte-go/ponte/internal/jsonvalue"
	"github.com/ponte-go/ponte/toolset"
)

// standard is an evaluator of pydantic-evals.
type standard struct {
	// first is the name of the argument that can be given alone, and args is the type of all.
	first string
	args  reflect.Type
	make  func(o FileOptions, args json.RawMessage) ([]Evaluator, error)
	// named is set if make gives the names.
	named bool
}

// plain describes a standard evaluator with arguments of type A.
func plain[A any](first string, make func(a A) (Evaluator, error)) standard {
	return standard{first: first, args: reflect.TypeFor[A](), make: func(_ FileOptions,
		args json.RawMessage) ([]Evaluator, error) {
		var a A
		if err := strictly(args, &a); err != nil {
			return nil, err
		}
		e, err := make(a)
		return []Evaluator{e}, err
	}}
}

// named is the argument that most of them have.
type evaluationName struct {
	Name string `json:"evaluation_name"`
}

// standardEvaluators are the evaluators of pydantic-evals, by name.
var standardEvaluators map[string]standard

func init() {
	standardEvaluators = map[string]standard{
		"Equals":              plain("value", equals),
		"EqualsExpected":      plain("", equalsExpected),
		"Contains":            plain("value", containsValue),
		"IsInstance":          plain("type_name", isInstance),
		"MaxDuration":         plain("seconds", maxDuration),
		"ToolCorrectness":     plain("expected_tools", toolCorrectness),
		"TrajectoryMatch":     plain("expected_trajectory", trajectoryMatch),
		"ArgumentCorrectness": plain("tool_name", argumentCorrectness),
		"MaxToolCalls":        plain("max_calls", maxToolCalls),
		"MaxModelRequests":    plain("max_requests", maxModelRequests),
		"HasMatchingSpan":     plain("query", noSpans),
		"LLMJudge": {
			first: "rubric", args: reflect.TypeFor[judgeArgs](), make: llmJudge, named: true,
		},
		"GEval": {first: "criteria", args: reflect.TypeFor[gEvalArgs](), make: gEval},
	}
}

// noSpans names the alternatives.
func noSpans(json.RawMessage) (Evaluator, error) {
	return Evaluator{}, errors.New("spans of OpenTelemetry are not recorded here: " +
		"use ToolCorrectness, TrajectoryMatch or ArgumentCorrectness")
}

// python compares values as Python does: True is 1.
var python = jsonvalue.Rules{Bools: true}

type equalsArgs struct {
	evaluationName
	Value json.RawMessage `json:"value"`
}

func equals(a equalsArgs) (Evaluator, error) {
	if a.Value == nil {
		return Evaluator{}, errors.New("there is no value")
	}
	want, err := jsonvalue.Parse(a.Value)
	return ofOutput("", func(output any, _ *trial) (Score, error) {
		return equalTo(output, want), nil
	}), err
}

func equalsExpected(evaluationName) (Evaluator, error) {
	return ofOutput("", func(output any, t *trial) (Score, error) {
		if t.unlabeled {
			return Score{}, nil
		}
		return equalTo(output, t.want()), nil
	}), nil
}

func equalTo(output, want any) Score {
	return Pass(python.Equal(output, want)).Because("it is %s, want %s", shown(output), shown(want))
}

type maxDurationArgs struct {
	Seconds float64 `json:"seconds"`
}

func maxDuration(a maxDurationArgs) (Evaluator, error) {
	bound := time.Duration(a.Seconds * float64(time.Second))
	return untypedScore(func(t *trial) (Score, error) {
		took := t.trace.Duration
		return Pass(took <= bound).Because("it took %v, at most %v is allowed", took, bound), nil
	}), nil
}

type maxToolCallsArgs struct {
	evaluationName
	Max    int   `json:"max_calls"`
	Failed *bool `json:"include_failed"`
}

func maxToolCalls(a maxToolCallsArgs) (Evaluator, error) {
	failed := a.Failed == nil || *a.Failed
	return untypedScore(func(t *trial) (Score, error) {
		n := len(toolNames(t, failed))
		return Pass(n <= a.Max).Because("%d tool calls, at most %d are allowed", n, a.Max), nil
	}), nil
}

type maxModelRequestsArgs struct {
	evaluationName
	Max int `json:"max_requests"`
}

func maxModelRequests(a maxModelRequestsArgs) (Evaluator, error) {
	if a.Max == 0 {
		return untypedScore(func(t *trial) (Score, error) {
			n := t.trace.Usage.Requests
			return Pass(n == 0).Because("%d requests, none is allowed", n), nil
		}), nil
	}
	return Within(toolset.Limits{Requests: a.Max}, 0), nil
}
