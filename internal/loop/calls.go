// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/toolset"
)

// The answers to calls that were not executed, or whose output was not used.
const (
	textFinal      = "Final result processed."
	textSkipped    = "Not executed: a final result had already been processed."
	textUnused     = "Not used: another final result had already been processed."
	textSuppressed = "Not accepted yet: another tool call in this response failed. Fix it first, then return the result again."
)

// call is a tool call of the current response.
type call struct {
	part *model.Part
	tool *engine.Tool // nil if there is no such tool
	args *engine.Call
	// repaired has the repaired arguments, or nil.
	repaired model.RawArgs
	// answer is valid once answered is set.
	answer   *model.Part
	answered bool
	closed   bool // observers know that the call has ended
	executed bool
	// lost is set if the call was allowed but may or may not have run.
	lost bool
	// bare is set if the model did not make the call.
	bare bool
	// own is set if the tool asked for approval while it ran.
	own bool
	// changed is set if a person changed the arguments.
	changed bool
	final   bool // output is valid
	// waits is the reason why the call is pending, if it is; meta goes with it.
	waits waits
	// rounds counts the decisions without effect, invalid says why the last one had none.
	rounds  uint8
	invalid string
	meta    json.RawMessage
	content []model.Part
	cause   error // of a retry
	// approval is the approval that the call needs before it runs.
	approval *toolset.Approval
	// inner are the calls inside it that it waits for. suspended is the record of such a call in
	// the history.
	inner     *toolset.PendingError
	suspended *model.SuspendedCall
	// results are the answers to the calls inside it.
	results *toolset.DeferredResults
	// was is the pending call that a history left, given the answer to it.
	was   *model.PendingCall
	given *Answer
	// output is that of an output tool.
	output any
	// cut is why the output of a hand-over is not whole.
	cut model.FinishReason
	// told holds the messages to the user from the agent of a hand-over. refused says why its
	// output was not valid.
	told    []*model.Message
	refused *engine.Return
	// note is the text that the model gets afterwards if there was no output.
	note string
}

// callIndex returns the index of the first call for which f holds, or -1. anyCall reports whether there is one.
//
//go:noinline
func callIndex(calls []call, f func(c *call) bool) int {
	for i := range calls {
		if f(&calls[i]) {
			return i
		}
	}
	return -1
}

func anyCall(calls []call, f func(c *call) bool) bool { return callIndex(calls, f) >= 0 }

func (c *call) isOutput() bool   { return c.tool != nil && c.tool.Output }
func (c *call) isFunction() bool { return c.tool != nil && !c.tool.Output }
func (c *call) retry() bool      { return c.answer.Kind == model.PartRetry }

// reply is not inlined, because it is called in many places and a part is large.
//
//go:noinline
func (c *call) reply(text string, outcome model.Outcome) {
	*c.answer = model.Part{Kind: model.PartToolReturn, CallID: c.part.CallID, Tool: c.part.Tool, Text: text, Outcome: outcome}
	c.answered = true
}

// finish notes that an answered call has given the output.
func (c *call) finish(output any) {
	c.output, c.final, c.answer.Final = output, true, true
}

//go:noinline
func (c *call) askRetry(why string, cause error) {
	*c.answer, c.answered, c.cause = model.Retry(c.part.CallID, c.part.Tool, why), true, cause
}

// settleCalls answers all calls of a response. It reports whether the run has an output.
func (r *run) settleCalls(ctx context.Context, resp *model.Message) (bool, error) {
	if err := incomplete(resp); err != nil {
		return false, err
	}
	r.held = free
	calls, err := r.check(ctx, resp)
	if errors.Is(err, engine.ErrResults) {
		return false, &engine.RunError{Stage: engine.StagePrepare, Err: err} // nothing has happened
	}
	var winner *call
	if err == nil {
		winner, err = r.execute(ctx, calls)
	}
	if err == nil && winner == nil {
		if err = r.pending(calls); err != nil && isPending(err) {
			m := r.answer(calls, false)
			m.Pending, m.PendingCalls, m.SuspendedCalls = true, pendingIn(err), r.suspendedCalls(calls)
			return false, err
		}
	}
	if err != nil {
		r.answer(calls, true)
		r.unstarted(resp.Parts, calls)
		r.tellAll(calls)
		return false, err
	}
	answer := r.answer(calls, false)
	r.tellAll(calls)
	if winner != nil {
		r.output, r.cut = winner.output, winner.cut
		return true, nil
	}
	err = r.countRetries(calls, answer)
	if err == nil && r.cfg.Over != nil {
		err = r.cfg.Over.back(r, calls)
	}
	return false, err
}

func isPending(err error) bool {
	var p *engine.PendingError
	return errs.As(err, &p)
}

// pendingIn returns the calls that an error says are pending.
func pendingIn(err error) []model.PendingCall {
	var p *engine.PendingError
	errs.As(err, &p)
	return p.Calls
}

// loneCall is lone for the task that runs a call.
func (r *run) loneCall(c *call) *engine.Task {
	op := engine.OpTool
	if c.tool.Output {
		op = engine.OpOutput
	}
	t := r.lone(op)
	t.Call, t.Emits = c.args, r.cfg.Stream
	return t
}

func (r *run) unknown(name string) string {
	names := make([]string, len(r.offer.Tools))
	for i := range r.offer.Tools {
		names[i] = r.offer.Tools[i].Name
	}
	name = shortened(name)
	if len(names) == 0 {
		return fmt.Sprintf("Unknown tool %q. No tools are available.", name)
	}
	slices.Sort(names)
	return fmt.Sprintf("Unknown tool %q. Available tools: %s.", name, strings.Join(names, ", "))
}

// shortened bounds a name that a model made up.
func shortened(name string) string {
	const most = 64 // what providers allow
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}

// execute runs the calls according to the end strategy. It returns the call that gave the output, or nil.
func (r *run) execute(ctx context.Context, calls []call) (*call, error) {
	outputs := anyCall(calls, func(c *call) bool { return c.isOutput() })
	if !outputs || r.cfg.End != engine.EndEarly {
		if err := r.checkCalls(calls); err != nil {
			return nil, err
		}
	}
	switch {
	case !outputs:
		return nil, r.functions(ctx, calls)
	case r.cfg.End == engine.EndEarly:
		return r.early(ctx, calls)
	case r.cfg.End == engine.EndExhaustive:
		return r.exhaustive(ctx, calls)
	}
	return r.graceful(ctx, calls)
}

// checkCalls checks the limit on tool calls for all calls that may run, before the first one runs.
func (r *run) checkCalls(calls []call) error {
	n := 0
	for i := range calls {
		if c := &calls[i]; !c.answered && c.isFunction() && !c.tool.External {
			n++
		}
	}
	if err := r.cfg.Meter.CheckCalls(n); err != nil {
		return &engine.RunError{Stage: engine.StageTool, Err: err}
	}
	return nil
}

// graceful processes calls in order. After the first valid output it skips the rest.
func (r *run) graceful(ctx context.Context, calls []call) (*call, error) {
	for i := 0; i < len(calls); i++ {
		end := i
		for end < len(calls) && !calls[end].isOutput() {
			end++
		}
		if err := r.functions(ctx, calls[i:end]); err != nil {
			return nil, err
		}
		if i = end; i == len(calls) {
			break
		}
		if suppressed(calls[:i]) {
			calls[i].reply(textSuppressed, model.OutcomeSkipped)
		}
		if err := r.tryOutput(ctx, &calls[i]); err != nil {
			return nil, err
		}
		if calls[i].waits == forInner {
			return nil, nil
		}
		if calls[i].final {
			skip(calls[:i], false)
			skip(calls[i+1:], true)
			return &calls[i], nil
		}
	}
	return nil, nil
}

// early takes the first valid output. Functions run only if there is none.
func (r *run) early(ctx context.Context, calls []call) (*call, error) {
	winner, err := r.firstOutput(ctx, calls, false)
	if err == nil && winner == nil && r.held == free {
		if err = r.checkCalls(calls); err == nil {
			err = r.functions(ctx, calls)
		}
	}
	if err != nil || winner == nil {
		return nil, err
	}
	skip(calls, true)
	return winner, nil
}

// exhaustive runs all functions and then, unless one of them needs a retry, all outputs.
func (r *run) exhaustive(ctx context.Context, calls []call) (*call, error) {
	if err := r.functions(ctx, calls); err != nil {
		return nil, err
	}
	if suppressed(calls) {
		for i := range calls {
			if calls[i].isOutput() {
				calls[i].reply(textSuppressed, model.OutcomeSkipped)
			}
		}
		return nil, nil
	}
	winner, err := r.firstOutput(ctx, calls, true)
	if winner != nil {
		skip(calls, false)
	}
	return winner, err
}

// firstOutput tries outputs in order until one is valid.
func (r *run) firstOutput(ctx context.Context, calls []call, all bool) (*call, error) {
	var winner *call
	for i := range calls {
		c := &calls[i]
		if !c.isOutput() || (winner != nil && !all) {
			continue
		}
		if err := r.tryOutput(ctx, c); err != nil {
			return nil, err
		}
		switch {
		case c.waits == forInner && winner == nil:
			return nil, nil
		case !c.final && c.waits == nothing:
			continue
		case winner == nil:
			winner = c
		default:
			c.reply(textUnused, model.OutcomeSkipped)
		}
	}
	return winner, nil
}

// suppressed reports whether a function tool asked for a retry. An unknown tool does not count.
func suppressed(calls []call) bool {
	return anyCall(calls, func(c *call) bool { return c.isFunction() && c.retry() })
}

// skip answers the calls without an answer with a stub. If retries is set, it replaces answers that ask for a retry, too.
func skip(calls []call, retries bool) {
	for i := range calls {
		if c := &calls[i]; !c.answered || retries && c.retry() {
			c.notRun(textSkipped, model.OutcomeSkipped)
		}
	}
}

// tryOutput makes the output of a call, unless the call has been answered.
func (r *run) tryOutput(ctx context.Context, c *call) error {
	if c.answered { // invalid arguments, or somebody has answered it
		return nil
	}
	if !c.bare {
		if err := r.begins(c); err != nil {
			return err
		}
	}
	r.custom = false
	done := r.do(ctx, r.loneCall(c))
	if c.tool.HandsOver {
		r.cfg.Over.tried(r, c, done)
	}
	switch {
	case done.Err != nil:
		if !c.bare {
			r.failed(c, done.Err)
		}
		return &engine.RunError{Stage: engine.StageOutput, Tool: c.tool.Name, CallID: c.part.CallID, Attempt: c.args.Attempt, Err: done.Err}
	case c.answered:
	case done.Return.Retry:
		c.askRetry(done.Return.Text, done.Return.Cause)
	case done.Return.Pending != nil:
		r.suspend(c, done.Return.Pending)
		r.held = heldAll // what follows depends on whether it is the output
	default:
		c.reply(textFinal, model.OutcomeSuccess)
		c.finish(done.Output)
	}
	return nil
}

// answer appends the request that answers the calls: results in the order of the calls, then what the tools show. If the step was
// interrupted, it holds the completed results.
func (r *run) answer(calls []call, interrupted bool) *model.Message {
	kept := func(c *call) bool { return c.answered && (!interrupted || c.executed) }
	n := 0
	for i := range calls {
		c := &calls[i]
		if c.answered && !c.closed {
			_ = r.ended(c) // if this stops the run, the next thing it does will find out
		}
		if kept(c) {
			n++
		}
	}
	parts := r.answers // of all calls, as a rule
	if n == 0 || n < len(calls) {
		parts = make([]model.Part, 0, n)
		for i := range calls {
			if c := &calls[i]; kept(c) {
				parts = append(parts, *c.answer)
			}
		}
	}
	for i := range calls {
		parts = append(parts, calls[i].content...)
	}
	return r.append(&model.Message{Kind: model.KindRequest, Parts: parts, Interrupted: interrupted})
}

// countRetries charges the budgets of the tools that must be called again.
func (r *run) countRetries(calls []call, answer *model.Message) error {
	if !anyCall(calls, func(c *call) bool { return c.retry() }) && len(r.budgets) == 0 {
		return nil
	}
	r.budgets.step(answer.Parts)
	for i := range calls {
		c := &calls[i]
		if !c.retry() {
			continue
		}
		retries, stage := r.cfg.OutputRetries, engine.StageTool
		if c.tool != nil {
			retries = c.tool.Retries
		}
		if c.isOutput() {
			stage = engine.StageOutput
		}
		attempt := r.budgets.attempt(c.part.Tool)
		if attempt > retries {
			if c.cause == nil {
				c.cause = errors.New(c.answer.Text)
			}
			return &engine.RunError{Stage: stage, Tool: c.part.Tool, CallID: c.part.CallID, Attempt: attempt - 1,
				Err: &engine.BudgetError{Tool: c.part.Tool, Retries: retries, Err: c.cause}}
		}
		if err := r.emit(&engine.Event{Kind: engine.EventRetry, CallID: c.part.CallID, Tool: c.part.Tool, Text: c.answer.Text, Attempt: attempt}); err != nil {
			return err
		}
	}
	return nil
}
