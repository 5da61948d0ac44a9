// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/explain"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
)

// call is a tool call of the current turn.
type call struct {
	entity view.Entity
	// base is the call according to the messages. It is nil if no message has the call. Where
	// entity differs from base, the difference is recorded.
	base *view.Entity
	// after is the entity that was shown before it.
	after string
	// over is the recorded difference, while entries are replayed.
	over *view.Entity
	// ending is the tool's report of its end, which is not recorded yet. It is nil if there was
	// none.
	ending *view.Entity
	// asking reports that a question about the call is open. asked is the content that it shows
	// because of that: see [call.answered].
	asking bool
	asked  []view.Content
	// waits reports that the tool itself waits for an answer: the call has begun, which no message
	// says.
	waits bool
}

// edit is a change of a call. Fields that are empty stay as they were.
type edit struct {
	view.Entity
	// added is content to append.
	added []view.Content
	// own reports that the change is not in the messages, so it must be recorded.
	own bool
}

// callID returns the entity of a call of the turn's run. A run that resumes calls numbers them with
// the step before its first request.
func (p *Transcript) callID(step int, id string) string {
	if p.first == 0 || step < p.first {
		p.mu.Lock()
		known := p.resumes[id]
		p.mu.Unlock()
		if known != "" {
			return known
		}
	}
	return CallID(p.run, step, id)
}

// longCall is how many bytes of arguments the model writes before a call is shown that it has not
// finished writing.
const longCall = 1 << 10

// written is a call that the model writes.
type written struct {
	begun agent.Event
	bytes int
}

// write shows a call while the model writes it, if that takes long and the tool's name is known.
func (p *Transcript) write(e *agent.Event) {
	if e.Kind == agent.EventPartStart {
		if e.Tool != "" && e.CallID != "" && !e.Output {
			if p.writing == nil {
				p.writing = map[int]*written{}
			}
			p.writing[e.Part] = &written{begun: *e}
		}
		return
	}
	w := p.writing[e.Part]
	if w == nil {
		return
	}
	if w.bytes += len(e.Text); w.bytes < longCall {
		return
	}
	delete(p.writing, e.Part)
	if b := &w.begun; !slices.Contains(p.early, b.CallID) {
		p.early = append(p.early, b.CallID)
		p.announce(p.callID(b.Step, b.CallID), "", b, nil)
	}
}

// settle is called with the complete response: a call that was shown and is not in it will not be
// made.
func (p *Transcript) settle(e *agent.Event) {
	p.mu.Lock()
	clear(p.latest)
	for i := range e.Message.Parts {
		if part := &e.Message.Parts[i]; part.Kind == model.PartToolCall {
			p.latest[part.CallID] = CallID(p.run, e.Step, part.CallID)
		}
	}
	p.mu.Unlock()
	for _, id := range p.early {
		if !slices.ContainsFunc(e.Message.Parts, func(part model.Part) bool { return part.Kind == model.PartToolCall && part.CallID == id }) {
			p.mu.Lock()
			if c := p.calls[CallID(p.run, e.Step, id)]; c != nil {
				c.base = nil
			}
			p.mu.Unlock()
			p.change(CallID(p.run, e.Step, id), failed("Not called after all.", true))
		}
	}
	p.early = p.early[:0]
	clear(p.writing)
}

// call shows a call with its complete arguments. It is pending until it starts to run.
func (p *Transcript) call(e *agent.Event) {
	id := p.callID(e.Step, e.CallID)
	if e.Output {
		p.record(record{Op: view.Remove, ID: id})
		p.hide(id) // a run that was pending has shown it
		return
	}
	p.announce(id, "", e, inputOf(e))
}

// inputOf returns the arguments that a call is shown with.
func inputOf(e *agent.Event) json.RawMessage {
	if e.Repaired != nil {
		return Input(e.Repaired)
	}
	return Input(e.Args)
}

// announce shows a call, or what is new about it.
func (p *Transcript) announce(id, parent string, e *agent.Event, input json.RawMessage) {
	p.known(id, parent, e.Tool)
	own := edit{own: true}
	own.Title, own.Class = e.ToolTitle, string(e.ToolKind)
	ed := edit{}
	ed.Input = input
	p.change(id, own, ed)
}

// known makes sure that a call is known.
func (p *Transcript) known(id, parent, tool string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls[id] != nil {
		return
	}
	c := &call{entity: view.Entity{
		ID: id, Parent: parent, Kind: view.ToolCall, Name: tool, Title: tool, Class: string(toolset.KindOther), Status: view.Pending,
	}}
	if parent == "" {
		base := c.entity
		c.base = &base
	}
	if p.replay != nil {
		c.over = p.replay.overlay(id)
	}
	p.calls[id] = c
}

// started shows that a call has started, with the arguments that it runs with.
func (p *Transcript) started(id string, e *agent.Event) {
	if e.Output {
		return
	}
	ed := edit{}
	ed.Status = view.Running
	p.decided(&ed, e.Decision, e.Args)
	p.change(id, ed)
}

// begins shows a call that has a result as running, with what was decided about it.
func (p *Transcript) begins(id string, d *toolset.Decision) {
	ed := edit{}
	ed.Status = view.Running
	if d != nil {
		p.decided(&ed, d, model.RawArgs(d.Args))
	}
	p.change(id, ed)
}

// leaves notes that a call has left the run pending.
func (p *Transcript) leaves(id string) {
	p.mu.Lock()
	if c := p.calls[id]; c != nil {
		c.waits = true
		p.records.touch(id)
	}
	p.mu.Unlock()
	p.changed()
}

// decided shows the effects of a decision on a call.
func (p *Transcript) decided(ed *edit, d *toolset.Decision, args model.RawArgs) {
	if d == nil {
		return
	}
	if len(d.Args) > 0 {
		ed.Input = Input(args)
	}
	if d.By != "" && d.By != ByUser && d.Verdict == toolset.VerdictAllow { // nobody has seen it
		ed.added = []view.Content{textContent(allowedBy(d))}
	}
}

// ByUser is the By of decisions made by the user of the conversation.
const ByUser = "user"

// allowedBy returns a text that names who allowed a call that the user was not asked about.
func allowedBy(d *toolset.Decision) string {
	text := view.AllowedBy + d.By
	if rule := approval.RuleOf(*d); rule != "" {
		text += ", " + rule
	}
	return show.Line(text)
}

// result shows how a call ended.
func (p *Transcript) result(id string, e *agent.Event) {
	if e.Output {
		return
	}
	if e.Result == nil { // what ended the run
		p.change(id, failed(p.failureText(e.Tool, e.Err), true))
		return
	}
	p.begins(id, e.Result.Decision) // it may not have started, or in another process
	p.returned(id, e.Result)
	why := notResumed
	if e.Result.Outcome == model.OutcomeInterrupted { // a call of the agent may have run
		why = Clip(e.Result.Text)
	}
	p.closeWaiting(id, why)
}

// returned shows the result of a call, as the model sees it.
func (p *Transcript) returned(id string, r *model.Part) {
	if r.Kind == model.PartRetry || r.Outcome != model.OutcomeSuccess {
		p.change(id, failed(Clip(r.Text), false))
		return
	}
	ed := edit{}
	ed.Status = view.Completed
	if r.Text != "" {
		ed.Content = []view.Content{textContent(Clip(r.Text))} // unless there is content
	}
	p.change(id, ed)
}

func failed(why string, own bool) edit {
	ed := edit{own: own}
	ed.Status = view.Failed
	if why != "" {
		ed.added = []view.Content{textContent(why)}
	}
	return ed
}

// failureText is the user's text for an error that ended the run.
func (p *Transcript) failureText(tool string, err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return "Cancelled."
	}
	err = &agent.RunError{Stage: agent.StageTool, Tool: tool, Err: err}
	if p.options.ErrorText != nil {
		return oneLine(p.options.ErrorText(err))
	}
	return oneLine(explain.Error(err))
}

// closeCalls marks the open calls of the turn as failed.
func (p *Transcript) closeCalls(why string) {
	for _, id := range p.openCalls("") {
		p.change(id, failed(why, false))
	}
}

// Waiting returns the id of the entity of a pending call of the last response, or the empty string.
// For a call of an inner agent, it is the id of the inner call, or of the call around it if the
// inner one is not shown. Call it from the goroutine of Event.
func (p *Transcript) Waiting(pending *agent.PendingCall) string {
	path := pending.Path
	if len(path) == 0 {
		path = []string{pending.ID}
	}
	p.mu.Lock()
	id := p.latest[path[0]]
	p.mu.Unlock()
	for _, call := range path[1:] {
		run := p.inner[id]
		if run == nil {
			return id
		}
		inner := p.openInside(run, call)
		if inner == "" {
			return id
		}
		id = inner
	}
	return id
}

// openCalls returns the ids of the open calls of an agent, sorted. parent is the agent's entity. It
// is empty for calls of the turn itself and of earlier turns.
func (p *Transcript) openCalls(parent string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var open []string
	for id, c := range p.calls {
		if !c.entity.Status.Ended() && c.entity.Parent == parent {
			open = append(open, id)
		}
	}
	slices.Sort(open)
	return open
}

// reopen shows that calls wait which a process has shown as ended before it died: no message has a
// result of theirs.
func (p *Transcript) reopen(pending []model.PendingCall) {
	for i := range pending {
		path := append(slices.Clone(pending[i].Path), pending[i].ID)
		p.mu.Lock()
		c := p.calls[p.latest[path[0]]]
		waits := c != nil && c.base != nil && !c.base.Status.Ended()
		if waits && c.over != nil && c.over.Status.Ended() {
			before, over := c.entity, *c.over
			over.Status = ""
			c.over = &over
			c.entity = overlaid(c)
			p.put(c, &before)
		}
		p.mu.Unlock()
	}
}

// Running returns the names of the tools whose calls are open, also inside of agents, each once.
func (p *Transcript) Running() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for _, c := range p.calls {
		if !c.entity.Status.Ended() {
			names = append(names, c.entity.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// change applies edits to a call and shows the result. After a call has ended, only base changes.
func (p *Transcript) change(id string, edits ...edit) {
	p.mu.Lock()
	c := p.calls[id]
	if c == nil {
		p.mu.Unlock()
		return
	}
	before := c.entity
	for _, ed := range edits {
		if ed.Status.Ended() {
			c.end()
		}
		if !c.entity.Status.Ended() && (p.replay == nil || c.base == nil) {
			ed.apply(&c.entity, c.asked)
		}
		if !ed.own && c.base != nil && !c.base.Status.Ended() {
			ed.apply(c.base, nil)
		}
	}
	if p.replay != nil {
		c.entity = overlaid(c)
	}
	p.put(c, &before)
	p.records.touch(id)
	p.mu.Unlock()
	p.changed()
}

// end lets what the tool has said of the end of its call hold.
func (c *call) end() {
	if c.ending != nil && !c.entity.Status.Ended() {
		c.entity.Merge(c.ending)
	}
	c.ending = nil
}

// put passes a call to the fold if it has changed. mu must be held.
func (p *Transcript) put(c *call, before *view.Entity) {
	e := c.entity
	if p.fold.Get(e.ID) == nil {
		c.after, p.last = p.last, e.ID
	} else if reflect.DeepEqual(&e, before) {
		return
	}
	_ = p.fold.Apply(view.Change{Op: view.Upsert, ID: e.ID, Entity: &e})
}

// apply applies the edit to e. New content replaces content that was shown for a question (asked),
// and is dropped if there is other content.
func (ed *edit) apply(e *view.Entity, asked []view.Content) {
	more := ed.Entity
	more.Content = nil
	e.Merge(&more)
	if ed.Content != nil {
		if rest := withoutAsked(e.Content, asked); len(rest) == countNotes(rest) {
			e.Content = append(slices.Clip(ed.Content), rest...)
		}
	}
	for _, c := range ed.added { // once, although a call that waited starts again
		same := func(o view.Content) bool { return reflect.DeepEqual(o, c) }
		if !slices.ContainsFunc(e.Content, same) {
			e.Content = append(slices.Clip(e.Content), c)
		}
	}
}
