// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"errors"
	"sync"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/journal"
)

// registerErrors makes the errors of runs known to package engine, so that they keep their identity between processes. It is called by
// programs that use an engine only, so that others do not link the JSON form.
func registerErrors() { registering.Do(registerKinds) }

var registering sync.Once

func registerKinds() {
	engine.RegisterErrors(
		engine.Sentinel("no_model", ErrNoModel), engine.Sentinel("no_prompt", ErrNoPrompt), engine.Sentinel("finished", ErrFinished),
		engine.Sentinel("unprocessed_calls", ErrUnprocessedCalls), engine.Sentinel("token_limit", ErrTokenLimit),
		engine.Sentinel("content_filter", ErrContentFilter), engine.Sentinel("incomplete_tool_call", ErrIncompleteToolCall),
		engine.Sentinel("results", ErrResults), engine.Sentinel("run_id", ErrRunID), engine.Sentinel("stopped", ErrStopped), engine.Sentinel("inbox_in_use", ErrInboxInUse),
		engine.Sentinel("inside", errInside), engine.Sentinel("tool_timeout", errToolTimeout),
		engine.Sentinel("journal_in_use", journal.ErrInUse), engine.Sentinel("journal_corrupt", journal.ErrCorrupt),
		engine.Sentinel("journal_version", journal.ErrVersion), engine.Sentinel("journal_mismatch", journal.ErrMismatch),
		engine.Sentinel("journal_diverged", journal.ErrDiverged), engine.Sentinel("journal_closed", journal.ErrClosed),
		errorKind("journal", func(e *journal.Error) any { return [2]string{e.RunID, e.Op} }, func(data [2]string, text string, wrapped error) *journal.Error {
			return &journal.Error{RunID: data[0], Op: data[1], Err: wrapped}
		}),
		errorKind("panic", func(e *PanicError) any { return [2]string{e.said()[len("panic: "):], string(e.Stack)} }, func(data [2]string, text string, wrapped error) *PanicError {
			var value any = data[0]
			if wrapped != nil {
				value = wrapped
			}
			return &PanicError{Value: value, Stack: []byte(data[1])}
		}),
		errorKind("budget", func(e *BudgetError) any { return budgetJSON{e.Tool, e.Retries} }, func(data budgetJSON, text string, wrapped error) *BudgetError {
			return &BudgetError{Tool: data.Tool, Retries: data.Retries, Err: wrapped}
		}),
		errorKind("pending_run", func(e *PendingError) any { return pendingJSON{e.Calls, e.text} }, func(data pendingJSON, text string, wrapped error) *PendingError {
			return &PendingError{Calls: data.Calls, text: data.Text}
		}),
		// The messages of an inner run that failed are not passed on.
		errorKind("run", func(e *RunError) any {
			return runErrorJSON{e.Agent, e.RunID, e.ConversationID, e.Stage, e.Tool, e.CallID, e.Attempt}
		},
			func(data runErrorJSON, text string, wrapped error) *RunError {
				return &RunError{Agent: data.Agent, RunID: data.RunID, ConversationID: data.ConversationID, Stage: data.Stage, Tool: data.Tool, CallID: data.CallID, Attempt: data.Attempt, Err: wrapped}
			}),
	)
}

type budgetJSON struct {
	Tool    string `json:"tool,omitempty"`
	Retries int    `json:"retries"`
}

type pendingJSON struct {
	Calls []PendingCall `json:"calls"`
	Text  string        `json:"text"`
}

type runErrorJSON struct {
	Agent          string `json:"agent,omitempty"`
	RunID          string `json:"run_id,omitempty"`
	ConversationID string `json:"conversation_id,omitempty"`
	Stage          Stage  `json:"stage,omitempty"`
	Tool           string `json:"tool,omitempty"`
	CallID         string `json:"call_id,omitempty"`
	Attempt        int    `json:"attempt,omitempty"`
}

// errorKind returns the kind of a type of errors that wrap at most one.
func errorKind[E error, T any](name string, encode func(E) any, decode func(data T, text string, wrapped error) E) engine.ErrorKind {
	return engine.ErrorKind{
		Name: name,
		Encode: func(err error) (any, bool) {
			e, ok := err.(E)
			if !ok {
				return nil, false
			}
			return encode(e), true
		},
		Decode: func(data json.RawMessage, text string, wrapped []error) error {
			var read T
			if json.Unmarshal(data, &read) != nil {
				return errors.New(text)
			}
			var inner error
			if len(wrapped) > 0 {
				inner = wrapped[0]
			}
			return decode(read, text, inner)
		},
	}
}
