// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
)

// Evaluator scores trials. [New] makes one of a function, and this package has some for common
// questions. An Evaluator is used concurrently.
type Evaluator struct {
	name    string
	score   func(ctx context.Context, t *trial) (Score, error)
	in, out reflect.Type
	// failures is set if failed trials are scored as well.
	failures bool
}

// New makes an evaluator of a function. name is the metric that it scores. In and Out are the types
// of the dataset, or any. The function is not called for a task that failed, unless [OnFailure]
// asks for it. If it returns an error or panics, the trial has no score for the metric: see
// [KindError].
func New[In, Out any](name string,
	score func(ctx context.Context, t *Trial[In, Out]) (Score, error)) Evaluator {
	return Evaluator{
		name: name, in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](),
		score: func(ctx context.Context, t *trial) (Score, error) {
			return score(ctx, typed[In, Out](t))
		},
	}
}

// Name returns the metric that the evaluator scores.
func (e Evaluator) Name() string { return e.name }

// Named returns the evaluator under another name.
func (e Evaluator) Named(name string) Evaluator {
	e.name = name
	return e
}

// OnFailure returns an evaluator that also scores trials whose task failed: [Trial.Err] is set, and
// the output is zero. Without it, such a trial has a score of [KindFailed].
func OnFailure(e Evaluator) Evaluator {
	e.failures = true
	return e
}

// AtLeast returns an evaluator that passes if the number of another is not less than bound.
func AtLeast(e Evaluator, bound float64) Evaluator {
	inner := e.score
	e.score = func(ctx context.Context, t *trial) (Score, error) {
		s, err := inner(ctx, t)
		if err != nil || s.Kind == "" {
			return s, err
		}
		if s.Kind != KindNumber {
			return Score{}, fmt.Errorf("AtLeast needs a number, and it gives a %s", s.Kind)
		}
		enough := s.Value >= bound
		return Pass(enough).Because("%v of at least %v: %s", s.Value, bound, s.Reason), nil
	}
	return e
}

// failed returns the score of a trial that failed.
func (e Evaluator) failed() Score {
	return Score{Name: e.name, Kind: KindFailed, Reason: "the task failed"}
}

// evaluate returns the score that an evaluator gives.
func (e Evaluator) evaluate(ctx context.Context, t *trial) (s Score, err error) {
	if t.err != nil && !e.failures {
		return e.failed(), nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		s.Name = e.name
	}()
	if s, err = e.score(ctx, t); err == nil {
		err = s.check()
	}
	return s, err
}

// check returns what is wrong with a score that an evaluator gave.
func (s Score) check() error {
	switch {
	case !slices.Contains([]Kind{"", KindPass, KindNumber, KindLabel}, s.Kind):
		return fmt.Errorf("an evaluator gives no %q: use Pass, Number or Label", s.Kind)
	case math.IsNaN(s.Value) || math.IsInf(s.Value, 0):
		return fmt.Errorf("the score %v is not a finite number", s.Value)
	case s.Kind == KindPass && s.Value != 0 && s.Value != 1:
		return errors.New("a score of kind pass has the value 0 or 1: use Pass")
	}
	return nil
}
