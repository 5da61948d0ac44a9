// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
)

// process lets the host replace the history before a request.
func (r *run) process(ctx context.Context) error {
	if !r.cfg.Processed || len(r.info.Messages) == 0 {
		return nil
	}
	// The host sees a slice that it cannot append to in place.
	given := r.info
	given.Messages = slices.Clip(given.Messages)
	messages, err := r.host.History(ctx, &given)
	switch {
	case err != nil:
		return &Error{Stage: StagePrepare, Err: err}
	case len(messages) == 0:
		return &Error{Stage: StagePrepare, Err: errors.New("a history processor left no message")}
	case messages[len(messages)-1] != nil && messages[len(messages)-1].Kind != model.KindRequest:
		return &Error{Stage: StagePrepare, Err: errors.New("a history processor left a history that does not end in a request")}
	}
	if len(messages) == len(given.Messages) && &messages[0] == &given.Messages[0] {
		return nil // and the history goes on growing in place
	}
	if err := valid(messages); err != nil {
		return &Error{Stage: StagePrepare, Err: fmt.Errorf("a history processor left %w", err)}
	}
	messages = Repair(messages, true)
	before := r.last()
	r.info.Messages = slices.Clone(messages)
	if last := r.last(); last != before && before == r.own {
		// It stands for our own request, which has yet to be completed.
		own := *last
		r.own = &own
		r.info.Messages[len(messages)-1] = r.own
	}
	return nil
}

// valid reports the first message that is none.
func valid(messages []*model.Message) error {
	for i, m := range messages {
		switch {
		case m == nil:
			return fmt.Errorf("a nil message at index %d", i)
		case m.Kind != model.KindRequest && m.Kind != model.KindResponse:
			return fmt.Errorf("a message of kind %q at index %d, want %q or %q", m.Kind, i, model.KindRequest, model.KindResponse)
		}
	}
	return nil
}

// inbox adds what was sent into the run as requests of their own.
func (r *run) inbox(ctx context.Context, atEnd bool) error {
	if !r.cfg.Steered {
		return nil
	}
	done := r.do(ctx, r.lone(engine.Task{Op: engine.OpInbox, Step: r.info.Step, AtEnd: atEnd}))
	if done.Err != nil {
		return &Error{Stage: StagePrepare, Err: done.Err}
	}
	for _, parts := range done.Inbox {
		m := r.append(&model.Message{Kind: model.KindRequest, Parts: parts})
		if err := r.emit(Event{Kind: MessageIn, Message: m}); err != nil {
			return err
		}
	}
	return nil
}

// end ends the run with the output that it has, unless something was sent into it that it has to deal with first.
func (r *run) end(ctx context.Context) (bool, error) {
	before := len(r.info.Messages)
	if err := r.inbox(ctx, true); err != nil {
		return false, err
	}
	if len(r.info.Messages) > before {
		r.output, r.repaired = nil, nil
		return false, nil
	}
	return true, r.emit(Event{Kind: OutputDone, Value: r.output, Repaired: r.repaired})
}
