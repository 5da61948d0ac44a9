// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"slices"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
)

// nextOffer prepares a step. With process, history processors run first.
func (r *run) nextOffer(ctx context.Context, process bool) error {
	return r.offered(r.do(ctx, r.prepareTask(process)))
}

//go:noinline
func (r *run) prepareTask(process bool) *engine.Task {
	// The worker sees a slice that it cannot append to in place.
	r.info.Messages, r.info.Usage = slices.Clip(r.messages), r.cfg.Meter.Usage()
	t := r.lone(engine.OpPrepare)
	t.Process = process
	return t
}

// offered takes an offer.
//
//go:noinline
func (r *run) offered(done *engine.Done) error {
	if done.Err != nil {
		return &engine.RunError{Stage: engine.StagePrepare, Err: done.Err}
	}
	if r.offer = done.Offer; r.offer == nil {
		return &engine.RunError{Stage: engine.StagePrepare, Err: errors.New("the engine returned neither an offer nor an error")}
	}
	if r.offer.History == nil {
		return nil
	}
	if err := valid(r.offer.History); err != nil {
		return &engine.RunError{Stage: engine.StagePrepare, Err: errs.Errorf("the processed history has %w", err)}
	}
	before := r.last()
	r.messages = r.offer.History
	if last := r.last(); last != before && before == r.own {
		r.own = last // it stands for our own request, which has yet to be completed
	}
	r.info.Messages = slices.Clip(r.messages)
	return nil
}

// Processed returns what takes the place of a history that processors have made another one of; nil if they left it as it is. The
// slice is fresh, and so is the last message unless it is the one that was there.
func Processed(before, after []*model.Message) ([]*model.Message, error) {
	switch n := len(after); {
	case n == 0:
		return nil, errors.New("a history processor left no message")
	case after[n-1] != nil && after[n-1].Kind != model.KindRequest:
		return nil, errors.New("a history processor left a history that does not end in a request")
	case n == len(before) && &after[0] == &before[0]:
		return nil, nil // and the history goes on growing in place
	}
	if err := valid(after); err != nil {
		return nil, errs.Errorf("a history processor left %w", err)
	}
	made := slices.Clone(model.CarryKept(before, Repair(after, true)))
	if len(asking(made)) < len(made) && len(asking(before)) == len(before) {
		return nil, errors.New("a history processor left nothing to ask: it dropped calls and kept their results")
	}
	if last := &made[len(made)-1]; *last != before[len(before)-1] {
		own := **last
		*last = &own
	}
	return made, nil
}

// asking returns a history without the requests that it ends with if none of them has a part, as when all they had were results of
// calls that are not there.
//
//go:noinline
func asking(messages []*model.Message) []*model.Message {
	n := len(messages)
	for n > 0 && messages[n-1].Kind == model.KindRequest {
		if n--; len(messages[n].Parts) > 0 {
			return messages
		}
	}
	return messages[:n]
}

// valid reports the first invalid message.
func valid(messages []*model.Message) error {
	for i, m := range messages {
		switch {
		case m == nil:
			return errs.Errorf("a nil message at index %d", i)
		case m.Kind != model.KindRequest && m.Kind != model.KindResponse:
			return errs.Errorf("a message of kind %q at index %d, want %q or %q", m.Kind, i, model.KindRequest, model.KindResponse)
		}
	}
	return nil
}

// inbox appends the messages of the inbox, each as a request.
func (r *run) inbox(ctx context.Context, atEnd bool) error {
	if !r.cfg.Steered {
		return nil
	}
	t := r.lone(engine.OpInbox)
	t.AtEnd = atEnd
	done := r.do(ctx, t)
	if done.Err != nil {
		return &engine.RunError{Stage: engine.StagePrepare, Err: done.Err}
	}
	for _, parts := range done.Inbox {
		m := r.append(&model.Message{Kind: model.KindRequest, Parts: parts})
		if err := r.emit(&engine.Event{Kind: engine.EventMessage, Message: m}); err != nil {
			return err
		}
	}
	return nil
}

// end ends the run with its output, unless the inbox has messages to process first.
func (r *run) end(ctx context.Context) (bool, error) {
	before := len(r.messages)
	if err := r.inbox(ctx, true); err != nil {
		return false, err
	}
	if len(r.messages) > before {
		r.output, r.repaired, r.cut = nil, nil, ""
		return false, nil
	}
	return true, r.emit(&engine.Event{Kind: engine.EventOutput, Value: r.output, Repaired: r.repaired})
}
