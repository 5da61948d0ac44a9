// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
)

// Event shows an event of the run.
func (p *Transcript) Event(e *agent.Event) {
	switch e.Kind {
	case agent.EventRequestStart:
		p.requested(e.Step)
	case agent.EventPartStart:
		if e.PartKind == model.PartToolCall {
			p.write(e)
		}
	case agent.EventPartDelta:
		switch e.PartKind {
		case model.PartText:
			p.say(&p.message, e.Text)
		case model.PartThinking:
			p.say(&p.thought, e.Text)
		case model.PartToolCall:
			p.write(e)
		}
	case agent.EventResponse:
		if e.Message.HandOver != nil { // it has been shown
			return
		}
		p.answered = e.Step
		p.responses++
		p.finishedInside = false
		p.finish, p.textual = e.Message.Finish, !e.Message.HasToolCalls()
		p.media(e.Message)
		p.native(e.Step, e.Message)
		p.usage(e.Message)
		p.settle(e)
	case agent.EventToolCall:
		p.call(e)
	case agent.EventToolStart:
		p.started(p.callID(e.Step, e.CallID), e)
	case agent.EventToolResult:
		p.result(p.callID(e.Step, e.CallID), e)
	case agent.EventPending:
		p.leaves(p.callID(e.Step, e.CallID))
	case agent.EventMessage:
		p.said(e.Message)
	case agent.EventCustom:
		p.custom(e)
	case agent.EventOutput:
		p.output(e)
	}
}

// requested notes a request of the run.
func (p *Transcript) requested(step int) {
	p.newStep(p.run, step)
	p.finish = "" // that of an agent that the run was handed over to
	if p.first == 0 {
		p.first = step
	}
}

// newStep begins new entities: a response of the model is a message, and its thoughts are another.
func (p *Transcript) newStep(run string, step int) {
	p.step = step
	p.message = stream{id: MessageID(run, step), kind: view.Message}
	p.thought = stream{id: ThoughtID(run, step), kind: view.Thought}
}

// say appends to a message or thought.
func (p *Transcript) say(s *stream, text string) {
	if text == "" || s.id == "" {
		return
	}
	p.open(s)
	if s.added {
		p.record(record{Op: view.Append, ID: s.id, Text: text})
	}
	p.apply(view.Change{Op: view.Append, ID: s.id, Text: text})
}

// open makes the entity of a message or thought.
func (p *Transcript) open(s *stream) {
	if s.open {
		return
	}
	s.open = true
	e := &view.Entity{ID: s.id, Kind: s.kind, Role: roleOf(s.kind)}
	if s.added {
		p.handed = p.handed || s.kind == view.Message
		p.add(e)
		return
	}
	p.upsert(e)
}

func roleOf(kind view.Kind) view.Role {
	if kind == view.Message {
		return view.Assistant
	}
	return ""
}

// media shows what a response holds beside text: images, sounds, files. They come with the complete
// response.
func (p *Transcript) media(m *model.Message) {
	for i := range m.Parts {
		if part := &m.Parts[i]; part.Kind == model.PartMedia && (len(part.Data) > 0 || part.URL != "") && p.message.id != "" {
			p.open(&p.message)
			c := []view.Content{mediaContent(part)}
			if p.message.added {
				p.record(record{Op: view.Append, ID: p.message.id, Content: c})
			}
			p.apply(view.Change{Op: view.Append, ID: p.message.id, Content: c})
		}
	}
}

// said shows a message that arrived during the run.
func (p *Transcript) said(m *model.Message) {
	if c := Contents(m.Parts); len(c) > 0 {
		p.numbers.said++
		e := &view.Entity{ID: saidID(p.run, p.numbers.said), Kind: view.Message, Role: view.User, Content: c}
		if p.isThere(e.ID) { // the turn goes on after a kill
			p.upsert(e)
			p.keepInPlace(e.ID)
			return
		}
		p.add(e)
	}
}

// output shows an output that has not been shown as text.
func (p *Transcript) output(e *agent.Event) {
	if p.textual || p.options.Render == nil {
		return
	}
	text, err := p.options.Render(e.Value)
	if err != nil {
		text = "The output cannot be shown: " + oneLine(err.Error())
	}
	if text != "" {
		p.add(&view.Entity{
			ID: OutputID(p.run, p.step), Kind: view.Message, Role: view.Assistant,
			Content: []view.Content{{Kind: view.Text, Text: text}},
		})
	}
}

// custom shows what tools and processors emit: the events of agents inside them, and changes of
// what the conversation shows.
func (p *Transcript) custom(e *agent.Event) {
	switch v := e.Value.(type) {
	case agent.Nested:
		if v.HandOver {
			p.handedOver(e, &v.Event)
		}
		p.inside(p.callID(e.Step, e.CallID), e.Tool, &v)
	case view.Change:
		p.emitted(e, &v)
	case view.Entity:
		p.emitted(e, &view.Change{Op: view.Upsert, ID: v.ID, Entity: &v})
	case *view.Entity:
		if v != nil {
			p.emitted(e, &view.Change{Op: view.Upsert, ID: v.ID, Entity: v})
		}
	}
}

// handedOver shows the messages of an agent that the run was handed over to. Its tool calls are
// shown like those of any agent inside a call.
func (p *Transcript) handedOver(around *agent.Event, e *agent.Event) {
	switch e.Kind {
	case agent.EventRequestStart:
		p.newStep(stepOf(p.run, around.Step)+"/"+around.CallID, e.Step)
		p.step = around.Step
		p.message.added, p.thought.added = true, true
	case agent.EventPartDelta:
		if e.PartKind != model.PartToolCall {
			p.Event(e)
		}
	case agent.EventCustom:
		switch v := e.Value.(type) {
		case agent.Nested:
			if v.HandOver {
				p.handedOver(e, &v.Event)
			}
		case view.Change:
			p.emitted(&agent.Event{}, &v)
		}
	case agent.EventResponse:
		if e.Message.HandOver == nil {
			p.finishedInside = true
			p.finish, p.textual = e.Message.Finish, !e.Message.HasToolCalls()
			p.media(e.Message)
		}
	}
}
