// SPDX-License-Identifier: Apache-2.0

// Package hear passes on which sessions of a store have changed, to those who listen.
package hear

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
)

// Board is where changes are told. The zero value is ready.
type Board struct {
	mu   sync.Mutex
	ears map[*ear]struct{}
}

// ear is one who listens.
type ear struct {
	news map[string]bool
	ring chan struct{} // has an element if there are news
}

// Tell tells those who listen that sessions have changed. An empty id means that any may have.
func (b *Board) Tell(ids ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for e := range b.ears {
		for _, id := range ids {
			e.news[id] = true
		}
		select {
		case e.ring <- struct{}{}:
		default:
		}
	}
}

// Listen yields an empty id, and from then on what is told, until ctx ends or closed is closed.
// fail makes the error of the end, of the cause of ctx or of nil.
func (b *Board) Listen(
	ctx context.Context, closed <-chan struct{}, fail func(ended error) error,
) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		e := &ear{news: map[string]bool{"": true}, ring: make(chan struct{}, 1)}
		e.ring <- struct{}{}
		b.mu.Lock()
		if b.ears == nil {
			b.ears = map[*ear]struct{}{}
		}
		b.ears[e] = struct{}{}
		b.mu.Unlock()
		defer func() {
			b.mu.Lock()
			delete(b.ears, e)
			b.mu.Unlock()
		}()
		for {
			select {
			case <-ctx.Done():
				yield("", fail(context.Cause(ctx)))
				return
			case <-closed:
				yield("", fail(nil))
				return
			case <-e.ring:
			}
			b.mu.Lock()
			news := e.news
			e.news = map[string]bool{}
			b.mu.Unlock()
			ids := slices.Sorted(maps.Keys(news))
			if news[""] {
				ids = ids[:1] // all others are among them
			}
			for _, id := range ids {
				if !yield(id, nil) {
					return
				}
			}
		}
	}
}
