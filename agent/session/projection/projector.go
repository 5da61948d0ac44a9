// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"cmp"
	"reflect"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/turn"
	"github.com/ponte-go/ponte/agent/view"
)

// Options are the options of a [Projector].
type Options struct {
	// Fold gets all changes. It must not be nil.
	Fold *view.Fold
	// Render returns the Markdown text of an output that the model did not write as text. If it is nil, such outputs
	// are not shown.
	Render func(output any) (string, error)
	// Window is the size of the model's context in tokens. Without it, usage is not shown.
	Window int
	// Prices are the prices of the models, in Currency, an ISO 4217 code. With them, usage includes the cost of the
	// session so far, for models of known price. The usage of agents inside calls counts too, unless the process ends
	// before the turn.
	Prices   model.PriceTable
	Currency string
	// Changed, if not nil, is called when [Projector.Records] has something new. It must not block.
	Changed func()
	// ErrorText returns what users are told of an error that ended a run. Nil is a text that quotes nothing of it.
	ErrorText func(err error) string
}

// Shown is a change made by an event, for a renderer. It is valid only during the call.
type Shown struct {
	view.Change
	// Kind and Role are those of the entity.
	Kind view.Kind
	Role view.Role
	// Patch is set if an Upsert changes an existing entity. Its non-empty fields have changed. Content, if not nil,
	// is the entity's whole content.
	Patch *view.Entity
	// Added is content that an Upsert with a Patch appends to the entity's. It is nil if the Patch has content.
	Added []view.Content
}

// Projector makes the entities of a conversation. Begin, Prompt, Event, Notice, End and Replay must be called by one
// goroutine at a time. Report, Records, Running and Hidden may be called at any time, by any goroutine.
type Projector struct {
	options Options

	// The rest is the turn's.
	run  string
	show func(*Shown) // nil while nothing is rendered

	delta            Shown // for text, which comes by the thousand
	message, thought stream
	step             int
	first            int // the step of the run's first request, 0 before it
	finish           model.FinishReason
	textual          bool     // the last response called no tool, so that its text is the output
	early            []string // calls of the response in hand that were shown before it was complete
	numbers          struct{ notice, said int }
	inner            map[string]*innerRun // by the entities of the calls around the runs

	// The session's.
	spent      float64
	spentInner float64 // by agents inside calls of this turn, which no message of the session says
	full       uint64  // the tokens of the context

	replay *replay // while entries are read

	mu      sync.Mutex
	calls   map[string]*call  // by entity, as far as they can still change
	last    string            // the entity that was shown last
	latest  map[string]string // entities of the calls of the last response, by the model's id
	records records
}

// stream is a message or a thought that is being written.
type stream struct {
	id    string
	kind  view.Kind
	open  bool // the entity is there
	added bool // no message has it, so that it is recorded
}

// New returns a projector.
func New(options Options) *Projector {
	return &Projector{options: options, calls: map[string]*call{}, latest: map[string]string{}}
}

// Begin begins a turn. show, if not nil, is called for each change of the turn's events, in order, but not for
// changes by [Projector.Report].
func (p *Projector) Begin(run string, show func(*Shown)) {
	p.run, p.show = run, show
	p.message, p.thought, p.step, p.first, p.finish, p.textual, p.early = stream{}, stream{}, 0, 0, "", false, nil
	p.numbers.notice, p.numbers.said = 0, 0
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, c := range p.calls {
		if c.entity.Status.Ended() {
			delete(p.calls, id)
		}
	}
}

// Prompt shows the prompt of the turn. shown is what the user wrote. If it is nil, the parts are shown.
func (p *Projector) Prompt(parts []model.Part, shown []view.Content) {
	said := Contents(parts)
	e := &view.Entity{ID: PromptID(p.run), Kind: view.Message, Role: view.User, Content: said}
	if shown != nil && !reflect.DeepEqual(shown, said) {
		e.Content = shown
		p.record(record{Op: opMerge, ID: e.ID, Entity: &view.Entity{Content: shown}})
	}
	p.upsert(e)
}

// Typed shows what the user typed in a turn without a prompt, such as a slash command.
func (p *Projector) Typed(shown []view.Content) {
	p.add(&view.Entity{ID: PromptID(p.run), Kind: view.Message, Role: view.User, Content: shown})
}

// Notice shows the user a message that is not part of the conversation. class is info, warning or error.
func (p *Projector) Notice(class, title string) {
	p.numbers.notice++
	p.add(&view.Entity{ID: noticeID(p.run, p.numbers.notice), Kind: view.Notice, Class: class, Title: title})
}

// Say shows a message of the agent that is not part of the conversation.
func (p *Projector) Say(text string) {
	if text == "" {
		return
	}
	p.numbers.notice++
	id := noticeID(p.run, p.numbers.notice)
	p.add(&view.Entity{ID: id, Kind: view.Message, Role: view.Assistant, Content: []view.Content{{Kind: view.Text, Text: text}}})
}

// SetWindow sets the size of the model's context from now on: see [Options].Window.
func (p *Projector) SetWindow(tokens int) { p.options.Window = tokens }

// Finish returns the finish reason of the last response of the turn.
func (p *Projector) Finish() model.FinishReason { return p.finish }

// Event shows an event of the run.
func (p *Projector) Event(e *agent.Event) {
	switch e.Kind {
	case agent.EventRequestStart:
		p.requested(e.Step)
	case agent.EventPartStart:
		if e.PartKind == model.PartToolCall {
			p.begin(e)
		}
	case agent.EventPartDelta:
		switch e.PartKind {
		case model.PartText:
			p.say(&p.message, e.Text)
		case model.PartThinking:
			p.say(&p.thought, e.Text)
		}
	case agent.EventResponse:
		if e.Message.HandOver != nil { // it has been shown
			return
		}
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
	case agent.EventMessage:
		p.said(e.Message)
	case agent.EventCustom:
		p.custom(e)
	case agent.EventOutput:
		p.output(e)
	}
}

// requested notes a request of the run.
func (p *Projector) requested(step int) {
	p.newStep(p.run, step)
	if p.first == 0 {
		p.first = step
	}
}

// newStep gives what follows entities of its own: a response of the model is a message, what it thinks beside it another.
func (p *Projector) newStep(run string, step int) {
	p.step = step
	p.message = stream{id: MessageID(run, step), kind: view.Message}
	p.thought = stream{id: ThoughtID(run, step), kind: view.Thought}
}

// say appends to a message or thought.
func (p *Projector) say(s *stream, text string) {
	if text == "" || s.id == "" {
		return
	}
	p.open(s)
	if s.added {
		p.record(record{Op: view.Append, ID: s.id, Text: text})
	}
	d := &p.delta
	d.Change = view.Change{Op: view.Append, ID: s.id, Text: text}
	d.Kind, d.Role = s.kind, roleOf(s.kind)
	p.emit(d)
}

// open makes the entity of a message or thought.
func (p *Projector) open(s *stream) {
	if s.open {
		return
	}
	s.open = true
	e := &view.Entity{ID: s.id, Kind: s.kind, Role: roleOf(s.kind)}
	if s.added {
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

// media shows what a response holds beside text: images, sounds, files. They come with the complete response.
func (p *Projector) media(m *model.Message) {
	for i := range m.Parts {
		if part := &m.Parts[i]; part.Kind == model.PartMedia && (len(part.Data) > 0 || part.URL != "") && p.message.id != "" {
			p.open(&p.message)
			c := []view.Content{mediaContent(part)}
			if p.message.added {
				p.record(record{Op: view.Append, ID: p.message.id, Content: c})
			}
			p.emit(&Shown{Change: view.Change{Op: view.Append, ID: p.message.id, Content: c}, Kind: view.Message, Role: view.Assistant})
		}
	}
}

// said shows a message that has come in while the run goes on.
func (p *Projector) said(m *model.Message) {
	if c := Contents(m.Parts); len(c) > 0 {
		p.numbers.said++
		p.upsert(&view.Entity{ID: saidID(p.run, p.numbers.said), Kind: view.Message, Role: view.User, Content: c})
	}
}

// output shows an output that has not been shown as text.
func (p *Projector) output(e *agent.Event) {
	if p.textual || p.options.Render == nil {
		return
	}
	text, err := p.options.Render(e.Value)
	if err != nil {
		text = "The output cannot be shown: " + oneLine(err.Error())
	}
	if text != "" {
		p.add(&view.Entity{ID: OutputID(p.run, p.step), Kind: view.Message, Role: view.Assistant, Content: []view.Content{{Kind: view.Text, Text: text}}})
	}
}

// custom shows what tools and processors emit: the events of agents inside them, and changes of what the conversation shows.
func (p *Projector) custom(e *agent.Event) {
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

// emitted shows a change that a tool has emitted: of plans, compactions and notices, and, without an id, of the call itself. Everything else
// is shown as the run reports it: a tool speaks for nobody but itself.
func (p *Projector) emitted(e *agent.Event, c *view.Change) {
	if c.Entity == nil || c.Op != view.Upsert && c.Op != view.Remove {
		return
	}
	shown := *c.Entity
	switch id := cmp.Or(shown.ID, c.ID); {
	case shown.Kind == view.Plan:
		if c.Op == view.Remove {
			shown.Steps = nil
		}
		if shown.ID = PlanID; id != "" && id != PlanID {
			shown.ID = PlanID + ":" + id
		}
	case c.Op == view.Remove:
		return
	case shown.Kind == view.Compaction:
		shown.ID = "compaction:" + id
	case shown.Kind == view.Notice:
		p.numbers.notice++
		shown.ID = "note:" + stepOf(p.run, p.numbers.notice)
	case id == "" && e.CallID != "":
		shown.ID = p.callID(e.Step, e.CallID)
		if s := p.merge(&shown); s != nil {
			p.rendered(s)
		}
		return
	default:
		return
	}
	p.add(&shown)
}

// handedOver shows what an agent says that the run was handed over to. Its tool calls are shown as those of any agent inside a call.
func (p *Projector) handedOver(around *agent.Event, e *agent.Event) {
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
			p.finish, p.textual = e.Message.Finish, !e.Message.HasToolCalls()
			p.media(e.Message)
		}
	}
}

// End ends the turn, for one of the reasons of package turn: calls that are open have failed then, unless the turn is pending.
func (p *Projector) End(reason string) {
	p.recordSpent()
	if reason != turn.Pending {
		why := whyUnfinished(reason)
		p.closeInner(why)
		p.closeCalls(why)
	}
	p.early = nil
}

// Stop lets renderers know nothing more of the turn.
func (p *Projector) Stop() { p.show = nil }

// whyUnfinished is what is shown of calls that are open when a turn ends.
func whyUnfinished(reason string) string {
	if reason == turn.Cancelled {
		return "Cancelled."
	}
	return "Not finished: the turn ended before."
}

// upsert makes or replaces an entity that messages have.
func (p *Projector) upsert(e *view.Entity) {
	p.emit(&Shown{Change: view.Change{Op: view.Upsert, ID: e.ID, Entity: e}, Kind: e.Kind, Role: e.Role})
}

// add makes an entity that no message has, and records it.
func (p *Projector) add(e *view.Entity) {
	p.record(record{Op: view.Upsert, ID: e.ID, Entity: e})
	p.upsert(e)
}

func (p *Projector) emit(s *Shown) {
	if s.Op == view.Upsert {
		p.mu.Lock()
		if p.options.Fold.Get(s.ID) == nil {
			p.last = s.ID
		}
		p.mu.Unlock()
	}
	_ = p.options.Fold.Apply(s.Change) // an unknown entity cannot be appended to
	p.rendered(s)
}

func (p *Projector) rendered(s *Shown) {
	if p.show != nil {
		p.show(s)
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
