// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/ponte-go/ponte/agent/session"
)

// Follow reads a session that somebody else may write to, without its lease. Pass later entries to
// [Conversation.Take], and the writer to [Conversation.Hold] when the program holds the session.
// Until then nothing but the fold may be used.
func Follow(ctx context.Context, s session.Store, id string, o Options) (*Conversation, error) {
	c := &Conversation{Transcript: New(id, o)}
	if s == nil {
		return c, &session.Error{
			Op: "follow", Session: id, Err: fmt.Errorf("%w: the store is nil", session.ErrInvalid),
		}
	}
	c.reading = newFolding(id)
	for e, err := range s.Load(ctx, id, 0) {
		if err == nil {
			err = c.Take(e)
		}
		if err != nil {
			return c, salvageable(err, c.reading.good)
		}
	}
	return c, nil
}

// Take folds the next entry of a session that the program follows.
func (c *Conversation) Take(e session.Entry) error {
	if err := c.Append(e); err != nil {
		return err
	}
	c.taken.Store(e.Seq)
	c.going.Store(c.reading.turn)
	return nil
}

// Taken returns the number of the last entry that Take has folded. Any goroutine may call it.
func (c *Conversation) Taken() int64 { return c.taken.Load() }

// Going returns the id of the turn of the session that the program follows which has no end yet, or
// the empty string. Any goroutine may call it.
func (c *Conversation) Going() string {
	id, _ := c.going.Load().(string)
	return id
}

// Hold goes on with a session that the program holds now, all entries of which it has: those that
// Take has folded, or that it has written itself. A turn without an end was cut off: see
// [Conversation.Settle] and [Conversation.Resume].
func (c *Conversation) Hold(w *session.Writer) {
	c.cut()
	c.going.Store("")
	c.w = w
	c.tell = func() {
		if now := c.recording.Load(); now != nil {
			now.text.changed()
		}
	}
}

// followed is what a conversation knows of a session that somebody else may write to.
type followed struct {
	taken atomic.Int64
	going atomic.Value // the id of the turn, a string
}

// attemptKey is the key of the entries that count how often a turn was taken up.
const attemptKey = "attempt"

// Attempts returns how often the turn that was cut off has been taken up before.
func (c *Conversation) Attempts() (n int) {
	for i := range c.h.open {
		e := &c.h.open[i]
		if e.Kind == session.KindValue && e.Key == attemptKey && e.Run == c.h.Interrupted {
			n++
		}
	}
	return n
}

// Attempt counts that the turn that was cut off is taken up. Call it before [Conversation.Resume].
func (c *Conversation) Attempt(ctx context.Context) error {
	_, err := c.w.Append(ctx, session.Entry{Kind: session.KindValue, Run: c.h.Interrupted, Key: attemptKey})
	return err
}

// ReasonOf returns why a turn has ended, from the entry of its end, or the empty string.
func ReasonOf(e *session.Entry) string {
	var d ended
	if e.Kind != session.KindEnd || json.Unmarshal(e.Data, &d) != nil {
		return ""
	}
	return d.Reason
}
