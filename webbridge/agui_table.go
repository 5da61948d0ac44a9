// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	"github.com/ponte-go/ponte/agent/view"
)

// aguiTable makes the events of a run of what is new of a session.
type aguiTable struct {
	excerpt
	cursor  *view.Cursor // of the client
	session string
	send    func(*aguiEvent)
	text    aguiEvent // of a text, reused

	delta  view.Delta
	first  []*view.Entity // what there is up to the prompt, until it is sent
	began  bool           // it is
	agents []string       // that have not ended
}

func newAGUITable(prompt, session string, send func(*aguiEvent)) *aguiTable {
	r := &aguiTable{session: session, send: send}
	r.excerpt = newExcerpt(prompt, r)
	return r
}

// show shows what is new. It reports whether the run may continue: no later prompt has
// arrived, and the turn does not wait for an answer.
func (r *aguiTable) show(c *view.Cursor) (more bool) {
	r.cursor = c
	for c.Take(&r.delta) {
		r.take(&r.delta)
	}
	if !r.began && r.prompt == "" {
		r.start()
	}
	return !r.began || r.grows()
}

func (r *aguiTable) take(d *view.Delta) {
	switch {
	case !r.began:
		r.before(d)
	case r.takes(d):
		r.one(d)
	}
}

// before notes what there is before the events begin.
func (r *aguiTable) before(d *view.Delta) {
	i := slices.IndexFunc(r.first, func(e *view.Entity) bool { return e.ID == d.ID })
	switch e := entityOf(r.cursor.Fold(), d); {
	case i >= 0 && e == nil:
		r.first = slices.Delete(r.first, i, i+1)
	case i >= 0:
		r.first[i] = e
	case e != nil:
		r.first = append(r.first, e)
	}
	if d.ID == r.prompt {
		r.start()
	}
}

// start sends what there is, up to the prompt of the run if it has one. That is then known.
func (r *aguiTable) start() {
	r.began, r.in = true, true
	messages := aguiMessagesOf(slices.Values(r.first))
	r.send(&aguiEvent{Type: "MESSAGES_SNAPSHOT", Messages: &messages})
	r.send(&aguiEvent{Type: "STATE_SNAPSHOT", Snapshot: aguiStateOf(r.session, r.first)})
	for _, e := range r.first {
		p := r.part(e.ID)
		p.kind, p.role, p.taken, p.media = e.Kind, e.Role, true, len(e.Content)-texts(e)
		switch {
		case e.Kind == view.SubAgent && !e.Status.Ended():
			r.agent(e, nil)
		case e.Kind == view.Question:
			r.askedAbout(e)
		}
	}
	r.first = nil
}

// texts counts the contents of an entity that are text.
func texts(e *view.Entity) (n int) {
	for i := range e.Content {
		if e.Content[i].Kind == view.Text {
			n++
		}
	}
	return n
}

// correct sends all messages as they have been sent, with the arguments of a call as they are now: events only add to them.
func (r *aguiTable) correct(call *view.Entity) {
	r.close()
	messages := aguiMessagesOf(func(yield func(*view.Entity) bool) {
		for e := range r.cursor.Fold().Snapshot().All() {
			if p := r.parts[e.ID]; p == nil || !p.taken {
				continue
			}
			shown := r.cursor.Shown(e.ID)
			if e.ID == call.ID {
				running := *call
				running.Status = view.Running // its result has an event
				shown = &running
			}
			if shown != nil && !yield(shown) {
				return
			}
		}
	})
	r.send(&aguiEvent{Type: "MESSAGES_SNAPSHOT", Messages: &messages})
}

// one shows what is new of an entity.
func (r *aguiTable) one(d *view.Delta) {
	switch d.Kind {
	case view.Message, view.Thought:
		r.said(d)
		return
	case view.ToolCall:
		if d.Entity != nil {
			r.call(d.Entity, d.Known)
		}
		return
	case view.SubAgent:
		r.agent(d.Entity, d.Known)
	case view.Question:
		r.askedAbout(d.Entity)
	case view.Session, view.Usage, view.Plan:
		r.state(d.Entity, d.Known)
	case view.Notice:
		if isNew(d) && d.Entity.Class == "error" {
			r.failure = d.Entity.Title
		}
	}
	name := aguiActivityName(d.Kind)
	e := entityOf(r.cursor.Fold(), d)
	if name == "" || e == nil {
		return
	}
	content := aguiActivityOf(e)
	if d.Known == nil || !reflect.DeepEqual(content, aguiActivityOf(d.Known)) {
		r.activity(aguiMessage{ID: e.ID, Activity: name, Content: content})
	}
}

// begin implements [words].
func (r *aguiTable) begin(p *part) {
	role := "assistant"
	if p.role == view.User {
		role = "user"
	}
	r.text = aguiEvent{Type: "TEXT_MESSAGE_CONTENT", MessageID: p.id}
	if p.kind == view.Thought {
		r.text.Type = "REASONING_MESSAGE_CONTENT"
		r.send(&aguiEvent{Type: "REASONING_START", MessageID: p.id})
		r.send(&aguiEvent{Type: "REASONING_MESSAGE_START", MessageID: p.id, Role: "reasoning"})
		return
	}
	r.send(&aguiEvent{Type: "TEXT_MESSAGE_START", MessageID: p.id, Role: role})
}

// more implements [words].
func (r *aguiTable) more(_ *part, text string) {
	r.text.Text = text
	r.send(&r.text)
}

// end implements [words]. The text may be continued later.
func (r *aguiTable) end(p *part) {
	if p.kind == view.Thought {
		r.send(&aguiEvent{Type: "REASONING_MESSAGE_END", MessageID: p.id})
		r.send(&aguiEvent{Type: "REASONING_END", MessageID: p.id})
		return
	}
	r.send(&aguiEvent{Type: "TEXT_MESSAGE_END", MessageID: p.id})
}

// beside implements [words].
func (r *aguiTable) beside(p *part, c *view.Content, n int) {
	if m := aguiBeside(p.id, c, n); m != nil && p.kind != view.Thought {
		r.activity(*m)
	}
}

// ended implements [words].
func (r *aguiTable) ended(p *part, status view.Status) { r.activity(aguiEnded(p.id, status)) }

// step implements [words].
func (r *aguiTable) step(begin bool, n int) {
	kind := "STEP_FINISHED"
	if begin {
		kind = "STEP_STARTED"
	}
	r.send(&aguiEvent{Type: kind, Step: "step " + strconv.Itoa(n)})
}

// call shows a tool call.
func (r *aguiTable) call(e, known *view.Entity) {
	if e.Input == nil {
		return
	}
	if known == nil {
		known = new(view.Entity)
	}
	switch {
	case known.Input == nil:
		parent := ""
		if e.Parent == "" {
			r.enter(e.ID)
			parent = aguiParentOf(e)
		}
		r.close()
		r.send(&aguiEvent{Type: "TOOL_CALL_START", CallID: e.ID, Call: e.Name, ParentMessageID: parent, Subagent: e.Parent})
		r.send(&aguiEvent{Type: "TOOL_CALL_ARGS", CallID: e.ID, Delta: string(e.Input), Subagent: e.Parent})
		r.send(&aguiEvent{Type: "TOOL_CALL_END", CallID: e.ID, Subagent: e.Parent})
	case !bytes.Equal(known.Input, e.Input):
		r.correct(e)
	}
	if e.Status.Ended() && (known.Input == nil || !known.Status.Ended()) {
		r.close()
		m := aguiResultOf(e)
		r.send(&aguiEvent{Type: "TOOL_CALL_RESULT", MessageID: m.ID, CallID: e.ID, Role: "tool", Content: m.Content, Subagent: e.Parent})
	}
}

// agent shows an agent inside a call.
func (r *aguiTable) agent(e, known *view.Entity) {
	switch {
	case e == nil:
		return
	case known == nil:
		started := &aguiEvent{Type: "SUBAGENT_STARTED", Subagent: e.ID, Name: e.Name, ParentCall: e.Parent}
		if call := r.cursor.Fold().Get(e.Parent); call != nil && slices.Contains(r.agents, call.Parent) {
			started.ParentSubagent = call.Parent
		}
		r.close()
		r.send(started)
		r.agents = append(r.agents, e.ID)
	}
	if !e.Status.Ended() || known != nil && known.Status.Ended() {
		return
	}
	r.agents = slices.DeleteFunc(r.agents, func(id string) bool { return id == e.ID })
	if e.Status == view.Completed {
		r.send(&aguiEvent{Type: "SUBAGENT_FINISHED", Subagent: e.ID, Outcome: &aguiOutcome{Type: "success"}})
		return
	}
	r.send(&aguiEvent{Type: "SUBAGENT_ERROR", Subagent: e.ID, Message: string(e.Status)})
}

// state shows what has changed of the state of the thread.
func (r *aguiTable) state(e, known *view.Entity) {
	if e == nil {
		return
	}
	before := aguiValuesOf(r.session, known)
	for name, value := range aguiValuesOf(r.session, e) {
		if known == nil || !reflect.DeepEqual(value, before[name]) {
			r.send(&aguiEvent{Type: "STATE_DELTA", Delta: []any{map[string]any{"op": "add", "path": "/" + name, "value": value}}})
		}
	}
}

func (r *aguiTable) activity(m aguiMessage) {
	r.close()
	r.send(&aguiEvent{Type: "ACTIVITY_SNAPSHOT", MessageID: m.ID, Activity: m.Activity, Content: m.Content})
}

// askedAbout notes a question about a call.
func (r *aguiTable) askedAbout(e *view.Entity) {
	if a, ok := askedIn(r.cursor.Fold().Snapshot(), e); ok {
		r.ask(a)
	}
}

// finish closes what is open, and returns what the run waits for.
func (r *aguiTable) finish() *aguiOutcome {
	if !r.began {
		r.start()
	}
	r.leave()
	for _, id := range r.agents {
		r.send(&aguiEvent{Type: "SUBAGENT_FINISHED", Subagent: id, Outcome: &aguiOutcome{Type: "suspended"}})
	}
	r.agents = nil
	o := &aguiOutcome{Type: "success"}
	for _, q := range r.waiting() {
		if q.External {
			o.Pending = append(o.Pending, q.Call.ID)
			continue
		}
		o.Interrupts = append(o.Interrupts, aguiInterruptOf(q.asked))
	}
	if o.Interrupts != nil {
		o.Type, o.Pending = "interrupt", nil
	}
	return o
}

const aguiApprovalSchema = `{"type":"object","properties":{"approved":{"type":"boolean"},"reason":{"type":"string"},` +
	`"editedArgs":{"type":"object","description":"Replaces the arguments."}},"required":["approved"]}`

func aguiInterruptOf(a asked) aguiInterrupt {
	i := aguiInterrupt{ID: a.ID, Reason: "tool_call", Message: a.Question.Title, CallID: a.Call.ID, ResponseSchema: json.RawMessage(aguiApprovalSchema)}
	i.Metadata.Ponte = AGUIAsked{Question: a.Question.ID, Digest: a.ID, Choices: a.Question.Choices, Tool: a.Question.Name, Preview: a.Question.Content}
	if a.Form {
		i.Reason, i.ResponseSchema = "input_required", json.RawMessage("{}")
		if object := map[string]any(nil); json.Unmarshal(a.Question.Input, &object) == nil && object != nil {
			i.ResponseSchema = a.Question.Input
		}
	}
	return i
}
