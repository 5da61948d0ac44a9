// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// Waiting is a prompt that waits for its turn. It survives the end of the process, and whichever
// process has the session next runs it, once. The session shows it as an entity of the kind
// [view.Waiting], whose Digest is the version.
type Waiting struct {
	// ID identifies the prompt, and later its turn. Pos is its place in the inbox, which stays;
	// there are gaps.
	ID  string
	Pos int64
	// Version changes with the prompt: see [Session.EditWaiting].
	Version int64
	// Time is when it was sent, By names the process that has sent it.
	Time time.Time
	By   string
	// Parts are the prompt. Shown is the user's text, if the parts differ from it. Plain passes the
	// text to the agent even if it begins with a slash.
	Parts []model.Part
	Shown []view.Content
	Plain bool
}

// waitingJSON is the data of a prompt in the inbox.
type waitingJSON struct {
	Parts []model.Part   `json:"parts"`
	Shown []view.Content `json:"shown,omitempty"`
	Plain bool           `json:"plain,omitempty"`
}

func waitingOf(i *session.Item) (*Waiting, error) {
	var data waitingJSON
	if err := json.Unmarshal(i.Data, &data); err != nil {
		return nil, fmt.Errorf("host: the prompt %s in the inbox: %w", i.ID, err)
	}
	return &Waiting{i.ID, i.Pos, i.Version, i.Time, i.By, data.Parts, data.Shown, data.Plain}, nil
}

// entity is what the session shows of the prompt.
func (w *Waiting) entity() *view.Entity {
	return &view.Entity{
		ID: transcript.WaitingID(w.ID), Kind: view.Waiting, Role: view.User, Content: w.Content(),
		Digest: strconv.FormatInt(w.Version, 10),
	}
}

// Content returns what users are shown of the prompt.
func (w *Waiting) Content() []view.Content {
	if w.Shown != nil {
		return w.Shown
	}
	return transcript.Contents(w.Parts)
}

// Waiting returns the prompts of the session that wait for their turns, in order, whichever process
// has sent them. One that cannot be read is left out.
func (s *Session) Waiting(ctx context.Context) (all []*Waiting, err error) {
	items, err := s.inbox(ctx)
	for i := range items {
		if items[i].Kind != session.ItemPrompt {
			continue
		}
		if w, err := waitingOf(&items[i]); err == nil {
			all = append(all, w)
		}
	}
	return all, err
}

// inbox returns the items that wait. Those that are damaged are left out, which is logged once.
func (s *Session) inbox(ctx context.Context) ([]session.Item, error) {
	items, err := session.Waiting(ctx, s.host.store, s.id)
	if id := damagedItem(err); id != "" {
		if _, known := s.host.damaged.LoadOrStore([2]string{s.id, id}, true); !known {
			s.logError("an item of the inbox is damaged", err)
		}
		err = nil
	}
	return items, err
}

// damagedItem returns the id of the item that an error is about alone, which others come after.
func damagedItem(err error) (id string) {
	if bad, ok := errors.AsType[*session.Error](err); ok && errors.Is(err, session.ErrCorrupt) {
		id = bad.Item
	}
	return id
}

// EditWaiting replaces the parts of a prompt that waits, in the version that the user has seen. If
// it has another one by now, the error wraps [session.ErrChanged]; if its turn has begun, or it was
// removed, [session.ErrConsumed]. It needs no lease.
func (s *Session) EditWaiting(
	ctx context.Context, id string, version int64, parts []model.Part, shown []view.Content,
) error {
	if len(parts) == 0 {
		return fmt.Errorf("host: edit a prompt that waits: %w: it has no parts", session.ErrInvalid)
	}
	data, err := json.Marshal(waitingJSON{Parts: parts, Shown: shown})
	if err == nil {
		_, err = s.host.store.Change(ctx, s.id, id, version, data)
	}
	s.changedWaiting(ctx)
	return err
}

// RemoveWaiting removes a prompt that waits, like [Session.EditWaiting] changes it.
func (s *Session) RemoveWaiting(ctx context.Context, id string, version int64) error {
	_, err := s.host.store.Change(ctx, s.id, id, version, nil)
	s.changedWaiting(ctx)
	return err
}

// showWaiting tells those who listen to the session if other prompts wait than before, and shows
// them in a conversation unless that is nil.
func (s *Session) showWaiting(ctx context.Context, c *conversation) {
	if s.readWaiting(ctx, c) {
		s.tellListeners(ctx, &view.Entity{Kind: view.Waiting})
	}
}

// readWaiting reads and shows the prompts that wait, one reading after the other, so that what has
// changed since is not shown. It reports whether others wait than before.
func (s *Session) readWaiting(ctx context.Context, c *conversation) (others bool) {
	s.showing <- struct{}{}
	defer func() { <-s.showing }()
	all, err := s.Waiting(context.WithoutCancel(ctx))
	if err != nil {
		return false // whoever hears of the next change shows them
	}
	now := map[string]int64{}
	for _, w := range all {
		e := w.entity()
		if now[e.ID] = w.Version; c != nil && c.waiting[e.ID] != w.Version {
			c.Show(e)
		}
	}
	others, s.announced = !maps.Equal(s.announced, now), now
	if c == nil {
		return others
	}
	for id := range c.waiting {
		if now[id] == 0 {
			c.Hide(id)
		}
	}
	c.waiting = now
	return others
}

// changedWaiting has everybody look at the prompts that wait.
func (s *Session) changedWaiting(ctx context.Context) { s.showWaiting(ctx, nil); s.hear() }

// put puts the prompt of a turn that has to wait into the inbox. From then on it is there, whatever
// becomes of the process.
func (t *Turn) put(p *Prompt) error {
	s := t.session
	if t.item != nil || p.resume || len(p.Parts) == 0 {
		return nil
	}
	data, err := json.Marshal(waitingJSON{p.Parts, p.Shown, p.Plain})
	if err != nil {
		return fmt.Errorf("host: send a prompt: %w", err)
	}
	ctx := context.WithoutCancel(t.ctx)
	var info session.Info
	err = s.host.reaching(ctx, func() (err error) {
		info, err = s.host.store.Get(ctx, s.id)
		return err
	})
	if err != nil {
		return err
	}
	t.id = cmp.Or(t.id, rand.Text())
	i, err := (&patient{Store: s.host.store, to: s}).Put(ctx, s.id, session.Item{
		ID: t.id, Kind: session.ItemPrompt, By: s.host.holder, Data: data,
	})
	if err != nil {
		return err
	}
	t.item, t.after = &i, info.Head
	s.mu.Lock()
	t.queued = i.ID
	s.mu.Unlock()
	if p.Queued != nil {
		p.Queued()
	}
	s.changedWaiting(ctx)
	s.wakeRunner(ctx)
	return nil
}

// errElsewhere means that another process has taken the prompt.
var errElsewhere = errors.New("host: the prompt was taken by another process")

// reread reads the prompt from the inbox again: it may have been changed. It fails with
// errElsewhere if another process runs it, and with [ErrCancelled] if it was removed.
func (t *Turn) reread(p *Prompt) error {
	if t.item == nil {
		return nil
	}
	ctx := context.WithoutCancel(t.ctx)
	return t.session.host.reaching(ctx, func() error { return t.rereadNow(ctx, p) })
}

func (t *Turn) rereadNow(ctx context.Context, p *Prompt) error {
	for i, err := range t.session.host.store.Items(ctx, t.session.id, before(t.item)) {
		switch damaged := damagedItem(err); {
		case damaged != "" && damaged != t.item.ID, err == nil && i.ID != t.item.ID:
			continue
		case err != nil:
			return err
		case i.State == session.ItemRemoved:
			t.item = nil
			return ErrCancelled
		case i.State == session.ItemConsumed:
			t.item = nil
			return errElsewhere
		}
		w, err := waitingOf(&i)
		if err != nil {
			return err
		}
		if i.Version != t.item.Version {
			p.Parts, p.Shown, p.Plain = w.Parts, w.Shown, w.Plain
		}
		t.item = &i
	}
	return nil
}

// consumed returns the item of the turn, which is consumed with the prompt.
func (t *Turn) consumed() []session.Ref {
	if t.item == nil {
		return nil
	}
	return []session.Ref{t.item.Ref()}
}

// consume consumes the item of a turn that records no prompt.
func (t *Turn) consume() error {
	if t.item == nil {
		return nil
	}
	ctx := context.WithoutCancel(t.ctx)
	_, err := t.c.w.Write(ctx, session.Batch{Consumed: t.consumed()})
	if err == nil || errors.Is(err, session.ErrConsumed) {
		t.item = nil
		t.session.showWaiting(ctx, t.c)
	}
	return err
}

// leave removes the prompt of a turn that was cancelled before it began. If the session is closed
// instead, the prompt stays.
func (t *Turn) leave(p *Prompt) {
	cause := context.Cause(t.ctx)
	withdrawn := errors.Is(cause, ErrCancelled) || cause != nil && p.Withdrawn != nil && p.Withdrawn(cause)
	if t.item == nil || !withdrawn {
		return
	}
	ctx := context.WithoutCancel(t.ctx)
	if err := t.reread(&Prompt{}); err == nil && t.item != nil {
		_ = t.session.host.reaching(ctx, func() error { // or another process has taken it
			return t.session.RemoveWaiting(ctx, t.item.ID, t.item.Version)
		})
	}
}

// elsewhere waits until a prompt that another process has taken has ended there. A command, and a
// prompt that was refused, have no end: they are over when that process has given the session back.
func (t *Turn) elsewhere(id string) *Outcome {
	s, o := t.session, &Outcome{Turn: id, Elsewhere: true}
	for recorded := false; ; {
		news := s.news()
		info, wrong := s.host.store.Get(t.ctx, s.id)
		for e, err := range s.host.store.Load(t.ctx, s.id, t.after) {
			if wrong = cmp.Or(wrong, err); err != nil {
				break
			}
			t.after = e.Seq
			recorded = recorded || e.Kind == session.KindMessage && e.Run == id
			if e.Kind == session.KindEnd && e.Run == id {
				o.Reason = transcript.ReasonOf(&e)
				return o
			}
		}
		if errors.Is(wrong, session.ErrNotFound) { // it was deleted
			o.Err, o.Reason = wrong, transcript.Failed
			return o
		}
		if wrong == nil && info.Holder == "" && !recorded {
			o.Reason = transcript.Done
			return o
		}
		if o.Err = t.waitFor(news); o.Err != nil {
			o.Reason = transcript.Cancelled
			return o
		}
	}
}

// waitFor waits for news of the session. A process that is killed makes none.
func (t *Turn) waitFor(news <-chan struct{}) error {
	select {
	case <-news:
	case <-time.After(2 * pause):
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	}
	return nil
}
