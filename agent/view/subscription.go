// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"context"
	"io"
	"iter"
	"slices"
	"sync"
)

// Update holds the changes since the previous update.
type Update struct {
	// Changes are the changes, one for each entity that has changed, in the order of the entities. Applied to a [Fold] that has what the
	// update before had, they give what Snapshot has.
	Changes []Change
	// Snapshot is the current state.
	Snapshot *Snapshot
}

// Subscription follows a [Fold]. It never blocks the Fold and needs no memory for unread changes:
// all changes of an entity are merged into one. The final state is always delivered. A subscription
// does not have to be closed; it is garbage-collected when unused.
type Subscription struct {
	fold *Fold
	mu   sync.Mutex // one Next at a time
	last *Snapshot
	pos  uint64 // what the first update begins after, if last is nil
}

// Subscribe returns a subscription that begins with everything there is, or, if from is not nil, with what has changed since that
// snapshot of this Fold.
func (f *Fold) Subscribe(from *Snapshot) *Subscription {
	return &Subscription{fold: f, last: from}
}

// SubscribeAt returns a subscription that begins with what has changed after a position, for subscribers that have kept no snapshot: see
// [Snapshot.Pos]. The first update has whole entities, and removes those that the subscriber may know. A position that this Fold has not
// reached begins with everything there is.
func (f *Fold) SubscribeAt(pos uint64) *Subscription {
	f.mu.Lock()
	defer f.mu.Unlock()
	if pos > f.pos {
		pos = 0
	}
	return &Subscription{fold: f, pos: pos}
}

// Next waits for a change and returns all that has changed. It ends early with the cause of ctx, and after the last change with what
// [Fold.End] was given, or [io.EOF].
func (s *Subscription) Next(ctx context.Context) (*Update, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		u, wait, err := s.fold.since(s.last, max(s.pos, s.last.Pos()))
		if err != nil {
			return nil, err
		}
		if u != nil {
			s.last = u.Snapshot
			return u, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// All returns the updates until the end. An error other than [io.EOF] is yielded last.
func (s *Subscription) All(ctx context.Context) iter.Seq2[*Update, error] {
	return func(yield func(*Update, error) bool) {
		for {
			u, err := s.Next(ctx)
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

// since returns the changes after pos, or a channel to wait on if there are none. pos is the
// position of last, or a later one if there is no snapshot.
func (f *Fold) since(last *Snapshot, pos uint64) (*Update, <-chan struct{}, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pos == pos {
		if f.ended != nil {
			return nil, nil, f.ended
		}
		if f.wake == nil {
			f.wake = make(chan struct{})
		}
		return nil, f.wake, nil
	}
	u := &Update{Snapshot: f.snap()}
	var changed []*node
	for n := f.recent; n != nil && n.pos > pos; n = n.older {
		changed = append(changed, n)
	}
	slices.SortFunc(changed, func(a, b *node) int { return cmp.Compare(a.place, b.place) })
	u.Changes = make([]Change, 0, len(changed))
	for _, n := range changed {
		before := last.at(n.place)
		c := Change{Pos: n.pos, Op: Upsert, ID: n.id, Entity: n.entity}
		switch {
		case n.entity == nil && before == nil && (last != nil || pos == 0):
			continue // it came and went
		case n.entity == nil:
			c.Op = Remove
		case before != nil && n.whole <= last.Pos():
			c.Op = Append
			c.Text = lastText(n.entity)[len(lastText(before)):]
		}
		u.Changes = append(u.Changes, c)
	}
	return u, nil, nil
}

func lastText(e *Entity) string { return e.Content[len(e.Content)-1].Text }

func endOf(err error) error {
	if err == nil {
		return io.EOF
	}
	return err
}
