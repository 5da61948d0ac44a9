// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/engine"
	"github.com/ponte-go/ponte/internal/loop"
)

// history is the fold of the entries of a session into messages. [Transcript] has the fold into
// entities.
type history struct {
	// Messages are the messages, as the next run sees them.
	Messages []*model.Message
	// Interrupted is the id of the last turn if it was cut off, or empty.
	Interrupted string
	// besideCut reports that a call of a background run may have run: see beside. insideCut
	// reports that an agent had begun inside a call, which can neither continue nor begin again.
	besideCut, insideCut bool
	// lost are the tools of calls that may have run, and whose place a prompt has taken.
	lost []string

	// seqs are the numbers of the entries of the messages, 0 for one that is in none. settled is
	// how many messages come from turns that have ended.
	seqs    []int64
	settled int
	// before are the messages before the turn that was cut off, if that has begun with the calls
	// that they end with.
	before     []*model.Message
	beforeSeqs []int64
	// answers are the answers to pending calls that no run has used.
	answers agent.DeferredResults
	// took are the answers that the turn which was cut off has begun with. told is the turn that
	// has recorded its own: see given.
	took agent.DeferredResults
	told *given
	// marked is the request with pending calls if it has marks of calls that may have run, which
	// its entry does not have.
	marked *model.Message
	// open are the entries of the turn that was cut off.
	open []session.Entry
}

// folding is a history of which more entries may come.
type folding struct {
	*history
	id       string // of the session
	messages map[int64]*model.Message
	// open are the entries of turns that have not ended, given the answers to pending calls.
	open, given []session.Entry
	// going is how many messages and steps turns have that have not ended, and good the last entry
	// after which no turn went on. After damage nothing is known for certain: what is missing may
	// have taken the conversation back.
	going int
	turn  string // whose they are: the last one
	good  int64
}

func newFolding(id string) *folding {
	return &folding{history: new(history), id: id, messages: map[int64]*model.Message{}}
}

// take takes an entry, and returns what it says.
func (f *folding) take(e *session.Entry) (*item, error) {
	var m *model.Message
	var d ended
	var err error
	switch e.Kind {
	case session.KindMessage:
		if m, err = messageOf(e); err != nil {
			return nil, f.damage(e, err)
		}
		f.messages[e.Seq] = m
		f.supersede(e)
		if e.Run == "" { // of no turn
			f.add(m, e.Seq)
		}
	case session.KindEnd:
		if err := f.end(e, &d, f.messages); err != nil {
			return nil, f.damage(e, err)
		}
		f.given = nil
		f.open = slices.DeleteFunc(f.open, func(old session.Entry) bool {
			gone := rootOf(old.Run) == e.Run
			if gone && goesOn(&old) {
				f.going--
			}
			return gone
		})
	}
	if isGiven(e) {
		f.told = readGiven(e)
	}
	if isAnswer(e) {
		f.given = append(f.given, *e)
	} else if e.Kind != session.KindEnd && e.Run != "" {
		if f.open = append(f.open, *e); goesOn(e) {
			f.going++
		}
	}
	if goesOn(e) || e.Kind == session.KindEnd {
		f.turn = f.goingTurn()
	}
	if f.going == 0 {
		f.good = e.Seq
	}
	return itemOf(e, m, &d), nil
}

// supersede leaves out what a message takes the place of, of which nothing is left in the store.
func (f *folding) supersede(e *session.Entry) {
	f.open = slices.DeleteFunc(f.open, func(old session.Entry) bool {
		gone := e.Supersedes(&old)
		if gone && goesOn(&old) {
			f.going--
		}
		return gone
	})
}

func (f *folding) damage(e *session.Entry, err error) error {
	return salvageable(corrupt(f.id, e, err), f.good)
}

// goingTurn returns the id of the turn that has not ended, or the empty string.
func (f *folding) goingTurn() string {
	for i := range slices.Backward(f.open) {
		if goesOn(&f.open[i]) {
			return rootOf(f.open[i].Run)
		}
	}
	return ""
}

// cut ends the fold. A turn without an end was cut off; watch is told how calls ended that it was
// at.
func (f *folding) cut(watch func(*item)) {
	h := f.history
	h.settled = len(h.Messages)
	h.Interrupted = f.turn
	h.takeAnswers(f.id, h.Interrupted, f.given)
	if h.Interrupted == "" {
		h.unstarted()
		return
	}
	h.open = slices.DeleteFunc(f.open, func(e session.Entry) bool { return rootOf(e.Run) != h.Interrupted })
	if m := h.interrupt(f.id, f.messages); m != nil {
		watch(&item{Kind: session.KindMessage, Run: h.Interrupted, Key: endPrefix, Message: m})
	}
	watch(&item{Kind: session.KindEnd, Run: h.Interrupted, Reason: h.reason()})
}

// readHistory folds entries into messages.
func readHistory(id string, entries iter.Seq2[session.Entry, error]) (*history, error) {
	f := newFolding(id)
	for e, err := range entries {
		if err != nil {
			return nil, salvageable(err, f.good)
		}
		if _, err := f.take(&e); err != nil {
			return nil, err
		}
	}
	f.cut(func(*item) {})
	return f.history, nil
}

// goesOn reports whether a turn with the entry continues until it has an end.
func goesOn(e *session.Entry) bool {
	return goes(e.Kind)
}

func goes(kind session.Kind) bool { return kind == session.KindMessage || kind == session.KindStep }

// salvageable notes in an error about a damaged entry up to which entry the session can be kept.
func salvageable(err error, good int64) error {
	var e *session.Error
	if !errors.As(err, &e) || e.Seq == 0 || !errors.Is(err, session.ErrCorrupt) || errors.Is(err, session.ErrVersion) {
		return err
	}
	made := *e
	made.Good = good
	return &made
}

// rootOf returns the run of a turn that a run belongs to.
func rootOf(run string) string {
	root, _, _ := strings.Cut(run, "/")
	return root
}

func corrupt(id string, e *session.Entry, err error) error {
	return &session.Error{Op: "read", Session: id, Seq: e.Seq, Err: fmt.Errorf("%w: %w", session.ErrCorrupt, err)}
}

// messageOf returns the message of an entry, in the form that it has in the history.
func messageOf(e *session.Entry) (*model.Message, error) {
	var b struct { // as in body, read in one go
		Message      *model.Message `json:"message"`
		Conversation string         `json:"conversation"`
		Record       *engine.Record `json:"record"`
	}
	if err := json.Unmarshal(e.Data, &b); err != nil {
		return nil, err
	}
	switch {
	case b.Message == nil:
		return nil, errors.New("there is no message")
	case b.Record == nil:
		return b.Message, nil
	}
	return stamped(b.Message, b.Conversation, e.Run, b.Record), nil
}

// stamped returns a recorded response as the run has it.
func stamped(m *model.Message, conversation, run string, r *engine.Record) *model.Message {
	m = loop.Normalise(m, r.Step)
	m.RunID, m.ConversationID, m.Step = run, conversation, r.Step
	if m.Time.IsZero() {
		m.Time = r.At
	}
	return m
}

// end takes the end of a turn. Nobody has the messages yet, so they grow where they are.
func (h *history) end(e *session.Entry, d *ended, messages map[int64]*model.Message) error {
	if err := json.Unmarshal(e.Data, d); err != nil {
		return err
	}
	if d.Version > endVersion {
		return fmt.Errorf(
			"%w: the end of a turn has version %d, this program reads versions up to %d",
			session.ErrVersion, d.Version, endVersion,
		)
	}
	if d.Keep < 0 || d.Keep > len(h.Messages) {
		return fmt.Errorf("the turn keeps %d messages of %d", d.Keep, len(h.Messages))
	}
	h.Messages, h.seqs = h.Messages[:d.Keep], h.seqs[:d.Keep]
	for _, seq := range d.Messages {
		if seq < 0 {
			seq += e.Seq
		}
		m := messages[seq]
		if m == nil {
			return fmt.Errorf("entry %d, which the turn has, is not a message", seq)
		}
		h.Messages, h.seqs = append(h.Messages, m), append(h.seqs, seq)
	}
	if d.Settled != nil {
		h.add(d.Settled, 0)
	}
	return nil
}

// add appends a message of the turn that was cut off, or of no turn.
func (h *history) add(m *model.Message, seq int64) {
	h.Messages, h.seqs = append(h.Messages, m), append(h.seqs, seq)
}

// interrupt appends what is known of the turn that was cut off. It returns the request with the
// results of its last calls, if there are calls.
func (h *history) interrupt(id string, messages map[int64]*model.Message) (settled *model.Message) {
	step := 0 // of the last response
	var response *model.Message
	h.lost = nil
	left := leftovers{turn: h.Interrupted} // what was recorded behind it
	var text []session.Entry
	besides := besideOf(h.Interrupted, h.open)
	defer func() {
		h.insideCut, h.besideCut = left.begun, besides.cutOff()
		h.lost = append(h.lost, left.lost...)
	}()
	for i := range h.open {
		e := &h.open[i]
		if besides.has(e) {
			continue
		}
		if e.Run != h.Interrupted { // of a run inside it
			left.add(e)
			continue
		}
		switch e.Kind {
		case session.KindValue:
			if e.Key == attemptKey { // the model was asked again
				text = nil
			}
		case session.KindMessage:
			m := messages[e.Seq]
			if response == nil && (m.Pending || hasResults(m)) {
				h.dropPending()
			}
			h.add(m, e.Seq)
			text = nil
			if m.Kind != model.KindResponse {
				continue
			}
			response, left = m, leftovers{turn: h.Interrupted}
			_, _ = fmt.Sscanf(e.Key, "%d/", &step)
		case session.KindStep, session.KindDecision:
			left.add(e)
		case session.KindView:
			if e.Key != "" && e.Key != responseKey(step) {
				text = append(text, *e)
			}
		}
	}
	switch last := len(h.Messages) - 1; {
	case response == nil:
		if settled = h.resumed(id, &left); settled == nil && h.before == nil {
			h.addLost(left.withoutCall(id))
		}
	case response == h.Messages[last] && !response.HasToolCalls():
		h.addLost(left.withoutCall(id))
	case response != nil && response.HasToolCalls() && h.Messages[last] == response:
		settled = left.settle(response, nil, nil, id)
		h.add(settled, 0)
	}
	for _, r := range left.own {
		for _, parts := range r.Inbox {
			h.add(&model.Message{
				Kind: model.KindRequest, Parts: parts, RunID: h.Interrupted, ConversationID: id,
				Time: r.At,
			}, 0)
		}
	}
	if m := streamed(id, h.Interrupted, text); m != nil {
		h.add(m, 0)
	}
	return settled
}

// addLost appends what is known of an agent whose history is gone, if anything.
func (h *history) addLost(m *model.Message) {
	if m != nil {
		h.add(m, 0)
	}
}

// streamed returns the shown part of the response that was being streamed, or nil. Only text can be
// continued.
func streamed(id, run string, pieces []session.Entry) *model.Message {
	m := &model.Message{Kind: model.KindResponse, RunID: run, ConversationID: id, Interrupted: true}
	var part int // of the last one
	for _, e := range pieces {
		var p piece
		if json.Unmarshal(e.Data, &p) != nil || p.Kind != model.PartText || p.Text == "" {
			continue
		}
		if n := len(m.Parts); n > 0 && p.Part == part {
			m.Parts[n-1].Text += p.Text
		} else {
			m.Parts = append(m.Parts, model.Text(p.Text))
		}
		part, m.Time = p.Part, e.Time
	}
	if len(m.Parts) == 0 {
		return nil
	}
	return m
}

// settledBy returns the results of the calls that the history before a turn ends with, if that turn
// has settled them. They were carried out or denied, so they stay when the turn goes. It returns
// nil if there are none.
func (h *history) settledBy(keep int) *model.Message {
	if keep == 0 || !h.Messages[keep-1].HasToolCalls() {
		return nil
	}
	response, m := h.Messages[keep-1], *h.Messages[keep]
	m.RunID, m.Parts = response.RunID, slices.DeleteFunc(slices.Clone(m.Parts), func(p model.Part) bool { return !isResult(&p) })
	giveUp(&m, response)
	return &m
}
