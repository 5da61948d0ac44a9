// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/hide"
	"github.com/ponte-go/ponte/toolset"
)

// Errors that end a run without an output. Package agent has them under the same names and says more of each.
var (
	// ErrNoModel means that no model is set, ErrNoPrompt that there is nothing to ask it, and
	// ErrFinished that the history ends in an answer.
	ErrNoModel  = errors.New("no model: set Config.Model, or pass WithModel a model that is not nil")
	ErrNoPrompt = errors.New("nothing to ask: no prompt, no history, no instructions")
	ErrFinished = errors.New("the history ends in an answer and there is no prompt: give a prompt, or use WithResume to get the answer again")
	// ErrUnprocessedCalls means that a prompt follows calls that have not been executed, ErrResults that answers do not fit the pending
	// calls, ErrRunID that the run's id is in use, and ErrInboxInUse that its inbox is.
	ErrUnprocessedCalls = errors.New("the history ends with tool calls that have not been processed, so a new prompt cannot follow")
	ErrResults          = errors.New("the results do not fit the pending calls")
	ErrRunID            = errors.New("the history has messages of another run with this id: use a different id for each run")
	ErrInboxInUse       = errors.New("the inbox is in use by another run: give each run its own inbox")
	// ErrTokenLimit, ErrContentFilter, ErrRefused, ErrResponseFailed and ErrIncompleteToolCall report how a response ended that cannot
	// be used. ErrRefused wraps ErrContentFilter.
	ErrTokenLimit         = errors.New("the model reached its token limit before it had answered")
	ErrContentFilter      = model.ErrContentFilter
	ErrRefused            = model.ErrRefused
	ErrResponseFailed     = model.ErrResponseFailed
	ErrIncompleteToolCall = errors.New("the model reached its token limit in the middle of a tool call")
	// ErrStopped means that the observer of the run has left.
	ErrStopped = errors.New("the run was stopped by its observer")
)

// Stage is the part of a run that failed. The values are stable, so programs may compare and store them.
type Stage string

// The stages of a run.
const (
	// StagePrepare is everything before a request: opening toolsets, instructions, listing tools, processing the history.
	StagePrepare Stage = "prepare"
	// StageModel is a request to the model, and the limits that are checked before and after it.
	StageModel Stage = "model"
	// StageTool is the execution of tool calls.
	StageTool Stage = "tool"
	// StageApproval is asking for the approval of a tool call.
	StageApproval Stage = "approval"
	// StageOutput is checking the output, by its schema and by validators.
	StageOutput Stage = "output"
)

// RunError is returned by every run that ends without an output. It has the messages and usage up to that point, and the
// history can be continued.
type RunError struct {
	// Agent is the agent's name, RunID and ConversationID are the run's.
	Agent          string `json:"agent,omitempty"`
	RunID          string `json:"run_id,omitempty"`
	ConversationID string `json:"conversation_id,omitempty"`
	// Stage is the part of the run that failed.
	Stage Stage `json:"stage,omitempty"`
	// Tool, CallID and Attempt identify the tool call that failed, if any.
	Tool    string `json:"tool,omitempty"`
	CallID  string `json:"call_id,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	// Messages is the whole history, including the new messages. Usage is the usage of the run.
	Messages []*model.Message `json:"-"`
	Usage    toolset.Usage    `json:"-"`
	// Err is the cause.
	Err error `json:"-"`
	// Ended is the context's error, [context.Canceled] or [context.DeadlineExceeded], if it ended
	// the run. Err has its cause.
	Ended error `json:"-"`
}

// Error implements error. Terminal control characters and invisible characters become U+FFFD.
func (e *RunError) Error() string {
	name, where := "", string(e.Stage)
	if e.Agent != "" {
		name = " " + e.Agent
	}
	if e.Tool != "" {
		where = fmt.Sprintf("%s %q (call %s)", e.Stage, e.Tool, e.CallID)
	}
	return hide.Controls(fmt.Sprintf("agent%s: %s: %s", name, where, e.cause()))
}

// cause returns the text of the cause without what the text of e says already.
func (e *RunError) cause() string {
	if e.Err == nil {
		return "failed"
	}
	text := e.Err.Error()
	for _, said := range []string{string(e.Stage) + ": ", fmt.Sprintf("tool %q: ", e.Tool)} {
		text = strings.TrimPrefix(text, said)
	}
	return text
}

// Unwrap returns the cause.
func (e *RunError) Unwrap() error { return e.Err }

// NewMessages returns the messages that the run added before it failed, in order.
func (e *RunError) NewMessages() []*model.Message { return newMessages(e.Messages, e.RunID) }

// newMessages returns the messages that one run has added, in order. A run without an id never began.
func newMessages(messages []*model.Message, runID string) []*model.Message {
	var fresh []*model.Message
	for _, m := range messages {
		if runID != "" && m != nil && m.RunID == runID {
			fresh = append(fresh, m)
		}
	}
	return fresh
}

// BudgetError reports that the model used up its retries for a tool call or for the output.
type BudgetError struct {
	// Tool is the tool, or empty for text outputs.
	Tool string `json:"tool,omitempty"`
	// Retries is the number of retries that were allowed.
	Retries int `json:"retries"`
	// Err is the error of the last attempt. For invalid arguments it is a
	// [*toolset.ValidationError].
	Err error `json:"-"`
}

// Error implements error.
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

// Unwrap returns what was wrong with the last attempt.
func (e *BudgetError) Unwrap() error { return e.Err }

// PendingError ends a run that has calls waiting for approval or for a result. A pending run has not failed.
// Store the messages of the [*RunError] that wraps it, and resume with them and the answers. The calls can be derived from the stored
// messages, too.
type PendingError struct {
	// Calls are in the order in which the model made them. If a call contains a run, its pending
	// calls replace it.
	Calls []model.PendingCall `json:"calls"`
}

// Error implements error.
func (e *PendingError) Error() string {
	calls := make([]string, len(e.Calls))
	for i := range e.Calls {
		what := "the result"
		if e.Calls[i].Approval != nil {
			what = "approval"
		}
		calls[i] = fmt.Sprintf("%s of %q (call %s)", what, e.Calls[i].Tool, e.Calls[i].Key())
	}
	return "waiting for " + strings.Join(calls, ", ")
}
