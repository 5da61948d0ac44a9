// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"maps"
	"slices"

	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// RunOption changes one run. Options are applied in order; where two set the same thing the later one wins.
type RunOption interface{ applyRun(*runOptions) }

type runOptions struct {
	model                 model.Model
	settings              *model.Settings
	limits                Limits
	choice                model.ToolChoice
	resume                bool
	history               []*model.Message
	parts                 []model.Part
	instructions          []string
	metadata              map[string]string
	results               *DeferredResults
	inbox                 *Inbox
	meter                 *toolset.Meter
	asker                 toolset.Asker
	outer                 outer
	store                 HistoryStore
	journal               journal.Journal
	record                recordFunc // goes with journal
	toolRetries           *int
	partials              bool
	runID, conversationID string
}

// prompt returns what the user says, or nil if the history is to be resumed.
func (o *runOptions) prompt(text string) []model.Part {
	if text == "" {
		return slices.Clip(o.parts)
	}
	return append([]model.Part{model.User(text)}, o.parts...)
}

// template is what the requests of the run begin as, or nil.
func (o *runOptions) template() *model.Message {
	if o.metadata == nil {
		return nil
	}
	return &model.Message{Metadata: o.metadata}
}

type runOption func(*runOptions)

func (f runOption) applyRun(o *runOptions) { f(o) }

// WithHistory continues a conversation. The messages are not changed; pass on [Result.Messages] or [RunError.Messages].
func WithHistory(messages []*model.Message) RunOption {
	return runOption(func(o *runOptions) { o.history = messages })
}

// WithParts adds parts to the prompt, such as images. They stand behind the prompt's text.
func WithParts(parts ...model.Part) RunOption {
	return runOption(func(o *runOptions) { o.parts = append(o.parts, parts...) })
}

// WithModel has another model answer.
func WithModel(m model.Model) RunOption {
	return runOption(func(o *runOptions) { o.model = m })
}

// WithSettings tunes the requests; what it leaves out is taken from the agent.
func WithSettings(s model.Settings) RunOption {
	s = *s.Clone()
	return runOption(func(o *runOptions) { o.settings = o.settings.Merge(&s) })
}

// WithLimits bounds the run. A limit that is zero is taken from the agent; [Unlimited] lifts the agent's limit.
func WithLimits(l Limits) RunOption {
	return runOption(func(o *runOptions) { o.limits = o.limits.merge(l) })
}

// WithToolChoice says whether the model may, must or must not call tools, in place of the agent's [Config.ToolChoice].
func WithToolChoice(c model.ToolChoice) RunOption {
	return runOption(func(o *runOptions) { o.choice = c })
}

// WithResume continues a history where it stands, whatever it ends in: a history that ends in an answer gives the answer
// again, without a request. It goes with [WithHistory] and no prompt. Without it, such a history needs a prompt, and the run
// fails with [ErrFinished]. A program that recovers runs which may have ended uses it.
func WithResume() RunOption {
	return runOption(func(o *runOptions) { o.resume = true })
}

// WithInstructions adds to the agent's static instructions.
func WithInstructions(text string) RunOption {
	return runOption(func(o *runOptions) { o.instructions = append(o.instructions, text) })
}

// WithMetadata attaches data of the application to the requests that the run adds to the history. It is never sent.
func WithMetadata(metadata map[string]string) RunOption {
	metadata = maps.Clone(metadata)
	return runOption(func(o *runOptions) { o.metadata = metadata })
}

// WithConversationID names the conversation, in place of the history's id or a new one.
func WithConversationID(id string) RunOption {
	return runOption(func(o *runOptions) { o.conversationID = id })
}

// WithMeter also counts what the run uses on m, and bounds the run by the limits of m. The run's own limits bound the run
// alone. It is for programs that bound several runs together, with [toolset.NewMeter]. A tool that runs another agent uses
// [Within].
func WithMeter(m *toolset.Meter) RunOption {
	return runOption(func(o *runOptions) { o.meter = m })
}

// WithToolRetries sets how often the model may correct a call of a tool that has no setting of its own. A negative number
// is an error of the run.
func WithToolRetries(n int) RunOption {
	return runOption(func(o *runOptions) { o.toolRetries = &n })
}

// WithRunID names the run. It must be unique within the history.
func WithRunID(id string) RunOption {
	return runOption(func(o *runOptions) { o.runID = id })
}
