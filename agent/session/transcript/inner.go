// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/view"
)

// innerRun is an agent inside a tool call. If its calls have waited for answers, another run
// continues them, and is shown as the same agent.
type innerRun struct {
	run   string // the last one
	agent view.Entity
}

// inside shows an event of the run inside a call. The inner run is known when it has its first
// response: until then it has no calls.
func (p *Transcript) inside(call, tool string, n *agent.Nested) {
	e := &n.Event
	run := p.inner[call]
	if e.Kind == agent.EventResponse && e.Message != nil && e.Message.RunID != "" {
		if run == nil {
			run = p.began(call, &innerRun{e.Message.RunID, view.Entity{
				ID: AgentID(e.Message.RunID), Parent: call, Kind: view.SubAgent, Name: cmp.Or(n.Agent, tool),
			}})
			p.agent(run, view.Running)
		}
		run.run = e.Message.RunID
	}
	if run == nil {
		return
	}
	switch e.Kind {
	case agent.EventRunStart:
		if run.agent.Status == view.Pending {
			p.agent(run, view.Running)
		}
	case agent.EventResponse:
		p.usedInside(e.Message)
	case agent.EventToolCall:
		p.callInside(run, e)
	case agent.EventToolStart:
		p.started(p.idInside(run, e), e)
	case agent.EventToolResult:
		p.result(p.idInside(run, e), e)
	case agent.EventCustom:
		if deeper, ok := e.Value.(agent.Nested); ok {
			p.inside(p.idInside(run, e), e.Tool, &deeper)
		}
	case agent.EventRunEnd:
		p.endInside(run, e.Err)
	}
}

// began notes the agent inside a call.
func (p *Transcript) began(call string, run *innerRun) *innerRun {
	if p.inner == nil {
		p.inner = map[string]*innerRun{}
	}
	p.inner[call] = run
	return run
}

// callInside shows a call of an inner run.
func (p *Transcript) callInside(run *innerRun, e *agent.Event) {
	id := p.idInside(run, e)
	if e.Output {
		p.record(record{Op: view.Remove, ID: id})
		p.hide(id)
		return
	}
	p.announce(id, run.agent.ID, e, inputOf(e))
}

// idInside returns the entity of a call of an inner run. An open call belongs to the last response,
// which may be from an earlier run.
func (p *Transcript) idInside(run *innerRun, e *agent.Event) string {
	id := CallID(run.run, e.Step, e.CallID)
	p.mu.Lock()
	c := p.calls[id]
	open := c != nil && !c.entity.Status.Ended()
	p.mu.Unlock()
	if open {
		return id
	}
	return cmp.Or(p.openInside(run, e.CallID), id)
}

// openInside returns the entity of an open call of an inner run by the model's id of it, or the
// empty string if there is none.
func (p *Transcript) openInside(run *innerRun, call string) string {
	for _, id := range p.openCalls(run.agent.ID) {
		if callOf(id) == call {
			return id
		}
	}
	return ""
}

// endInside shows the end of an inner run. One that is pending waits, and so do its calls.
func (p *Transcript) endInside(run *innerRun, err error) {
	if d := agent.DescribeError(err); d != nil && d.Kind == agent.ErrorPending {
		p.agent(run, view.Pending)
		return
	}
	maps.DeleteFunc(p.inner, func(_ string, r *innerRun) bool { return r.agent.ID == run.agent.ID })
	why, status := "Not finished: the agent ended before.", view.Completed
	if err != nil {
		status = view.Failed
	}
	if errors.Is(err, context.Canceled) {
		why, status = "Cancelled.", view.Cancelled
	}
	p.closeRun(run, why, status)
}

// agent shows an inner run.
func (p *Transcript) agent(run *innerRun, status view.Status) {
	run.agent.Status = status
	e := run.agent
	p.record(record{Op: view.Upsert, ID: e.ID, Entity: &e})
	p.apply(view.Change{Op: view.Upsert, ID: e.ID, Entity: &e})
}

// closeRun ends the calls of an inner run with the agents inside them, and then the run.
func (p *Transcript) closeRun(run *innerRun, why string, status view.Status) {
	for _, id := range p.openCalls(run.agent.ID) {
		p.change(id, failed(why, false))
		p.closeWaiting(id, why)
	}
	p.agent(run, status)
}

// notResumed is shown for the calls of an agent that waited and was not resumed.
const notResumed = "Not run: the agent was not resumed."

// closeWaiting ends the agent inside a call that has ended while the agent waited.
func (p *Transcript) closeWaiting(call, why string) {
	if run := p.inner[call]; run != nil && run.agent.Status == view.Pending {
		delete(p.inner, call)
		p.closeRun(run, why, view.Cancelled)
	}
}

// closeInner ends the runs that have not ended.
func (p *Transcript) closeInner(why string) {
	for _, call := range slices.Sorted(maps.Keys(p.inner)) {
		if run := p.inner[call]; run != nil {
			p.closeRun(run, why, view.Failed)
		}
	}
	p.inner = nil
}
