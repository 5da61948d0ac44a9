// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"context"
	"time"
)

const (
	// listBurst is how often the tools of a connection are listed again at once, and listEvery how
	// often after that: a server that announces changes without end makes its own tools slow and
	// nothing else.
	listBurst = 20
	listEvery = 500 * time.Millisecond
)

// refresh is one listing of the tools. Those who need the tools while one is in progress share the
// next one.
type refresh struct{ done chan struct{} }

// catalogNow returns the tools as last listed. If they may have changed, they are listed again: one
// listing at a time, and at most one more for all who wait. If that fails, the tools are as they
// were.
func (s *Server) catalogNow(ctx context.Context) *catalog {
	s.mu.Lock()
	l, known := s.link, s.known
	if l == nil {
		s.begin()
	}
	if s.closed || l == nil || l.over() || known == nil || s.current == nil && !l.outdated(known) {
		s.mu.Unlock()
		return known
	}
	r := s.current
	if l.outdated(known) {
		r = s.pending
	}
	if r == nil {
		r = &refresh{done: make(chan struct{})}
		s.pending = r
		s.work.Go(func() { s.refresh(l, r) })
	}
	s.mu.Unlock()
	select {
	case <-r.done:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known
}

// refresh lists the tools for all who wait for r.
func (s *Server) refresh(l *link, r *refresh) {
	defer close(r.done)
	defer s.ended(r)
	select { // one at a time
	case s.listing <- struct{}{}:
		defer func() { <-s.listing }()
	case <-l.ctx.Done():
		return
	}
	if !l.pace() {
		return
	}
	s.started(r)
	ctx, cancel := context.WithTimeout(l.ctx, s.config.ConnectTimeout)
	defer cancel()
	cat, err := l.list(ctx)
	if err != nil {
		l.stale.Store(true)
		s.logger.Warn("mcptoolset: tools not listed", "server", s.config.Name, "error", s.plain(err))
		return
	}
	s.mu.Lock()
	before := s.known
	if s.link == l {
		s.adopt(cat)
	}
	changed := s.known != before
	s.mu.Unlock()
	if changed {
		s.changed()
	}
}

// started notes that a listing is made. What changes from now on needs another one.
func (s *Server) started(r *refresh) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending, s.current = nil, r
}

// ended notes that a listing has ended, or that it was not made.
func (s *Server) ended(r *refresh) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending == r {
		s.pending = nil
	}
	if s.current == r {
		s.current = nil
	}
}

// pace waits until the tools may be listed again. It reports false if the connection ends before.
// Listings are made one at a time.
func (l *link) pace() bool {
	now := time.Now()
	if l.listed < listBurst {
		l.listed++
		l.nextList = now.Add(listEvery)
		return true
	}
	if idle := now.Sub(l.nextList); idle > listBurst*listEvery { // it has been quiet
		l.listed = 0
		return l.pace()
	}
	select {
	case <-time.After(l.nextList.Sub(now)):
	case <-l.ctx.Done():
		return false
	}
	l.nextList = time.Now().Add(listEvery)
	return true
}

// outdated reports whether the tools have to be listed again.
func (l *link) outdated(known *catalog) bool {
	return l.stale.Load() || !known.until.IsZero() && time.Now().After(known.until)
}
