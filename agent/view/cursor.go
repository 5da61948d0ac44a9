// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"context"
	"io"
	"slices"
)

// Cursor is the state of one client of a [Fold]: what it has been shown of each entity. It never blocks the
// Fold and needs no memory for changes that were not read: all changes of an entity become one. The final
// state is always delivered. A Cursor does not have to be closed. It is not safe for concurrent use.
type Cursor struct {
	fold *Fold
	base *Snapshot // what the client has been shown, apart from what is in since
	// from is the position of the last change that was looked at. A client of CursorAt may know
	// entities that the cursor does not.
	from     uint64
	resumed  bool
	since    map[int]shown // by the entities' places
	hot      *node         // that was shown last: what has been shown of it is in hotSeen, not in since
	hotSeen  shown
	skipped  []Kind
	queue    []*node // that have changed up to from, and have not been shown yet
	last     *node   // of the delta that was taken last
	lastSeen shown
}

// shown is the last state of an entity that a client has seen: nil if none, or if it has been removed. last is
// the text of its last content, which may be longer than the entity's.
type shown struct {
	entity *Entity
	last   string
	pos    uint64
}

// Cursor returns a cursor for a client that has been shown known, a snapshot of this Fold. Nil means
// that the client has been shown nothing.
func (f *Fold) Cursor(known *Snapshot) *Cursor {
	return &Cursor{fold: f, base: known, from: known.Pos()}
}

// CursorAt returns a cursor for a client that has been shown what there was at a position and has kept
// nothing of it here: see [Snapshot.Pos]. It is told of whole entities, and of the removal of those that it
// may know. At a position that this Fold has not reached, it is told of everything there is.
func (f *Fold) CursorAt(pos uint64) *Cursor {
	f.mu.Lock()
	defer f.mu.Unlock()
	if pos > f.pos {
		pos = 0
	}
	return &Cursor{fold: f, from: pos, resumed: pos > 0}
}

// CursorFrom returns a cursor for a client that has been shown a snapshot of another Fold, such as of the same
// conversation before it was read again. Entities with the same id are the same. The client is not told of those that
// the Fold does not have.
func (f *Fold) CursorFrom(known *Snapshot) *Cursor {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &Cursor{fold: f, since: map[int]shown{}}
	for e := range known.All() {
		if n := f.find(e.ID); n != nil {
			c.since[n.place] = shown{entity: e, last: lastText(e)}
		}
	}
	return c
}

// Fold returns the Fold that the cursor reads. Whoever shows it must not change it.
func (c *Cursor) Fold() *Fold { return c.fold }

// Skip leaves out entities of these kinds from now on, which the client does not understand. [Cursor.Update]
// does not leave them out.
func (c *Cursor) Skip(kinds ...Kind) { c.skipped = append(c.skipped, kinds...) }

// Saw marks an entity as seen in its present state, such as the prompt that the client has sent itself.
func (c *Cursor) Saw(id string) {
	c.fold.mu.Lock()
	defer c.fold.mu.Unlock()
	if n := c.fold.find(id); n != nil {
		n.freeze()
		c.saw(n, shown{n.entity, lastText(n.entity), n.pos})
	}
}

// saw notes what the client has seen of an entity. Most changes are of the one that was shown last, to which the model
// writes: it is looked up nowhere.
func (c *Cursor) saw(n *node, s shown) {
	if c.hot != n {
		if c.hot != nil {
			if c.since == nil {
				c.since = map[int]shown{}
			}
			c.since[c.hot.place] = c.hotSeen
		}
		c.hot = n
	}
	c.hotSeen = s
}

// Take sets d to what the client has to be told next, in the order of the entities. It reports false if the
// client has been told everything. Text that was appended to an entity is taken without allocations.
func (c *Cursor) Take(d *Delta) bool {
	c.fold.mu.Lock()
	defer c.fold.mu.Unlock()
	return c.take(d)
}

// Next is like [Cursor.Take], and waits for a change. It ends early with the cause of ctx, and after the last
// change with what [Fold.End] was given, or [io.EOF].
func (c *Cursor) Next(ctx context.Context, d *Delta) error {
	for {
		wait, err := c.takeOrWait(d)
		if wait == nil {
			return err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (c *Cursor) takeOrWait(d *Delta) (wait <-chan struct{}, err error) {
	c.fold.mu.Lock()
	defer c.fold.mu.Unlock()
	switch {
	case c.take(d):
		return nil, nil
	case c.fold.ended != nil:
		return nil, c.fold.ended
	}
	return c.fold.waiting(), nil
}

// Again takes the last delta back, because the client did not receive it. The next delta of the entity includes it.
func (c *Cursor) Again() {
	if c.last == nil {
		return
	}
	c.saw(c.last, c.lastSeen)
	c.queue = slices.Insert(c.queue, 0, c.last)
	c.last = nil
}

// Shown returns an entity as the client has been shown it: nil if it has not been, or if the entity is gone.
func (c *Cursor) Shown(id string) *Entity {
	c.fold.mu.Lock()
	defer c.fold.mu.Unlock()
	n := c.fold.find(id)
	if n == nil {
		return nil
	}
	s := c.seen(n)
	return s.known()
}

// Changed returns a channel that is closed when there may be something to take, or when the Fold has ended.
func (c *Cursor) Changed() <-chan struct{} {
	c.fold.mu.Lock()
	defer c.fold.mu.Unlock()
	if len(c.queue) > 0 || c.fold.pos > c.from || c.fold.ended != nil {
		return closed
	}
	return c.fold.waiting()
}

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Ended returns the error that [Cursor.Next] ends with after the last change. It is nil while the Fold may change.
func (c *Cursor) Ended() error {
	c.fold.mu.Lock()
	defer c.fold.mu.Unlock()
	return c.fold.ended
}

// Pos returns the position of what the client has been shown, once Take has reported false: see [Fold.CursorAt].
func (c *Cursor) Pos() uint64 { return c.from }

// Behind reports whether there are changes that the cursor has not looked at.
func (c *Cursor) Behind() bool {
	c.fold.mu.Lock()
	defer c.fold.mu.Unlock()
	return len(c.queue) > 0 || c.fold.pos > c.from
}

// take is Take. The Fold is locked.
func (c *Cursor) take(d *Delta) bool {
	for {
		if len(c.queue) == 0 && !c.fill() {
			return false
		}
		n := c.queue[0]
		c.queue = append(c.queue[:0], c.queue[1:]...)
		before := c.seen(n)
		if before.pos >= n.pos && before.pos > 0 {
			continue
		}
		if c.delta(n, before, d) && !slices.Contains(c.skipped, d.Kind) {
			c.last, c.lastSeen = n, before
			return true
		}
	}
}

// fill queues the entities that have changed since it was called last.
func (c *Cursor) fill() bool {
	f := c.fold
	for n := f.recent; n != nil && n.pos > c.from; n = n.older {
		c.queue = append(c.queue, n)
	}
	c.from = f.pos
	if len(c.queue) > 1 {
		slices.SortFunc(c.queue, func(a, b *node) int { return cmp.Compare(a.place, b.place) })
	}
	return len(c.queue) > 0
}

// seen returns what the client has been shown of an entity.
func (c *Cursor) seen(n *node) shown {
	if n == c.hot {
		return c.hotSeen
	}
	if s, ok := c.since[n.place]; ok {
		return s
	}
	if e := c.base.at(n.place); e != nil {
		return shown{e, lastText(e), c.base.Pos()}
	}
	return shown{}
}

// delta sets d to what the client has to be told about an entity, and notes that it has been. It reports false if
// that is nothing.
func (c *Cursor) delta(n *node, before shown, d *Delta) bool {
	if n.entity == nil {
		*d = Delta{Op: Remove, ID: n.id, Known: before.known()}
		if before.entity != nil {
			d.Kind, d.Role, d.Parent = before.entity.Kind, before.entity.Role, before.entity.Parent
		}
		c.saw(n, shown{pos: n.pos})
		return before.entity != nil || c.resumed && before.pos == 0
	}
	*d = Delta{Op: Upsert, ID: n.id, Kind: n.entity.Kind, Role: n.entity.Role, Parent: n.entity.Parent}
	if before.entity != nil && n.whole <= before.pos {
		d.Op = Append
		last := n.last()
		d.Text = last[len(before.last):]
		c.saw(n, shown{before.entity, last, n.pos})
		return true
	}
	n.freeze()
	d.Entity, d.Known = n.entity, before.known()
	c.saw(n, shown{n.entity, lastText(n.entity), n.pos})
	return d.Known == nil || d.shorten()
}

// known returns what was shown as an entity.
func (s *shown) known() *Entity {
	if s.entity == nil || lastText(s.entity) == s.last {
		return s.entity
	}
	e := *s.entity
	e.Content = slices.Clone(e.Content)
	if last := len(e.Content) - 1; last < 0 || e.Content[last].Kind != Text {
		e.Content = append(e.Content, Content{Kind: Text, Text: s.last})
	} else {
		e.Content[last].Text = s.last
	}
	return &e
}

// waiting returns a channel that is closed with the next change. The Fold is locked.
func (f *Fold) waiting() <-chan struct{} {
	if f.wake == nil {
		f.wake = make(chan struct{})
	}
	return f.wake
}

// last returns the text of the last content, or the empty string for content of another kind.
func (n *node) last() string {
	switch {
	case n.tail != nil:
		return n.tail.String()
	case n.stale:
		return lastOf(n.content)
	}
	return lastText(n.entity)
}

func lastText(e *Entity) string { return lastOf(e.Content) }

func lastOf(all []Content) string {
	if n := len(all); n > 0 && all[n-1].Kind == Text {
		return all[n-1].Text
	}
	return ""
}

func endOf(err error) error {
	if err == nil {
		return io.EOF
	}
	return err
}
