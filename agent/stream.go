// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"iter"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
)

// Stream is a run that is observed while it goes on. It begins when [Stream.Events], [Stream.Text], [Stream.Partials] or
// [Stream.Result] is first used, and goes on only as fast as the observer takes its events. It belongs to one goroutine.
type Stream[O any] struct {
	begin   func(partials bool, emit func(*loop.Event) bool) (*Result[O], *thrown, error)
	started bool
	result  *Result[O]
	err     error
}

// Stream is [Agent.Run], observed: the same loop, requests and results, and the model streams its responses.
func (a *Agent[D, O]) Stream(ctx context.Context, deps D, prompt string, opts ...RunOption) *Stream[O] {
	return &Stream[O]{begin: func(partials bool, emit func(*loop.Event) bool) (*Result[O], *thrown, error) {
		if partials {
			opts = append(slices.Clip(opts), WithPartials())
		}
		return a.run(ctx, deps, prompt, opts, emit)
	}}
}

// Events runs the agent and yields what happens, up to and including the event of kind [EventRunEnd]. Leaving the range
// early stops the run: everything that it started has ended when the range statement has, and Result gives an error that
// wraps [ErrStopped]. The same holds if the body of the range panics; the panic goes on when the run has ended. Events can be
// ranged over once; then it yields nothing.
func (s *Stream[O]) Events() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		growth := Event{Kind: EventPartDelta} // deltas come by the thousand, and set few fields
		s.run(false, func(e *loop.Event) bool {
			if e.Kind != loop.PartDelta {
				return yield(eventOf(e))
			}
			growth.Step, growth.Part, growth.PartKind, growth.Text = e.Step, e.Part, e.PartKind, e.Text
			return yield(growth)
		})
	}
}

// Text runs the agent and yields the text of its responses as the model writes it. It is [Stream.Events] without
// everything else.
func (s *Stream[O]) Text() iter.Seq[string] {
	return func(yield func(string) bool) {
		s.run(false, func(e *loop.Event) bool {
			return e.Kind != loop.PartDelta || e.PartKind != model.PartText || yield(e.Text)
		})
	}
}

// Result returns how the run ended. If the run has not begun, it runs. Before the run has ended, inside a range over its
// events, it returns [ErrRunning].
func (s *Stream[O]) Result() (*Result[O], error) {
	s.run(false, func(*loop.Event) bool { return true })
	return s.result, s.err
}

func (s *Stream[O]) run(partials bool, emit func(*loop.Event) bool) {
	if s.started {
		return
	}
	s.started, s.err = true, ErrRunning
	defer func() {
		if s.err == ErrRunning { // the goroutine is being ended
			s.err = ErrStopped
		}
	}()
	var thrown *thrown
	s.result, thrown, s.err = s.begin(partials, emit)
	thrown.again()
}
