package agent

import (
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// EventKind says what happened in a run.
type EventKind uint8

// The kinds of events.
const (
	// EventRunStart is the first event of a run that starts. A run that cannot start has an EventRunEnd only.
	EventRunStart = EventKind(loop.RunStart)
	// EventRequestStart says that a request is sent to the model.
	EventRequestStart = EventKind(loop.RequestStart)
	// EventPartStart says that part Part of the response begins: PartKind, and for tool calls CallID and Tool. Parts are
	// counted from 0 in the order in which they begin.
	EventPartStart = EventKind(loop.PartStart)
	// EventPartDelta adds Text to part Part: text, thinking or tool-call arguments. Tool calls may grow interleaved.
	EventPartDelta = EventKind(loop.PartDelta)
	// EventPartEnd says that part Part is complete. Text and thinking are complete when another part begins; if the model
	// goes on with them, a new part begins.
	EventPartEnd = EventKind(loop.PartEnd)
	// EventResponse carries the complete response in Message.
	EventResponse = EventKind(loop.ResponseDone)
	// EventUsage carries what the run has used so far in Usage.
	EventUsage = EventKind(loop.UsageChanged)
	// EventToolCall says that the model calls a tool: CallID, Tool, Args, Attempt, and whether the arguments are Valid.
	// Repaired are the arguments that the tool gets if Args, which the model wrote, had to be repaired.
	// The calls of a response are announced in the order of the response, before any of them runs.
	EventToolCall = EventKind(loop.ToolStart)
	// EventToolResult says how a call ended, in the order of completion: Result is what the model will be shown, or Err
	// says what ended the run.
	EventToolResult = EventKind(loop.ToolEnd)
	// EventCustom carries what a tool emitted in Value, with the tool's CallID and Tool.
	EventCustom = EventKind(loop.Custom)
	// EventRetry says that the model is asked to try again, for the reason in Text. CallID is empty if the whole
	// response is meant.
	EventRetry = EventKind(loop.RetryAsked)
	// EventPending says that a call waits for somebody outside of the run: Value is a [PendingCall].
	EventPending = EventKind(loop.CallDeferred)
	// EventMessage says that a message came in through the run's [Inbox]; it is in Message.
	EventMessage = EventKind(loop.MessageIn)
	// EventOutput carries the valid output in Value. Repaired is the JSON of an output in text if it had to be repaired.
	EventOutput = EventKind(loop.OutputDone)
	// EventRunEnd is the last event, also of a run that never started. Err is the run's error, or nil if the run has an
	// output. It does not appear if the observer left.
	EventRunEnd = EventKind(loop.RunEnd)
)

var eventNames = [...]string{
	EventRunStart: "run start", EventRequestStart: "request start", EventPartStart: "part start", EventPartDelta: "part delta",
	EventPartEnd: "part end", EventResponse: "response", EventUsage: "usage", EventToolCall: "tool call",
	EventToolResult: "tool result", EventCustom: "custom", EventRetry: "retry", EventPending: "pending", EventMessage: "message",
	EventOutput: "output", EventRunEnd: "run end",
}

// String returns the kind's name.
func (k EventKind) String() string {
	if int(k) < len(eventNames) && eventNames[k] != "" {
		return eventNames[k]
	}
	return "unknown"
}

// Event is something that happened in a run. Which fields mean something depends on Kind; the others are zero. Events
// are values and may be kept; what they point to is shared and must not be changed.
type Event struct {
	Kind EventKind
	// Step is the request that the event belongs to, beginning with 1.
	Step int

	Part     int
	PartKind model.PartKind
	Text     string

	CallID, Tool string
	// ToolKind and ToolTitle describe the tool to people, and Output says that it is one by which the model gives the
	// output; in part starts, tool calls and tool results. In request starts, Output says that text is bound to a schema.
	ToolKind  toolset.Kind
	ToolTitle string
	Output    bool

	Args model.RawArgs
	// Repaired is the JSON that arguments or the text of an output were read as; nil if they were read as written. See
	// [Config.NoRepair].
	Repaired model.RawArgs
	Valid    bool
	Attempt  int
	Result   *model.Part

	Message *model.Message
	Usage   *toolset.Usage
	Value   any
	Err     error
}

func eventOf(e *loop.Event) Event {
	value := e.Value
	if p, ok := value.(*PendingCall); ok && e.Kind == loop.CallDeferred {
		value = *p
	}
	return Event{
		Kind: EventKind(e.Kind), Step: e.Step, Part: e.Part, PartKind: e.PartKind, Text: e.Text,
		CallID: e.CallID, Tool: e.Tool, ToolKind: e.ToolKind, ToolTitle: e.ToolTitle, Output: e.Output, Args: e.Args, Repaired: e.Repaired, Valid: e.Valid, Attempt: e.Attempt, Result: e.Result,
		Message: e.Message, Usage: e.Usage, Value: value, Err: e.Err,
	}
}
