// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/decision"
)

// PastTurn is a turn as a session has it, for programs that look at turns one by one. Its messages
// are shared and must not be changed.
type PastTurn struct {
	// ID is the id of the turn and of its run.
	ID string
	// Before is the history that the turn began with. If Prompt is nil, the turn resumed the calls
	// that Before leaves pending, with Answers.
	Before  []*model.Message
	Prompt  []model.Part
	Answers agent.DeferredResults
	// Messages are the messages of the turn's run, in order, if they are known. The first
	// one is the prompt before the processors, unless the turn resumed calls.
	Messages []*model.Message
	// After is the history that the turn left behind, and Reason why it ended: see the constants.
	After  []*model.Message
	Reason string
	// Decisions are the decisions about calls of the run, by step and call id.
	Decisions map[PastCall]model.Decision
}

// PastCall names a call of a run.
type PastCall struct {
	// Step is the step of the run, and ID the id that the model gave.
	Step int    `json:"step"`
	ID   string `json:"id"`
}

// Past reads the turns of a session, the first one first. A turn that a later one has taken back
// ([Conversation.Rewind]) is among them. Errors are as in [Read]: the turns before damage are
// returned.
func Past(ctx context.Context, s session.Store, id string) ([]PastTurn, error) {
	if s == nil {
		return nil, &session.Error{Op: "read", Session: id, Err: session.ErrInvalid}
	}
	p := past{folding: newFolding(id)}
	for e, err := range s.Load(ctx, id, 0) {
		if err == nil {
			err = p.take(&e)
		}
		if err != nil {
			return p.turns, salvageable(err, p.good)
		}
	}
	if p.turn != nil {
		p.cut(func(*item) {})
		p.end(p.reason())
	}
	return p.turns, nil
}

// past collects the turns of a session.
type past struct {
	*folding
	turns []PastTurn
	turn  *PastTurn // in hand
	kept  []pastMessage
	// changed has what messages of the history were before a processor has changed them.
	changed map[*model.Message]*model.Message
	// prompted is set if the turn has begun with a prompt.
	prompted bool
}

type pastMessage struct {
	key     string
	message *model.Message
}

// take takes the next entry.
func (p *past) take(e *session.Entry) error {
	root := rootOf(e.Run)
	if root != "" && goesOn(e) && (p.turn == nil || p.turn.ID != root) {
		p.begin(root)
	}
	i, err := p.folding.take(e)
	if err != nil {
		return err
	}
	switch {
	case p.turn == nil:
	case e.Kind == session.KindMessage && e.Run == p.turn.ID:
		p.message(e.Key, i.Message)
	case e.Kind == session.KindDecision && e.Run == p.turn.ID && !isAnswer(e):
		var b body
		var d decision.Record
		if json.Unmarshal(e.Data, &b) == nil && json.Unmarshal(b.Decision, &d) == nil {
			p.turn.Decisions[PastCall{stepIn(e.Key), b.Call}] = *d.Decision()
		}
	case e.Kind == session.KindEnd && e.Run == p.turn.ID:
		p.end(i.Reason)
	}
	return nil
}

// begin begins a turn with the history so far.
func (p *past) begin(id string) {
	if p.turn != nil { // of a store that lacks its end
		p.end(Interrupted)
	}
	before := *p.history
	before.Messages = slices.Clone(before.Messages)
	before.answers = agent.DeferredResults{
		Decisions: maps.Clone(before.answers.Decisions),
		Results:   maps.Clone(before.answers.Results),
	}
	before.takeAnswers(p.id, id, p.given)
	p.turn = &PastTurn{
		ID: id, Before: before.Messages, Answers: before.answers,
		Decisions: map[PastCall]model.Decision{},
	}
	p.kept, p.changed, p.prompted = nil, map[*model.Message]*model.Message{}, false
}

// message takes a message of the turn.
func (p *past) message(key string, m *model.Message) {
	if of, ok := strings.CutPrefix(key, changedPrefix); ok {
		p.changed[m] = nil
		for _, k := range p.kept {
			if k.key == of {
				p.changed[m] = k.message
			}
		}
		return
	}
	if key == promptKey {
		p.prompted = true
		if !hasResults(m) { // the end of a turn may give the key to another message
			p.turn.Prompt = m.Parts
		}
	}
	p.kept = slices.DeleteFunc(p.kept, func(old pastMessage) bool { return old.key == key })
	p.kept = append(p.kept, pastMessage{key, m})
}

// end ends the turn in hand. The history has its messages in order. Those that a processor has
// taken out of it are older.
func (p *past) end(reason string) {
	t := p.turn
	t.Reason, t.After = reason, slices.Clone(p.Messages)
	var left []*model.Message
	for _, m := range t.After {
		if was, ok := p.changed[m]; ok {
			m = was
		}
		if m != nil && m.RunID == t.ID {
			left = append(left, m)
		}
	}
	sent := slices.ContainsFunc(p.kept, func(k pastMessage) bool {
		return k.key != promptKey && k.message.Kind == model.KindRequest && !hasResults(k.message)
	})
	for _, k := range p.kept {
		given := k.key == promptKey && sent // it was sent in another form
		if k.message.RunID == t.ID && !given && !slices.Contains(left, k.message) {
			t.Messages = append(t.Messages, k.message)
		}
	}
	t.Messages = append(t.Messages, left...)
	for _, m := range t.Messages {
		if t.Prompt != nil || m.Kind == model.KindResponse && m.HandOver == nil {
			break
		}
		said := p.prompted || len(agent.PendingCalls(t.Before)) == 0
		if m.Kind == model.KindRequest && !hasResults(m) && said {
			t.Prompt = m.Parts
		}
	}
	p.turns, p.turn = append(p.turns, *t), nil
}
