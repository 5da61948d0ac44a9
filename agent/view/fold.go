// SPDX-License-Identifier: Apache-2.0

package view

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Op is the operation of a [Change].
type Op string

// The operations.
const (
	Upsert Op = "upsert" // Entity is new, or replaces the one with the ID
	Append Op = "append" // Text and Content go to the end of the entity's content
	Remove Op = "remove" // the entity is no longer shown
)

// Change is a change of what is shown.
type Change struct {
	// Pos is the position of the change in its conversation. It grows. [Fold.Apply] ignores it.
	Pos uint64 `json:"pos,omitempty"`
	Op  Op     `json:"op"`
	ID  string `json:"id"`
	// Entity is the entity after the change, nil after a Remove. For Apply, only an Upsert needs it, and the Fold keeps it. An empty ID in it is
	// filled in.
	Entity *Entity `json:"entity,omitempty"`
	// An Append adds Text to the last content if that is text, and otherwise as new content.
	// Content is appended after it.
	Text    string    `json:"text,omitempty"`
	Content []Content `json:"content,omitempty"`
}

// Errors of refused changes.
var (
	ErrUnknown = errors.New("view: no such entity")
	ErrChange  = errors.New("view: malformed change")
)

// Fold applies changes, in order. Entities keep the order in which they first appeared. The zero value is empty and ready to use.
type Fold struct {
	mu       sync.Mutex
	names    *names
	chunks   []*chunk
	count    int   // of places, entities that were removed included
	recent   *node // the node that was changed last, of a list through node.older
	pos      uint64
	epoch    uint64 // counts snapshots
	snapshot *Snapshot
	wake     chan struct{} // closed at the next change; nil if nobody waits
	ended    error
}

// node is an entity that may still change.
type node struct {
	id     string
	entity *Entity // nil once it has been removed
	place  int
	pos    uint64 // of the last change
	whole  uint64 // of the last change that was not an append
	// content replaces the entity's as long as stale is set. tail, if not nil, is the text of the last content, which may have more than
	// content has.
	content []Content
	tail    *strings.Builder
	stale   bool

	older, newer *node
}

// Apply makes a change. A change that is refused changes nothing: an Append or Remove of an unknown entity is [ErrUnknown], and a change
// without an ID or an Upsert without an Entity is [ErrChange].
func (f *Fold) Apply(c Change) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended != nil {
		return fmt.Errorf("view: %s %q: the conversation has ended", c.Op, c.ID)
	}
	if c.ID == "" || c.Op == Upsert && c.Entity == nil {
		return fmt.Errorf("%w: %s %q", ErrChange, c.Op, c.ID)
	}
	n := f.find(c.ID)
	switch {
	case c.Op == Upsert:
		if c.Entity.ID != c.ID {
			e := *c.Entity
			e.ID = c.ID
			c.Entity = &e
		}
		f.upsert(n, c.Entity)
	case n == nil:
		return fmt.Errorf("%w: %s %q", ErrUnknown, c.Op, c.ID)
	case c.Op == Append:
		if c.Text != "" || len(c.Content) > 0 {
			f.append(n, c.Text, c.Content)
		}
	case c.Op == Remove:
		n.set(nil)
		f.names.remove(n.id)
		f.touch(n, true)
	default:
		return fmt.Errorf("%w: the operation %q", ErrChange, c.Op)
	}
	return nil
}

// Get returns the entity as it is now, nil if there is none.
func (f *Fold) Get(id string) *Entity {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.find(id)
	if n == nil {
		return nil
	}
	n.freeze()
	return n.entity
}

// End closes the fold: nothing changes afterwards. Cursors deliver all pending changes and
// then end with err, or [io.EOF] if it is nil.
func (f *Fold) End(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended == nil {
		f.ended = endOf(err)
		f.signal()
	}
}

func (f *Fold) find(id string) *node {
	if n := f.recent; n != nil && n.id == id && n.entity != nil {
		return n
	}
	if f.names == nil {
		return nil
	}
	return f.names.node(id)
}

func (f *Fold) upsert(n *node, e *Entity) {
	if n == nil {
		if f.names == nil {
			f.names = &names{nodes: map[string]*node{}}
		}
		n = &node{id: e.ID, place: f.count}
		f.count++
		f.names.add(n)
	}
	n.set(e)
	f.touch(n, true)
}

func (n *node) set(e *Entity) { n.entity, n.content, n.tail, n.stale = e, nil, nil, false }

func (f *Fold) append(n *node, text string, more []Content) {
	if !n.stale {
		n.content, n.stale = slices.Clone(n.entity.Content), true
	}
	whole := len(more) > 0
	if text != "" {
		last := len(n.content) - 1
		if last < 0 || n.content[last].Kind != Text {
			n.content, whole = append(n.content, Content{Kind: Text}), true
			last++
		}
		if n.tail == nil {
			n.tail = new(strings.Builder)
			n.tail.WriteString(n.content[last].Text)
		}
		n.tail.WriteString(text)
	}
	if len(more) > 0 {
		n.endTail()
		n.content = append(n.content, more...)
	}
	f.touch(n, whole)
}

// endTail puts the text of the last content in its place.
func (n *node) endTail() {
	if n.tail != nil {
		n.content[len(n.content)-1].Text = n.tail.String()
		n.tail = nil
	}
}

// freeze brings the entity up to date. Entities that were returned earlier do not change: the next
// append copies the content, and a builder never modifies a string that it has returned.
func (n *node) freeze() {
	if !n.stale {
		return
	}
	if n.tail != nil {
		n.content[len(n.content)-1].Text = n.tail.String()
	}
	e := *n.entity
	e.Content = slices.Clip(n.content)
	n.entity, n.content, n.stale = &e, nil, false
}

// touch notes that the node has changed.
func (f *Fold) touch(n *node, whole bool) {
	f.pos++
	n.pos = f.pos
	if whole {
		n.whole = f.pos
	}
	if f.recent != n {
		if n.newer != nil { // it is in the list already, and not its head
			n.newer.older = n.older
		}
		if n.older != nil {
			n.older.newer = n.newer
		}
		n.older, n.newer = f.recent, nil
		if f.recent != nil {
			f.recent.newer = n
		}
		f.recent = n
	}
	f.signal()
}

func (f *Fold) signal() {
	if f.wake != nil {
		close(f.wake)
		f.wake = nil
	}
}

// names finds nodes by their ids. Snapshots share it with their Fold.
type names struct {
	mu    sync.RWMutex
	nodes map[string]*node
}

func (n *names) node(id string) *node {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.nodes[id]
}

func (n *names) add(one *node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes[one.id] = one
}

func (n *names) remove(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.nodes, id)
}
