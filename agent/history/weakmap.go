// SPDX-License-Identifier: Apache-2.0

package history

import (
	"sync"
	"weak"

	"github.com/ponte-go/ponte/agent/model"
)

// weakMap is a map for concurrent use whose keys do not keep what they point to alive. Entries of
// what is gone are swept out as the map grows. The zero value is ready.
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

// extents remember how far histories have been examined, and the result. A history is identified by
// its array: existing elements are never written to, so the same array with the same last message
// has the same beginning.
type extents[T any] struct {
	known weakMap[*model.Message, extent[T]]
}

type extent[T any] struct {
	n     int
	last  weak.Pointer[model.Message]
	found T
}

// find returns the number of messages that have been examined, from the first on, and the result.
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

// save records that all messages have been examined.
func (e *extents[T]) save(messages []*model.Message, found T) {
	if n := len(messages); n > 0 {
		e.known.set(&messages[0], extent[T]{n, weak.Make(messages[n-1]), found})
	}
}
