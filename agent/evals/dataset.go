// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/ponte-go/ponte/agent"
)

// Case is one example: an input, and what is known about a good output.
type Case[In, Out any] struct {
	// Name identifies the case in results and comparisons. It is unique in its dataset. A case
	// without a name is called "case N", with its position, counted from 1.
	Name string
	// Input is passed to the task.
	Input In
	// Expected is the right output. Set Unlabeled if it is not known; [Equal] then does not score
	// the case.
	Expected  Out
	Unlabeled bool
	// Metadata is for the application's own evaluators, and is kept in results.
	Metadata map[string]any
	// Files are written to the case's workspace before the task begins, by path. See
	// [Options.Workspace].
	Files map[string]string
	// Evaluators score this case, in addition to the evaluators of the dataset.
	Evaluators []Evaluator
}

// Dataset is a list of cases, and the evaluators that score all of them.
type Dataset[In, Out any] struct {
	// Name identifies the dataset in results.
	Name       string
	Cases      []Case[In, Out]
	Evaluators []Evaluator
}

// Task is the code that is evaluated: an agent, or whatever else a program does with an input. The
// runs of agents that it makes with its context, or with one derived from it, are recorded and
// count on the budget. A Task is called concurrently.
type Task[In, Out any] func(ctx context.Context, input In) (Out, error)

// Agent returns a task that runs an agent with the input as its prompt. The options apply to each
// run, so those that belong to a single run cannot be used. Write a function for agents whose
// dependencies or prompt are made of the input.
func Agent[D, O any](a *agent.Agent[D, O], deps D, opts ...agent.RunOption) Task[string, O] {
	return func(ctx context.Context, prompt string) (O, error) {
		res, err := a.Run(ctx, deps, prompt, opts...)
		if err != nil {
			var none O
			return none, err
		}
		return res.Output, nil
	}
}

// subject is a case without its types.
type subject struct {
	name            string
	input, expected any
	unlabeled       bool
	metadata        map[string]any
	files           map[string]string
	evaluators      []Evaluator // of the dataset and of the case
}

// subjects checks a dataset, and returns its cases without their types.
func subjects[In, Out any](d Dataset[In, Out], task Task[In, Out]) ([]subject, error) {
	var problems []error
	problem := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf(format, args...))
	}
	if task == nil {
		problem("there is no task")
	}
	if len(d.Cases) == 0 {
		problem("the dataset has no cases")
	}
	problems = append(problems, checkEvaluators[In, Out]("the dataset", d.Evaluators)...)
	all, names := make([]subject, len(d.Cases)), make(map[string]bool, len(d.Cases))
	shared := slices.Clone(d.Evaluators)
	for i := range d.Cases {
		c := &d.Cases[i]
		name := c.Name
		if name == "" {
			name = fmt.Sprintf("case %d", i+1)
		}
		if names[name] {
			problem("two cases are called %q: name them apart", name)
		}
		names[name] = true
		all[i] = subject{
			name: name, input: c.Input, expected: c.Expected, unlabeled: c.Unlabeled,
			metadata: c.Metadata, files: c.Files, evaluators: shared,
		}
		if len(c.Evaluators) > 0 {
			where := fmt.Sprintf("case %q", name)
			more := checkEvaluators[In, Out](where, d.Evaluators, c.Evaluators)
			problems = append(problems, more...)
			all[i].evaluators = slices.Concat(shared, c.Evaluators)
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("evals: %w", err)
	}
	return all, nil
}

// checkEvaluators checks the last of the lists: their types, and that no metric is scored twice.
func checkEvaluators[In, Out any](where string, lists ...[]Evaluator) (problems []error) {
	problem := func(format string, args ...any) {
		problems = append(problems, errors.New(where+fmt.Sprintf(format, args...)))
	}
	in, out := reflect.TypeFor[In](), reflect.TypeFor[Out]()
	names := map[string]bool{}
	for i, list := range lists {
		for _, e := range list {
			twice := names[e.name]
			names[e.name] = true
			switch {
			case i < len(lists)-1:
			case e.score == nil:
				problem(" has the zero Evaluator: make it with New")
			case twice:
				problem(" has two evaluators called %q: rename one with Named", e.name)
			case !in.AssignableTo(e.in) || !out.AssignableTo(e.out):
				const types = ": evaluator %q is for %v and %v, not for %v and %v"
				problem(types, e.name, e.in, e.out, in, out)
			}
		}
	}
	return problems
}
