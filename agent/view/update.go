// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"io"
	"iter"
)

// Update holds the changes since the previous update.
type Update struct {
	// Changes are the changes, one for each entity that has changed, in the order of the entities. Applied to a [Fold] that has what the
	// update before had, they give what Snapshot has.
	Changes []Change
	// Snapshot is the current state.
	Snapshot *Snapshot
}

// Update waits for a change and returns all that has changed. It ends as [Cursor.Next] does.
func (c *Cursor) Update(ctx context.Context) (*Update, error) {
	for {
		u, wait, err := c.update()
		if u != nil || err != nil {
			return u, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// All returns the updates until the end. An error other than [io.EOF] is yielded last.
func (c *Cursor) All(ctx context.Context) iter.Seq2[*Update, error] {
	return func(yield func(*Update, error) bool) {
		for {
			u, err := c.Update(ctx)
			switch {
			case err == io.EOF:
				return
			case err != nil:
				yield(nil, err)
				return
			case !yield(u, nil):
				return
			}
		}
	}
}

// update returns all that has changed, or a channel to wait on if there is nothing.
func (c *Cursor) update() (*Update, <-chan struct{}, error) {
	f := c.fold
	f.mu.Lock()
	defer f.mu.Unlock()
	if !c.fill() {
		if f.ended != nil {
			return nil, nil, f.ended
		}
		return nil, f.waiting(), nil
	}
	u := &Update{Snapshot: f.snap(), Changes: make([]Change, 0, len(c.queue))}
	for _, n := range c.queue {
		before := c.seen(n)
		change := Change{Pos: n.pos, Op: Upsert, ID: n.id, Entity: n.entity}
		switch {
		case n.entity == nil && before.entity == nil && !(c.resumed && before.pos == 0):
			continue // it came and went
		case n.entity == nil:
			change.Op = Remove
		case before.entity != nil && n.whole <= before.pos:
			change.Op, change.Text = Append, lastText(n.entity)[len(before.last):]
		}
		u.Changes = append(u.Changes, change)
	}
	c.base, c.since, c.hot, c.queue, c.last = u.Snapshot, nil, nil, nil, nil
	return u, nil, nil
}
