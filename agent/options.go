// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"maps"
	"slices"

	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// RunOption changes one run. Options are applied in order: if two set the same thing, the later one wins.
type RunOption interface{ applyRun(*runOptions) }

type runOptions struct {
	model      model.Model
	settings   *model.Settings
	limits     Limits
	choice     model.ToolChoice
	endings    Endings
	resume     bool
	handedOver bool // so that the run can be handed back
	partials   bool
	history    []*model.Message
	rule       *ruled  // nil without policies
	runOn      runFunc // nil for the native engine
	*moreOptions
}

// moreOptions are those that few runs have. They are read as if they were in [runOptions], and set
// through [runOptions.more].
type moreOptions struct {
	parts                 []model.Part
	instructions          []string
	metadata              map[string]string
	results               *givenResults
	inbox                 *Inbox
	input                 *Input
	meter                 *toolset.Meter
	asker                 toolset.Asker
	outer                 outer
	store                 HistoryStore
	journal               journal.Journal
	toolRetries           *int
	runID, conversationID string
}

// noMore are the options of all runs that have none of them. Nobody writes to it.
var noMore moreOptions

// more returns the options that few runs have, to set some.
//
//go:noinline
func (o *runOptions) more() *moreOptions {
	if o.moreOptions == &noMore {
		o.moreOptions = new(moreOptions)
	}
	return o.moreOptions
}

// prompt returns the parts of the prompt, or nil if the history is to be resumed.
func (o *runOptions) prompt(text string) []model.Part {
	if text == "" {
		return slices.Clip(o.parts)
	}
	return append([]model.Part{model.User(text)}, o.parts...)
}

// template is the first version of the run's requests, or nil.
func (o *runOptions) template() *model.Message {
	if o.metadata == nil {
		return nil
	}
	return &model.Message{Metadata: o.metadata}
}

type runOption func(*runOptions)

func (f runOption) applyRun(o *runOptions) { f(o) }

// WithHistory continues a conversation, with [Result.Messages] or [RunError.Messages] of an earlier run. The messages are not
// changed.
func WithHistory(messages []*model.Message) RunOption {
	return runOption(func(o *runOptions) { o.history = messages })
}

// WithParts adds parts, such as images, after the text of the prompt.
func WithParts(parts ...model.Part) RunOption {
	return runOption(func(o *runOptions) { o.more().parts = append(o.parts, parts...) })
}

// WithModel replaces the agent's model. Nil is an error of the run.
func WithModel(m model.Model) RunOption {
	return runOption(func(o *runOptions) { o.model = m })
}

// WithSettings overrides the agent's settings. Settings that are not set keep the agent's value.
func WithSettings(s model.Settings) RunOption {
	s = *s.Clone()
	return runOption(func(o *runOptions) { o.settings = o.settings.Merge(&s) })
}

// WithLimits overrides the agent's limits. A limit of zero keeps the agent's; [Unlimited] removes it.
func WithLimits(l Limits) RunOption {
	return runOption(func(o *runOptions) { o.limits = merged(o.limits, l) })
}

// WithToolChoice replaces the agent's [Config.ToolChoice].
func WithToolChoice(c model.ToolChoice) RunOption {
	return runOption(func(o *runOptions) { o.choice = c })
}

// WithEndings replaces the agent's [Config.Endings].
func WithEndings(e Endings) RunOption {
	return runOption(func(o *runOptions) { o.endings = e })
}

// WithResume lets a run without a prompt continue a history that is finished: if the history ends in an answer, the run returns
// that answer without a request. Without the option, such a run fails with [ErrFinished]. Programs that recover runs use it when
// they cannot know whether a run had ended.
func WithResume() RunOption {
	return runOption(func(o *runOptions) { o.resume = true })
}

// WithInstructions adds to the agent's static instructions.
func WithInstructions(text string) RunOption {
	return runOption(func(o *runOptions) { o.more().instructions = append(o.instructions, text) })
}

// WithMetadata attaches application data to the requests that the run adds to the history. It is never sent to a model.
func WithMetadata(metadata map[string]string) RunOption {
	metadata = maps.Clone(metadata)
	return runOption(func(o *runOptions) { o.more().metadata = metadata })
}

// WithConversationID sets the id of the conversation. The default is the history's id, or a new
// one.
func WithConversationID(id string) RunOption {
	return runOption(func(o *runOptions) { o.more().conversationID = id })
}

// WithMeter also counts the run's usage on m, whose limits bound the run in addition to its own. Use it with [toolset.NewMeter]
// to bound several runs together. Tools that run another agent use [Within] instead.
func WithMeter(m *toolset.Meter) RunOption {
	return runOption(func(o *runOptions) { o.more().meter = m })
}

// WithToolRetries sets how often the model may retry a call of a tool without its own setting. The
// run fails if n is negative.
func WithToolRetries(n int) RunOption {
	return runOption(func(o *runOptions) { o.more().toolRetries = &n })
}

// WithRunID sets the run's id. It must be new: if the history has messages of a run with this id, the run fails with [ErrRunID]. To
// resume a run with a journal, give the history that it was started with.
func WithRunID(id string) RunOption {
	return runOption(func(o *runOptions) { o.more().runID = id })
}
