// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
)

// Conversation is the history of a session that the program holds, and continues it turn by turn.
// Only one turn runs at a time. After a turn that could not be begun or ended, because an append
// failed, the next call reads the session again: the store may have entries of the turn, which then
// counts as interrupted.
type Conversation struct {
	*Transcript
	followed
	w *session.Writer
	// stale reports that the store may lack entries of h, because an append has failed.
	stale bool
	// answered are the answers to pending calls that this process has recorded since the last run.
	answered []session.Entry
	// answering is held while an answer or an end is recorded. It guards answered.
	answering sync.Mutex
	// recording is the turn that is recorded, nil if there is none.
	recording atomic.Pointer[Turn]
}

// Open reads the session that a writer holds. The writer must not be used for messages otherwise.
func Open(ctx context.Context, w *session.Writer, o Options) (*Conversation, error) {
	t := New(w.Session(), o)
	if err := t.load(ctx, w.Store()); err != nil {
		return nil, err
	}
	c := &Conversation{Transcript: t}
	c.Hold(w)
	return c, nil
}

// Keep records what was shown outside of a run, such as the answer to a command. It belongs to the
// turn that was shown last.
func (c *Conversation) Keep(ctx context.Context) error {
	before := func() []session.Entry { return c.unrecorded(c.run) }
	_, err := c.w.Write(ctx, session.Batch{Before: before})
	return err
}

// refresh reads the session again if an append has failed.
func (c *Conversation) refresh(ctx context.Context) error {
	if !c.stale {
		return nil
	}
	c.answering.Lock()
	defer c.answering.Unlock()
	if _, err := c.w.Append(ctx); err != nil { // after what is still being appended
		return err
	}
	h, err := readHistory(c.session, c.w.Store().Load(ctx, c.session, 0))
	if err != nil {
		return err
	}
	c.h, c.stale, c.answered = h, false, nil
	return nil
}

// Settle ends the turn that was cut off, if there is one, with what is known of it.
// [Conversation.Begin] calls it.
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
	if step := t.text.unanswered(); step > 0 {
		c.keepInPlace(ThoughtID(t.id, step)) // the text is in the messages
	}
	for n := 1; c.isThere(saidID(t.id, n)); n++ {
		c.keepInPlace(saidID(t.id, n)) // the record of it goes with the end
	}
	messages, seqs, answers, reason := h.Messages, h.seqs, h.answers, h.reason()
	h.Messages, h.seqs = messages[:h.settled:h.settled], seqs[:h.settled:h.settled]
	err := t.endWith(ctx, messages, reason, answers)
	if err != nil {
		h.Messages, h.seqs = messages, seqs
	}
	return err
}

// Rewind removes a turn, given by its id, and all later ones from the history. Their entries stay
// in the session. If the turn has settled calls that the one before it left pending, their results
// stay, because they cannot be taken back. It returns the ids of the removed turns, the first one
// first. If the history does not have the turn, because a processor or an earlier Rewind has
// removed it, or a summary tells of it, the error wraps [session.ErrInvalid]. If a summary tells of
// a part of the turn, or of a later one, the history becomes the one before the turn, unless that
// has results that an earlier Rewind has left. No turn may be running.
func (c *Conversation) Rewind(ctx context.Context, to string) (gone []string, err error) {
	if err := c.Settle(ctx); err != nil {
		return nil, err
	}
	h := c.h
	said := func(m *model.Message) bool { return m.RunID == to && !isSummary(m) }
	keep := slices.IndexFunc(h.Messages, said)
	if to == "" || keep < 0 {
		return nil, &session.Error{Op: "rewind", Session: c.w.Session(), Err: fmt.Errorf(
			"%w: the history has no turn %q", session.ErrInvalid, to,
		)}
	}
	for _, m := range h.Messages[keep:] {
		if root := rootOf(m.RunID); root != "" && !slices.Contains(gone, root) {
			gone = append(gone, root)
		}
	}
	end := ended{
		Version: endVersion, Reason: Rewound, Keep: keep, Messages: []int64{}, To: to,
		Settled: h.settledBy(keep),
	}
	if slices.ContainsFunc(h.Messages[:keep], func(m *model.Message) bool {
		return isSummary(m) && slices.Contains(gone, rootOf(m.RunID))
	}) {
		before, settled, err := c.beforeTurn(ctx, to)
		if err != nil {
			return nil, err
		}
		if before != nil {
			end.Keep, end.Messages, end.Settled = 0, before.seqs, settled
			h.Messages, h.seqs, keep = before.Messages, before.seqs, len(before.Messages)
		}
	}
	data, err := json.Marshal(end)
	if err != nil {
		return nil, fmt.Errorf("transcript: rewind: %w", err)
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
	c.Start(to)
	c.rewind(to)
	return gone, nil
}

// beforeTurn returns the history before a turn, as the store has it, and what became of the calls
// that were pending then. It is nil if messages of it have no entries.
func (c *Conversation) beforeTurn(
	ctx context.Context, turn string,
) (before *history, settled *model.Message, err error) {
	f, began := newFolding(c.session), false
	for e, err := range c.w.Store().Load(ctx, c.session, 0) {
		if err != nil {
			return nil, nil, err
		}
		if began = began || goesOn(&e) && rootOf(e.Run) == turn; !began {
			if _, err := f.take(&e); err != nil {
				return nil, nil, err
			}
			continue
		}
		n := len(f.Messages) - 1
		if len(agent.PendingCalls(f.Messages)) == 0 {
			break
		}
		if e.Kind != session.KindMessage || e.Run != turn {
			continue
		}
		if m, err := messageOf(&e); err == nil && hasResults(m) {
			f.Messages[n] = m
			settled = f.settledBy(n)
			f.Messages, f.seqs = f.Messages[:n], f.seqs[:n]
			break
		}
	}
	if len(agent.PendingCalls(f.Messages)) > 0 || slices.Contains(f.seqs, 0) {
		return nil, nil, nil
	}
	return f.history, settled, nil
}

// isSummary reports whether a message has history.MetaSummary: its run is that of what it replaces.
func isSummary(m *model.Message) bool { return m.Metadata["ponte.history.summary"] != "" }

// errNothing is the error of [Conversation.Resume].
var errNothing = errors.New("no turn was cut off")
