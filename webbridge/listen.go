// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

const (
	// beat is the time between two looks at the sessions that have changed.
	beat = 500 * time.Millisecond
	// maxChanged is how many sessions a listener is told of by name. If more have changed, it is
	// told to read its list again.
	maxChanged = 200
	// maxOwners bounds for how many sessions it is remembered whose they are.
	maxOwners = 10_000
)

// listening tells streams of changes in the lists of their users. It listens to the store while
// there are streams.
type listening struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
	stop      context.CancelFunc
	hears     bool                // changes are heard from now on
	changed   map[string]struct{} // since the last look
	owners    map[string]string   // whose sessions are, as far as is remembered
}

// listener is a stream that is told of changes in the list of a user.
type listener struct {
	user string
	wake chan struct{} // has an element if there is something to take

	mu      sync.Mutex
	all     bool
	changed map[string]session.Info
	removed map[string]struct{}
}

// news are changes in a list.
type news struct {
	All     bool           `json:"all,omitempty"` // the list has to be read again
	Changed []session.Info `json:"changed,omitempty"`
	Removed []string       `json:"removed,omitempty"`
}

// listen begins to tell of changes in the list of a user. The list has to be read after that.
func (h *Handler) listen(user string) *listener {
	l := &listener{user: user, wake: make(chan struct{}, 1)}
	h.list.mu.Lock()
	defer h.list.mu.Unlock()
	if len(h.list.listeners) == 0 {
		ctx, cancel := context.WithCancel(context.Background())
		_, watched := h.host.Store().(session.Watcher)
		h.list.listeners, h.list.stop = map[*listener]struct{}{}, cancel
		h.list.hears, h.list.changed = !watched, map[string]struct{}{}
		go h.hear(ctx)
		go h.look(ctx)
	}
	h.list.listeners[l] = struct{}{}
	if h.list.hears {
		l.tell(func() { l.all = true })
	}
	return l
}

func (h *Handler) unlisten(l *listener) {
	if l == nil {
		return
	}
	h.list.mu.Lock()
	defer h.list.mu.Unlock()
	delete(h.list.listeners, l)
	if len(h.list.listeners) == 0 {
		h.list.stop()
	}
}

// hear notes which sessions change, until ctx ends.
func (h *Handler) hear(ctx context.Context) {
	w, ok := h.host.Store().(session.Watcher)
	if !ok {
		return
	}
	for ctx.Err() == nil {
		for id, err := range w.Listen(ctx) {
			if err != nil {
				break
			}
			h.note(ctx, id)
		}
		select {
		case <-ctx.Done():
		case <-time.After(beat):
		}
	}
}

// note notes that a session has changed, or that any may have.
func (h *Handler) note(ctx context.Context, id string) {
	h.list.mu.Lock()
	defer h.list.mu.Unlock()
	switch {
	case ctx.Err() != nil: // others listen by now
	case id == "" || len(h.list.changed) >= maxOwners:
		h.list.hears, h.list.changed = true, map[string]struct{}{}
		for l := range h.list.listeners {
			l.tell(func() { l.all = true })
		}
	default:
		h.list.changed[id] = struct{}{}
	}
}

// look looks now and then at what has changed, until ctx ends.
func (h *Handler) look(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		h.list.mu.Lock()
		changed := h.list.changed
		h.list.changed = map[string]struct{}{}
		h.list.mu.Unlock()
		for id := range changed {
			h.lookAt(ctx, id)
		}
	}
}

// lookAt tells the owner of a session how it is now. Nobody else is told that it is there.
func (h *Handler) lookAt(ctx context.Context, id string) {
	owner, known := h.ownerOf(id)
	its := func(l *listener) bool { return l.user == owner }
	if known && !h.hears(its) {
		return
	}
	info, err := h.host.Store().Get(ctx, id)
	switch {
	case errors.Is(err, session.ErrNotFound):
		if known {
			h.tell(its, func(l *listener) { l.remove(id) })
		}
		return
	case err != nil, session.Internal(&info):
		return
	}
	owner = info.Owner
	h.owns(owner, id)
	if !h.sees(owner, info) {
		return
	}
	h.tell(its, func(l *listener) {
		if host.Archived(&info) {
			l.remove(id)
			return
		}
		l.changed[id] = told(info)
		delete(l.removed, id)
	})
}

// ownerOf returns whose a session is, if that is remembered. It also is when the session is gone.
func (h *Handler) ownerOf(id string) (owner string, known bool) {
	h.list.mu.Lock()
	defer h.list.mu.Unlock()
	owner, known = h.list.owners[id]
	return owner, known
}

// owns remembers whose sessions are.
func (h *Handler) owns(user string, ids ...string) {
	h.list.mu.Lock()
	defer h.list.mu.Unlock()
	if h.list.owners == nil {
		h.list.owners = map[string]string{}
	}
	for _, id := range ids {
		for old := range h.list.owners {
			if len(h.list.owners) < maxOwners {
				break
			}
			delete(h.list.owners, old)
		}
		h.list.owners[id] = user
	}
}

// hears reports whether there is a listener like that.
func (h *Handler) hears(is func(*listener) bool) bool {
	h.list.mu.Lock()
	defer h.list.mu.Unlock()
	for l := range h.list.listeners {
		if is(l) {
			return true
		}
	}
	return false
}

func (h *Handler) tell(is func(*listener) bool, note func(*listener)) {
	h.list.mu.Lock()
	defer h.list.mu.Unlock()
	for l := range h.list.listeners {
		if is(l) {
			l.tell(func() { note(l) })
		}
	}
}

// tell notes something for the stream. What a slow one has not taken stays small.
func (l *listener) tell(note func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed, l.removed = map[string]session.Info{}, map[string]struct{}{}
	}
	note()
	if len(l.changed)+len(l.removed) > maxChanged {
		l.all = true
	}
	if l.all {
		l.changed, l.removed = nil, nil
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *listener) remove(id string) {
	l.removed[id] = struct{}{}
	delete(l.changed, id)
}

// take returns what is new.
func (l *listener) take() (n news) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n.All = l.all
	for _, info := range l.changed {
		n.Changed = append(n.Changed, info)
	}
	for id := range l.removed {
		n.Removed = append(n.Removed, id)
	}
	l.all, l.changed, l.removed = false, nil, nil
	return n
}

// news returns a channel that yields when there is something to take, nil for no listener.
func (l *listener) news() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.wake
}

// list writes changes of the list.
func (s *eventStream) list(n news) {
	data, _ := json.Marshal(n) // it is made of strings and times
	s.Write(func(b []byte) []byte {
		return append(append(append(b, "event: list\ndata: "...), data...), "\n\n"...)
	})
}
