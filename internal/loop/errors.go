// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"errors"
	"fmt"
)

// Errors that end a run without an output.
var (
	ErrNoPrompt           = errors.New("nothing to ask: no prompt, no history, no instructions")
	ErrFinished           = errors.New("the history ends in an answer and there is no prompt: give a prompt, or use WithResume to get the answer again")
	ErrUnprocessedCalls   = errors.New("the history ends with tool calls that have not been processed, so a new prompt cannot follow")
	ErrTokenLimit         = errors.New("the model reached its token limit before it had answered")
	ErrContentFilter      = errors.New("the answer was withheld by a content filter")
	ErrIncompleteToolCall = errors.New("the model reached its token limit in the middle of a tool call")
	ErrStopped            = errors.New("the run was stopped by its observer")
	ErrAnswers            = errors.New("the results do not fit the pending calls")
	ErrRunID              = errors.New("the history has messages of another run with this id: give every run an id of its own")
)

// BudgetError reports that the model used up its retries.
type BudgetError struct {
	// Tool is the tool, or empty for text outputs.
	Tool string
	// Retries is the number of retries that were allowed.
	Retries int
	// Err is what was wrong with the last attempt.
	Err error
}

func (e *BudgetError) Error() string {
	what := "output"
	if e.Tool != "" {
		what = fmt.Sprintf("tool %q", e.Tool)
	}
	retries := fmt.Sprintf("%d retries", e.Retries)
	if e.Retries == 1 {
		retries = "1 retry"
	}
	return fmt.Sprintf("%s: no valid answer after %s: %v", what, retries, e.Err)
}

func (e *BudgetError) Unwrap() error { return e.Err }

// Stage is the part of a step in which a run failed.
type Stage string

// The stages of a step.
const (
	StagePrepare  Stage = "prepare"
	StageModel    Stage = "model"
	StageTool     Stage = "tool"
	StageApproval Stage = "approval"
	StageOutput   Stage = "output"
)

// Error says where a run failed.
type Error struct {
	Stage        Stage
	Tool, CallID string
	Attempt      int
	Err          error
}

func (e *Error) Error() string {
	if e.Tool != "" {
		return fmt.Sprintf("%s: tool %q (call %s): %v", e.Stage, e.Tool, e.CallID, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.Stage, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// unfit returns an [ErrAnswers]. It is not inlined, because it is called in many places.
//
//go:noinline
func unfit(format string, names ...string) error {
	args := []any{ErrAnswers}
	for _, name := range names {
		args = append(args, name)
	}
	return fmt.Errorf("%w: "+format, args...)
}
