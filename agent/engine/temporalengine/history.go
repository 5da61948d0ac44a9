// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/ponte-go/ponte/agent/model"
)

// reference describes a history: the history stored under the key Before, and the messages that
// follow. Stored histories have this form too, which makes a history a chain and stores each
// addition once.
type reference struct {
	Before   string           `json:"before,omitempty"`
	Messages []*model.Message `json:"messages,omitempty"`
}

// tip is a history, or the beginning of one, and the key that it is kept under.
type tip struct {
	last *model.Message // its last message
	n    int            // how many messages it has
	key  string
}

// chain is the workflow's side: it knows what workers have kept.
type chain struct{ kept, latest tip }

// next returns the reference for a history, and what is kept once a worker has got it. Histories grow at their end, unless something has changed
// them.
func (c *chain) next(messages []*model.Message) (*reference, tip, error) {
	if k := c.kept; k.n > len(messages) || k.n > 0 && messages[k.n-1] != k.last { // another history
		*c = chain{}
	}
	r := &reference{Before: c.kept.key, Messages: messages[c.kept.n:]}
	if len(r.Messages) == 0 {
		return r, c.kept, nil
	}
	last := messages[len(messages)-1]
	if c.latest.n == len(messages) && c.latest.last == last { // several calls of a step
		return r, c.latest, nil
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, tip{}, err
	}
	c.latest = tip{last: last, n: len(messages), key: keyOf(data)}
	return r, c.latest, nil
}

// keep notes that a worker has kept a history.
func (c *chain) keep(t tip) {
	if t.n > c.kept.n {
		c.kept = t
	}
}

// histories is the worker's side: it keeps histories in blobs and the latest ones in memory.
type histories struct {
	blobs Blobs

	mu    sync.Mutex
	known map[string][]*model.Message
	order []string // of the keys, the oldest first
}

// maxHistories is how many histories a worker remembers.
const maxHistories = 256

// messages returns the history of a reference, and keeps it.
func (h *histories) messages(ctx context.Context, r *reference) ([]*model.Message, error) {
	before, err := h.load(ctx, r.Before)
	if err != nil || len(r.Messages) == 0 {
		return before, err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	key := keyOf(data)
	if known, ok := h.recall(key); ok {
		return known, nil
	}
	if err := h.blobs.Put(ctx, key, data); err != nil {
		return nil, fmt.Errorf("temporalengine: put blob: %w", err)
	}
	all := append(before[:len(before):len(before)], r.Messages...)
	h.remember(key, all)
	return all, nil
}

// load returns the history that is kept under a key.
func (h *histories) load(ctx context.Context, key string) ([]*model.Message, error) {
	var parts [][]*model.Message
	at := key
	for at != "" {
		if known, ok := h.recall(at); ok {
			parts = append(parts, known)
			break
		}
		data, err := get(ctx, h.blobs, at)
		if err != nil {
			return nil, fmt.Errorf("temporalengine: get blob: %w", err)
		}
		var r reference
		if err := json.Unmarshal(data, &r); err != nil {
			return nil, fmt.Errorf("temporalengine: blob %s: %w", at, err)
		}
		parts = append(parts, r.Messages)
		at = r.Before
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	slices.Reverse(parts)
	all := slices.Concat(parts...)
	if key != "" {
		h.remember(key, all)
	}
	return all, nil
}

func (h *histories) recall(key string) ([]*model.Message, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m, ok := h.known[key]
	return m, ok
}

func (h *histories) remember(key string, messages []*model.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.known[key]; ok {
		return
	}
	if h.known == nil {
		h.known = map[string][]*model.Message{}
	}
	h.known[key] = messages
	if h.order = append(h.order, key); len(h.order) > maxHistories {
		delete(h.known, h.order[0])
		h.order = slices.Delete(h.order, 0, 1)
	}
}
