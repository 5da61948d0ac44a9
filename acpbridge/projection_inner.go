// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"cmp"
	"context"
	"errors"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/deps"
)

// innerProjection shows the tool calls of agents inside tool calls. The protocol does not nest calls, so they stand among those of the
// run, with the name of their agent before their titles. What such an agent writes is for the agent around it and is not shown.
type innerProjection struct {
	ctx     context.Context
	tracker *deps.Tracker
	runs    map[string]*callProjection // by the ids of the calls around the run
}

// event shows an event of the run inside a call. The run is known when it has its first response: until then it has no calls.
func (p *innerProjection) event(call, tool string, inner *agent.Nested, report func(error)) {
	e := &inner.Event
	if e.Kind == agent.EventResponse && p.runs[call] == nil && e.Message != nil && e.Message.RunID != "" {
		if p.runs == nil {
			p.runs = map[string]*callProjection{}
		}
		p.runs[call] = &callProjection{ctx: p.ctx, tracker: p.tracker, runID: e.Message.RunID}
		p.tracker.Label(e.Message.RunID, cmp.Or(inner.Agent, tool))
	}
	run := p.runs[call]
	if run == nil {
		return
	}
	switch e.Kind {
	case agent.EventToolCall:
		report(run.call(e))
	case agent.EventToolStart:
		report(run.begun(e))
	case agent.EventToolResult:
		report(run.result(e))
	case agent.EventCustom:
		if deeper, ok := e.Value.(agent.Nested); ok {
			p.event(call+"\x00"+e.CallID, e.Tool, &deeper, report)
		}
	case agent.EventRunEnd:
		delete(p.runs, call)
		why := "Not finished: the agent ended before."
		if errors.Is(e.Err, context.Canceled) {
			why = "Cancelled."
		}
		report(run.close(p.ctx, why))
	}
}

// close ends the calls of the runs that have not ended.
func (p *innerProjection) close(ctx context.Context, why string) error {
	var errs []error
	for _, run := range p.runs {
		errs = append(errs, run.close(ctx, why))
	}
	p.runs = nil
	return errors.Join(errs...)
}
