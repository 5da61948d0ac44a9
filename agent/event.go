// SPDX-License-Identifier: Apache-2.0

package agent

import "github.com/ponte-go/ponte/agent/engine"

// Event is something that happened in a run. Kind determines which fields are set; the others are zero. Events are values and
// may be kept. The data that they point to is shared and must not be changed. Events have a versioned JSON form for logs and for
// streams to other programs.
type Event = engine.Event

// EventKind is the kind of an event in a run. Later versions may add kinds; ignore unknown ones.
type EventKind = engine.EventKind

// The kinds of events.
const (
	// EventRunStart is the first event of a run. A run that cannot start has only an EventRunEnd.
	EventRunStart = engine.EventRunStart
	// EventRequestStart reports that a request is sent to the model.
	EventRequestStart = engine.EventRequestStart
	// EventPartStart begins part Part of the response: PartKind, and for tool calls CallID and Tool. Parts are counted from 0 in
	// the order in which they begin.
	EventPartStart = engine.EventPartStart
	// EventPartDelta adds Text to part Part: text, thinking or tool-call arguments. The deltas of several tool calls may interleave.
	EventPartDelta = engine.EventPartDelta
	// EventPartEnd completes part Part. Text and thinking are complete when another part begins; if the model continues them, a
	// new part begins.
	EventPartEnd = engine.EventPartEnd
	// EventPartial has the incomplete output in Value, with the run's output type. It has not been
	// validated. Part, Tool and CallID identify where the model is writing it. Only runs with
	// [WithPartials] have this event.
	EventPartial = engine.EventPartial
	// EventResponse has the complete response in Message.
	EventResponse = engine.EventResponse
	// EventUsage has the run's usage so far in Usage.
	EventUsage = engine.EventUsage
	// EventToolCall reports a tool call of the model: CallID, Tool, Args, Attempt, and whether the arguments are Valid. Repaired
	// has the arguments that the tool gets, if Args had to be repaired. The calls of a response are reported in order, before any
	// of them runs.
	EventToolCall = engine.EventToolCall
	// EventToolStart reports that a call starts to run: the calls that it waits for have ended, it
	// has been approved, and [Config.MaxParallelCalls] permits it. Args are the arguments that it
	// runs with, and Decision names who allowed it, if a decision was needed. Invalid, denied and
	// pending calls have no such event. A call that asks for approval when it runs has two.
	EventToolStart = engine.EventToolStart
	// EventToolResult reports the end of a call, in the order of completion: Result is the result
	// for the model, or Err is the error that ended the run. Args are the model's, unless a person
	// changed them.
	EventToolResult = engine.EventToolResult
	// EventCustom has a value that a tool emitted in Value, with the tool's CallID and Tool.
	EventCustom = engine.EventCustom
	// EventRetry reports that the model is asked to try again, for the reason in Text. CallID is empty if the retry concerns the
	// whole response.
	EventRetry = engine.EventRetry
	// EventPending reports a call that waits for an answer from outside the run. Value is a [PendingCall].
	EventPending = engine.EventPending
	// EventMessage reports a message from the run's [Inbox], in Message.
	EventMessage = engine.EventMessage
	// EventOutput has the valid output in Value. Repaired has the JSON of a text output that had to be repaired.
	EventOutput = engine.EventOutput
	// EventRunEnd is the last event, even of a run that could not start. Err is the run's error, or nil if the run has an
	// output. There is none if the range over the events stopped early.
	EventRunEnd = engine.EventRunEnd
)

// EventVersion is the version of the JSON form of events that this package writes. New kinds and new fields do not change the
// version. It changes only if a program that knows an older version would misunderstand an event.
const EventVersion = engine.EventVersion

// ErrEventVersion is the identity of the error for an event of a newer version than [EventVersion].
var ErrEventVersion = engine.ErrEventVersion

// Nested is an event of an inner run. It is the value of an [EventCustom] of the outer run, whose CallID and Tool identify
// the tool call that runs the inner agent.
type Nested = engine.Nested

// OpaqueValue replaces the value of an event that was read from JSON but could not be written as
// JSON.
type OpaqueValue = engine.OpaqueValue
