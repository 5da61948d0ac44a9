// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"slices"
)

// taker runs prompts that wait.
type taker struct {
	take func(w *Waiting, admit func(context.Context) (*Turn, error))
}

// TakeWaiting has a surface run the prompts that wait and that nobody here has sent, until stop is
// called: those of a process that was killed, for example. So it shows their turns and asks their
// questions. Otherwise the session runs them without a surface.
//
// take is called for one prompt after the other and must not wait. It calls admit and, on a
// goroutine of its own, [Turn.Run] with the Parts, Shown and Plain of the prompt. If it does not,
// it is called again a second later. Of several surfaces the one that came last is called.
func (s *Session) TakeWaiting(
	take func(w *Waiting, admit func(context.Context) (*Turn, error)),
) (stop func()) {
	t := &taker{take}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takers = append(s.takers, t)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.takers = slices.DeleteFunc(s.takers, func(other *taker) bool { return other == t })
	}
}

// taking returns what takes the prompts that wait, nil if nothing does.
func (s *Session) taking() func(*Waiting, func(context.Context) (*Turn, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.takers); n > 0 {
		return s.takers[n-1].take
	}
	return nil
}
