// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"

	native "github.com/ponte-go/ponte/internal/engine"
	"github.com/ponte-go/ponte/toolset"
)

// Outliving is a run that outlives the call that began it: see [Beside].
type Outliving struct {
	out      outerRun
	recorded bool
}

// Beside is [Within] for a run that outlives the call that began it, such as an agent in the
// background. The run counts on the meter of the run around it, is bounded by its limits and
// policies, and ends with it. If the run around it has a journal, it is recorded there under the id
// of the call. ctx is the context of the call.
//
// A process that resumes the run around it counts what was recorded, and continues the run with the
// [Outliving.ID] that the first process had; an empty id begins a run.
//
// The result is nil if nothing outlives a call of this run, because its tasks are executed by
// workers or by an engine of the program: run the agent inside the call then, with [Within].
func Beside[D any](ctx context.Context, run *toolset.RunContext[D], id string) *Outliving {
	h, ok := run.Host.(keeper)
	if !ok || run.Meter == nil || run.Meter.Copied() || !h.keeps() {
		return nil
	}
	o := Outliving{out: *outside(run)}
	o.out.meter = run.Meter.Outlive()
	if o.recorded = o.out.journal != nil; !o.recorded {
		return &o
	}
	o.out.runOn = besides
	if id != "" {
		o.out.runID = id
	}
	native.Leave(ctx, o.out.runID)
	return &o
}

// ID returns the id of the run in the journal of the run around it, or "" without a journal.
func (o *Outliving) ID() string { return o.out.runID }

// Meter returns the meter of the run.
func (o *Outliving) Meter() *toolset.Meter { return o.out.meter }

// Policies returns the policies of the run around it.
func (o *Outliving) Policies() []*Policy { return o.out.policies }

// Options returns the options for the run. They have no asker.
func (o *Outliving) Options() []RunOption {
	return []RunOption{runOption(func(r *runOptions) {
		more := r.more()
		more.meter = o.out.meter
		r.addPolicies(o.out.policies)
		if o.recorded {
			more.journal, r.runOn, more.runID = o.out.journal, o.out.runOn, o.out.runID
		}
	})}
}

// Ended attributes the usage of the run, which has ended, to the call with ctx and m that gets its
// result. Call it once.
func (o *Outliving) Ended(ctx context.Context, m *toolset.Meter) {
	m.Adopt(o.out.meter)
	if o.recorded {
		native.Adopt(ctx, o.out.runID, o.out.meter.Own())
	}
}

// keeper is implemented by the hosts of calls.
type keeper interface{ keeps() bool }

// keeps reports whether runs may outlive the call: whether the run executes the task, and no worker.
func (h *callHost[D, O]) keeps() bool { return h.context.Model == &h.run.model }
