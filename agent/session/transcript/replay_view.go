// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/view"
)

// view shows what was recorded, or a piece of a response that is not complete.
func (p *Transcript) view(i *item) {
	t := &p.replay.turn
	if i.Piece != "" {
		if i.Step != p.step {
			p.newStep(p.run, i.Step)
			t.step = i.Step
		}
		t.pieces = i.Step
		if i.Thinking {
			t.thought = i.Step
			p.say(&p.thought, i.Piece)
		} else {
			p.say(&p.message, i.Piece)
		}
		return
	}
	var rec record
	if i.Key != viewKey || json.Unmarshal(i.Data, &rec) != nil || rec.ID == "" || rec.Version > recordVersion {
		return
	}
	if rec.ID == PromptID(p.run) {
		if rec.Entity != nil {
			t.typed = rec.Entity.Content
		}
		p.place()
		if t.filled || rec.Op == view.Upsert {
			p.prompt(nil)
		}
		return
	}
	resumes := p.replay.given != nil && p.replay.given.turn == p.run
	if !resumes && !p.isThere(rec.ID) { // else no prompt follows
		p.place()
	}
	p.showRecord(&rec, false)
}

// showRecord shows what was recorded, unless what it was shown after is not there yet.
func (p *Transcript) showRecord(rec *record, anyway bool) {
	early := rec.After != "" && !p.isThere(rec.After) && !p.replay.removed[rec.After] && !p.isThere(rec.ID)
	if !anyway && (early || slices.ContainsFunc(p.replay.waiting, func(w record) bool { return w.ID == rec.ID })) {
		p.replay.waiting = append(p.replay.waiting, *rec)
		return
	}
	switch {
	case rec.Op == opSpent && rec.Entity != nil:
		p.replaySpent(rec.Entity.Usage)
	case rec.Op == opMerge && rec.Entity != nil:
		if rec.Without {
			rec.Entity.Content = []view.Content{}
		}
		p.overlay(rec.ID, rec.Entity)
	case rec.Op == view.Remove:
		p.hide(rec.ID)
		p.replay.removed[rec.ID] = true
	case rec.Op == view.Upsert && rec.Entity != nil:
		if rec.Entity.Kind == view.Message && strings.HasPrefix(rec.ID, "message:") {
			p.handed = true
		}
		rec.Entity.ID = rec.ID
		if rec.ID == saidID(p.run, p.numbers.said+1) {
			p.numbers.said++
			p.replay.turn.taken = append(p.replay.turn.taken, rec.Entity.Content)
		}
		p.recorded(rec.Entity)
	case rec.Op == view.Append:
		p.apply(view.Change{Op: view.Append, ID: rec.ID, Text: rec.Text, Content: rec.Content})
	}
}

// recorded shows an entity that no message has.
func (p *Transcript) recorded(e *view.Entity) {
	if e.Kind == view.ToolCall {
		p.mu.Lock()
		p.calls[e.ID] = &call{entity: *e}
		p.mu.Unlock()
	}
	if e.Kind == view.Question {
		p.replay.asked = slices.DeleteFunc(p.replay.asked, func(a *view.Entity) bool { return a.ID == e.ID })
		if !e.Status.Ended() {
			p.replay.asked = append(p.replay.asked, e)
		}
	}
	if e.ID == p.thought.id {
		p.replay.turn.thought = 0
	}
	if e.Kind == view.SubAgent {
		p.recordedAgent(e)
	}
	p.upsert(e)
}

// recordedAgent notes an agent inside a call. The call has started.
func (p *Transcript) recordedAgent(e *view.Entity) {
	if e.Status.Ended() {
		maps.DeleteFunc(p.inner, func(_ string, r *innerRun) bool { return r.agent.ID == e.ID })
		return
	}
	p.began(e.Parent, &innerRun{runOf(e.ID), *e})
	ed := edit{}
	ed.Status = view.Running
	p.change(e.Parent, ed)
}

// overlay notes what was recorded of a call.
func (p *Transcript) overlay(id string, over *view.Entity) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.calls[id]
	if c == nil {
		p.replay.overlays[id] = over
		return
	}
	before := c.entity
	c.over = over
	c.entity = overlaid(c)
	p.put(c, &before)
}

// hide removes a call from view.
func (p *Transcript) hide(id string) {
	p.mu.Lock()
	delete(p.calls, id)
	p.mu.Unlock()
	if p.isThere(id) {
		_ = p.fold.Apply(view.Change{Op: view.Remove, ID: id})
	}
}
