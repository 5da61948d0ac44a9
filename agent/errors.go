// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/internal/hide"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// Errors that end a run without an output. A [*RunError] wraps one of them, a [*LimitError], a [*BudgetError], a
// [*PendingError], the context's cause, or the error of a model, tool, toolset, validator or instruction.
var (
	// ErrNoModel means that neither the agent nor the run has a model.
	ErrNoModel = errors.New("no model: set Config.Model, or pass WithModel a model that is not nil")
	// ErrNoPrompt means that a run has no prompt, no history and no instructions.
	ErrNoPrompt = loop.ErrNoPrompt
	// ErrFinished means that a run has no prompt and its history ends in an answer, so there is nothing to do. Pass a prompt, or
	// use [WithResume] to get the answer again.
	ErrFinished = loop.ErrFinished
	// ErrUnprocessedCalls means that a prompt was given although the history ends with tool calls that have not been executed.
	// Run without a prompt first, or drop the last response.
	ErrUnprocessedCalls = loop.ErrUnprocessedCalls
	// ErrTokenLimit means that the model reached its token limit before it produced a usable response.
	ErrTokenLimit = loop.ErrTokenLimit
	// ErrContentFilter means that the provider withheld the answer.
	ErrContentFilter = loop.ErrContentFilter
	// ErrIncompleteToolCall means that the model was cut off in the middle of a tool call's arguments.
	ErrIncompleteToolCall = loop.ErrIncompleteToolCall
	// ErrResults means that [WithResults] does not match the pending calls of the history: an answer is missing, or it is for a
	// call that is unknown or already executed. Nothing has been run.
	ErrResults = loop.ErrAnswers
	// ErrRunID means that the history of a run has messages of another run with the same id ([WithRunID]). Messages of the two could
	// not be told apart.
	ErrRunID = loop.ErrRunID
	// ErrStopped means that the range over a stream's events stopped before the run had ended.
	ErrStopped = loop.ErrStopped
	// ErrRunning is returned by [Stream.Result] before the run has ended.
	ErrRunning = errors.New("agent: the run is still going on: call Result after the range over its events")
	// ErrInboxInUse means that another run that has not ended uses the same [Inbox].
	ErrInboxInUse = errors.New("the inbox belongs to another run that is going on: give each run an inbox of its own")
	// ErrToolGone means that a [Worker] was given a call of a tool that its agent does not offer. The agent of the run is another version.
	ErrToolGone = errors.New("the agent does not have the tool any more")
	// ErrGoexit means that a tool called runtime.Goexit, for example through a failed assertion in a test.
	ErrGoexit = engine.ErrGoexit
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
	Agent, RunID, ConversationID string
	// Stage is the part of the run that failed.
	Stage Stage
	// Tool, CallID and Attempt say which tool call failed, if one did.
	Tool, CallID string
	Attempt      int
	// Messages is the whole history, including the new messages. Usage is what the run has used.
	Messages []*model.Message
	Usage    toolset.Usage
	// Err is the cause.
	Err error

	// ended is the context's error, if that is what ended the run.
	ended error
}

// Error implements error. Characters that control terminals, or that nobody sees, become U+FFFD.
func (e *RunError) Error() string {
	where := string(e.Stage)
	if e.Tool != "" {
		where = fmt.Sprintf("%s %q (call %s)", e.Stage, e.Tool, e.CallID)
	}
	return hide.Controls(fmt.Sprintf("agent%s: %s: %s", named(e.Agent), where, e.cause()))
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

// NewMessages returns the messages that the run added before it failed, in order. See [Result.NewMessages].
func (e *RunError) NewMessages() []*model.Message { return messagesOf(e.Messages, e.RunID) }

// LimitError reports that a run reached one of its [Limits], or a limit of the run or [toolset.Meter] around it.
type LimitError = toolset.LimitError

// PriceError reports that [Limits.Cost] cannot be enforced because the cost of a request is unknown. The limit is that of the
// run, or of a run or [toolset.Meter] around it.
type PriceError = toolset.PriceError

// BudgetError reports that the model used up its retries for a tool call or for the output.
type BudgetError struct {
	// Tool is the tool, or empty for text outputs.
	Tool string
	// Retries is the number of retries that were allowed.
	Retries int
	// Err is what was wrong with the last attempt; a [*toolset.ValidationError] for invalid arguments.
	Err error
}

// Error implements error.
func (e *BudgetError) Error() string { return (*loop.BudgetError)(e).Error() }

// Unwrap returns what was wrong with the last attempt.
func (e *BudgetError) Unwrap() error { return e.Err }

// PanicError reports a panic in a tool, model, instruction, toolset or validator.
type PanicError struct {
	// Value is what was passed to panic, Stack the goroutine's stack at that time.
	Value any
	Stack []byte
}

// Error implements error. It returns one line with the value and, if Stack has them, the file, line and function that panicked.
func (e *PanicError) Error() string {
	text := e.said()
	if function, place := origin(e.Stack); place != "" {
		text += fmt.Sprintf(" (%s in %s)", place, function)
	}
	return text
}

// said is the text without the place.
func (e *PanicError) said() string {
	return "panic: " + strings.Join(strings.Fields(fmt.Sprint(e.Value)), " ")
}

// origin finds the function that panicked, with its file and line, in the text of a stack. It skips frames of the runtime, in
// which a nil dereference, for example, panics.
func origin(stack []byte) (function, place string) {
	lines := strings.Split(string(stack), "\n")
	panicked := false
	for i := 0; i+1 < len(lines); i++ {
		if strings.HasPrefix(lines[i], "panic(") {
			panicked = true
			continue
		}
		file, ok := strings.CutPrefix(lines[i+1], "\t")
		if !panicked || !ok || strings.HasPrefix(lines[i], "\t") || strings.HasPrefix(lines[i], "runtime.") {
			continue
		}
		file, _, _ = strings.Cut(file, " +0x")
		function = lines[i]
		if args := strings.LastIndexByte(function, '('); args > 0 {
			function = function[:args]
		}
		return path.Base(function), path.Base(file)
	}
	return "", ""
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

func runError(agent string, res *loop.Result, err error) *RunError {
	e := &RunError{
		Agent: agent, RunID: res.RunID, ConversationID: res.ConversationID,
		Stage: StagePrepare, Messages: res.Messages, Usage: res.Usage, Err: err,
	}
	var le *loop.Error
	if errs.As(err, &le) {
		e.Stage, e.Tool, e.CallID, e.Attempt, e.Err = Stage(le.Stage), le.Tool, le.CallID, le.Attempt, le.Err
	}
	switch inner := e.Err.(type) {
	case *loop.BudgetError:
		e.Err = (*BudgetError)(inner)
	case *loop.PendingError:
		e.Err = pendingError(inner)
	}
	return e
}
