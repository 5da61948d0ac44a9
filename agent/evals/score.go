// SPDX-License-Identifier: Apache-2.0

package evals

import "fmt"

// Kind is the kind of a [Score].
type Kind string

const (
	// KindPass is a yes or a no, in Value as 1 or 0.
	KindPass Kind = "pass"
	// KindNumber is a number in Value. Greater is better.
	KindNumber Kind = "number"
	// KindLabel is a word in Label. Labels are counted and not compared.
	KindLabel Kind = "label"
	// KindFailed replaces the score if the task failed. It counts as a no, or as the
	// number 0, whichever the evaluator gives for other cases.
	KindFailed Kind = "failed"
	// KindError means that the evaluator failed. Such a score counts nowhere.
	KindError Kind = "error"
)

// Score is the verdict of an evaluator on a trial. [Pass], [Number] and [Label] make one. The zero
// Score says nothing, and is left out.
type Score struct {
	// Name is the metric: the name of the evaluator.
	Name  string  `json:"name"`
	Kind  Kind    `json:"kind"`
	Value float64 `json:"value,omitempty"`
	Label string  `json:"label,omitempty"`
	// Reason explains the score to people.
	Reason string `json:"reason,omitempty"`
}

// Pass returns a score of kind [KindPass].
func Pass(ok bool) Score {
	if ok {
		return Score{Kind: KindPass, Value: 1}
	}
	return Score{Kind: KindPass}
}

// Number returns a score of kind [KindNumber]. A number that is not finite is an error of the
// evaluator.
func Number(v float64) Score { return Score{Kind: KindNumber, Value: v} }

// Label returns a score of kind [KindLabel].
func Label(text string) Score { return Score{Kind: KindLabel, Label: text} }

// Because returns the score with a reason.
func (s Score) Because(format string, args ...any) Score {
	s.Reason = fmt.Sprintf(format, args...)
	return s
}

// Passed reports whether the score is a yes. It is false for other kinds.
func (s Score) Passed() bool { return s.Kind == KindPass && s.Value == 1 }

// failing reports whether the trial did not pass because of the score.
func (s Score) failing() bool {
	return s.Kind == KindFailed || s.Kind == KindPass && s.Value != 1
}
