// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"cmp"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/view"
)

// emitted shows an entity that a tool or a processor has emitted. Messages are not shown: a tool
// speaks only for itself.
func (p *Transcript) emitted(e *agent.Event, c *view.Change) {
	if c.Entity != nil && c.Entity.Kind != view.Message && c.Entity.Kind != view.Thought {
		p.Emit(e, c)
	}
}

// Emit shows a change that a tool has emitted in the words of a surface, with its event: of plans,
// compactions, notices, messages, and, without an id, of its call. It reports false for everything
// else, which is shown as the run reports it.
func (p *Transcript) Emit(e *agent.Event, c *view.Change) bool {
	if c.Op == view.Append {
		return p.emittedMore(c)
	}
	if c.Entity == nil || c.Op != view.Upsert && c.Op != view.Remove {
		return false
	}
	shown := *c.Entity
	id := cmp.Or(shown.ID, c.ID)
	switch {
	case shown.Kind == view.Plan:
		if c.Op == view.Remove {
			shown.Steps = nil
		}
		if shown.ID = PlanID; id != "" && id != PlanID {
			shown.ID = PlanID + ":" + id
		}
	case c.Op == view.Remove:
		return false
	case shown.Kind == view.Compaction:
		shown.ID = "compaction:" + id
	case shown.Kind == view.Notice:
		shown.ID = "note:" + p.nextNotice()
	case shown.Kind == view.Message || shown.Kind == view.Thought:
		shown.ID, shown.Role = p.emittedID(id), roleOf(shown.Kind)
	case id == "" && e.CallID != "":
		shown.ID, shown.Kind = p.callID(e.Step, e.CallID), view.ToolCall
		p.merge(&shown)
		return true
	default:
		return false
	}
	p.add(&shown)
	return true
}

// emittedID returns the id of a message of a tool.
func (p *Transcript) emittedID(id string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return "emitted:" + escape(p.run) + "/" + id
}

// emittedMore adds to a message that a tool has emitted.
func (p *Transcript) emittedMore(c *view.Change) bool {
	id := p.emittedID(c.ID)
	if !p.isThere(id) {
		return false
	}
	p.record(record{Op: view.Append, ID: id, Text: c.Text, Content: c.Content})
	p.apply(view.Change{Op: view.Append, ID: id, Text: c.Text, Content: c.Content})
	return true
}
