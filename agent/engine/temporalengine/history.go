// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"container/list"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/ponte-go/ponte/agent/model"
)

// reference describes a history: the history stored under the key Before, and the messages that
// follow. Stored histories have this form too, which makes a history a chain and stores each
// addition once. After maxLinks additions a history is stored as a whole, so that a worker that
// does not know it reads few blobs, however many steps the run has made.
type reference struct {
	Before   string           `json:"before,omitempty"`
	Messages []*model.Message `json:"messages,omitempty"`
}

// tip is a history, or the beginning of one, and the key that it is kept under.
type tip struct {
	last *model.Message // its last message
	n    int            // how many messages it has
	key  string
	// links is how many blobs come before its own.
	links int
}

// maxLinks bounds how many blobs a history is read from.
const maxLinks = 15

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
	links := c.kept.links + 1
	if c.kept.key == "" || links > maxLinks {
		r.Before, r.Messages, links = "", messages, 0
	}
	last := messages[len(messages)-1]
	if c.latest.n == len(messages) && c.latest.last == last { // several calls of a step
		return r, c.latest, nil
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, tip{}, err
	}
	c.latest = tip{last: last, n: len(messages), key: keyOf(data), links: links}
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
	known map[string]*list.Element // of *remembered
	used  list.List                // the latest at the front
	bytes int
}

// remembered is a history that a worker has in memory. bytes is what it takes as JSON.
type remembered struct {
	key      string
	messages []*model.Message
	bytes    int
}

// maxRemembered bounds the histories that a worker has in memory, in bytes of JSON. The last one
// stays, whatever it takes: the next step of its run would read all of it again. It is a
// variable for tests.
var maxRemembered = 64 << 20

// messages returns the history of a reference, and keeps it.
func (h *histories) messages(ctx context.Context, r *reference) ([]*model.Message, error) {
	if len(r.Messages) == 0 {
		before, _, err := h.read(ctx, r.Before)
		return before, err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	key := keyOf(data)
	if known := h.recall(key); known != nil {
		return known.messages, nil
	}
	before, bytes, err := h.read(ctx, r.Before)
	if err != nil {
		return nil, err
	}
	if err := h.blobs.Put(ctx, key, data); err != nil {
		return nil, fmt.Errorf("temporalengine: put blob: %w", err)
	}
	all := append(before[:len(before):len(before)], r.Messages...)
	h.remember(&remembered{key, all, bytes + len(data)}, r.Before)
	return all, nil
}

// load returns the history that is kept under a key.
func (h *histories) load(ctx context.Context, key string) ([]*model.Message, error) {
	messages, _, err := h.read(ctx, key)
	return messages, err
}

// read returns the history that is kept under a key, and how many bytes it takes.
func (h *histories) read(ctx context.Context, key string) ([]*model.Message, int, error) {
	var parts [][]*model.Message
	bytes := 0
	for at := key; at != ""; {
		if known := h.recall(at); known != nil {
			parts, bytes = append(parts, known.messages), bytes+known.bytes
			break
		}
		data, err := get(ctx, h.blobs, at)
		if err != nil {
			return nil, 0, fmt.Errorf("temporalengine: get blob: %w", err)
		}
		var r reference
		if err := json.Unmarshal(data, &r); err != nil {
			return nil, 0, fmt.Errorf("temporalengine: blob %s: %w", at, err)
		}
		parts, bytes = append(parts, r.Messages), bytes+len(data)
		at = r.Before
	}
	if len(parts) == 0 {
		return nil, 0, nil
	}
	slices.Reverse(parts)
	all := slices.Concat(parts...)
	h.remember(&remembered{key, all, bytes}, "")
	return all, bytes, nil
}

func (h *histories) recall(key string) *remembered {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.known[key]
	if e == nil {
		return nil
	}
	h.used.MoveToFront(e)
	return e.Value.(*remembered)
}

// remember keeps a history in memory. What comes next of its run refers to it, and no longer to
// the one before, which it includes.
func (h *histories) remember(r *remembered, before string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget(before)
	if h.known[r.key] != nil {
		return
	}
	if h.known == nil {
		h.known = map[string]*list.Element{}
	}
	h.known[r.key] = h.used.PushFront(r)
	for h.bytes += r.bytes; h.bytes > maxRemembered && h.used.Len() > 1; {
		h.forget(h.used.Back().Value.(*remembered).key)
	}
}

func (h *histories) forget(key string) {
	if e := h.known[key]; e != nil {
		h.bytes -= e.Value.(*remembered).bytes
		h.used.Remove(e)
		delete(h.known, key)
	}
}
