// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"bytes"
	"cmp"
	"strconv"

	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

// uiRenderer makes the chunks of one answer of what a session shows. What it has sent already it knows by entity, so the same entity may be
// shown again at any time.
type uiRenderer struct {
	send   func(*uiChunk)
	prompt string // whose answer it is; "" for what is before the first one
	parts  map[string]*uiEntity
	asked  map[string][]*uiAsked // the questions about a call
	calls  []string              // that there are questions about, in order
	// answered are questions that this request has answered, as they were then.
	answered map[*view.Entity]bool

	steps  map[string]bool // that have begun
	inStep bool
	open   *uiEntity // the text or reasoning that is being written

	began   bool   // the prompt is there
	failure string // what has gone wrong
}

// part is the state of an entity as the client knows it.
type uiEntity struct {
	id     string
	kind   view.Kind
	entity *view.Entity // as it was when it was shown last
	data   []byte       // as it was sent: the input of a call, or a data part
	text   int          // bytes of the text that were sent
	media  int          // contents beside text that were sent
	pieces int          // parts that the text has become

	announced, denied, external, ended bool
	// claims are the approvals that the client has, and the answers that it has given.
	claims map[string]*bool
}

func uiNewRenderer(prompt string, send func(*uiChunk)) *uiRenderer {
	return &uiRenderer{send: send, prompt: prompt, began: prompt == "", parts: map[string]*uiEntity{}, asked: map[string][]*uiAsked{}, steps: map[string]bool{}}
}

// update shows what has changed. It reports whether the answer may still grow: no later prompt has
// arrived, and the run does not wait for an answer.
func (r *uiRenderer) update(u *host.Update) (more bool) {
	if u.Reset {
		return r.all(u.Snapshot)
	}
	var changed []*view.Entity
	more = true
	for i := range u.Changes {
		e := u.Changes[i].Entity
		if e == nil {
			continue
		}
		if IsPrompt(e) {
			more = more && (e.ID == r.prompt || !r.began)
			r.began = r.began || e.ID == r.prompt
			continue
		}
		if more && r.began {
			changed = append(changed, e)
		}
	}
	return r.show(u.Snapshot, changed) && more
}

// all shows the answer as it is in a snapshot.
func (r *uiRenderer) all(s *view.Snapshot) (more bool) {
	var mine, session []*view.Entity
	in, later := r.prompt == "", false
	for e := range s.All() {
		switch {
		case IsPrompt(e):
			later = later || in
			in = e.ID == r.prompt
			r.began = r.began || in
		case in:
			mine = append(mine, e)
		case uiOfSession(e):
			session = append(session, e)
		}
	}
	more = !later
	if more { // what belongs to no answer is shown with the last one
		mine = append(mine, session...)
	}
	return r.show(s, mine) && more
}

func (r *uiRenderer) show(s *view.Snapshot, entities []*view.Entity) (more bool) {
	asked := false
	for _, e := range entities {
		asked = e.Kind == view.Question && r.ask(s, e) || asked
	}
	for _, e := range entities {
		r.entity(e)
	}
	for _, id := range r.calls {
		if e := s.Get(id); asked && e != nil {
			r.call(r.known(e), e)
		}
	}
	more = true
	for _, all := range r.asked {
		for _, a := range all {
			more = more && (!a.waits() || r.answered[a.Question])
		}
	}
	return more
}

// uiOfSession reports whether an entity belongs to no answer in particular.
func uiOfSession(e *view.Entity) bool {
	return e.Kind == view.Session || e.Kind == view.Usage || e.Kind == view.Plan
}

func (r *uiRenderer) known(e *view.Entity) *uiEntity {
	p := r.part(e.ID)
	p.kind = e.Kind
	return p
}

func (r *uiRenderer) part(id string) *uiEntity {
	p := r.parts[id]
	if p == nil {
		p = &uiEntity{id: id}
		r.parts[id] = p
	}
	return p
}

// entity shows an entity, or what is new of it.
func (r *uiRenderer) entity(e *view.Entity) {
	p := r.known(e)
	if p.entity == e {
		return
	}
	switch {
	case e.Kind == view.Message && e.Role == view.User:
		if p.entity == nil && !p.announced {
			r.close()
			r.send(&uiChunk{Type: "steering-message", ID: e.ID, Parts: uiUserParts(e)})
		}
	case e.Kind == view.Message, e.Kind == view.Thought:
		r.written(p, e)
	case e.Kind == view.ToolCall && e.Parent != "":
		r.data(p, e, "data-call")
	case e.Kind == view.ToolCall:
		r.call(p, e)
	case e.Kind == view.Question && e.Input != nil:
		r.data(p, e, "data-question")
	default:
		if name := uiDataNames[e.Kind]; name != "" {
			r.data(p, e, name)
		}
	}
	p.entity = e
}

// step begins the step that an entity belongs to, if it is a new one.
func (r *uiRenderer) step(id string) {
	step := StepOf(id)
	if step == "" || r.steps[step] {
		return
	}
	r.endStep()
	r.steps[step], r.inStep = true, true
	r.send(&uiChunk{Type: "start-step"})
}

func (r *uiRenderer) endStep() {
	r.close()
	if r.inStep {
		r.inStep = false
		r.send(&uiChunk{Type: "finish-step"})
	}
}

// close ends the text or reasoning that is being written. If it is continued later, it becomes another part.
func (r *uiRenderer) close() {
	if p := r.open; p != nil {
		r.open = nil
		r.send(&uiChunk{Type: uiTypeOf(p.kind) + "-end", ID: p.chunkID()})
	}
}

func uiTypeOf(kind view.Kind) string {
	if kind == view.Thought {
		return "reasoning"
	}
	return "text"
}

func (p *uiEntity) chunkID() string {
	if p.pieces > 1 {
		return p.id + "~" + strconv.Itoa(p.pieces)
	}
	return p.id
}

// written shows a message or a thought: the text that has not been sent, and then what there is beside text.
func (r *uiRenderer) written(p *uiEntity, e *view.Entity) {
	text := e.Text()
	if len(text) > p.text {
		r.step(e.ID)
		if r.open != p {
			r.close()
			r.open = p
			p.pieces++
			r.send(&uiChunk{Type: uiTypeOf(e.Kind) + "-start", ID: p.chunkID(), Provider: uiShows(e.ID)})
		}
		r.send(&uiChunk{Type: uiTypeOf(e.Kind) + "-delta", ID: p.chunkID(), Delta: text[p.text:]})
		p.text = len(text)
	}
	seen := 0
	for i := range e.Content {
		c := &e.Content[i]
		if c.Kind == view.Text {
			continue
		}
		if seen++; seen <= p.media {
			continue
		}
		p.media = seen
		if made := uiFileOf(c, e.ID, seen); made != nil {
			r.step(e.ID)
			r.close()
			r.send(made)
		}
	}
	if end := e.Status.Ending(); end != "" {
		r.close()
		r.state(p, "data-ended", UIData{Status: e.Status, Title: end}, false)
	}
}

// call shows a call of the run. A call that waits for its turn is not shown, unless a question
// about it is open: clients answer when no other call of the step is open.
func (r *uiRenderer) call(p *uiEntity, e *view.Entity) {
	asked := r.asked[e.ID]
	p.ended = p.ended && e.Status.Ended() // a client may say so too soon
	if p.ended || e.Status == view.Pending && len(asked) == 0 && !p.announced || e.Input == nil && !e.Status.Ended() {
		return
	}
	input := uiJsonOf(e.Input)
	if !p.announced || !bytes.Equal(input, p.data) {
		r.step(e.ID)
		r.close()
		p.announced, p.data = true, input
		r.send(&uiChunk{Type: "tool-input-available", CallID: e.ID, Tool: cmp.Or(e.Name, "tool"), Title: e.Title, Input: input, Executed: !p.external})
	}
	r.request(p, asked)
	if !e.Status.Ended() {
		return
	}
	p.ended = true
	r.close()
	switch {
	case p.denied:
		r.send(&uiChunk{Type: "tool-output-denied", CallID: e.ID})
	case e.Status == view.Completed:
		r.send(&uiChunk{Type: "tool-output-available", CallID: e.ID, Output: uiOutputOf(e), Executed: !p.external})
	default:
		r.send(&uiChunk{Type: "tool-output-error", CallID: e.ID, ErrorText: cmp.Or(uiTextOf(e), string(e.Status)), Executed: !p.external})
	}
}
