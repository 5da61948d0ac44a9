// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

// Owner returns the user who created a session, as returned by [Options].User.
func Owner(s *host.Session) string { return s.Info().Owner }

// sees reports whether a user has a session, in a directory that is served.
func (h *Handler) sees(user string, info session.Info) bool {
	return info.Owner == user && info.Tenant == "" && h.isIn(info.Dir)
}

// live is a session that is in use here, or was a moment ago.
type live struct {
	id string
	// changing has an element while the session is opened or closed. It guards session.
	changing chan struct{}
	session  *host.Session
	fleeting *host.Session // the session, if it is ephemeral

	// What follows is guarded by the handler's mu.
	uses, streams, turns int
	going                []*going // the turns that began here or wait, in order
	linger, leave        *time.Timer
	flipped              chan struct{} // closed when turns becomes 0 or 1; nil if nobody waits
	ended                ended         // how the last turn ended
	prompt               string        // the entity of the last prompt that has begun here
}

// openSession is a session that a request uses: see Handler.use.
type openSession struct {
	*host.Session
	handler *Handler
	live    *live
	user    string
	paid    func() // ends what was charged for the turn to come, nil if nothing was
}

// use opens a session of the user of a request. Sessions of other users are not found. done must be called.
func (h *Handler) use(ctx context.Context, id string) (s *openSession, done func(), err error) {
	user := User(ctx)
	l := h.enter(id)
	opened := true
	defer func() {
		switch {
		case err != nil && !opened:
			h.drop(l)
		case err != nil:
			h.leave(l)
		}
	}()
	select {
	case l.changing <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	defer func() {
		opened = l.session != nil
		<-l.changing
	}()
	if l.session == nil || h.host.Session(id) != l.session {
		l.session = nil
		if h.isClosing() {
			return nil, nil, errClosing
		}
		info, err := h.host.Store().Get(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		if !h.sees(user, info) {
			return nil, nil, unknown(id)
		}
		if l.session, err = h.host.Open(ctx, id, nil); err != nil {
			return nil, nil, err
		}
	} else if !h.sees(user, l.session.Info()) {
		return nil, nil, unknown(id)
	}
	return &openSession{Session: l.session, handler: h, live: l, user: user}, func() { h.leave(l) }, nil
}

func (h *Handler) enter(id string) *live {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.live[id]
	if l == nil {
		l = &live{id: id, changing: make(chan struct{}, 1)}
		h.live[id] = l
	}
	l.uses++
	if l.linger != nil {
		l.linger.Stop()
		l.linger = nil
	}
	return l
}

// drop ends a use of a session that could not be opened. Nothing is kept of it, because clients can ask for any id.
func (h *Handler) drop(l *live) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.uses--; l.uses == 0 && h.live[l.id] == l {
		delete(h.live, l.id)
	}
}

// leave ends a use. An unused session is closed after a while.
func (h *Handler) leave(l *live) {
	h.mu.Lock()
	if l.uses--; l.uses == 0 && l.fleeting != nil {
		delete(h.live, l.id)
		h.mu.Unlock()
		h.close(l.fleeting)
		return
	}
	defer h.mu.Unlock()
	if l.uses > 0 || !h.own && !h.host.Keeps() { // closing it would remove it
		return
	}
	select {
	case <-h.ending:
		return
	default:
	}
	l.linger = time.AfterFunc(h.o.Linger, func() { h.retire(l) })
}

// retire closes a session, unless it is used again.
func (h *Handler) retire(l *live) {
	l.changing <- struct{}{}
	defer func() { <-l.changing }()
	h.mu.Lock()
	used := l.uses > 0
	h.mu.Unlock()
	if used {
		return
	}
	if l.session != nil && h.host.Session(l.id) == l.session {
		h.closed(l.session, l.session.Leave(context.Background(), nil))
	}
	l.session = nil
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.uses == 0 && h.live[l.id] == l {
		delete(h.live, l.id)
	}
}

// leaveAll leaves the sessions of a host that stays open.
func (h *Handler) leaveAll(ctx context.Context) {
	if !h.host.Keeps() { // closing them would remove them
		return
	}
	h.mu.Lock()
	all := slices.Collect(maps.Values(h.live))
	h.mu.Unlock()
	for _, l := range all {
		l.changing <- struct{}{}
		if l.session != nil && h.host.Session(l.id) == l.session {
			h.closed(l.session, l.session.Leave(ctx, nil))
		}
		l.session = nil
		<-l.changing
	}
}

func (h *Handler) close(s *host.Session) { h.closed(s, s.Close(context.Background())) }

func (h *Handler) closed(s *host.Session, err error) {
	if err != nil {
		h.o.Logger.Error("webbridge: a session was not closed", "session", s.ID(), "error", fmt.Sprintf("%T", err))
	}
}

// turning notes that a turn begins (1) or has ended (-1).
func (h *Handler) turning(l *live, by int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := l.turns > 0
	l.turns += by
	h.counts.running.Add(int64(by))
	if was != (l.turns > 0) && l.flipped != nil {
		close(l.flipped)
		l.flipped = nil
	}
}

// isRunning reports whether a turn is running or waits to, and what to wait for until that changes.
func (h *Handler) isRunning(l *live) (bool, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.flipped == nil {
		l.flipped = make(chan struct{})
	}
	return l.turns > 0, l.flipped
}

// streaming registers a stream of a user, or a session in one, until done is called.
func (h *Handler) streaming(user string) (done func(), err error) {
	a := h.account(user)
	h.mu.Lock()
	defer h.mu.Unlock()
	bounds := &h.o.Limits
	if bounds.Streams > 0 && h.streams >= bounds.Streams {
		return nil, refuse(KindUnavailable, "too many streams are open on this server: try again later")
	}
	if bounds.UserStreams > 0 && a.streams >= bounds.UserStreams {
		return nil, refuse(KindLimit, "you have %d open streams, which is the limit: close some", a.streams)
	}
	h.streams++
	a.streams++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.streams--
		a.streams--
	}, nil
}

// following registers a follower of the events of a session, until done is called.
func (h *Handler) following(s *openSession) (done func(), err error) {
	ended, err := h.streaming(s.user)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	l := s.live
	l.streams++
	h.alone(l)
	return func() {
		ended()
		h.mu.Lock()
		defer h.mu.Unlock()
		l.streams--
		h.alone(l)
	}, nil
}

// alone has the turn of a session that nobody follows cancelled after a while, and the next one
// after another one. It is called when either may have changed. The caller holds mu.
func (h *Handler) alone(l *live) {
	if l.leave != nil {
		l.leave.Stop()
		l.leave = nil
	}
	if h.o.Leave == 0 || l.streams > 0 || len(l.going) == 0 || l.fleeting != nil {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(h.o.Leave, func() {
		var gone *going
		h.mu.Lock()
		if l.leave == timer {
			if i := slices.IndexFunc(l.going, func(g *going) bool { return g.begun }); i >= 0 {
				gone = l.going[i]
			}
			h.alone(l)
		}
		h.mu.Unlock()
		if gone != nil {
			gone.Cancel()
		}
	})
	l.leave = timer
}

// cancelAll cancels all turns that began here or wait. Prompts that wait stay in the store.
func (h *Handler) cancelAll() {
	var begun, wait []*going
	h.mu.Lock()
	for _, l := range h.live {
		for _, g := range slices.Backward(l.going) {
			if g.begun {
				begun = append(begun, g)
			} else {
				wait = append(wait, g)
			}
		}
	}
	h.mu.Unlock()
	for _, g := range wait {
		g.turn.Cancel(errClosing)
		g.over() // turns of other surfaces may be before it
	}
	for _, g := range begun { // last: the end of one must not begin the next
		g.turn.Cancel(errClosing)
	}
}
