// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"cmp"
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
)

// memoryInbox is the inbox of a session in memory. The zero value is empty.
type memoryInbox struct {
	rev     int64 // of the last change
	waiting int64 // items that are not notes
	items   map[string]*list.Element
	// live has the *Item that wait and the notes, dead the others, in order of their Rev.
	live, dead list.List
}

// item returns an item that is there. The error is an [*Error] with the item's id.
func (in *memoryInbox) item(id string) (*Item, error) {
	e := in.items[id]
	if e == nil {
		return nil, &Error{Item: id, Err: ErrNoItem}
	}
	return e.Value.(*Item), nil
}

// put adds an item that was prepared, or finds the one with its id.
func (in *memoryInbox) put(i Item) (found *Item, made bool) {
	if e := in.items[i.ID]; e != nil {
		return e.Value.(*Item), false
	}
	in.rev++
	i.Pos, i.Rev = in.rev, in.rev
	if in.items == nil {
		in.items = map[string]*list.Element{}
	}
	in.items[i.ID] = in.live.PushBack(&i)
	if i.Kind != ItemNote {
		in.waiting++
	}
	return &i, true
}

// end takes an item that waits out of the inbox.
func (in *memoryInbox) end(i *Item, state ItemState) {
	in.rev++
	i.State, i.Rev, i.Data = state, in.rev, nil
	in.live.Remove(in.items[i.ID])
	in.items[i.ID] = in.dead.PushBack(i)
	if i.Kind != ItemNote {
		in.waiting--
	}
}

// consume consumes items, all or none.
func (in *memoryInbox) consume(refs []Ref) error {
	for _, r := range refs {
		i, err := in.item(r.ID)
		if err == nil {
			err = i.Usable(r.Version, true)
		}
		if err != nil {
			return itemError(r.ID, err)
		}
	}
	for _, r := range refs {
		i, _ := in.item(r.ID)
		in.end(i, ItemConsumed)
	}
	return nil
}

// after returns the items with a greater Rev, in order.
func (in *memoryInbox) after(rev int64, kinds []ItemKind) []Item {
	lists := []*list.List{&in.live}
	if rev != 0 {
		lists = append(lists, &in.dead)
	}
	var all []Item
	for _, l := range lists {
		for e := l.Back(); e != nil; e = e.Prev() {
			i := e.Value.(*Item)
			if i.Rev <= rev {
				break
			}
			if len(kinds) == 0 || slices.Contains(kinds, i.Kind) {
				all = append(all, *i)
			}
		}
	}
	slices.SortFunc(all, func(a, b Item) int { return cmp.Compare(a.Rev, b.Rev) })
	return all
}

func itemError(id string, err error) error {
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	return &Error{Item: id, Err: err}
}

// failItem returns the error of an operation, which may be about an item.
func failItem(op, id string, err error) error {
	var known *Error
	if errors.As(err, &known) {
		made := *known
		made.Op, made.Session = op, id
		return &made
	}
	return fail(op, id, err)
}

func (i *Item) clone() Item {
	made := *i
	made.Data = bytes.Clone(made.Data)
	return made
}

// Put implements [Inbox].
func (m *Memory) Put(ctx context.Context, id string, i Item) (Item, error) {
	made, err := i.Prepare(now())
	if err != nil {
		return Item{}, fail("put", id, err)
	}
	made = made.clone()
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.find(ctx, "put", id)
	if err != nil {
		return Item{}, err
	}
	found, added := s.inbox.put(made)
	if added {
		m.change(s)
	}
	return found.clone(), nil
}

// Change implements [Inbox].
func (m *Memory) Change(ctx context.Context, id, item string, version int64, data json.RawMessage) (Item, error) {
	if err := CheckItemData(data); err != nil {
		return Item{}, fail("change", id, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.find(ctx, "change", id)
	if err != nil {
		return Item{}, err
	}
	i, err := s.inbox.item(item)
	if err != nil {
		return Item{}, failItem("change", id, err)
	}
	if err := i.Usable(version, false); err != nil {
		return i.clone(), failItem("change", id, itemError(item, err))
	}
	if data == nil {
		s.inbox.end(i, ItemRemoved)
	} else {
		s.inbox.rev++
		i.Version, i.Rev, i.Data = i.Version+1, s.inbox.rev, bytes.Clone(data)
		s.inbox.live.MoveToBack(s.inbox.items[item])
	}
	m.change(s)
	return i.clone(), nil
}

// Items implements [Inbox].
func (m *Memory) Items(ctx context.Context, id string, after int64, kinds ...ItemKind) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		m.mu.Lock()
		s, err := m.find(ctx, "items", id)
		var all []Item
		if err == nil {
			all = s.inbox.after(after, kinds)
		}
		m.mu.Unlock()
		for i := range all {
			if err = context.Cause(ctx); err != nil {
				err = fail("items", id, err)
				break
			}
			if !yield(all[i].clone(), nil) {
				return
			}
		}
		if err != nil {
			yield(Item{}, err)
		}
	}
}
