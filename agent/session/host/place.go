// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"slices"

	"github.com/ponte-go/ponte/agent/view"
)

// Place is where a session has its files and commands: on this machine ([Local]), or in an editor.
// [Config].Deps makes dependencies that work there. An open session has one place: see
// [Session.Place].
type Place interface {
	// Key tells places apart: "local", or "editor:" and a name of the connection.
	Key() string
}

type local struct{}

func (local) Key() string { return "local" }

// Local is this machine.
var Local Place = local{}

// Place returns the place of the session, which the first [Host.Open] decides. It changes between
// turns only: see Session.move.
func (s *Session) Place() Place {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.place
}

// move gives the session another place. It releases the dependencies, and the next use makes them
// anew. It fails with [ErrBusy] while a turn is running.
func (s *Session) move(ctx context.Context, to Place) error {
	done, err := s.quiet(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer func() { <-s.changing }()
	if !s.opened {
		return ErrClosed
	}
	return s.moved(ctx, to)
}

// Tied ends with the dependencies of a session: see [Session.Tie]. If it has a method
// News() []string, it is called at the beginning and at the end of each turn, and users are shown
// what it returns as warnings.
type Tied interface {
	// Busy reports whether an idle session keeps its dependencies, for example because a command is
	// running.
	Busy() bool
	// Close is called once, after [Config].Release, or when Deps has failed.
	Close(ctx context.Context) error
}

// Tie ties something to the dependencies that are being made. Call it only in [Config].Deps.
func (s *Session) Tie(t Tied) { s.tied = append(s.tied, t) }

// news shows what is new of what is tied to the session.
func (t *Turn) news() {
	for _, tied := range t.session.tied {
		if of, ok := tied.(interface{ News() []string }); ok {
			for _, line := range of.News() {
				t.Notice("warning", line)
			}
		}
	}
}

// Deps returns what [Config].Deps has made, and nil while the session has no dependencies because
// it is idle.
func (s *Session) Deps() any {
	if d := s.deps.Load(); d != nil {
		return *d
	}
	return nil
}

// untie closes what is tied to dependencies that are gone. The caller holds changing.
func (s *Session) untie(ctx context.Context) error {
	all := s.tied
	s.tied = nil
	var errs []error
	for _, t := range slices.Backward(all) {
		errs = append(errs, t.Close(ctx))
	}
	s.deps.Store(nil)
	return errors.Join(errs...)
}

// join opens a session that is open. Of one that is being closed, or could not be opened, it waits
// for the end and reports false.
func (s *Session) join(ctx context.Context) (bool, error) {
	if err := s.enter(ctx); err != nil { // until whoever opens it has it open
		return false, err
	}
	s.mu.Lock()
	open := s.opened && s.closed == nil
	if open {
		s.holders++
	}
	s.mu.Unlock()
	<-s.changing
	if open {
		return true, nil
	}
	select {
	case <-s.gone:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// Shared reports whether the session is open more than once: see [Host.Open].
func (s *Session) Shared() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holders > 1
}

// Leave undoes one [Host.Open]. The last Leave closes the session: see [Session.Close]. If others
// have the session open, their turns continue. A session at the place from, which may be nil, then
// moves to this machine: at once, or before the next turn if one is running. Leave does not wait
// for that.
func (s *Session) Leave(ctx context.Context, from Place) error {
	s.mu.Lock()
	s.holders--
	s.leaves(from)
	last, here := s.holders <= 0, from != nil && s.place == from
	s.left = s.left || here
	if last && s.closed == nil {
		s.closed = ErrClosed // whoever opens it from now on opens it anew
	}
	s.mu.Unlock()
	if last {
		return s.Close(ctx)
	}
	if !here {
		return nil
	}
	if len(s.running()) == 0 {
		if err := s.move(ctx, Local); !errors.Is(err, ErrBusy) {
			return err
		}
	}
	return nil // the next turn begins with the move
}

// moveOn moves a session whose place is gone, between turns. The caller holds changing.
func (s *Session) moveOn(ctx context.Context) error {
	s.mu.Lock()
	left := s.left
	s.mu.Unlock()
	if !left || s.Turn() != nil {
		return nil
	}
	return s.moved(ctx, Local)
}

// moved gives the session another place. The caller holds changing.
func (s *Session) moved(ctx context.Context, to Place) error {
	err := s.release(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.place, s.left = to, false
	return err
}

// listener is told of settings, titles and prompts that wait.
type listener struct {
	f func(context.Context, *view.Entity)
}

// Announce calls f when the settings or the title of the session have changed, until stop is
// called. When other prompts wait than before, it calls f with an entity of the kind [view.Waiting]
// that has nothing else: [Session.Waiting] has the prompts. f must not call methods of the session
// that wait for turns. Calls may be concurrent.
func (s *Session) Announce(f func(ctx context.Context, e *view.Entity)) (stop func()) {
	l := &listener{f}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, l)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.listeners = slices.DeleteFunc(s.listeners, func(other *listener) bool { return other == l })
	}
}
