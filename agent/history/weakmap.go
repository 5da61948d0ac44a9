// SPDX-License-Identifier: Apache-2.0

package history

import (
	"sync"
	"weak"

	"github.com/ponte-go/ponte/agent/model"
)

// weakMap is a map for concurrent use whose keys do not keep what they point to alive. Entries of what is gone are swept
// out as the map grows. The zero value is ready.
type weakMap[K, V any] struct {
	mu      sync.Mutex
	entries map[weak.Pointer[K]]V
	sweepAt int
}

const minSweep = 64

func (w *weakMap[K, V]) get(key *K) (V, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, ok := w.entries[weak.Make(key)]
	return v, ok
}

func (w *weakMap[K, V]) set(key *K, v V) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.entries == nil {
		w.entries, w.sweepAt = make(map[weak.Pointer[K]]V), minSweep
	}
	if len(w.entries) >= w.sweepAt {
		for p := range w.entries {
			if p.Value() == nil {
				delete(w.entries, p)
			}
		}
		w.sweepAt = max(minSweep, 2*len(w.entries))
	}
	w.entries[weak.Make(key)] = v
}

// extents remember how far histories have been looked at, and what was found there. A history is known by its array:
// nobody writes to the elements of a history that are there already, so that the same array with the same message at
// the end has the same beginning.
type extents[T any] struct {
	known weakMap[*model.Message, extent[T]]
}

type extent[T any] struct {
	n     int
	last  weak.Pointer[model.Message]
	found T
}

// find returns how many messages have been looked at, from the first on, and what was found.
func (e *extents[T]) find(messages []*model.Message) (n int, found T) {
	if len(messages) == 0 {
		return 0, found
	}
	x, ok := e.known.get(&messages[0])
	if !ok || x.n > len(messages) || x.last != weak.Make(messages[x.n-1]) {
		return 0, found
	}
	return x.n, x.found
}

// save says that all messages have been looked at.
func (e *extents[T]) save(messages []*model.Message, found T) {
	if n := len(messages); n > 0 {
		e.known.set(&messages[0], extent[T]{n, weak.Make(messages[n-1]), found})
	}
}
