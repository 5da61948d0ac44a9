// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

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
	// base is what the messages say about the call. It is nil if no message has the call. Where entity differs from
	// base, the difference is recorded.
	base *view.Entity
	// after is the entity that was shown before it.
	after string
	// over is the recorded difference, while entries are replayed.
	over *view.Entity
	// asking reports that a question about the call is open. asked is the content that it shows because of that: see
	// [call.answered].
	asking bool
	asked  []view.Content
}

// edit is a change of a call. Fields that are empty stay as they were.
type edit struct {
	view.Entity
	// added is content to append.
	added []view.Content
	// own reports that the change is not in the messages, so it must be recorded.
	own bool
}

// callID returns the entity of a call of the turn's run. A run that resumes calls numbers them with the step before its first request.
func (p *Projector) callID(step int, id string) string {
	if p.first == 0 || step < p.first {
		p.mu.Lock()
		known := p.latest[id]
		p.mu.Unlock()
		if known != "" {
			return known
		}
	}
	return CallID(p.run, step, id)
}

// begin shows a call as soon as the model begins to write it, if the tool's name is known.
func (p *Projector) begin(e *agent.Event) {
	if e.Tool == "" || e.CallID == "" || e.Output || slices.Contains(p.early, e.CallID) {
		return
	}
	p.early = append(p.early, e.CallID)
	p.announce(p.callID(e.Step, e.CallID), "", e, nil)
}

// settle is called with the complete response: a call that was shown and is not in it will not be made.
func (p *Projector) settle(e *agent.Event) {
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
}

// call shows a call with its complete arguments. It is pending until it starts to run.
func (p *Projector) call(e *agent.Event) {
	id := p.callID(e.Step, e.CallID)
	if e.Output {
		p.record(record{Op: view.Remove, ID: id})
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
func (p *Projector) announce(id, parent string, e *agent.Event, input json.RawMessage) {
	p.known(id, parent, e.Tool)
	own := edit{own: true}
	own.Title, own.Class = e.ToolTitle, string(e.ToolKind)
	ed := edit{}
	ed.Input = input
	p.change(id, own, ed)
}

// known makes sure that a call is known.
func (p *Projector) known(id, parent, tool string) {
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
func (p *Projector) started(id string, e *agent.Event) {
	if e.Output {
		return
	}
	ed := edit{}
	ed.Status = view.Running
	p.decided(&ed, e.Decision, e.Args)
	p.change(id, ed)
}

// decided shows the effects of a decision on a call.
func (p *Projector) decided(ed *edit, d *toolset.Decision, args model.RawArgs) {
	if d == nil {
		return
	}
	if len(d.Args) > 0 {
		ed.Input = Input(args)
	}
	if d.By != "" && d.By != ByUser && d.Verdict == toolset.VerdictAllow { // nobody has seen it
		ed.added = []view.Content{textContent(AllowedBy(d))}
	}
}

// ByUser is the By of decisions made by the user of the conversation.
const ByUser = "user"

// AllowedByPrefix begins the text of [AllowedBy].
const AllowedByPrefix = "Allowed by: "

// AllowedBy returns a text that says who allowed a call that the user was not asked about.
func AllowedBy(d *toolset.Decision) string {
	text := AllowedByPrefix + d.By
	if rule := approval.RuleOf(*d); rule != "" {
		text += ", " + rule
	}
	return show.Line(text)
}

// result shows how a call ended.
func (p *Projector) result(id string, e *agent.Event) {
	if e.Output {
		return
	}
	if e.Result == nil { // what ended the run
		p.change(id, failed(p.failureText(e.Tool, e.Err), true))
		return
	}
	p.returned(id, e.Result)
	why := notResumed
	if e.Result.Outcome == model.OutcomeInterrupted { // a call of the agent may have run
		why = Clip(e.Result.Text)
	}
	p.closeWaiting(id, why)
}

// returned shows the result of a call, as the model sees it.
func (p *Projector) returned(id string, r *model.Part) {
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

// failureText is what the user is shown of an error that ended the run.
func (p *Projector) failureText(tool string, err error) string {
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
func (p *Projector) closeCalls(why string) {
	for _, id := range p.openCalls("") {
		p.change(id, failed(why, false))
	}
}

// Waiting returns the id of the entity of a pending call of the last response, or the empty string. For a call of an
// inner agent, it is that of the inner call, or of the call around it if the inner one is not shown. Call it from the
// goroutine of Event.
func (p *Projector) Waiting(pending *agent.PendingCall) string {
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

// openCalls returns the ids of the open calls of an agent, sorted. parent is the agent's entity. It is empty for
// calls of the turn itself and of earlier turns.
func (p *Projector) openCalls(parent string) []string {
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

// Running returns the names of the tools of the turn's own calls that are open.
func (p *Projector) Running() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for _, c := range p.calls {
		if !c.entity.Status.Ended() && c.entity.Parent == "" {
			names = append(names, c.entity.Name)
		}
	}
	slices.Sort(names)
	return names
}

// change applies edits to a call and shows the result. After a call has ended, only base changes.
func (p *Projector) change(id string, edits ...edit) {
	p.mu.Lock()
	c := p.calls[id]
	if c == nil {
		p.mu.Unlock()
		return
	}
	before := c.entity
	shown := &Shown{Kind: view.ToolCall, Patch: &view.Entity{}}
	for _, ed := range edits {
		if !before.Status.Ended() && (p.replay == nil || c.base == nil) {
			ed.apply(&c.entity, c.asked, shown)
		}
		if !ed.own && c.base != nil && !c.base.Status.Ended() {
			ed.apply(c.base, nil, nil)
		}
	}
	if p.replay != nil {
		c.entity = overlaid(c)
	}
	changed := p.put(c, &before, shown)
	p.records.touch(id)
	p.mu.Unlock()
	if changed {
		p.rendered(shown)
	}
	p.changed()
}

// put passes a call to the fold, and reports whether it has changed. mu must be held.
func (p *Projector) put(c *call, before *view.Entity, s *Shown) bool {
	e := c.entity
	s.Change = view.Change{Op: view.Upsert, ID: e.ID, Entity: &e}
	if p.options.Fold.Get(e.ID) == nil {
		s.Patch, c.after, p.last = nil, p.last, e.ID
	} else if reflect.DeepEqual(&e, before) {
		return false
	}
	_ = p.options.Fold.Apply(s.Change)
	return true
}

// apply applies the edit to e, and adds the changes to s, which may be nil. A status never goes back. New content
// replaces content that was shown for a question (asked), and is dropped if there is other content.
func (ed *edit) apply(e *view.Entity, asked []view.Content, s *Shown) {
	var patch view.Entity
	set(&e.Title, ed.Title, &patch.Title)
	set(&e.Class, ed.Class, &patch.Class)
	if rank(ed.Status) > rank(e.Status) {
		e.Status, patch.Status = ed.Status, ed.Status
	}
	if ed.Input != nil && !bytes.Equal(ed.Input, e.Input) {
		e.Input, patch.Input = ed.Input, ed.Input
	}
	replaced := false
	if ed.Content != nil {
		if rest := withoutAsked(e.Content, asked); len(rest) == countNotes(rest) {
			replaced = len(e.Content) > 0
			e.Content, patch.Content = append(slices.Clip(ed.Content), rest...), ed.Content
		}
	}
	e.Content = append(slices.Clip(e.Content), ed.added...)
	if s == nil {
		return
	}
	into := s.Patch
	if replaced {
		into.Content, s.Added, patch.Content = e.Content, nil, nil
	}
	set(&into.Title, patch.Title, nil)
	set(&into.Class, patch.Class, nil)
	if patch.Status != "" {
		into.Status = patch.Status
	}
	if patch.Input != nil {
		into.Input = patch.Input
	}
	if into.Content != nil { // it has them
		into.Content = e.Content
		return
	}
	s.Added = append(s.Added, patch.Content...)
	s.Added = append(s.Added, ed.added...)
}

func set(field *string, value string, patch *string) {
	if value != "" && value != *field {
		*field = value
		if patch != nil {
			*patch = value
		}
	}
}

func rank(s view.Status) int {
	switch {
	case s == "":
		return 0
	case s == view.Pending:
		return 1
	case s.Ended():
		return 3
	}
	return 2
}

// Report adds what a surface or a tool knows about an entity. For a call, non-empty fields replace those of the
// entity, but a status never goes back, and a call that has ended does not change. Other entities are created or
// replaced, and recorded.
func (p *Projector) Report(e *view.Entity) {
	if e.Kind == view.ToolCall {
		p.merge(e)
		return
	}
	if e.Kind == view.Question {
		p.askedAbout(e)
	}
	p.record(record{Op: view.Upsert, ID: e.ID, Entity: e})
	_ = p.options.Fold.Apply(view.Change{Op: view.Upsert, ID: e.ID, Entity: e})
}

// Ask shows a question of a pending run. It is not recorded, because it is in the history.
func (p *Projector) Ask(e *view.Entity) {
	shown := *e
	_ = p.options.Fold.Apply(view.Change{Op: view.Upsert, ID: e.ID, Entity: &shown})
}

// Remove removes an entity that Report has shown.
func (p *Projector) Remove(id string) {
	p.record(record{Op: view.Remove, ID: id})
	_ = p.options.Fold.Apply(view.Change{Op: view.Remove, ID: id})
}

// merge merges e into a call. It returns nil if nothing has changed.
func (p *Projector) merge(e *view.Entity) *Shown {
	p.mu.Lock()
	c := p.calls[e.ID]
	if c == nil {
		c = &call{entity: view.Entity{ID: e.ID, Kind: view.ToolCall, Parent: e.Parent, Title: e.Name, Status: view.Pending}}
		p.calls[e.ID] = c
	}
	before := c.entity
	if before.Status.Ended() {
		p.mu.Unlock()
		return nil
	}
	s := &Shown{Kind: view.ToolCall, Patch: e}
	mergeInto(&c.entity, p.unlabelled(c, e))
	if e.Content != nil {
		c.noteAsked(before.Content)
	}
	p.put(c, &before, s)
	changed := !reflect.DeepEqual(&before, &c.entity)
	if changed {
		p.records.touch(e.ID)
	}
	p.mu.Unlock()
	if !changed {
		return nil
	}
	p.changed()
	return s
}

// unlabelled returns e without the agent's name before the title, which surfaces without nested calls add.
func (p *Projector) unlabelled(c *call, e *view.Entity) *view.Entity {
	if c.entity.Parent == "" || e.Title == "" {
		return e
	}
	if agent := p.options.Fold.Get(c.entity.Parent); agent != nil {
		plain := *e
		plain.Title = strings.TrimPrefix(e.Title, agent.Name+": ")
		return &plain
	}
	return e
}

// mergeInto copies the non-empty fields of more to e. A status does not go back.
func mergeInto(e, more *view.Entity) {
	set(&e.Title, more.Title, nil)
	set(&e.Name, more.Name, nil)
	set(&e.Class, more.Class, nil)
	if rank(more.Status) > rank(e.Status) {
		e.Status = more.Status
	}
	if more.Content != nil {
		e.Content = more.Content
	}
	if more.Locations != nil {
		e.Locations = more.Locations
	}
	if more.Input != nil {
		e.Input = more.Input
	}
	if more.Output != nil {
		e.Output = more.Output
	}
	if more.Meta != nil {
		e.Meta = more.Meta
	}
}
