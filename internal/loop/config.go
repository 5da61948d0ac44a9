// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Observer receives the events of a run.
type Observer interface {
	// Emit is called on the run's goroutine if [Config.Observed] is set. False stops the run. The event is only valid during
	// the call.
	Emit(e *engine.Event) bool
}

// Config configures one run.
type Config struct {
	// Agent and Model are for [toolset.RunInfo].
	Agent string
	Model *model.Info
	// RunID and ConversationID are made or inherited if empty.
	RunID, ConversationID string
	History               []*model.Message
	// Prompt is the user's prompt. Nil resumes the history.
	Prompt []model.Part
	// Template is the template for requests that the run adds; only its metadata matters. It may be
	// nil.
	Template *model.Message
	// Meter is the run's own: it counts the run's usage and has its limits.
	Meter *toolset.Meter
	// OutputRetries is the budget of text outputs. The frame has the budget of output tools.
	OutputRetries int
	End           engine.EndStrategy
	// Parallel bounds how many calls run at the same time. 0 means no bound.
	Parallel int
	// Asks is set if people can be asked about calls while the run waits.
	Asks bool
	// Answers are for the pending calls of the history. Nil means that there are none.
	Answers *Answers
	// Over is how the run is handed over to other agents; nil if the agent has no hand-overs.
	Over *HandOver
	// Observed is set if the run emits events, Stream if responses are streamed.
	Observed, Stream bool
	// Scratch is working memory, if Stream is set; it may be nil. It is not shared during the run.
	Scratch *Scratch
	// Memory is working memory, too; it may be nil. The result is part of it.
	Memory *Memory
	// Options go with the tasks of a run that has its own engine.
	Options *engine.Options
	// Processed is set if there are history processors.
	Processed bool
	// Steered is set if messages may arrive during the run.
	Steered bool
	// NoCut makes text that a token limit cut off an error, Filtered makes text that a content filter cut off an output.
	NoCut, Filtered bool
	// Resume allows a history that ends in an answer. The run returns that answer.
	Resume bool
}

// Result is how a run ended, well or not. Agent is empty unless the run was handed over.
type Result struct {
	engine.Result[any]
	Steps int
}

// NotRun returns the result of a run that has not begun.
func (c *Config) NotRun() *Result {
	return &Result{Result: engine.Result[any]{RunID: c.RunID, ConversationID: c.ConversationID, Messages: c.History}}
}
