// SPDX-License-Identifier: Apache-2.0

package view

import (
	"iter"
	"slices"
)

// chunkSize is how many entities share a slot of a snapshot.
const chunkSize = 64

// chunk is a part of the entities. One of an earlier epoch belongs to a snapshot and is not changed.
type chunk struct {
	epoch    uint64
	entities [chunkSize]*Entity
}

// Snapshot is the state of a [Fold] at one moment. It never changes. The nil Snapshot is empty.
type Snapshot struct {
	pos    uint64
	names  *names
	chunks []*chunk
	count  int
}

// Snapshot returns what is shown now.
func (f *Fold) Snapshot() *Snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.snap()
}

func (f *Fold) snap() *Snapshot {
	last := uint64(0)
	if f.snapshot != nil {
		if last = f.snapshot.pos; last == f.pos {
			return f.snapshot
		}
	}
	for n := f.recent; n != nil && n.pos > last; n = n.older {
		n.freeze()
		f.place(n)
	}
	s := &Snapshot{pos: f.pos, names: f.names, count: f.count, chunks: make([]*chunk, len(f.chunks))}
	copy(s.chunks, f.chunks)
	f.snapshot = s
	f.epoch++
	return s
}

// place puts the entity of a node where snapshots find it.
func (f *Fold) place(n *node) {
	i := n.place / chunkSize
	for len(f.chunks) <= i {
		f.chunks = append(f.chunks, &chunk{epoch: f.epoch})
	}
	c := f.chunks[i]
	if c.epoch != f.epoch {
		c = &chunk{epoch: f.epoch, entities: c.entities}
		f.chunks[i] = c
	}
	c.entities[n.place%chunkSize] = n.entity
}

// Fold returns a Fold of its own that has the entities of the snapshot.
func (s *Snapshot) Fold() *Fold {
	f := new(Fold)
	for e := range s.All() {
		_ = f.Apply(Change{Op: Upsert, ID: e.ID, Entity: e}) // it comes from a Fold
	}
	return f
}

// Pos returns the position of the last change that the snapshot has. It is 0 before the first one.
func (s *Snapshot) Pos() uint64 {
	if s == nil {
		return 0
	}
	return s.pos
}

// All returns the entities, in the order in which they first appeared.
func (s *Snapshot) All() iter.Seq[*Entity] {
	return func(yield func(*Entity) bool) {
		if s == nil {
			return
		}
		for _, c := range s.chunks {
			for _, e := range c.entities {
				if e != nil && !yield(e) {
					return
				}
			}
		}
	}
}

// Of returns the entities of a kind, in their order.
func (s *Snapshot) Of(kind Kind) iter.Seq[*Entity] {
	return func(yield func(*Entity) bool) {
		for e := range s.All() {
			if e.Kind == kind && !yield(e) {
				return
			}
		}
	}
}

// Backward returns the entities in the opposite order: the last one comes first.
func (s *Snapshot) Backward() iter.Seq[*Entity] {
	return func(yield func(*Entity) bool) {
		if s == nil {
			return
		}
		for _, c := range slices.Backward(s.chunks) {
			for _, e := range slices.Backward(c.entities[:]) {
				if e != nil && !yield(e) {
					return
				}
			}
		}
	}
}

// Last returns the last entity of a kind, nil if there is none.
func (s *Snapshot) Last(kind Kind) *Entity {
	for e := range s.Backward() {
		if e.Kind == kind {
			return e
		}
	}
	return nil
}

// Get returns the entity with an id, nil if there is none.
func (s *Snapshot) Get(id string) *Entity {
	if s == nil || s.names == nil {
		return nil
	}
	if n := s.names.node(id); n != nil {
		if e := s.at(n.place); e != nil && e.ID == id {
			return e
		}
	}
	for e := range s.All() { // it was removed later
		if e.ID == id {
			return e
		}
	}
	return nil
}

// at returns the entity of a place.
func (s *Snapshot) at(place int) *Entity {
	if s == nil || place/chunkSize >= len(s.chunks) {
		return nil
	}
	return s.chunks[place/chunkSize].entities[place%chunkSize]
}
