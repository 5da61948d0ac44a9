// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
)

// Observed describes a run from elsewhere, such as a turn of a stored session: see [Evaluate].
type Observed struct {
	// Name identifies it, and Input and Output are what was said. Err is the error of a run that
	// failed.
	Name, Input, Output string
	Err                 error
	// Metadata is for the application's own evaluators.
	Metadata map[string]any
	// Runs are the runs, the outermost first, with their messages.
	Runs []AgentRun
}

// Evaluate scores what has been observed, without a dataset. Evaluators are for strings, or for any
// type. Those that compare with an expected output give no score. An evaluator that fails
// gives a score of [KindError]. Files of a workspace are not known.
func Evaluate(ctx context.Context, o Observed, evaluators ...Evaluator) ([]Score, error) {
	if problems := checkEvaluators[string, string]("the list", evaluators); len(problems) > 0 {
		return nil, fmt.Errorf("evals: %w", problems[0])
	}
	s := &subject{name: o.Name, input: o.Input, unlabeled: true, metadata: o.Metadata}
	t := &trial{subject: s, output: o.Output, err: o.Err}
	for i, run := range o.Runs {
		r := &recorded{AgentRun: run, index: i}
		if run.Outer >= 0 && run.Outer < i {
			r.outer = t.runs[run.Outer]
		}
		for _, m := range run.Messages {
			if m.Kind == model.KindResponse && (run.RunID == "" || m.RunID == run.RunID) {
				r.responses = append(r.responses, m)
			}
		}
		t.runs = append(t.runs, r)
	}
	t.trace = t.recorder.trace()
	for i := range t.trace.Calls {
		c := &t.trace.Calls[i]
		c.Ran = c.Ran || c.Err == "" && (c.Outcome == model.OutcomeSuccess && c.Result != "" ||
			c.Outcome == model.OutcomeFailed)
	}
	for i := range o.Runs {
		t.trace.Duration += o.Runs[i].Duration
	}
	ctx = &place{Context: ctx, recorder: &t.judges}
	return scoresOf(evaluators, func(e Evaluator) (Score, error) { return e.evaluate(ctx, t) }), nil
}
