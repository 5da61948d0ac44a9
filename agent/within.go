// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/toolset"
)

// outer holds what a run needs of the run around it.
type outer struct {
	// asking handles questions if the run does not have its own asker; it may be nil.
	asking *seat
	// behind answers the questions that asking does not; it may be nil.
	behind engine.Answerer
	// path has the ids of the calls that led to the run, the outermost first.
	path []string
	// store keeps the histories of pending inner runs; nil if they are kept in the outer one.
	store HistoryStore
}

// Within makes a run part of the run that called the tool. Tools that run another agent pass it to
// that agent's Run. The inner run counts on the outer run's meter and is bounded by its limits. It
// uses the outer run's asker, unless it has its own. If the outer run has a journal, the inner run
// is recorded there, under the ids of the outer run, its step and the call. If a call runs several
// agents, "/~2", "/~3" and so on are appended in the order of the calls of Within, which must be
// the same each time. Later options can override all of these.
//
//	res, err := researcher.Run(ctx, deps, in.Question, agent.Within(run))
//
// [AsTool] and [HandOver] do this themselves.
func Within[D any](run *toolset.RunContext[D]) RunOption {
	return outside(run).option()
}

// outside returns what a run in a call has of the run around it.
func outside[D any](run *toolset.RunContext[D]) *outerRun {
	out := outerRun{meter: run.Meter}
	switch h := run.Host.(type) {
	case insider:
		out = h.inside(run.Meter)
	case interface{ Policies() []*Policy }:
		out.policies = h.Policies()
	}
	return &out
}

func (out *outerRun) option() RunOption {
	return runOption(func(o *runOptions) {
		more := o.more()
		if out.meter != nil {
			more.meter = out.meter
		}
		more.outer, o.handedOver = out.outer, out.handedOver
		o.addPolicies(out.policies)
		if out.journal != nil {
			more.journal, o.runOn, more.runID = out.journal, out.runOn, out.runID
		}
	})
}

// outerRun are the options of a run inside a task.
type outerRun struct {
	outer
	meter    *toolset.Meter
	policies []*Policy
	journal  journal.Journal
	runOn    runFunc
	runID    string
	// streams reports that the outer run is streamed, partials that its stream has partial outputs.
	streams, partials bool
	// returns reports that the outer run can be handed back, handedOver that the inner one can.
	returns, handedOver bool
}

// insider is implemented by the hosts of runs.
type insider interface {
	inside(meter *toolset.Meter) outerRun
}

// inside implements [insider].
func (h *callHost[D, O]) inside(meter *toolset.Meter) outerRun {
	in := h.run.inside(meter, &h.context, h.call, h.runs.Add(1))
	in.behind = h.behind()
	return in
}

// inside implements [insider].
func (h *stepHost[D, O]) inside(meter *toolset.Meter) outerRun {
	r := (*agentRun[D, O])(h)
	in := r.inside(meter, &r.context, nil, 1)
	in.behind = r.options.outer.behind
	return in
}

// inside makes the options of the n-th run inside a call, or inside an output that is made without a call.
func (r *agentRun[D, O]) inside(meter *toolset.Meter, run *toolset.RunContext[D], c *engine.Call, n int32) outerRun {
	in := outerRun{meter: meter, policies: r.options.policies()}
	in.asking, in.path, in.store = r.asking, r.origin(c).Path, r.store()
	in.streams, in.partials, in.returns = r.stream, r.options.partials, r.options.handedOver
	if r.options.journal == nil {
		return in
	}
	in.journal, in.runOn = r.options.journal, r.options.runOn
	in.runID = r.options.journal.(prepayer).insideID(run.RunID, run.Step, run.Call.ID, int(n))
	return in
}
