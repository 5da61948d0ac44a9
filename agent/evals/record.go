// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// recorder records the runs of agents that a task or an evaluator makes.
type recorder struct {
	mu sync.Mutex
	// used is what has counted on the budget.
	used toolset.Usage
	runs []*recorded
	one  [1]*recorded // memory for runs
	// events are those of runs that are streamed.
	events []agent.Event
	// repeat is the repeat of the case, and cached what answers from the cache count as.
	repeat int
	cached toolset.Usage
	// refused is set if the budget refused a request, and unavailable if a provider failed.
	refused, unavailable error
	// timedOut is set if the task failed after its context had ended.
	timedOut bool
}

// recorded is a run that is recorded. Its fields are guarded by the recorder's mu.
type recorded struct {
	AgentRun
	index     int
	outer     *recorded
	step      int // of outer, if the run is inside a call; 0 if it is not known
	responses []*model.Message
	first     [1]*model.Message // memory for responses
	place     place
	// outputs are the names of the tools that give the output.
	outputs []string
	calls   []executed
}

// executed is a tool call that was executed.
type executed struct {
	id       string
	step     int
	args     model.RawArgs
	result   toolset.Result
	err      error
	duration time.Duration
}

// place is where a context is: in a task, in a run, in a call of that run. It is that context.
type place struct {
	context.Context
	*recorder
	run  *recorded
	call string
	step int // of the call
}

type placeKey struct{}

// Value implements [context.Context].
func (p *place) Value(key any) any {
	if key == (placeKey{}) {
		return p
	}
	return p.Context.Value(key)
}

// placeOf returns the place of a context; nil if nothing is recorded there.
func placeOf(ctx context.Context) *place {
	p, _ := ctx.Value(placeKey{}).(*place)
	return p
}

func (b *budget) recordRun(ctx context.Context, run *toolset.RunContext[any],
	next agent.RunFunc) error {
	p := placeOf(ctx)
	if p == nil {
		_, err := next(ctx)
		return err
	}
	r := &recorded{AgentRun: AgentRun{Agent: run.Agent, Call: p.call, Outer: -1}}
	r.outer, r.step = p.run, p.step
	r.responses, r.place = r.first[:0], place{Context: ctx, recorder: p.recorder, run: r}
	if p.run != nil {
		r.Outer = p.run.index
	}
	p.mu.Lock()
	if r.index = len(p.runs); r.index == 0 {
		p.runs = p.one[:0]
	}
	p.runs = append(p.runs, r)
	p.mu.Unlock()
	begin := time.Now()
	sum, err := next(&r.place)
	p.mu.Lock()
	defer p.mu.Unlock()
	r.Duration, r.RunID, r.Messages, r.Usage = time.Since(begin), sum.RunID, sum.Messages, sum.Usage
	if p.run == nil && !b.counts() {
		used := p.uncached(sum.Usage)
		b.meter.Add(used)
		addUsage(&p.used, used)
	}
	if err != nil {
		r.Error = err.Error()
		if p.unavailable == nil && ctx.Err() == nil && isProviderFailure(err) {
			p.unavailable = err
		}
	}
	return err
}

func recordRequest(ctx context.Context, run *toolset.RunContext[any], req *model.Request,
	next agent.RequestFunc) (*model.Message, error) {
	resp, err := next(ctx, req)
	p := placeOf(ctx)
	if p == nil || p.run == nil || resp == nil || run.Call.Tool != "" {
		return resp, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run.responses = append(p.run.responses, resp)
	for i := range resp.Parts {
		name := resp.Parts[i].Tool
		if resp.Parts[i].Kind == model.PartToolCall && !slices.Contains(p.run.outputs, name) &&
			agent.IsOutput(run, name) {
			p.run.outputs = append(p.run.outputs, name)
		}
	}
	return resp, err
}

func recordCall(ctx context.Context, run *toolset.RunContext[any], args any,
	next toolset.CallFunc) (toolset.Result, error) {
	p := placeOf(ctx)
	if p == nil || p.run == nil {
		return next(ctx, args)
	}
	begin := time.Now()
	res, err := next(&place{ctx, p.recorder, p.run, run.Call.ID, run.Step}, args)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run.calls = append(p.run.calls,
		executed{run.Call.ID, run.Step, run.Call.Args, res, err, time.Since(begin)})
	return res, err
}

// trace returns what was recorded. Nothing is recorded any more.
func (r *recorder) trace() (t Trace) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Events = r.events
	for _, run := range r.runs {
		t.Runs = append(t.Runs, run.AgentRun)
		if run.outer == nil {
			addUsage(&t.Usage, run.Usage)
			t.Calls = r.appendCalls(t.Calls, run)
		}
	}
	return t
}

// appendCalls appends the calls of a run, each followed by the calls of the runs inside it.
func (r *recorder) appendCalls(calls []Call, run *recorded) []Call {
	for before, resp := range run.responses {
		if !resp.HasToolCalls() {
			continue
		}
		step := before + 1
		resp = loop.Normalise(resp, step) // ids as the run has them
		for i := range resp.Parts {
			part := &resp.Parts[i]
			if part.Kind != model.PartToolCall || slices.Contains(run.outputs, part.Tool) {
				continue
			}
			c := Call{Run: run.index, ID: part.CallID, Tool: part.Tool, Args: part.Args}
			run.ended(&c, step)
			calls = append(calls, c)
			for _, inner := range r.runs {
				if inner.outer == run && inner.Call == c.ID && cmp.Or(inner.step, step) == step {
					inner.step = step
					calls = r.appendCalls(calls, inner)
				}
			}
		}
	}
	return calls
}

// ended fills in how a call of a step ended: as its function did, or as the history says.
func (r *recorded) ended(c *Call, step int) {
	for i := range r.calls {
		e := &r.calls[i]
		if e.id != c.ID || e.step != step {
			continue
		}
		c.Ran, c.Duration, c.Outcome, c.Result = true, e.duration, e.result.Outcome, e.result.Text
		if e.err != nil {
			c.Err = e.err.Error()
		}
		if !bytes.Equal(c.Args, e.args) {
			c.Repaired = e.args
		}
		return
	}
	for i, m := range r.Messages {
		if m.RunID != r.RunID || m.Step != step || i+1 == len(r.Messages) {
			continue
		}
		for j := range r.Messages[i+1].Parts {
			if part := &r.Messages[i+1].Parts[j]; part.CallID == c.ID {
				c.refused(part)
			}
		}
	}
}

// refused fills in what the model was told about a call that was not executed.
func (c *Call) refused(answer *model.Part) {
	if answer.Kind == model.PartRetry {
		c.Err = answer.Text
		return
	}
	c.Outcome, c.Result = answer.Outcome, answer.Text
}

// addUsage adds a run's usage to a total.
func addUsage(total *toolset.Usage, u toolset.Usage) {
	total.Requests += u.Requests
	total.ToolCalls += u.ToolCalls
	total.Usage.Add(u.Usage)
	total.Cost += u.Cost
	total.Unpriced += u.Unpriced
}

// uncached returns what a run has used, without the answers that were known.
func (r *recorder) uncached(u toolset.Usage) toolset.Usage {
	u.Requests -= r.cached.Requests
	u.Cost -= r.cached.Cost
	u.InputTokens -= r.cached.InputTokens
	u.OutputTokens -= r.cached.OutputTokens
	u.CacheReadTokens -= r.cached.CacheReadTokens
	u.CacheWriteTokens -= r.cached.CacheWriteTokens
	u.ReasoningTokens -= r.cached.ReasoningTokens
	r.cached = toolset.Usage{}
	return u
}
