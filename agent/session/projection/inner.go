// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"context"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/view"
)

// innerRun is the run of an agent inside a tool call.
type innerRun struct {
	run   string
	agent view.Entity
}

// nested shows an event of the run inside a call of a run. The inner run is known when it has its first response: until then it has no
// calls.
func (p *Projector) nested(around string, outer *agent.Event, n *agent.Nested) {
	p.inside(p.callID(around, outer.Step, outer.CallID), outer.CallID, outer.Tool, n)
}

// inside shows an event of the run inside a call. path is the way to the call.
func (p *Projector) inside(call, path, tool string, n *agent.Nested) {
	e := &n.Event
	if e.Kind == agent.EventResponse && p.inner[path] == nil && e.Message != nil && e.Message.RunID != "" {
		if p.inner == nil {
			p.inner = map[string]*innerRun{}
		}
		run := &innerRun{e.Message.RunID, view.Entity{
			ID: AgentID(e.Message.RunID), Parent: call, Kind: view.SubAgent, Name: cmp.Or(n.Agent, tool), Status: view.Running,
		}}
		p.inner[path] = run
		p.agent(run, view.Running)
	}
	run := p.inner[path]
	if run == nil {
		return
	}
	switch e.Kind {
	case agent.EventResponse:
		p.usedInside(e.Message)
	case agent.EventToolCall:
		p.call(run.run, run.agent.ID, e)
	case agent.EventToolStart:
		p.started(run.run, e)
	case agent.EventToolResult:
		p.result(run.run, e)
	case agent.EventCustom:
		if deeper, ok := e.Value.(agent.Nested); ok {
			p.inside(CallID(run.run, e.Step, e.CallID), path+"\x00"+e.CallID, e.Tool, &deeper)
		}
	case agent.EventRunEnd:
		delete(p.inner, path)
		why, status := "Not finished: the agent ended before.", view.Completed
		if e.Err != nil {
			status = view.Failed
		}
		if errors.Is(e.Err, context.Canceled) {
			why, status = "Cancelled.", view.Cancelled
		}
		p.closeRun(run, why, status)
	}
}

// agent shows an inner run.
func (p *Projector) agent(run *innerRun, status view.Status) {
	run.agent.Status = status
	e := run.agent
	p.add(&e)
}

// closeRun ends the calls of an inner run, and then the run.
func (p *Projector) closeRun(run *innerRun, why string, status view.Status) {
	for _, id := range p.openCalls(run.run) {
		p.change(id, failed(why, false))
	}
	p.agent(run, status)
}

// closeInner ends the runs that have not ended.
func (p *Projector) closeInner(why string) {
	for _, path := range slices.Sorted(maps.Keys(p.inner)) {
		p.closeRun(p.inner[path], why, view.Failed)
	}
	p.inner = nil
}
