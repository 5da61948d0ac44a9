// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// Config is what an agent is made of. Only Model is required; it may be left out if every run brings one ([WithModel]).
type Config[D, O any] struct {
	// Name identifies the agent in errors and traces.
	Name string
	// Model answers.
	Model model.Model
	// Instructions tell the model what to do. They are sent with every request and are not part of the history.
	Instructions string
	// Dynamic instructions are made anew for every request. They follow Instructions, in order; an empty one is left out.
	Dynamic []InstructionFunc[D]
	// Tools are the agent's tools, and Toolsets supply more. Names must be unique among all of them.
	Tools    []*toolset.Tool[D]
	Toolsets []toolset.Toolset[D]
	// Capabilities add to the agent's own instructions, tools, hooks, history processors, settings and commands.
	Capabilities []Capability[D]
	// Commands are slash commands that users may type in place of a prompt. See [Agent.Command].
	Commands []Command[D]

	// Output says how the model gives the output. The zero value suits most types.
	Output Output
	// Alternatives are the ways in which the model can give the output, in place of the one that follows from O: several
	// types for a union, functions, text.
	Alternatives []Alternative[D, O]
	// Validators check an output, in order, after it was decoded and validated. Each gets the previous one's result.
	Validators []Validator[D, O]

	// Asker is asked about calls that need approval, and what tools want to know, while the run waits. [WithAsker] comes
	// first, and a run inside a tool has the asker of the run around it if it has none of its own. Without an asker, a
	// call that needs approval ends the run with a [*PendingError].
	Asker toolset.Asker

	// ToolRetries and OutputRetries are how often the model may correct a tool call, or its output; nil is 1. A tool's
	// own setting comes first.
	ToolRetries, OutputRetries *int
	// NoRepair refuses arguments and outputs that are not JSON. Without it those that can only be one document are
	// repaired: a markdown code fence around the document and a comma after a last item are removed, and closing brackets
	// that are missing at the end are added. The history keeps what the model wrote; [Event] says what was made of it.
	// Responses that were cut off by a token limit are never completed.
	NoRepair bool
	// ToolTimeout bounds every tool call whose tool does not set its own bound; 0 is no bound.
	ToolTimeout time.Duration
	// MaxParallelCalls bounds how many tool calls of a run are executed at a time; 0 is no bound.
	MaxParallelCalls int
	// EndStrategy decides about function tools that are called together with an output tool.
	EndStrategy EndStrategy
	// ToolError is called with every error of a tool that would end the run; a panic is a [*PanicError]. It may return
	// another error, such as one made with [toolset.Failed] or [toolset.Retry], which tells the model instead. Nil leaves
	// the error as it is. ToolError is not called once the call's context has ended: a cancelled call stays cancelled.
	ToolError func(ctx context.Context, run *toolset.RunContext[D], err error) error
	// History processors replace the history before each request, in order.
	History []HistoryProcessor[D]
	// Hooks wrap runs, requests and tool calls, the first one outermost.
	Hooks []Hooks[D]
	// Observer is told what happens, if it is not nil.
	Observer *Observer
	// Limits bound what a run may use.
	Limits Limits
	// Prices say what models cost, for [Limits.Cost] and the Cost of [Result.Usage]. A run within another one uses the outer
	// run's prices if it has none. See package agent/model/prices for a table.
	Prices model.PriceTable
	// Settings tune the requests.
	Settings *model.Settings
	// ToolChoice says whether the model may, must or must not call the agent's tools. The zero value leaves it to the model.
	//
	//   - [model.ToolChoiceNone] forbids calls of the agent's tools in the whole run. The output may still be a tool call.
	//   - [model.ToolChoiceRequired] and [model.ToolChoiceTool] demand a call with the first request of the run, where a call
	//     of the output counts. Later requests leave the choice to the model, or the run would never end. A model that has
	//     [model.Info.NoForcedCalls] refuses the request.
	ToolChoice model.ToolChoice
}

// InstructionFunc makes a piece of instructions for the request at hand. It is called on the run's goroutine; an error
// ends the run.
type InstructionFunc[D any] func(ctx context.Context, run *toolset.RunContext[D]) (string, error)

// Instruct makes a dynamic instruction of a function that needs the dependencies only.
func Instruct[D any](text func(deps D) string) InstructionFunc[D] {
	if text == nil {
		return nil
	}
	return func(_ context.Context, run *toolset.RunContext[D]) (string, error) { return text(run.Deps), nil }
}

// Validator checks an output and may replace it. An error made with [toolset.Retry] goes back to the model; any other
// error ends the run.
type Validator[D, O any] func(ctx context.Context, run *toolset.RunContext[D], output O) (O, error)

// EndStrategy decides what happens to function tools that the model calls together with an output tool.
type EndStrategy string

const (
	// EndGraceful goes in the order in which the model called: function tools before the first valid output are
	// completed, those behind it are not executed. It is the default.
	EndGraceful EndStrategy = ""
	// EndEarly looks at output tools first. The first valid one ends the run; function tools are executed only if all
	// outputs failed.
	EndEarly EndStrategy = "early"
	// EndExhaustive executes everything; the first valid output wins.
	EndExhaustive EndStrategy = "exhaustive"
)

// DefaultRequestLimit is how many requests a run may make if [Limits] says nothing.
const DefaultRequestLimit = 50

const (
	// Unlimited lifts a limit, as any of the [Limits].
	Unlimited = toolset.Unlimited
	// NoToolCalls allows no tool calls, as [Limits.ToolCalls]: a run whose model calls a tool ends. Set
	// [Config.ToolChoice] to keep the model from trying.
	NoToolCalls = toolset.NoToolCalls
)

// Limits bound what a run may use. A run that would exceed one ends with a [*LimitError]. Zero is no limit, except for
// Requests; in [WithLimits] it leaves the agent's limit in force. [Unlimited] is no limit. Other negative numbers are errors.
type Limits struct {
	// Requests is checked before each request. Zero is [DefaultRequestLimit].
	Requests int
	// ToolCalls is checked for all calls of a response before any of them runs. [NoToolCalls] allows none.
	ToolCalls int
	// Tokens are checked after each response, during a stream as far as the provider reports them, and before each request.
	InputTokens, OutputTokens, TotalTokens int64
	// Cost bounds what the responses cost, in the currency of [Config.Prices]. It is checked when tokens are, and before each
	// request. Under such a limit nothing may be of unknown cost: a request to a model without a price is refused, and a
	// response without usage ends the run, with a [*PriceError].
	Cost float64
}

func (l Limits) meter() toolset.Limits {
	l.Requests = cmp.Or(l.Requests, DefaultRequestLimit)
	return toolset.Limits(l)
}

// merge returns limits in which those that over sets win over those of l.
func (l Limits) merge(over Limits) Limits {
	return Limits{
		Requests: cmp.Or(over.Requests, l.Requests), ToolCalls: cmp.Or(over.ToolCalls, l.ToolCalls),
		InputTokens: cmp.Or(over.InputTokens, l.InputTokens), OutputTokens: cmp.Or(over.OutputTokens, l.OutputTokens),
		TotalTokens: cmp.Or(over.TotalTokens, l.TotalTokens), Cost: cmp.Or(over.Cost, l.Cost),
	}
}

// Agent runs a model with tools. See [New].
type Agent[D, O any] struct {
	config Config[D, O]
	labels labels
	tools  toolset.Toolset[D]
	output *output[D, O]
	end    loop.EndStrategy

	toolRetries, outputRetries int
	offered                    atomic.Pointer[offered[D]]
}

// New checks the configuration and returns the agent. All problems are reported at once, joined. The agent keeps copies of
// the configuration's slices and settings: changing them afterwards has no effect.
func New[D, O any](config Config[D, O]) (*Agent[D, O], error) {
	config.detach()
	sets, labels, err := config.install()
	errs := []error{config.checkNumbers(), err}
	a := &Agent[D, O]{config: config, labels: labels, tools: toolset.Combine(sets...), toolRetries: 1, outputRetries: 1}
	if config.ToolRetries != nil {
		a.toolRetries = *config.ToolRetries
	}
	if config.OutputRetries != nil {
		a.outputRetries = *config.OutputRetries
	}
	switch config.EndStrategy {
	case EndGraceful:
		a.end = loop.Graceful
	case EndEarly:
		a.end = loop.Early
	case EndExhaustive:
		a.end = loop.Exhaustive
	default:
		errs = append(errs, fmt.Errorf("unknown end strategy %q", config.EndStrategy))
	}
	if a.output, err = newOutput(&a.config); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, checkTools(sets, a.tools, a.output))
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("agent: new%s: %w", named(config.Name), err)
	}
	return a, nil
}

// Must returns the agent, or panics if there is an error. It is meant for agents that are made once, when a program starts:
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

// ModelInfo describes the agent's own model; it is zero if the agent has none.
func (a *Agent[D, O]) ModelInfo() model.Info {
	if a.config.Model == nil {
		return model.Info{}
	}
	return a.config.Model.Info()
}
