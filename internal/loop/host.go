// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Host is the typed side of a run. The loop calls it on its own goroutine.
type Host interface {
	// Frame says what the next request offers the model. It may return the same frame as before if nothing changed.
	Frame(ctx context.Context, info *toolset.RunInfo) (*Frame, error)
	// Check says what is wrong with a call whose arguments could be decoded; nil if nothing is. It is only asked for tools
	// that are marked so.
	Check(ctx context.Context, call *engine.Call) (*engine.Return, error)
	// Approval says whether a call must be approved before it runs; nil if it need not. It is only asked for tools that
	// are marked so.
	Approval(ctx context.Context, call *engine.Call) (*toolset.Approval, error)
	// History returns the history to go on with, which may be the one it is given. It is only asked if
	// [Config.Processed] is set.
	History(ctx context.Context, info *toolset.RunInfo) ([]*model.Message, error)
	// Emit passes on an event if [Config.Observed] is set. False stops the run. The event is only valid during the call.
	Emit(e *Event) bool
}

// Frame is what one request offers the model.
type Frame struct {
	Instructions string
	// Tools says how to deal with the tools in Defs, one for one.
	Tools []Tool
	Defs  []model.ToolDef
	// Text says that text can be the run's output.
	Text bool
	// Media says that media can, with the text beside it.
	Media    bool
	Output   *model.OutputSchema
	Choice   model.ToolChoice
	Settings *model.Settings
}

// Tool is a tool as the loop sees it.
type Tool struct {
	Name string
	// Output marks an output tool.
	Output     bool
	Sequential bool
	// Checks marks a tool whose calls are checked by the host. Asks marks a tool whose calls may need approval, External one that never runs here.
	Checks, Asks, External bool
	// Kind and Title describe the tool to people.
	Kind  toolset.Kind
	Title string
	// Retries is the tool's budget.
	Retries int
	// Decode checks arguments and returns them in the form that the tool takes, or what is wrong with them. complete says
	// that the model had finished them: then they may be repaired, and repaired is the JSON that they were read as.
	Decode func(args []byte, complete bool) (decoded any, repaired []byte, invalid *Invalid)
}

// Invalid says what is wrong with the arguments of a call: Text to the model, Err to the program.
type Invalid struct {
	Text string
	Err  error
}

func (f *Frame) tool(name string) *Tool {
	for i := range f.Tools {
		if f.Tools[i].Name == name {
			return &f.Tools[i]
		}
	}
	return nil
}

// EndStrategy decides what happens to function tools that are called together with an output tool.
type EndStrategy uint8

const (
	// Graceful lets the calls before the output complete and skips those behind it.
	Graceful EndStrategy = iota
	// Early takes the first valid output and skips all function tools.
	Early
	// Exhaustive runs everything; the first valid output wins.
	Exhaustive
)

// Config is one run.
type Config struct {
	// Agent and Model are for [toolset.RunInfo].
	Agent string
	Model *model.Info
	// RunID and ConversationID are made or inherited if empty.
	RunID, ConversationID string
	History               []*model.Message
	// Prompt is what the user says now; nil resumes the history.
	Prompt []model.Part
	// Resume says that the history may end in an answer, which is then given again.
	Resume bool
	// Template is what the requests that the run adds begin as; its metadata, in effect. It may be nil.
	Template *model.Message
	// Meter is the run's own: it counts the run's usage and has its limits.
	Meter *toolset.Meter
	// OutputRetries is the budget of text outputs; that of output tools is in the frame.
	OutputRetries int
	End           EndStrategy
	// Parallel bounds how many calls run at a time; 0 is no bound.
	Parallel int
	// Asks says that there is somebody to ask about calls while the run waits.
	Asks bool
	// Answers settle the calls that a history ends with; nil if there is nothing to settle.
	Answers []Answer
	// Observed says that somebody watches, so that events are emitted; Stream that responses are streamed.
	Observed, Stream bool
	// Scratch is memory to work with, if Stream is set; nil is fine. Nobody else uses it while the run goes on.
	Scratch *Scratch
	// Processed says that the host wants to see the history before each request.
	Processed bool
	// Steered says that messages may come in while the run goes on.
	Steered bool
}

// Result is how a run ended, well or not.
type Result struct {
	RunID, ConversationID string
	Output                any
	Messages              []*model.Message
	Usage                 toolset.Usage
	Steps                 int
}
