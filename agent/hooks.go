// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Hooks wrap the boundaries of a run. A hook calls next to continue, with its context or one derived from it, and may
// act before and after. The hooks of [Config.Hooks] nest, the first one outermost. Nil hooks are skipped. Hooks must be safe
// for concurrent use; Call runs on several goroutines of one run.
//
// Request and Call may call next several times, also concurrently if the run is not streamed, but
// not after they have returned: they wait for calls of next in other goroutines.
type Hooks[D any] struct {
	// Run wraps the whole run.
	Run RunHook[D]
	// Input sees what the user says, before the run does.
	Input InputHook[D]
	// Request wraps each request to the model.
	Request RequestHook[D]
	// Approval sees what will be asked about a call whose tool needs approval.
	Approval ApprovalHook[D]
	// Call wraps each tool call whose arguments are valid. To wrap the calls of one toolset only, use [toolset.Wrapped].
	Call toolset.CallHook[D]
}

// RunHook wraps a run. run has no ids yet. An error of the hook becomes the run's error, but a hook cannot turn a failed run
// into a successful one. A hook may call next at most once: further calls do nothing and return an error.
type RunHook[D any] func(ctx context.Context, run *toolset.RunContext[D], next RunFunc) error

// RunFunc executes a run within the remaining hooks. The summary is never nil.
type RunFunc func(ctx context.Context) (*Summary, error)

// InputHook gets the parts of a prompt, or of a message from the run's [Inbox], before anything
// keeps or sends them. Its result replaces them in the history, in the journal, in events and for
// the model. It must not change the slice or what it points to. An error ends the run. The hooks
// are called in order, inside the Run hooks; run has neither ids nor messages for a prompt. To
// check a prompt before a run begins, see [Agent.Input].
type InputHook[D any] func(ctx context.Context, run *toolset.RunContext[D], parts []model.Part) ([]model.Part, error)

// RequestHook wraps a request to the model. It may pass on another request or return another
// response. It also wraps the requests that tools make ([toolset.RunContext.Generate]); run.Call
// identifies the call that made it.
type RequestHook[D any] func(ctx context.Context, run *toolset.RunContext[D], req *model.Request, next RequestFunc) (*model.Message, error)

// ApprovalHook gets the approval that a tool asks for before it runs ([toolset.Approve]), and returns the one that is asked for in its place.
// It must not return nil, and must not change what it gets. It may be called again before an approved call runs.
type ApprovalHook[D any] func(ctx context.Context, run *toolset.RunContext[D], a *toolset.Approval) (*toolset.Approval, error)

// RequestFunc sends a request to the model within the remaining hooks.
type RequestFunc func(ctx context.Context, req *model.Request) (*model.Message, error)

// Summary describes the end of a run. Output is nil if it has none, and Agent is the run's own.
type Summary = Result[any]

// HistoryProcessor replaces the history of a run before a request, for example to trim, summarise
// or redact it. The result must end in a request, and may be the slice that was passed in. Messages
// are shared: replace them, but do not change them. A processor is called on the run's goroutine,
// unless the run has its own engine. An error ends the run.
type HistoryProcessor[D any] func(ctx context.Context, run *toolset.RunContext[D], messages []*model.Message) ([]*model.Message, error)

// Observer receives the events of an agent's runs, with or without a stream. Nil functions are skipped. The functions are
// called on the run's goroutine and must be quick. They must not change what events point to.
type Observer struct {
	// Request is called before each request, Response with each response.
	Request, Response func(Event)
	// ToolCall is called for each call, ToolStart when it starts to run, and ToolResult when it has ended.
	ToolCall, ToolStart, ToolResult func(Event)
	// Retry is called when the model is asked to try again.
	Retry func(Event)
	// End is called when the run has ended.
	End func(Event)
}

func (o *Observer) observe(e Event) {
	var f func(Event)
	switch e.Kind {
	case EventRequestStart:
		f = o.Request
	case EventResponse:
		f = o.Response
	case EventToolCall:
		f = o.ToolCall
	case EventToolStart:
		f = o.ToolStart
	case EventToolResult:
		f = o.ToolResult
	case EventRetry:
		f = o.Retry
	case EventRunEnd:
		f = o.End
	}
	if f != nil {
		f(e)
	}
}

// prepareMeter sets the budgets of policies on the meter of a run or task.
//
//go:noinline
func (o *runOptions) prepareMeter(info *toolset.RunInfo) {
	if o.rule != nil {
		o.rule.says.budget(info)
	}
}

// hookedRun calls body within the Run hooks.
func (r *agentRun[D, O]) hookedRun(ctx context.Context, body RunFunc) error {
	next := body
	for i := len(r.hooks) - 1; i >= 0; i-- {
		hook, inner := r.hooks[i].Run, next
		if hook == nil {
			continue
		}
		next = func(ctx context.Context) (summary *Summary, err error) {
			var failed error
			called := false
			summary = &Summary{Agent: r.agent.config.Name}
			defer recovered(&err)
			err = hook(ctx, &r.context, func(ctx context.Context) (*Summary, error) {
				if called {
					return summary, errors.New("a Run hook called next more than once")
				}
				called = true
				summary, failed = inner(ctx)
				return summary, failed
			})
			if err == nil {
				err = failed
			}
			return summary, err
		}
	}
	_, err := next(ctx)
	return err
}

// hookedRequest sends a request within the Request hooks. It is counted inside of them: what is sent counts.
func (r *agentRun[D, O]) hookedRequest(ctx context.Context, run *toolset.RunContext[D], req *model.Request, sink model.Sink) (*model.Message, error) {
	if len(r.hooks) == 0 {
		return run.Meter.Generate(ctx, r.options.model, req, sink)
	}
	next := RequestFunc(func(ctx context.Context, req *model.Request) (*model.Message, error) {
		return run.Meter.Generate(ctx, r.options.model, req, sinkIn(ctx, sink))
	})
	for i := len(r.hooks) - 1; i >= 0; i-- {
		if hook, inner := r.hooks[i].Request, next; hook != nil {
			next = func(ctx context.Context, req *model.Request) (*model.Message, error) {
				return hook(ctx, run, req, inner)
			}
		}
	}
	return next(ctx, req)
}

// hookedCall runs a tool within the Call hooks.
func (r *agentRun[D, O]) hookedCall(ctx context.Context, run *toolset.RunContext[D], tool *toolset.Tool[D], args any) (toolset.Result, error) {
	if len(r.hooks) == 0 && r.agent.config.ToolError == nil {
		return tool.Call(ctx, run, args)
	}
	next := toolset.CallFunc(func(ctx context.Context, args any) (_ toolset.Result, err error) {
		if r.agent.config.ToolError != nil {
			defer r.changeError(ctx, run, &err)
		}
		return tool.Call(ctx, run, args)
	})
	for i := len(r.hooks) - 1; i >= 0; i-- {
		if hook, inner := r.hooks[i].Call, next; hook != nil {
			next = func(ctx context.Context, args any) (toolset.Result, error) { return hook(ctx, run, args, inner) }
		}
	}
	return next(ctx, args)
}

// changeError applies [Config.ToolError] to the error of a tool, or to its panic. Policies check
// what that tells the model, so it is inside of all hooks.
func (r *agentRun[D, O]) changeError(ctx context.Context, run *toolset.RunContext[D], err *error) {
	if p := recover(); p != nil {
		*err = panicked(p)
	}
	if *err == nil || r.options.settled(ctx, *err) {
		return
	}
	if changed := r.agent.config.ToolError(ctx, run, *err); changed != nil {
		*err = changed
	}
}

// settled reports whether [Config.ToolError] does not see an error of a call. Policies have the last
// word about what they refuse.
//
//go:noinline
func (o *runOptions) settled(ctx context.Context, err error) bool {
	refused := o.rule != nil && o.rule.says.refusal(err)
	return refused || ctx.Err() != nil || toolset.Outcome(err) != nil
}
