// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

// aguiRenderer makes the events of a run of what a session shows. What it has sent already it knows by entity, so the same entity may be shown
// again at any time.
type aguiRenderer struct {
	send    func(*aguiEvent)
	prompt  string // the prompt of the run, which the snapshot has to have; "" if there is none
	session string

	began  bool // what was before is sent
	shown  bool // what follows was looked at once
	parts  map[string]*aguiPart
	steps  map[string]bool
	step   string    // that is open
	open   *aguiPart // the text or reasoning that is being written
	agents []string
	asked  map[string]Asked // by question
	// answered are questions that this run has answered, as they were then.
	answered map[*view.Entity]bool
	order    []string
	failure  string
}

// aguiPart is the state of an entity as the client knows it.
type aguiPart struct {
	id     string
	kind   view.Kind
	role   string
	entity *view.Entity // as it was when it was shown last
	text   int          // bytes of the text that were sent
	media  int
	input  []byte // of a call that was announced
	data   []byte
	ended  bool
}

func aguiNewRenderer(prompt, session string, send func(*aguiEvent)) *aguiRenderer {
	return &aguiRenderer{send: send, prompt: prompt, session: session, parts: map[string]*aguiPart{}, steps: map[string]bool{}, asked: map[string]Asked{}}
}

// update shows what has changed. It reports whether the run may continue: no later prompt has
// arrived, and the turn does not wait for an answer.
func (r *aguiRenderer) update(u *host.Update) (more bool) {
	s := u.Snapshot
	if !r.began {
		if r.prompt != "" && s.Get(r.prompt) == nil && (!u.Reset || u.Position != "") {
			return true // it comes at once
		}
		r.begin(s)
	}
	if u.Reset || !r.shown {
		r.shown = true
		return r.all(s) && !r.waits()
	}
	for i := range u.Changes {
		e := u.Changes[i].Entity
		if e == nil {
			continue
		}
		if IsPrompt(e) {
			if e.ID != r.prompt {
				return false
			}
			continue
		}
		r.entity(s, e)
	}
	return !r.waits()
}

// all shows what there is after the prompt.
func (r *aguiRenderer) all(s *view.Snapshot) (more bool) {
	in := r.prompt == ""
	for e := range s.All() {
		switch {
		case IsPrompt(e):
			if in && r.prompt != "" {
				return false
			}
			in = in || e.ID == r.prompt
		case in || aguiOfSession(e):
			r.entity(s, e)
		}
	}
	return true
}

func aguiOfSession(e *view.Entity) bool {
	return e.Kind == view.Session || e.Kind == view.Usage || e.Kind == view.Plan
}

// aguiIsFailure reports whether an entity is the notice of a failed turn.
func aguiIsFailure(e *view.Entity) bool { return e.Kind == view.Notice && e.Class == "error" }

// begin sends what there is, up to the prompt of the run if it has one. That is then known.
func (r *aguiRenderer) begin(s *view.Snapshot) {
	r.began = true
	before := func(yield func(*view.Entity) bool) {
		for e := range s.All() {
			if !yield(e) || r.prompt != "" && e.ID == r.prompt {
				return
			}
		}
	}
	messages := aguiMessagesOf(before)
	r.send(&aguiEvent{Type: "MESSAGES_SNAPSHOT", Messages: &messages})
	r.send(&aguiEvent{Type: "STATE_SNAPSHOT", Snapshot: aguiStateOf(s, r.session)})
	for e := range before {
		p := r.known(e)
		p.entity, p.text, p.media = e, len(e.Text()), len(e.Content)
		switch {
		case e.Kind == view.ToolCall && e.Input != nil:
			p.input, p.ended = e.Input, e.Status.Ended()
		case e.Kind == view.ToolCall:
			p.entity = nil
		case e.Kind == view.SubAgent && e.Status.Ended():
			p.ended = true
		case e.Kind == view.SubAgent:
			r.agent(p, e)
		case e.Kind == view.Question:
			r.ask(s, e)
		}
	}
}

// correct sends all messages as they were sent, with the arguments of a call as they are now.
func (r *aguiRenderer) correct(s *view.Snapshot, call *view.Entity) {
	messages := aguiMessagesOf(func(yield func(*view.Entity) bool) {
		for e := range s.All() {
			shown := e
			switch p := r.parts[e.ID]; {
			case e.ID == call.ID:
				running := *call
				running.Status = view.Running // its result has an event
				shown = &running
			case !IsPrompt(e) && (p == nil || p.entity == nil):
				continue
			case p != nil && p.entity != nil:
				shown = p.entity
			}
			if !yield(shown) {
				return
			}
		}
	})
	r.send(&aguiEvent{Type: "MESSAGES_SNAPSHOT", Messages: &messages})
}

func (r *aguiRenderer) known(e *view.Entity) *aguiPart {
	p := r.parts[e.ID]
	if p == nil {
		p = &aguiPart{id: e.ID}
		r.parts[e.ID] = p
	}
	p.kind = e.Kind
	return p
}

// entity shows an entity, or what is new of it.
func (r *aguiRenderer) entity(s *view.Snapshot, e *view.Entity) {
	p := r.known(e)
	if p.entity == e {
		return
	}
	switch e.Kind {
	case view.Message, view.Thought:
		p.role = "assistant"
		if e.Role == view.User {
			p.role = "user"
		}
		r.written(p, e)
	case view.ToolCall:
		r.call(s, p, e)
	case view.SubAgent:
		r.agent(p, e)
	case view.Question:
		r.ask(s, e)
	case view.Session, view.Plan, view.Usage:
		r.state(p, e)
	}
	if name := aguiActivityNames[e.Kind]; name != "" {
		if aguiIsFailure(e) && p.entity == nil {
			r.failure = e.Title
		}
		r.activity(p, aguiMessage{ID: e.ID, Activity: name, Content: aguiActivityOf(e)})
	}
	p.entity = e
}

// written shows a message or a thought.
func (r *aguiRenderer) written(p *aguiPart, e *view.Entity) {
	text := e.Text()
	if len(text) > p.text {
		r.enter(e.ID)
		if r.open != p {
			r.close()
			r.open = p
			if p.kind == view.Thought {
				r.send(&aguiEvent{Type: "REASONING_START", MessageID: p.id})
				r.send(&aguiEvent{Type: "REASONING_MESSAGE_START", MessageID: p.id, Role: "reasoning"})
			} else {
				r.send(&aguiEvent{Type: "TEXT_MESSAGE_START", MessageID: p.id, Role: p.role})
			}
		}
		kind := "TEXT_MESSAGE_CONTENT"
		if p.kind == view.Thought {
			kind = "REASONING_MESSAGE_CONTENT"
		}
		r.send(&aguiEvent{Type: kind, MessageID: p.id, Delta: text[p.text:]})
		p.text = len(text)
	}
	if len(e.Content) <= p.media && e.Status == "" || p.kind == view.Thought {
		return
	}
	for _, a := range aguiActivities(e) {
		r.activity(r.known(&view.Entity{ID: a.ID}), a)
	}
	p.media = len(e.Content)
}

// close ends the text or reasoning that is being written. It may be continued later.
func (r *aguiRenderer) close() {
	p := r.open
	if p == nil {
		return
	}
	r.open = nil
	if p.kind == view.Thought {
		r.send(&aguiEvent{Type: "REASONING_MESSAGE_END", MessageID: p.id})
		r.send(&aguiEvent{Type: "REASONING_END", MessageID: p.id})
		return
	}
	r.send(&aguiEvent{Type: "TEXT_MESSAGE_END", MessageID: p.id})
}

// enter begins the step that an entity belongs to, if it is another one.
func (r *aguiRenderer) enter(id string) {
	step := StepOf(id)
	if step == "" || r.steps[step] {
		return
	}
	r.leave()
	r.steps[step] = true
	r.step = "step " + strconv.Itoa(len(r.steps))
	r.send(&aguiEvent{Type: "STEP_STARTED", Step: r.step})
}

func (r *aguiRenderer) leave() {
	r.close()
	if r.step != "" {
		r.send(&aguiEvent{Type: "STEP_FINISHED", Step: r.step})
		r.step = ""
	}
}

// call shows a tool call. One whose arguments a person has changed is corrected by a snapshot: events only add to arguments.
func (r *aguiRenderer) call(s *view.Snapshot, p *aguiPart, e *view.Entity) {
	if e.Input == nil {
		return
	}
	switch {
	case p.input == nil:
		p.input = e.Input
		parent := ""
		if e.Parent == "" {
			r.enter(e.ID)
			parent = aguiParentOf(e)
		}
		r.close()
		r.send(&aguiEvent{Type: "TOOL_CALL_START", CallID: e.ID, Call: e.Name, ParentMessageID: parent, Subagent: e.Parent})
		r.send(&aguiEvent{Type: "TOOL_CALL_ARGS", CallID: e.ID, Delta: string(e.Input), Subagent: e.Parent})
		r.send(&aguiEvent{Type: "TOOL_CALL_END", CallID: e.ID, Subagent: e.Parent})
	case !bytes.Equal(p.input, e.Input):
		p.input = e.Input
		r.close()
		r.correct(s, e)
	}
	if !p.ended && e.Status.Ended() {
		p.ended = true
		r.close()
		m := aguiResultOf(e)
		r.send(&aguiEvent{Type: "TOOL_CALL_RESULT", MessageID: m.ID, CallID: e.ID, Role: "tool", Content: m.Content, Subagent: e.Parent})
	}
}

// agent shows an agent inside a call.
func (r *aguiRenderer) agent(p *aguiPart, e *view.Entity) {
	i := slices.Index(r.agents, e.ID)
	if i < 0 && !p.ended {
		started := &aguiEvent{Type: "SUBAGENT_STARTED", Subagent: e.ID, Name: e.Name, ParentCall: e.Parent}
		if call := r.parts[e.Parent]; call != nil && call.entity != nil && slices.Contains(r.agents, call.entity.Parent) {
			started.ParentSubagent = call.entity.Parent
		}
		r.close()
		r.send(started)
		r.agents = append(r.agents, e.ID)
		i = len(r.agents) - 1
	}
	if !e.Status.Ended() || p.ended {
		return
	}
	p.ended = true
	r.agents = slices.Delete(r.agents, i, i+1)
	if e.Status == view.Completed {
		r.send(&aguiEvent{Type: "SUBAGENT_FINISHED", Subagent: e.ID, Outcome: &aguiOutcome{Type: "success"}})
		return
	}
	r.send(&aguiEvent{Type: "SUBAGENT_ERROR", Subagent: e.ID, Message: string(e.Status)})
}

func (r *aguiRenderer) state(p *aguiPart, e *view.Entity) {
	for name, value := range aguiChangesOf(r.session, e) {
		data, err := json.Marshal(value)
		if err != nil || bytes.Equal(data, p.data) {
			continue
		}
		p.data = data
		r.send(&aguiEvent{Type: "STATE_DELTA", Delta: []any{map[string]any{"op": "add", "path": "/" + name, "value": value}}})
	}
}

func (r *aguiRenderer) activity(p *aguiPart, m aguiMessage) {
	data, err := json.Marshal(m.Content)
	if err != nil || bytes.Equal(data, p.data) {
		return
	}
	p.data = data
	r.close()
	r.send(&aguiEvent{Type: "ACTIVITY_SNAPSHOT", MessageID: m.ID, Activity: m.Activity, Content: m.Content})
}

// ask notes a question about a call.
func (r *aguiRenderer) ask(s *view.Snapshot, e *view.Entity) {
	a, ok := AskedIn(s, e)
	if !ok {
		return
	}
	if _, known := r.asked[e.ID]; !known {
		r.order = append(r.order, e.ID)
	}
	r.asked[e.ID] = a
}

// waits reports whether a turn waits for an answer. One that is pending has ended.
func (r *aguiRenderer) waits() bool {
	for _, a := range r.asked {
		if a.Question.Status == view.Pending && !r.answered[a.Question] && !strings.Contains(a.Question.ID, "/pending/") {
			return true
		}
	}
	return false
}

// finish closes what is open, and returns what the run waits for.
func (r *aguiRenderer) finish() *aguiOutcome {
	r.leave()
	for _, id := range r.agents {
		r.send(&aguiEvent{Type: "SUBAGENT_FINISHED", Subagent: id, Outcome: &aguiOutcome{Type: "suspended"}})
	}
	r.agents = nil
	o := &aguiOutcome{Type: "success"}
	for _, id := range r.order {
		a := r.asked[id]
		switch {
		case a.Question.Status != view.Pending, r.answered[a.Question]:
		case a.External:
			o.Pending = append(o.Pending, a.Call.ID)
		default:
			o.Interrupts = append(o.Interrupts, aguiInterruptOf(a))
		}
	}
	if o.Interrupts != nil {
		o.Type, o.Pending = "interrupt", nil
	}
	return o
}

const aguiApprovalSchema = `{"type":"object","properties":{"approved":{"type":"boolean"},"reason":{"type":"string"},` +
	`"editedArgs":{"type":"object","description":"Replaces the arguments."}},"required":["approved"]}`

func aguiInterruptOf(a Asked) aguiInterrupt {
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
