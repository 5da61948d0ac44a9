// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/loop"
)

// History is the conversation that the entries of a session hold.
type History struct {
	// Messages are the messages, as the next run sees them.
	Messages []*model.Message
	// Interrupted is the id of the last turn if it was cut off, or empty.
	Interrupted string

	// seqs are the numbers of the entries of the messages, 0 for one that is in none. settled is how many messages come from turns that
	// have ended.
	seqs    []int64
	settled int
	// before are the messages before the turn that was cut off, if that has begun with the calls that they end with.
	before     []*model.Message
	beforeSeqs []int64
	// answers are those to pending calls that no run has taken.
	answers agent.DeferredResults
	// open are the entries of the turn that was cut off.
	open []session.Entry
}

// Read makes the history of the entries of a session. A turn that was cut off counts as interrupted. An entry that is damaged is an error that wraps
// [session.ErrCorrupt]; Good says what [session.Store.Fork] can keep.
func Read(ctx context.Context, s session.Store, id string) (*History, error) {
	return ReadWith(ctx, s, id, nil)
}

// ReadWith is like [Read], and tells watch of each entry, if watch is not nil. Of a turn that was cut off during calls it then tells how these ended,
// with items that have no number.
func ReadWith(ctx context.Context, s session.Store, id string, watch func(*Item)) (*History, error) {
	if s == nil {
		return nil, &session.Error{Op: "read", Session: id, Err: fmt.Errorf("%w: the store is nil", session.ErrInvalid)}
	}
	return fold(id, s.Load(ctx, id, 0), watch)
}

// fold makes the history of entries, and tells watch of each of them. After damage nothing is known for certain: what is missing may have taken
// the conversation back.
func fold(id string, entries iter.Seq2[session.Entry, error], watch func(*Item)) (_ *History, err error) {
	h := &History{}
	var good int64 // the last entry after which no turn went on
	going := 0     // how many messages and steps turns have that have not ended
	defer func() { err = salvageable(err, good) }()
	messages := map[int64]*model.Message{}
	var open, given []session.Entry // of turns that have not ended; answers to pending calls
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		var m *model.Message
		var d ended
		switch e.Kind {
		case session.KindMessage:
			if m, err = messageOf(&e); err != nil {
				return nil, corrupt(id, &e, err)
			}
			messages[e.Seq] = m
			if e.Run == "" { // of no turn
				h.add(m, e.Seq)
			}
		case session.KindEnd:
			if err := h.end(&e, &d, messages); err != nil {
				return nil, corrupt(id, &e, err)
			}
			given = nil
			open = slices.DeleteFunc(open, func(old session.Entry) bool {
				gone := rootOf(old.Run) == e.Run
				if gone && goesOn(&old) {
					going--
				}
				return gone
			})
		}
		if watch != nil {
			watch(itemOf(&e, m, &d))
		}
		if isAnswer(&e) {
			given = append(given, e)
		} else if e.Kind != session.KindEnd && e.Run != "" {
			if open = append(open, e); goesOn(&e) {
				going++
			}
		}
		if going == 0 {
			good = e.Seq
		}
	}
	h.settled = len(h.Messages)
	h.takeAnswers(id, given)
	for i := range open {
		if goesOn(&open[i]) {
			h.Interrupted = rootOf(open[i].Run)
		}
	}
	if h.Interrupted != "" {
		h.open = slices.DeleteFunc(open, func(e session.Entry) bool { return rootOf(e.Run) != h.Interrupted })
		if m := h.interrupt(id, messages); m != nil && watch != nil {
			watch(&Item{Kind: session.KindMessage, Run: h.Interrupted, Key: endPrefix, Time: m.Time, Message: m})
			watch(&Item{Kind: session.KindEnd, Run: h.Interrupted, Time: m.Time, Reason: h.reason()})
		}
	} else {
		h.unstarted()
	}
	return h, nil
}

// goesOn reports whether a turn with the entry goes on as long as it has no end.
func goesOn(e *session.Entry) bool {
	return e.Kind == session.KindMessage || e.Kind == session.KindStep
}

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
		Record       *taskRecord    `json:"record"`
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
func stamped(m *model.Message, conversation, run string, r *taskRecord) *model.Message {
	m = loop.Normalise(m, r.Step)
	m.RunID, m.ConversationID, m.Step = run, conversation, r.Step
	if m.Time.IsZero() {
		m.Time = r.At
	}
	return m
}

// end takes the end of a turn. Nobody has the messages yet, so they grow where they are.
func (h *History) end(e *session.Entry, d *ended, messages map[int64]*model.Message) error {
	if err := json.Unmarshal(e.Data, d); err != nil {
		return err
	}
	if d.Version > endVersion {
		return fmt.Errorf("%w: the end of a turn has version %d, this program reads versions up to %d", session.ErrVersion, d.Version, endVersion)
	}
	if d.Keep < 0 || d.Keep > len(h.Messages) {
		return fmt.Errorf("the turn keeps %d messages of %d", d.Keep, len(h.Messages))
	}
	h.Messages, h.seqs = h.Messages[:d.Keep], h.seqs[:d.Keep]
	for _, seq := range d.Messages {
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
func (h *History) add(m *model.Message, seq int64) {
	h.Messages, h.seqs = append(h.Messages, m), append(h.seqs, seq)
}

// interrupt appends what is known of the turn that was cut off. It returns the request with the results of its last calls, if there are calls.
func (h *History) interrupt(id string, messages map[int64]*model.Message) (settled *model.Message) {
	step := 0 // of the last response
	var response *model.Message
	left := leftovers{turn: h.Interrupted} // what was recorded behind it
	var text []session.Entry
	for i := range h.open {
		e := &h.open[i]
		if e.Run != h.Interrupted { // of a run inside it
			left.add(e)
			continue
		}
		switch e.Kind {
		case session.KindMessage:
			m := messages[e.Seq]
			if strings.HasPrefix(e.Key, endPrefix) && m.RunID != h.Interrupted {
				continue // the end that was cut off put it in the place of earlier messages, such as a summary of them
			}
			if response == nil && hasResults(m) {
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
			h.add(&model.Message{Kind: model.KindRequest, Parts: parts, RunID: h.Interrupted, ConversationID: id, Time: r.At}, 0)
		}
	}
	if m := streamed(id, h.Interrupted, text); m != nil {
		h.add(m, 0)
	}
	return settled
}

// addLost appends what is known of an agent whose history is gone, if anything.
func (h *History) addLost(m *model.Message) {
	if m != nil {
		h.add(m, 0)
	}
}

// streamed returns the response that was being streamed, as far as it was shown, or nil. Only text can be continued.
func streamed(id, run string, pieces []session.Entry) *model.Message {
	m := &model.Message{Kind: model.KindResponse, RunID: run, ConversationID: id, Interrupted: true}
	part := -1
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

// Conversation is the history of a session that somebody holds, and continues it turn by turn. One turn goes on at a time. After a turn
// that could not be begun or ended, because an append failed, the next call reads the session again: the store may have entries of the turn,
// which then counts as interrupted.
type Conversation struct {
	w *session.Writer
	h *History
	// stale says that the store may not have what h says, because an append has failed.
	stale bool
}

// Open reads the session that a writer holds. The writer must not be used for messages otherwise.
func Open(ctx context.Context, w *session.Writer) (*Conversation, error) {
	return OpenWith(ctx, w, nil)
}

// OpenWith is like [Open], and tells watch of each entry that it reads, if watch is not nil. An item is read once for both, so a session
// can be shown and continued for the price of one.
func OpenWith(ctx context.Context, w *session.Writer, watch func(*Item)) (*Conversation, error) {
	h, err := fold(w.Session(), w.Store().Load(ctx, w.Session(), 0), watch)
	if err != nil {
		return nil, err
	}
	return &Conversation{w: w, h: h}, nil
}

// refresh reads the session again if an append has failed.
func (c *Conversation) refresh(ctx context.Context) error {
	if !c.stale {
		return nil
	}
	if _, err := c.w.Append(ctx); err != nil { // after what is still being appended
		return err
	}
	h, err := fold(c.w.Session(), c.w.Store().Load(ctx, c.w.Session(), 0), nil)
	if err != nil {
		return err
	}
	c.h, c.stale = h, false
	return nil
}

// Messages returns the history for the next run.
func (c *Conversation) Messages() []*model.Message { return slices.Clip(c.h.Messages) }

// Interrupted returns the id of the turn that was cut off, or the empty string.
func (c *Conversation) Interrupted() string { return c.h.Interrupted }

// Settle ends the turn that was cut off, if there is one, with what is known of it. [Conversation.Begin] calls it.
func (c *Conversation) Settle(ctx context.Context) error {
	if err := c.refresh(ctx); err != nil {
		return err
	}
	h := c.h
	if h.Interrupted == "" {
		return nil
	}
	t := c.turn(h.Interrupted)
	if err := t.load(h.open); err != nil {
		return err
	}
	messages, seqs, answers, reason := h.Messages, h.seqs, h.answers, h.reason()
	h.Messages, h.seqs = messages[:h.settled:h.settled], seqs[:h.settled:h.settled]
	err := t.endWith(ctx, messages, reason, answers)
	if err != nil {
		h.Messages, h.seqs = messages, seqs
	}
	return err
}

// Rewind removes a turn, given by its id, and all later ones from the history. Their entries stay in the session. If the turn has settled calls that
// the one before it left pending, their results stay, because they cannot be taken back. It returns the ids of the removed turns, the first one first. If the history does not have the turn, because a processor or an earlier Rewind has removed
// it, the error wraps [session.ErrInvalid]. No turn may be running.
func (c *Conversation) Rewind(ctx context.Context, to string) (gone []string, err error) {
	if err := c.Settle(ctx); err != nil {
		return nil, err
	}
	h := c.h
	keep := slices.IndexFunc(h.Messages, func(m *model.Message) bool { return m.RunID == to })
	if to == "" || keep < 0 {
		return nil, &session.Error{Op: "rewind", Session: c.w.Session(), Err: fmt.Errorf("%w: the history has no turn %q", session.ErrInvalid, to)}
	}
	for _, m := range h.Messages[keep:] {
		if root := rootOf(m.RunID); root != "" && !slices.Contains(gone, root) {
			gone = append(gone, root)
		}
	}
	end := ended{Version: endVersion, Reason: Rewound, Keep: keep, Messages: []int64{}, To: to, Settled: h.settledBy(keep)}
	data, err := json.Marshal(end)
	if err != nil {
		return nil, fmt.Errorf("turn: rewind: %w", err)
	}
	if _, err := c.w.Append(ctx, session.Entry{Kind: session.KindEnd, Run: rand.Text(), Data: data}); err != nil {
		c.stale = true
		return nil, err
	}
	h.Messages, h.seqs, h.answers = h.Messages[:keep:keep], h.seqs[:keep:keep], agent.DeferredResults{}
	if end.Settled != nil {
		h.add(end.Settled, 0)
	}
	h.settled = len(h.Messages)
	return gone, nil
}

// settledBy returns the results of the calls that the history before a turn ends with, if that turn has settled them. They were carried out or denied,
// so they stay when the turn goes. It returns nil if there are none.
func (h *History) settledBy(keep int) *model.Message {
	if keep == 0 || !h.Messages[keep-1].HasToolCalls() {
		return nil
	}
	response, m := h.Messages[keep-1], *h.Messages[keep]
	m.RunID, m.Parts = response.RunID, slices.DeleteFunc(slices.Clone(m.Parts), func(p model.Part) bool { return !isResult(&p) })
	giveUp(&m, response)
	return &m
}

// errNothing is the error of [Conversation.Resume].
var errNothing = errors.New("no turn was cut off")
