// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/view"
)

// Options are the options of a [Transcript].
type Options struct {
	// Render returns the Markdown text of an output that the model did not write as text. If it is
	// nil, such outputs are not shown.
	Render func(output any) (string, error)
	// Window is the size of the model's context in tokens. Without it, usage is not shown.
	Window int
	// Prices are the prices of the models, in Currency, an ISO 4217 code. With them, usage includes
	// the cost of the session so far, for models of known price. The usage of agents inside calls
	// counts too, unless the process ends before the turn.
	Prices   model.PriceTable
	Currency string
	// First are shown before the entries, and belong to the session as a whole.
	First []*view.Entity
	// ErrorText returns what users are told of an error that ended a run. Nil is a text that quotes
	// nothing of it.
	ErrorText func(err error) string
}

// Transcript folds the entries of a session into the messages for the next run and the entities
// that the conversation shows. Report, Running, Call, Emit and Abandon may be called at any time,
// by any goroutine. All other methods must be called by one goroutine at a time.
type Transcript struct {
	session string
	options Options
	fold    view.Fold
	h       *history
	reading *folding // while entries are appended
	tell    func()   // called when there is something to record; nil if nobody records

	// The rest is the turn's.
	run              string
	begun            bool // the turn has entries
	handed           bool // another agent has said something, in this turn or the pending ones that it goes on with
	waits            bool // the last turn is pending
	message, thought stream
	step, answered   int // the step in hand, and the last one with a response
	first            int // the step of the run's first request, 0 before it
	finish           model.FinishReason
	finishedInside   bool             // finish is of another agent's response
	textual          bool             // the last response called no tool, so that its text is the output
	writing          map[int]*written // calls of the response in hand that are not complete, by part
	early            []string         // those that were shown before they were
	numbers          struct{ notice, said int }
	responses        int
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
	resumes map[string]string // those of the last response before the turn, which it may go on with
	records records
}

// stream is a message or a thought that is being written.
type stream struct {
	id    string
	kind  view.Kind
	open  bool // the entity is there
	added bool // no message has it, so that it is recorded
}

// New returns an empty transcript of a session.
func New(session string, o Options) *Transcript {
	t := &Transcript{
		session: session, options: o, h: new(history), calls: map[string]*call{},
		latest: map[string]string{},
	}
	for _, e := range o.First {
		t.Show(e)
	}
	return t
}

// Read folds the entries of a session. A turn without an end counts as interrupted. After damage,
// the transcript has everything before it, and the error wraps [session.ErrCorrupt]: its Good is
// the position that [session.Store.Fork] can keep.
func Read(ctx context.Context, s session.Store, id string, o Options) (*Transcript, error) {
	t := New(id, o)
	if s == nil {
		return t, &session.Error{Op: "read", Session: id, Err: fmt.Errorf("%w: the store is nil", session.ErrInvalid)}
	}
	return t, t.load(ctx, s)
}

func (p *Transcript) load(ctx context.Context, s session.Store) error {
	defer p.cut()
	p.reading = newFolding(p.session)
	for e, err := range s.Load(ctx, p.session, 0) {
		if err != nil {
			return salvageable(err, p.reading.good)
		}
		if err := p.Append(e); err != nil {
			return err
		}
	}
	return nil
}

// Append folds the next entry of the session. The messages of a turn are there when it has ended.
// After the last entry, call Cut. An error is as in [Read], and leaves the transcript unchanged.
func (p *Transcript) Append(e session.Entry) error {
	if p.reading == nil {
		p.reading = newFolding(p.session)
	}
	i, err := p.reading.take(&e)
	if err != nil {
		return err
	}
	p.h = p.reading.history
	p.read(i)
	return nil
}

// Cut ends the entries. If the last turn has no end, it counts as interrupted.
func (p *Transcript) cut() {
	if p.reading == nil {
		return
	}
	p.h = p.reading.history
	last := p.last
	p.reading.cut(p.read)
	p.last = last // processes that follow do not have the end of a turn that continues
	p.reading = nil
	p.replayed()
}

// Messages returns the messages for the next run. They must not be changed.
func (p *Transcript) Messages() []*model.Message { return slices.Clip(p.h.Messages) }

// Interrupted returns the id of the turn that was cut off, or the empty string.
func (p *Transcript) Interrupted() string { return p.h.Interrupted }

// Fold returns what the conversation shows. It must not be changed.
func (p *Transcript) Fold() *view.Fold { return &p.fold }

// Start begins to show a turn. [Conversation.Begin] calls it.
func (p *Transcript) Start(run string) {
	p.mu.Lock()
	if run != p.run { // otherwise it goes on
		p.resumes = maps.Clone(p.latest)
	}
	p.run, p.numbers.notice = run, 0
	p.mu.Unlock()
	p.message, p.thought, p.step, p.answered, p.first, p.finish, p.textual, p.early = stream{}, stream{}, 0, 0, 0, "", false, nil
	p.finishedInside = false
	clear(p.writing)
	p.numbers.said, p.responses, p.begun, p.handed = 0, 0, false, p.waits && p.handed
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, c := range p.calls {
		if c.entity.Status.Ended() {
			delete(p.calls, id)
		}
	}
}

// Prompt shows the prompt of the turn. shown is the user's text. If it is nil, the parts are shown.
func (p *Transcript) Prompt(parts []model.Part, shown []view.Content) {
	p.begun = true
	said := Contents(parts)
	e := &view.Entity{ID: PromptID(p.run), Kind: view.Message, Role: view.User, Content: said}
	other := shown != nil && !reflect.DeepEqual(shown, said)
	if other {
		e.Content = shown
	}
	if other || p.waits { // the agent that had the conversation may get the prompt
		p.record(record{Op: opMerge, ID: e.ID, Entity: &view.Entity{Content: e.Content}})
	}
	p.upsert(e)
}

// Typed shows what the user typed in a turn without a prompt, such as a slash command.
func (p *Transcript) Typed(shown []view.Content) {
	p.add(&view.Entity{ID: PromptID(p.run), Kind: view.Message, Role: view.User, Content: shown})
}

// Notice shows the user a message that is not part of the conversation. class is info, warning or
// error.
func (p *Transcript) Notice(class, title string) {
	p.add(&view.Entity{ID: "notice:" + p.nextNotice(), Kind: view.Notice, Class: class, Title: title})
}

// nextNotice returns what makes the id of a notice unique. A turn that is resumed skips the numbers
// of the notices that it has.
func (p *Transcript) nextNotice() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		p.numbers.notice++
		at := stepOf(p.run, p.numbers.notice)
		if p.fold.Get("notice:"+at) == nil && p.fold.Get("note:"+at) == nil {
			return at
		}
	}
}

// Say shows a message of the agent that is not part of the conversation.
func (p *Transcript) Say(text string) {
	if text == "" {
		return
	}
	id := "notice:" + p.nextNotice()
	p.add(&view.Entity{ID: id, Kind: view.Message, Role: view.Assistant, Content: []view.Content{
		{Kind: view.Text, Text: text},
	}})
}

// SetWindow sets the size of the model's context from now on: see [Options].Window.
func (p *Transcript) SetWindow(tokens int) { p.options.Window = tokens }

// Finish returns the finish reason of the last response of the turn.
func (p *Transcript) Finish() model.FinishReason { return p.finish }

// Stop shows the end of the turn, for one of the reasons of this package: calls that are open have
// failed then, unless the turn is pending, or has no entries and follows one that is. [Turn.Finish]
// calls it.
func (p *Transcript) Stop(reason string) {
	p.recordSpent()
	waits := reason == Pending || !p.begun && p.waits // a command leaves the calls as they are
	if !waits {
		why := whyUnfinished(reason)
		p.closeInner(why)
		p.closeCalls(why)
	}
	p.early = nil
	if p.thought.open && !p.thought.added && p.answered < p.step {
		p.keepInPlace(p.thought.id)
	}
	if p.begun {
		p.ended(reason)
	}
	p.begun, p.waits = false, waits
}

// Abandon shows the open calls of the turn as cancelled, although they still run. Any goroutine may
// call it.
func (p *Transcript) Abandon() { p.closeCalls(whyUnfinished(Cancelled)) }

// whyUnfinished returns the text for calls that are open when a turn ends.
func whyUnfinished(reason string) string {
	if reason == Cancelled {
		return "Cancelled."
	}
	return "Not finished: the turn ended before."
}

// upsert makes or replaces an entity that messages have.
func (p *Transcript) upsert(e *view.Entity) {
	p.apply(view.Change{Op: view.Upsert, ID: e.ID, Entity: e})
}

// add makes an entity that no message has, and records it.
func (p *Transcript) add(e *view.Entity) {
	p.record(record{Op: view.Upsert, ID: e.ID, Entity: e})
	p.upsert(e)
}

func (p *Transcript) apply(c view.Change) {
	if c.Op == view.Upsert {
		p.mu.Lock()
		if p.fold.Get(c.ID) == nil {
			p.last = c.ID
		}
		p.mu.Unlock()
	}
	_ = p.fold.Apply(c) // an unknown entity cannot be appended to
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
