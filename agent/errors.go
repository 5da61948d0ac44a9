// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// Errors that end a run without an output. A [*RunError] wraps one of them, a [*LimitError], a [*BudgetError], a
// [*PendingError], the context's cause, or the error of a model, tool, toolset, validator or instruction.
var (
	// ErrNoModel means that neither the agent nor the run has a model.
	ErrNoModel = engine.ErrNoModel
	// ErrNoPrompt means that a run has no prompt, no history and no instructions.
	ErrNoPrompt = engine.ErrNoPrompt
	// ErrFinished means that a run has no prompt and its history ends in an answer, so there is nothing to do. Pass a prompt, or
	// use [WithResume] to get the answer again.
	ErrFinished = engine.ErrFinished
	// ErrUnprocessedCalls means that a prompt was given although the history ends with tool calls that have not been executed.
	// Run without a prompt first, or drop the last response.
	ErrUnprocessedCalls = engine.ErrUnprocessedCalls
	// ErrTokenLimit means that the model reached its token limit before it produced a usable response.
	ErrTokenLimit = engine.ErrTokenLimit
	// ErrContentFilter means that the provider withheld the answer or a part of it. See [Endings].
	ErrContentFilter = engine.ErrContentFilter
	// ErrRefused means that the model refused to answer. It wraps ErrContentFilter.
	ErrRefused = engine.ErrRefused
	// ErrResponseFailed means that the provider itself reported a failure in the middle of the
	// response. The run can be resumed.
	ErrResponseFailed = engine.ErrResponseFailed
	// ErrIncompleteToolCall means that the model was cut off in the middle of a tool call's arguments.
	ErrIncompleteToolCall = engine.ErrIncompleteToolCall
	// ErrResults means that [WithResults] does not match the pending calls of the history: an answer is missing, or it is for a
	// call that is unknown or already executed. Nothing has been run.
	ErrResults = engine.ErrResults
	// ErrRunID means that the history of a run has messages of another run with the same id ([WithRunID]). Messages of the two could
	// not be told apart.
	ErrRunID = engine.ErrRunID
	// ErrStopped means that the range over a stream's events stopped before the run had ended.
	ErrStopped = engine.ErrStopped
	// ErrRunning is returned by [Stream.Result] before the run has ended.
	ErrRunning = errors.New("agent: the run has not ended: call Result after ranging over its events")
	// ErrInboxInUse means that another run that has not ended uses the same [Inbox].
	ErrInboxInUse = engine.ErrInboxInUse
	// ErrToolGone means that a [Worker] was given a call of a tool that its agent does not offer. The agent of the run is another version.
	ErrToolGone = errors.New("the agent no longer has this tool")
	// ErrGoexit means that a tool called runtime.Goexit, for example through a failed assertion in a test.
	ErrGoexit = engine.ErrGoexit
)

// Stage is the part of a run that failed. The values are stable, so programs may compare and store them.
type Stage = engine.Stage

// The stages of a run.
const (
	// StagePrepare is everything before a request: opening toolsets, instructions, listing tools, processing the history.
	StagePrepare = engine.StagePrepare
	// StageModel is a request to the model, and the limits that are checked before and after it.
	StageModel = engine.StageModel
	// StageTool is the execution of tool calls.
	StageTool = engine.StageTool
	// StageApproval is asking for the approval of a tool call.
	StageApproval = engine.StageApproval
	// StageOutput is checking the output, by its schema and by validators.
	StageOutput = engine.StageOutput
)

// RunError is returned by every run that ends without an output. It has the messages and usage up to that point, and the
// history can be continued.
type RunError = engine.RunError

// LimitError reports that a run reached one of its [Limits], or a limit of the run or [toolset.Meter] around it.
type LimitError = toolset.LimitError

// PriceError reports that [Limits.Cost] cannot be enforced because the cost of a request is
// unknown. The limit belongs to the run, or to a run or [toolset.Meter] around it.
type PriceError = toolset.PriceError

// BudgetError reports that the model used up its retries for a tool call or for the output.
type BudgetError = engine.BudgetError

// PanicError reports a panic in a tool, model, instruction, toolset or validator.
type PanicError = engine.PanicError

// runError is the error of a run that has ended with res. The loop's own errors include where it
// failed.
func runError(agent string, res *loop.Result, err error) *RunError {
	e := &RunError{Stage: StagePrepare, Err: err}
	if at, ok := err.(*RunError); ok {
		*e = *at // it may be shared
	}
	e.Agent, e.RunID, e.ConversationID, e.Messages, e.Usage = agent, res.RunID, res.ConversationID, res.Messages, res.Usage
	return e
}
