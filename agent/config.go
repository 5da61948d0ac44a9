// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Config configures an agent. Only Model is required, unless every run sets one with [WithModel].
type Config[D, O any] struct {
	// Name identifies the agent in errors and traces.
	Name string
	// Model is the language model.
	Model model.Model
	// Instructions tell the model what to do. They are sent with every request and are not part of the history.
	Instructions string
	// Dynamic instructions are computed for every request. They follow Instructions, in order. Empty ones are omitted.
	Dynamic []InstructionFunc[D]
	// Tools are the agent's tools, and Toolsets supply more. Names must be unique among all of them.
	Tools    []*toolset.Tool[D]
	Toolsets []toolset.Toolset[D]
	// Capabilities add to the agent's own instructions, tools, hooks, history processors, settings and commands.
	Capabilities []Capability[D]
	// Commands are slash commands that users may type instead of a prompt. See [Agent.Command].
	Commands []Command[D]

	// Output selects how the model returns the output. The zero value suits most types.
	Output Output
	// Alternatives replace the output tool or text that follows from O: several types for a union, functions, text.
	Alternatives []Alternative[D, O]
	// Validators check the decoded and validated output, in order. Each gets the result of the previous one.
	Validators []Validator[D, O]

	// Asker is asked to approve calls and to answer the questions of tools, while the run waits.
	// [WithAsker] takes precedence. A run inside a tool without an asker uses the outer run's
	// asker. Without any asker, a call that needs approval ends the run with a [*PendingError].
	Asker toolset.Asker

	// ToolRetries and OutputRetries are how often the model may correct a tool call, or its output; nil is 1. A tool's
	// own setting comes first.
	ToolRetries, OutputRetries *int
	// NoRepair rejects arguments and outputs that are not valid JSON. By default, unambiguous mistakes are repaired: a Markdown
	// code fence around the document and trailing commas are removed, and missing closing brackets at the end are added. The
	// history keeps what the model wrote, and [Event.Repaired] has the repaired form. Responses cut off by a token limit are
	// never completed.
	NoRepair bool
	// ToolTimeout bounds each call of a tool without its own timeout. 0 means no bound.
	ToolTimeout time.Duration
	// MaxParallelCalls bounds how many tool calls of a run execute at the same time. 0 means no bound.
	MaxParallelCalls int
	// EndStrategy decides what happens to tool calls made together with an output call.
	EndStrategy EndStrategy
	// ToolError is called with every tool error that would end the run, including panics as a [*PanicError]. It may return
	// another error, such as one made with [toolset.Failed] or [toolset.Retry] to tell the model instead. If it returns nil, the
	// error stays as it is. Hooks and policies see what it returns. It is not called with errors of theirs, such as a
	// [*PolicyError], and not after the call's context has ended.
	ToolError func(ctx context.Context, run *toolset.RunContext[D], err error) error
	// History processors replace the history before each request, in order.
	History []HistoryProcessor[D]
	// Hooks wrap runs, requests and tool calls, the first one outermost.
	Hooks []Hooks[D]
	// Policies hold for each run and everything inside it.
	Policies []*Policy
	// Observer, if not nil, is called for each event.
	Observer *Observer
	// Limits bound what a run may use.
	Limits Limits
	// Prices are used for [Limits.Cost] and for the Cost in [Result.Usage]. An inner run without
	// prices uses the outer run's prices. Package agent/model/modelwrap has a table.
	Prices model.PriceTable
	// Endings decide which texts that were cut off can be outputs.
	Endings Endings
	// Settings, such as the temperature, apply to each request.
	Settings *model.Settings
	// ToolChoice controls whether the model may, must or must not call the agent's tools. The zero value lets the model choose.
	//
	//   - [model.ToolChoiceNone] forbids calls of the agent's tools in the whole run. The output may still be a tool call.
	//   - [model.ToolChoiceRequired] and [model.ToolChoiceTool] require a call in the first response of the run; an output call
	//     counts. Later requests let the model choose, or the run would never end. Models with [model.Info.NoForcedCalls] refuse
	//     such requests.
	ToolChoice model.ToolChoice
}

// Endings decide whether text can be the output of a run if its response did not end normally. A response whose text is not an
// output ends the run with an error, and the history keeps it as [model.Message.Interrupted]. Its tool calls are not executed,
// except complete ones before a token limit. A response that the model refused ([ErrRefused]) or that failed
// ([ErrResponseFailed]) is never an output.
type Endings struct {
	// NoCut ends the run with [ErrTokenLimit] if a token limit cut the text off. By default the text is the output, with
	// [Result.Cut] set.
	NoCut bool
	// Filtered allows text that a content filter cut off, with [Result.Cut] set. By default the run ends with [ErrContentFilter].
	Filtered bool
}

// InstructionFunc returns instructions for the next request. It is called on the run's goroutine,
// unless the run has its own engine. An error ends the run.
type InstructionFunc[D any] func(ctx context.Context, run *toolset.RunContext[D]) (string, error)

// Instruct returns a dynamic instruction that depends on the dependencies only.
func Instruct[D any](text func(deps D) string) InstructionFunc[D] {
	if text == nil {
		return nil
	}
	return func(_ context.Context, run *toolset.RunContext[D]) (string, error) { return text(run.Deps), nil }
}

// Validator checks an output and may replace it. An error made with [toolset.Retry] is reported to the model, which may try
// again. Any other error ends the run.
type Validator[D, O any] func(ctx context.Context, run *toolset.RunContext[D], output O) (O, error)

// EndStrategy decides what happens to tool calls that the model makes together with an output call.
type EndStrategy = engine.EndStrategy

// The end strategies.
const (
	// EndGraceful processes calls in the order of the response: tool calls before the first valid output are executed, those
	// after it are skipped. It is the default.
	EndGraceful = engine.EndGraceful
	// EndEarly processes output calls first. The first valid one ends the run. Tool calls are executed only if every output
	// is invalid.
	EndEarly = engine.EndEarly
	// EndExhaustive executes every call. The first valid output wins.
	EndExhaustive = engine.EndExhaustive
)

// DefaultRequestLimit is the default of [Limits.Requests].
const DefaultRequestLimit = 50

const (
	// Unlimited means no limit, for any of the [Limits].
	Unlimited = toolset.Unlimited
	// NoToolCalls, as [Limits.ToolCalls], ends the run if the model calls a tool. Set [Config.ToolChoice] to keep the model from
	// trying.
	NoToolCalls = toolset.NoToolCalls
)

// Limits bound what a run may use. A run that would exceed a limit ends with a [*LimitError]. Zero means no limit, except for
// Requests, where it means [DefaultRequestLimit]; in [WithLimits] it keeps the agent's limit. [Unlimited] means no limit. Other negative
// numbers are errors. If there is a limit on Cost, costs must be known: a request to a model without a price is refused with a
// [*PriceError], and a response without usage counts as what was reserved for it.
type Limits = toolset.Limits

// bounds are the limits for the meter of a run.
func bounds(l Limits) Limits {
	l.Requests = cmp.Or(l.Requests, DefaultRequestLimit)
	return l
}

// merged returns l with the limits that over sets.
func merged(l, over Limits) Limits {
	return Limits{
		Requests: cmp.Or(over.Requests, l.Requests), ToolCalls: cmp.Or(over.ToolCalls, l.ToolCalls),
		InputTokens: cmp.Or(over.InputTokens, l.InputTokens), OutputTokens: cmp.Or(over.OutputTokens, l.OutputTokens),
		TotalTokens: cmp.Or(over.TotalTokens, l.TotalTokens), Cost: cmp.Or(over.Cost, l.Cost),
	}
}

// Agent runs a model with tools. Create one with [New]. It is safe for concurrent use.
type Agent[D, O any] struct {
	config *Config[D, O]
	labels labels
	tools  toolset.Toolset[D]
	output *output[D, O]

	toolRetries, outputRetries int
	offered                    atomic.Pointer[offered[D]]
}

// New checks the configuration and returns the agent. It reports all problems in one joined error. The agent copies the
// configuration's slices and settings, so later changes to them have no effect.
func New[D, O any](config Config[D, O]) (*Agent[D, O], error) {
	config.detach()
	sets, labels, err := config.install()
	errs := []error{config.checkNumbers(), err, checkPolicies(config.Policies, any(*new(D)))}
	a := &Agent[D, O]{config: &config, labels: labels, toolRetries: 1, outputRetries: 1}
	if config.ToolRetries != nil {
		a.toolRetries = *config.ToolRetries
	}
	if config.OutputRetries != nil {
		a.outputRetries = *config.OutputRetries
	}
	switch config.EndStrategy {
	case EndGraceful, EndEarly, EndExhaustive:
	default:
		errs = append(errs, fmt.Errorf("unknown end strategy %q", config.EndStrategy))
	}
	if a.output, err = newOutput(a.config); err != nil {
		errs = append(errs, err)
	}
	a.tools = a.combined(sets)
	errs = append(errs, checkTools(sets, a.tools, a.output), a.checkChosen())
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("agent: new%s: %w", named(config.Name), err)
	}
	return a, nil
}

// Must returns the agent and panics if err is not nil. It is meant for agents that are created when a program starts:
//
//	var support = agent.Must(agent.New(agent.Config[Deps, Advice]{…}))
func Must[D, O any](a *Agent[D, O], err error) *Agent[D, O] {
	if err != nil {
		panic(err)
	}
	return a
}

func named(name string) string {
	if name == "" {
		return ""
	}
	return " " + name
}

// ModelInfo describes the agent's model. It is zero if the agent has none.
func (a *Agent[D, O]) ModelInfo() model.Info {
	if a.config.Model == nil {
		return model.Info{}
	}
	return a.config.Model.Info()
}
