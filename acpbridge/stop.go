// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/internal/clean"
	"github.com/ponte-go/ponte/toolset"
)

// ErrorKind is the class of an error. It is data.kind of every error that Serve answers with.
type ErrorKind string

// The kinds of errors.
const (
	// KindSession: the session does not exist (-32002; data.sessionId names it), or it cannot be
	// made (-32602, -32603).
	KindSession ErrorKind = "session"
	// KindPrompt: the prompt cannot be given to the model (-32602; data.index and data.block name
	// the content block).
	KindPrompt ErrorKind = "prompt"
	// KindBusy: another turn of the session is running (-32600).
	KindBusy ErrorKind = "busy"
	// KindAuth: the user has to log in, or the provider does not accept the agent's key (-32000;
	// data.authMethods are the ways to log in, if there are any). An unknown method is -32602.
	KindAuth ErrorKind = "auth"
	// KindRateLimited: too many requests, or a quota is used up (data.retryAfter, in seconds, if
	// the provider said so).
	KindRateLimited ErrorKind = "rate_limited"
	// KindContextLength: the conversation is longer than the model can take.
	KindContextLength ErrorKind = "context_length"
	// KindModel, KindTool, KindOutput and KindPrepare: the run failed at that stage. data.tool
	// names the tool.
	KindModel   ErrorKind = "model"
	KindTool    ErrorKind = "tool"
	KindOutput  ErrorKind = "output"
	KindPrepare ErrorKind = "prepare"
	// KindApproval: a call needs an approval or a result that no one here can give. The
	// conversation continues without it.
	KindApproval ErrorKind = "approval"
	// KindPanic: the program's own code panicked. The log has the stack.
	KindPanic ErrorKind = "panic"
	// KindHeld: another program runs a turn of the session (-32600; data.holder names it).
	KindHeld ErrorKind = "held"
	// KindStore: the session store failed, for example because a disk is full or damaged (-32603).
	// The message has the remedy.
	KindStore ErrorKind = "store"
	// KindShutdown: the agent is ending (-32800).
	KindShutdown ErrorKind = "shutdown"
)

// errorData is the data of an error.
type errorData struct {
	Kind       ErrorKind     `json:"kind"`
	SessionID  acp.SessionID `json:"sessionId,omitempty"`
	Index      *int          `json:"index,omitempty"`
	Block      string        `json:"block,omitempty"`
	Tool       string        `json:"tool,omitempty"`
	Holder     string        `json:"holder,omitempty"`
	Retryable  bool          `json:"retryable,omitempty"`
	RetryAfter float64       `json:"retryAfter,omitempty"` // seconds
}

// Causes of a turn's ctx that the bridge sets itself. A closed session is treated as if
// session/cancel had been called, as the protocol asks.
var (
	errSessionClosed = fmt.Errorf("acpbridge: session closed: %w", acp.ErrTurnCancelled)
	errShutdown      = errors.New("acpbridge: shutting down")
)

// ending is how a turn ends: with a stop reason or, if err is not nil, an error. Notice is an
// additional text for the user.
type ending struct {
	stop   acp.StopReason
	notice string
	err    *acp.Error
}

// cancelled returns the ending of a turn whose ctx has ended, nil if it has not. A turn that the
// client has cancelled, by whatever message, ends with that stop reason and never with an error.
func cancelled(ctx context.Context) *ending {
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return nil
	case errors.Is(cause, acp.ErrTurnCancelled), errors.Is(cause, acp.ErrRequestCancelled):
		return &ending{stop: acp.StopReasonCancelled}
	}
	return &ending{err: shuttingDown()}
}

func shuttingDown() *acp.Error {
	return acp.Errorf(acp.CodeRequestCancelled, "the agent is shutting down").WithData(errorData{Kind: KindShutdown})
}

// endingOf returns how a turn ends. A client that may not see the error gets the host's text for
// it.
func (s *server) endingOf(o *host.Outcome) *ending {
	end := endingOf(o.Err, o.Finish)
	if end.err != nil && s.discreet && ownError(o.Err) == nil {
		end.err.Message = o.Failure
	}
	return end
}

// endingOf returns how a turn ends after its run: with err, or with a response that had the given
// finish reason.
func endingOf(err error, finish model.FinishReason) *ending {
	var limit *agent.LimitError
	switch {
	case err == nil && finish == model.FinishLength:
		return &ending{stop: acp.StopReasonMaxTokens, notice: "The answer was cut off: the model hit its token limit."}
	case err == nil && finish == model.FinishContentFilter:
		return &ending{stop: acp.StopReasonEndTurn, notice: "The answer was cut off by the provider's content filter."}
	case err == nil:
		return &ending{stop: acp.StopReasonEndTurn}
	case errors.Is(err, agent.ErrTokenLimit), errors.Is(err, agent.ErrIncompleteToolCall):
		return &ending{stop: acp.StopReasonMaxTokens, notice: "Stopped: the model hit its token limit before finishing."}
	case errors.Is(err, agent.ErrContentFilter):
		notice := "The answer was withheld by the provider's content filter. This prompt was removed from the conversation."
		if errors.Is(err, agent.ErrRefused) {
			notice = "The model refused to answer. This prompt was removed from the conversation."
		}
		if own, ok := errors.AsType[refusal](err); ok {
			notice = own.Refused() + " This prompt was removed from the conversation."
		}
		return &ending{stop: acp.StopReasonRefusal, notice: notice}
	case errors.As(err, &limit):
		return limitEnding(limit)
	}
	return &ending{err: failureOf(err)}
}

// refusal is an error of the program's own checks, such as a guardrail.
type refusal interface {
	error
	// Refused tells the user why, in a sentence.
	Refused() string
}

// limitEnding maps limits on tokens to max_tokens and those on work to max_turn_requests.
func limitEnding(l *agent.LimitError) *ending {
	e := &ending{stop: acp.StopReasonMaxTokens}
	switch l.Limit {
	case toolset.LimitRequests, toolset.LimitToolCalls:
		e.stop = acp.StopReasonMaxTurnRequests
	}
	bound := strconv.FormatFloat(l.Bound, 'f', -1, 64)
	limit := "limit of " + bound + " " + string(l.Limit)
	if l.Limit == toolset.LimitCost {
		limit = "cost limit of " + bound
	}
	e.notice = "Stopped: this turn has reached its " + limit + ". Send another message to continue."
	return e
}

// ownError returns an error of RunOptions or Deps, which know what they say, and nil for others.
func ownError(err error) *acp.Error {
	if _, ran := errors.AsType[*agent.RunError](err); ran {
		return nil
	}
	e, _ := errors.AsType[*acp.Error](err)
	return e
}

// failureOf turns a run's error into an answer: its code, a message for people, on one line, and
// data for programs.
func failureOf(err error) *acp.Error {
	if e := ownError(err); e != nil && e.Data != nil {
		return e
	}
	data := errorData{Kind: KindPrepare}
	message, code := err.Error(), acp.CodeInternal
	if run, ok := errors.AsType[*agent.RunError](err); ok {
		data.Kind, data.Tool = stageKind(run.Stage), run.Tool
		message = run.Err.Error()
		if run.Tool != "" {
			message = fmt.Sprintf("tool %q: %s", run.Tool, message)
		}
	}
	if errors.Is(err, agent.ErrResponseFailed) {
		data.Kind, data.Retryable = KindModel, true
	}
	if api, ok := errors.AsType[*model.APIError](err); ok {
		data.Retryable, data.RetryAfter = api.Retryable, api.RetryAfter.Round(time.Millisecond).Seconds()
	}
	if pending, ok := errors.AsType[*agent.PendingError](err); ok {
		data.Kind = KindApproval
		message = pending.Error() + ": no one can answer here"
	}
	var held *sessions.Error
	panicked, isPanic := errors.AsType[*agent.PanicError](err)
	switch {
	case isPanic:
		data.Kind = KindPanic
		message = "internal error: " + panicked.Error()
		if data.Tool != "" {
			message = fmt.Sprintf("tool %q: %s", data.Tool, message)
		}
	case errors.Is(err, model.ErrAuth), errors.Is(err, acp.ErrAuthRequired):
		data.Kind, code = KindAuth, acp.CodeAuthRequired
	case errors.As(err, &held) && held.Holder != "":
		data.Kind, data.Holder, code = KindHeld, held.Holder, acp.CodeInvalidRequest
		message = heldMessage(held)
	case ofStore(err):
		data.Kind, data.Retryable = KindStore, passes(err)
		message += advice(err)
	case errors.Is(err, model.ErrRateLimited):
		data.Kind = KindRateLimited
	case errors.Is(err, model.ErrContextLength):
		data.Kind = KindContextLength
	}
	return acp.Errorf(code, "%s", oneLine(message)).WithData(data)
}

func stageKind(stage agent.Stage) ErrorKind {
	switch kind := ErrorKind(stage); kind {
	case KindModel, KindTool, KindOutput, KindApproval:
		return kind
	}
	return KindPrepare
}

// maxMessage bounds an error's message, in bytes.
const maxMessage = 1000

// oneLine joins the lines of a message and cuts it where it becomes too long to be read.
func oneLine(s string) string {
	s, cut := clean.Cut(strings.Join(strings.Fields(s), " "), maxMessage)
	if cut {
		s += "…"
	}
	return s
}
