// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/loop"
)

// replay is the state of a projector that reads entries.
type replay struct {
	overlays map[string]*view.Entity // of entities that are not there yet
	waiting  []record                // for what they were shown after
	asked    []*view.Entity          // questions that have not been answered
	turn     replayedTurn
	removed  map[string]bool   // entities that something may have been shown behind
	ends     map[string]string // why turns have ended: entries of theirs may come later
	given    *given            // what the last turn that resumed calls was started with
	pending  *model.Message    // the last message with pending calls, or the response behind it
}

// replayedTurn is the turn in hand.
type replayedTurn struct {
	prompted bool // the prompt has its place
	filled   bool // and its content
	typed    []view.Content
	step     int
	pieces   int // the step of the response that is shown as far as it came, 0 if none is
	thought  int // the step whose thoughts are shown by pieces or its message, 0 if they have a record
	open     bool
	ran      bool             // it is more than a command
	spent    map[int]spent    // by step
	taken    [][]view.Content // messages that were shown when the run took them in
	// decisions are those about the calls, which the records of results do not have.
	decisions map[string]*model.Decision
}

// decide notes a decision about a call.
func (t *replayedTurn) decide(call string, d *model.Decision) {
	if t.decisions == nil {
		t.decisions = map[string]*model.Decision{}
	}
	t.decisions[call] = d
}

// decision returns the decision about a call of the turn's run, nil if there is none. It may be that
// of a process which died. Arguments that were changed before count as the decision's.
func (r *replay) decision(run, call string) *model.Decision {
	d, pending := r.turn.decisions[call], r.pending
	if g := r.given; g != nil && g.turn == run {
		if g.Pending != nil {
			pending = g.Pending
		}
		if d == nil {
			d = g.decision(call)
		}
	}
	if pending == nil {
		return d
	}
	for i := range pending.PendingCalls {
		c := &pending.PendingCalls[i]
		if c.Key() != (model.PendingCall{ID: call}).Key() {
			continue
		}
		if d == nil {
			d = c.Decision
		}
		if d != nil && len(d.Args) == 0 && c.Changed {
			changed := *d
			changed.Args, d = c.Args, &changed
		}
	}
	return d
}

func (r *replay) overlay(id string) *view.Entity {
	e := r.overlays[id]
	delete(r.overlays, id)
	return e
}

// read shows an entry of the session. replayed must follow the last one.
func (p *Transcript) read(i *item) {
	if p.replay == nil {
		p.replay = &replay{overlays: map[string]*view.Entity{}, removed: map[string]bool{}, ends: map[string]string{}}
	}
	root, _, _ := strings.Cut(i.Run, "/")
	if i.Kind == session.KindValue && i.Key == attemptKey && root == p.run {
		t := &p.replay.turn
		step := cmp.Or(t.pieces, t.step+1)
		p.unspend(step)
		p.withdraw(step)
		t.step, t.pieces = step-1, 0
		p.placeWaiting(true) // what was shown behind that response
	}
	if i.Given != nil {
		p.replay.given = i.Given
	}
	if i.Kind == session.KindValue || i.Run == "" && i.Kind != session.KindMessage {
		return
	}
	if i.isMade(root) {
		return
	}
	if i.Kind == session.KindEnd && i.Reason == Rewound {
		p.leaveReplayed()
		p.rewind(i.To)
		return
	}
	_, ended := p.replay.ends[root] // what is recorded after the end of a turn belongs to it
	if !p.replay.turn.open || root != p.run {
		if p.replay.turn.open {
			p.leaveReplayed()
		}
		p.Start(root)
		there := ended || p.isThere(PromptID(root))
		p.replay.turn = replayedTurn{open: true, prompted: there, filled: there}
	}
	p.begun = p.begun || i.Kind == session.KindEnd || goes(i.Kind)
	p.replay.turn.ran = p.replay.turn.ran || goes(i.Kind)
	switch i.Kind {
	case session.KindMessage:
		p.replayMessage(i)
		p.claimed(i.Message)
	case session.KindView:
		p.view(i)
	case session.KindStep, session.KindDecision:
		if i.Run != root {
			break
		}
		if i.Decision != nil {
			p.replay.turn.decide(i.Call, i.Decision)
		}
		if i.Result != nil {
			if d := p.replay.decision(root, i.Result.CallID); i.Result.Decision == nil && d != nil {
				if i.Result.Decision = d; len(d.Args) > 0 {
					i.Result.Text = loop.WithChange(model.RawArgs(d.Args), i.Result.Text)
				}
			}
			p.returnedBy(i.Result)
		}
		for _, parts := range i.Inbox {
			p.place()
			p.said(&model.Message{Parts: parts})
			p.replay.turn.taken = append(p.replay.turn.taken, Contents(parts))
		}
	case session.KindEnd:
		p.replay.ends[root] = i.Reason
		p.endReplayed(i.Reason)
		return
	}
	p.placeWaiting(ended)
}

// placeWaiting shows what waits for other entities, if they are there or whether or not they are.
func (p *Transcript) placeWaiting(all bool) {
	waiting := p.replay.waiting
	p.replay.waiting = nil
	for n := range waiting {
		p.showRecord(&waiting[n], all)
	}
}

// replayed ends the reading of entries. A turn without an end has been interrupted.
func (p *Transcript) replayed() {
	if p.replay == nil {
		return
	}
	if p.replay.turn.open {
		p.leaveReplayed()
	}
	p.replay = nil
	p.mu.Lock()
	p.records = records{}
	p.mu.Unlock()
}

// leaveReplayed ends the current turn, which has no entry for its end. It was interrupted, unless
// it has ended before.
func (p *Transcript) leaveReplayed() {
	p.endReplayed(cmp.Or(p.replay.ends[p.run], Interrupted))
}

// afterEnd takes out of what waits what was shown after the end of the turn.
func (p *Transcript) afterEnd() (late []record) {
	after := []string{endedID(p.run)}
	p.replay.waiting = slices.DeleteFunc(p.replay.waiting, func(r record) bool {
		if !slices.Contains(after, r.After) {
			return false
		}
		late, after = append(late, r), append(after, r.ID)
		return true
	})
	return late
}

func (p *Transcript) endReplayed(reason string) {
	t := &p.replay.turn
	if !t.open {
		return
	}
	late := p.afterEnd()
	p.placeWaiting(true)
	if t.prompted && !t.filled {
		if t.typed == nil {
			p.apply(view.Change{Op: view.Remove, ID: PromptID(p.run)})
			p.replay.removed[PromptID(p.run)] = true
		} else {
			p.prompt(nil)
		}
	}
	p.replay.asked = slices.DeleteFunc(p.replay.asked, func(a *view.Entity) bool {
		still := reason == Pending && !t.ran || !p.begun && p.waits // a command changes nothing
		if still || reason == Pending && strings.HasPrefix(a.ID, PendingID(p.run, "")) {
			return false
		}
		if q := *a; p.isThere(a.ID) { // nobody waits for the answer
			q.Status = view.Cancelled
			p.upsert(&q)
		}
		return true
	})
	p.Stop(reason)
	p.replay.waiting = late
	p.placeWaiting(true)
	p.mu.Lock()
	p.records = records{}
	p.mu.Unlock()
	*t = replayedTurn{}
}

// replayMessage shows a message.
func (p *Transcript) replayMessage(i *item) {
	m := i.Message
	if m.Pending || m.Kind == model.KindResponse {
		p.replay.pending = m
	}
	if m.Kind == model.KindResponse {
		p.response(i)
		return
	}
	results := false
	for k := range m.Parts {
		if part := &m.Parts[k]; part.CallID != "" && (part.Kind == model.PartToolReturn || part.Kind == model.PartRetry) {
			results = true
			p.returnedBy(part)
		}
	}
	p.reopen(m.PendingCalls)
	for i := range m.SuspendedCalls {
		s := &m.SuspendedCalls[i]
		p.mu.Lock()
		id := p.latest[s.ID]
		p.mu.Unlock()
		p.begins(id, s.Decision)
	}
	t := &p.replay.turn
	switch c := Contents(m.Parts); {
	case results && i.Key != "prompt" || len(c) == 0 || m.HandOver != nil: // what tools return beside text is not shown
	case i.Key != promptKey && t.took(c):
	case i.Key == promptKey, t.step == 0 && !t.filled: // it is recorded again with the first response, after pieces of that
		p.prompt(c)
	default:
		p.said(m)
	}
}

// took reports whether a message with the content has been shown when the run took it in.
func (t *replayedTurn) took(c []view.Content) bool {
	n := slices.IndexFunc(t.taken, func(taken []view.Content) bool { return reflect.DeepEqual(taken, c) })
	if n >= 0 {
		t.taken = slices.Delete(t.taken, n, n+1)
	}
	return n >= 0
}

// prompt fills the prompt of the turn.
func (p *Transcript) prompt(c []view.Content) {
	t := &p.replay.turn
	t.prompted, t.filled = true, true
	if t.typed != nil {
		c = t.typed
	}
	p.upsert(&view.Entity{ID: PromptID(p.run), Kind: view.Message, Role: view.User, Content: c})
}

// place gives the prompt its place before what was recorded of the turn.
func (p *Transcript) place() {
	if t := &p.replay.turn; !t.prompted {
		t.prompted = true
		p.upsert(&view.Entity{ID: PromptID(p.run), Kind: view.Message, Role: view.User})
	}
}

// response shows a response as its events did.
func (p *Transcript) response(i *item) {
	t := &p.replay.turn
	step := i.Step
	if step == 0 {
		step = t.step + 1
	}
	if i.Message.HandOver != nil && (p.handed || strings.Contains(i.Key, "/request/")) {
		return
	}
	p.unspend(step)
	if t.step, t.pieces = step, 0; i.Message.Interrupted {
		t.pieces = step
	}
	p.requested(step)
	replaced := false
	for _, s := range [...]*stream{&p.message, &p.thought} {
		s.open = p.isThere(s.id)
		if s.open && (s == &p.message || hasThoughts(i.Message) || t.thought == step) { // by pieces, or a message that this one replaces
			p.upsert(&view.Entity{ID: s.id, Kind: s.kind, Role: roleOf(s.kind)})
			replaced = true
		}
	}
	for k := range i.Message.Parts {
		switch part := &i.Message.Parts[k]; part.Kind {
		case model.PartText:
			p.say(&p.message, part.Text)
		case model.PartThinking:
			p.say(&p.thought, part.Text)
			t.thought = step
		}
	}
	full := p.full
	p.Event(&agent.Event{Kind: agent.EventResponse, Step: step, Message: i.Message})
	if t.spent == nil {
		t.spent = map[int]spent{}
	}
	t.spent[step] = spent{p.costOf(i.Message), full}
	for k := range i.Message.Parts {
		if part := &i.Message.Parts[k]; part.Kind == model.PartToolCall {
			p.call(&agent.Event{Step: step, CallID: part.CallID, Tool: part.Tool, Args: part.Args})
		}
	}
	for _, s := range [...]*stream{&p.message, &p.thought} {
		if e := p.fold.Get(s.id); replaced && e != nil && e.Content == nil {
			p.hide(s.id)
		}
	}
}

func hasThoughts(m *model.Message) bool {
	return slices.ContainsFunc(m.Parts, func(part model.Part) bool { return part.Kind == model.PartThinking })
}

func (p *Transcript) isThere(id string) bool { return p.fold.Get(id) != nil }

// returnedBy shows the result of a call of the last response.
func (p *Transcript) returnedBy(part *model.Part) {
	p.mu.Lock()
	id := p.latest[part.CallID]
	p.mu.Unlock()
	p.begins(id, part.Decision)
	p.returned(id, part)
}

// rewind removes what was shown since a turn began, apart from what belongs to the session as a
// whole.
func (p *Transcript) rewind(run string) {
	all := slices.Collect(p.fold.Snapshot().All())
	from := slices.IndexFunc(all, func(e *view.Entity) bool { return e.ID == PromptID(run) })
	if from < 0 {
		return
	}
	for _, e := range all[from:] {
		if !ofSession(e.Kind) {
			p.apply(view.Change{Op: view.Remove, ID: e.ID})
		}
	}
	p.mu.Lock()
	clear(p.calls)
	clear(p.latest)
	p.inner = nil
	p.mu.Unlock()
}

// claimed marks what is shown of a message that a client has claimed.
func (p *Transcript) claimed(m *model.Message) {
	if m.Metadata[Claimed] == "" {
		return
	}
	id := p.message.id
	if m.Kind == model.KindRequest {
		if id = PromptID(p.run); p.numbers.said > 0 {
			id = saidID(p.run, p.numbers.said)
		}
	}
	if e := p.fold.Get(id); e != nil {
		marked := *e
		marked.Meta = json.RawMessage(`{"claimed":true}`)
		p.upsert(&marked)
	}
}
