// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"iter"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
)

// Stream is a run whose events can be observed. The run begins when [Stream.Events], [Stream.Text], [Stream.Partials] or
// [Stream.Result] is first used, and proceeds only as fast as its events are consumed. A Stream belongs to one goroutine.
type Stream[O any] struct {
	begin   func(partials bool, emit func(*Event) bool) (*Result[O], *thrown, error)
	started bool
	result  *Result[O]
	err     error
}

// Stream prepares a run like [Agent.Run] whose events can be observed. The model streams its responses.
func (a *Agent[D, O]) Stream(ctx context.Context, deps D, prompt string, opts ...RunOption) *Stream[O] {
	return &Stream[O]{begin: func(partials bool, emit func(*Event) bool) (*Result[O], *thrown, error) {
		if partials {
			opts = append(slices.Clip(opts), WithPartials())
		}
		return a.run(ctx, deps, prompt, opts, emit)
	}}
}

// Events runs the agent and yields its events, up to and including the one of kind [EventRunEnd]. Leaving the range early stops
// the run: when the range statement ends, everything that the run started has ended, and Result returns an error that wraps
// [ErrStopped]. If the body of the range panics, the run is stopped in the same way and then the panic continues. Only the first
// range yields events.
func (s *Stream[O]) Events() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		growth := Event{Kind: EventPartDelta} // deltas come by the thousand, and set few fields
		s.run(false, func(e *Event) bool {
			if e.Kind != EventPartDelta {
				return yield(*e)
			}
			growth.Step, growth.Part, growth.PartKind, growth.Text = e.Step, e.Part, e.PartKind, e.Text
			return yield(growth)
		})
	}
}

// Text runs the agent and yields the text of its responses while the model writes it, and the text of an agent that the run is
// handed over to. It is like [Stream.Events], but yields text only.
func (s *Stream[O]) Text() iter.Seq[string] {
	return func(yield func(string) bool) {
		s.run(false, func(e *Event) bool {
			if e.Kind == EventCustom {
				inner, ok := handedOver(e)
				return !ok || inner.Kind != EventPartDelta || inner.PartKind != model.PartText || yield(inner.Text)
			}
			return e.Kind != EventPartDelta || e.PartKind != model.PartText || yield(e.Text)
		})
	}
}

// Result returns the result of the run. If the run has not begun, Result runs it. Inside a range over the run's events it
// returns [ErrRunning].
func (s *Stream[O]) Result() (*Result[O], error) {
	s.run(false, func(*Event) bool { return true })
	return s.result, s.err
}

func (s *Stream[O]) run(partials bool, emit func(*Event) bool) {
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
