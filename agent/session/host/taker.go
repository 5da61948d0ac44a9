// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"slices"
)

// Taker is a [Place] whose surface runs the prompts that wait and that nobody here has sent: those
// of a process that was killed, for example. So it shows their turns and asks their questions. It
// does so from [Host.Open] with it on, also if the session is open at another place, until
// [Session.Leave] with it.
type Taker interface {
	Place
	// TakeWaiting is called for one prompt after the other and must not wait. It calls admit and,
	// on another goroutine, [Turn.Run] with the Parts, Shown and Plain of the prompt. If it
	// does not, it is called again a second later. If it returns false, the next one is asked, and
	// at last the session runs the prompt without a surface. Of several places the one that came
	// last is asked first.
	TakeWaiting(w *Waiting, admit func(context.Context) (*Turn, error)) bool
}

// takes notes that a place may run prompts that wait.
func (s *Session) takes(p Place) {
	if t, ok := p.(Taker); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.takers = append(s.takers, t)
	}
}

// taken has a place run a prompt that waits. It reports false if none does. The caller must not
// hold mu.
func (s *Session) taken(w *Waiting, admit func(context.Context) (*Turn, error)) bool {
	s.mu.Lock()
	all := slices.Clone(s.takers)
	s.mu.Unlock()
	for _, t := range slices.Backward(all) {
		if t.TakeWaiting(w, admit) {
			return true
		}
	}
	return false
}

// leaves notes that a place runs no more prompts. The caller holds mu.
func (s *Session) leaves(p Place) {
	s.takers = slices.DeleteFunc(s.takers, func(t Taker) bool { return Place(t) == p })
}
