// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"container/list"
	"sync"
)

// lru keeps values up to a number of bytes and entries, and drops the least recently used.
type lru[K comparable, V any] struct {
	maxEntries int // 0 for any number
	maxBytes   int64

	mu    sync.Mutex
	byKey map[K]*list.Element
	used  list.List // of kept, most recently used first
	bytes int64
}

type kept[K comparable, V any] struct {
	key   K
	value V
	bytes int64
}

func (l *lru[K, V]) get(key K) (V, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.byKey[key]
	if !ok {
		var none V
		return none, false
	}
	l.used.MoveToFront(e)
	return e.Value.(kept[K, V]).value, true
}

// put stores a value of the given size under key and replaces any other. A value larger than the
// limit is not stored.
func (l *lru[K, V]) put(key K, value V, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.byKey[key]; ok {
		l.remove(e)
	}
	if bytes > l.maxBytes {
		return
	}
	if l.byKey == nil {
		l.byKey = map[K]*list.Element{}
	}
	l.byKey[key] = l.used.PushFront(kept[K, V]{key, value, bytes})
	for l.bytes += bytes; l.bytes > l.maxBytes || l.maxEntries > 0 && l.used.Len() > l.maxEntries; {
		l.remove(l.used.Back())
	}
}

func (l *lru[K, V]) remove(e *list.Element) {
	k := l.used.Remove(e).(kept[K, V])
	delete(l.byKey, k.key)
	l.bytes -= k.bytes
}

func (l *lru[K, V]) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used.Len()
}
