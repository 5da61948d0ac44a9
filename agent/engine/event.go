// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// EventKind is the kind of an [Event]. Later versions may add kinds; ignore unknown ones.
type EventKind string

// The kinds of events. Package agent has them under the same names.
const (
	// EventRunStart is the first event of a run. A run that cannot start has only an EventRunEnd.
	EventRunStart EventKind = "run_start"
	// EventRequestStart reports that a request is sent to the model.
	EventRequestStart EventKind = "request_start"
	// EventPartStart begins part Part of the response: PartKind, and for tool calls CallID and Tool. Parts are counted from 0 in
	// the order in which they begin.
	EventPartStart EventKind = "part_start"
	// EventPartDelta adds Text to part Part: text, thinking or tool-call arguments. The deltas of several tool calls may interleave.
	EventPartDelta EventKind = "part_delta"
	// EventPartEnd completes part Part. Text and thinking are complete when another part begins; if the model continues them, a
	// new part begins.
	EventPartEnd EventKind = "part_end"
	// EventPartial has the incomplete output in Value, with the run's output type. It has not been
	// validated. Part, Tool and CallID identify the part that the model is writing. Only runs with
	// agent.WithPartials have this event.
	EventPartial EventKind = "partial"
	// EventResponse has the complete response in Message.
	EventResponse EventKind = "response"
	// EventUsage has the run's usage so far in Usage.
	EventUsage EventKind = "usage"
	// EventToolCall reports a tool call of the model: CallID, Tool, Args, Attempt, and whether the arguments are Valid. Repaired
	// has the arguments that the tool gets, if Args had to be repaired. The calls of a response are reported in order, before any
	// of them runs.
	EventToolCall EventKind = "tool_call"
	// EventToolStart reports that a call starts to run: the calls that it waits for have ended, it
	// has been approved, and the agent's MaxParallelCalls permits it. Args are the arguments that
	// it runs with, and Decision is the decision that allowed it, if one was needed. Invalid,
	// denied and pending calls have no such event. A call that asks for approval when it runs has
	// two.
	EventToolStart EventKind = "tool_start"
	// EventToolResult reports the end of a call, in the order of completion: Result is the result
	// for the model, or Err is the error that ended the run. Args are the model's, unless a person
	// changed them.
	EventToolResult EventKind = "tool_result"
	// EventCustom has a value that a tool emitted in Value, with the tool's CallID and Tool.
	EventCustom EventKind = "custom"
	// EventRetry reports that the model is asked to try again, for the reason in Text. CallID is empty if the retry concerns the
	// whole response.
	EventRetry EventKind = "retry"
	// EventPending reports a call that waits for an answer from outside the run. Value is a [model.PendingCall].
	EventPending EventKind = "pending"
	// EventMessage reports a message from the run's inbox, in Message.
	EventMessage EventKind = "message"
	// EventOutput has the valid output in Value. Repaired has the JSON of a text output that had to be repaired.
	EventOutput EventKind = "output"
	// EventRunEnd is the last event, even of a run that could not start. Err is the run's error, or nil if the run has an
	// output. There is none if the range over the events stopped early.
	EventRunEnd EventKind = "run_end"
)

// Event is something that happened in a run. Kind determines which fields are set; the others are zero. Events are values and
// may be kept. The data that they point to is shared and must not be changed.
//
// Events have a versioned JSON form for logs and for streams to other programs. See [Event.AppendJSON] and
// [Event.UnmarshalJSON].
type Event struct {
	// Kind is the kind of the event. Each kind lists the fields that it sets.
	Kind EventKind `json:"kind"`
	// Step is the request that the event belongs to, beginning with 1.
	Step int `json:"step,omitempty"`

	// Part is a part of the response, counted from 0, and PartKind is its kind. Text is the text
	// added to it, or the reason for a retry.
	Part     int            `json:"part,omitempty"`
	PartKind model.PartKind `json:"part_kind,omitempty"`
	Text     string         `json:"text,omitempty"`

	// CallID and Tool name a tool call.
	CallID string `json:"call_id,omitempty"`
	Tool   string `json:"tool,omitempty"`
	// ToolKind and ToolTitle describe the tool to people, and Output marks an output tool, in part
	// starts, tool calls, tool starts and tool results. In request starts, Output means that text
	// is bound to a schema.
	ToolKind  toolset.Kind `json:"tool_kind,omitempty"`
	ToolTitle string       `json:"tool_title,omitempty"`
	Output    bool         `json:"output,omitempty"`

	// Args are the call's arguments as the model wrote them, or as a person changed them.
	Args model.RawArgs `json:"args,omitzero"`
	// Repaired is the repaired JSON of arguments or of an output in text, or nil if nothing was repaired.
	Repaired model.RawArgs `json:"repaired,omitzero"`
	// Valid is set if the arguments are valid. Attempt counts the retries of the call so far.
	Valid   bool `json:"valid,omitempty"`
	Attempt int  `json:"attempt,omitempty"`
	// Decision is the decision that allowed a call, in tool starts. The decision that denied a call is in its Result.
	Decision *toolset.Decision `json:"decision,omitempty"`
	// Result is the result of a call as the model sees it.
	Result *model.Part `json:"result,omitempty"`

	// Message is a response, or a message received during the run. Usage is the run's usage so far.
	Message *model.Message `json:"message,omitempty"`
	Usage   *toolset.Usage `json:"usage,omitempty"`
	// Value is an output, a part of one, a pending call, or what a tool emitted. Err is the error
	// that ended the run or the call. [Event.AppendJSON] describes their JSON form.
	Value any   `json:"-"`
	Err   error `json:"-"`
}
