// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"github.com/ponte-go/ponte/agent/view"
)

// Report adds a surface's or tool's information to an entity. For a call, non-empty fields replace
// the fields of the entity, but a status never goes back, and a call that has ended does not
// change. Other entities are created or replaced, and recorded.
func (p *Transcript) Report(e *view.Entity) {
	if e.Kind == view.ToolCall {
		p.merge(e)
		return
	}
	if e.Kind == view.Question {
		p.askedAbout(e)
	}
	p.record(record{Op: view.Upsert, ID: e.ID, Entity: e})
	_ = p.fold.Apply(view.Change{Op: view.Upsert, ID: e.ID, Entity: e})
}

// Record records an entity with the end of the turn. Show it afterwards.
func (p *Transcript) Record(e *view.Entity) {
	p.record(record{Op: view.Upsert, ID: e.ID, Entity: e})
}

// Show shows an entity that is not recorded here: what belongs to the session as a whole, and what
// Record has recorded.
func (p *Transcript) Show(e *view.Entity) {
	shown := *e
	_ = p.fold.Apply(view.Change{Op: view.Upsert, ID: e.ID, Entity: &shown})
}

// Hide removes an entity that Show has shown.
func (p *Transcript) Hide(id string) { _ = p.fold.Apply(view.Change{Op: view.Remove, ID: id}) }

// Remove removes an entity that Report has shown.
func (p *Transcript) Remove(id string) {
	p.record(record{Op: view.Remove, ID: id})
	_ = p.fold.Apply(view.Change{Op: view.Remove, ID: id})
}

// merge merges e into a call that has not ended. A tool's report of the end of its call is kept
// until the result is recorded, and is then a part of the end: no surface shows an end that a crash
// could undo.
func (p *Transcript) merge(e *view.Entity) {
	p.mu.Lock()
	c := p.calls[e.ID]
	if c == nil {
		c = &call{entity: view.Entity{
			ID: e.ID, Kind: view.ToolCall, Parent: e.Parent, Title: e.Name, Status: view.Pending,
		}}
		p.calls[e.ID] = c
	}
	before := c.entity
	switch {
	case before.Status.Ended():
	case e.Status.Ended() && c.base != nil:
		ending := *e
		if c.ending != nil {
			ending = *c.ending
			ending.Merge(e)
		}
		c.ending = &ending
	default:
		c.entity.Merge(e)
		if e.Content != nil {
			c.noteAsked(before.Content)
		}
		p.put(c, &before)
	}
	p.records.touch(e.ID)
	p.mu.Unlock()
	p.changed()
}

// Call returns a call as it is shown now, nil if it is not known, and the name of the agent inside
// another call whose call it is.
func (p *Transcript) Call(id string) (call *view.Entity, agent string) {
	p.mu.Lock()
	c := p.calls[id]
	p.mu.Unlock()
	e := p.fold.Get(id)
	if c == nil || e == nil {
		return nil, ""
	}
	if inside := p.fold.Get(e.Parent); inside != nil {
		agent = inside.Name
	}
	return e, agent
}
