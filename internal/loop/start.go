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

// begin asks the engine how the run begins.
func (r *run) begin(ctx context.Context) error {
	r.info.Agent, r.info.Model = r.cfg.Agent, r.cfg.Model
	r.info.Meter = r.cfg.Meter
	r.info.RunID, r.info.ConversationID = r.cfg.RunID, r.cfg.ConversationID
	r.messages = slices.Clip(r.cfg.History)
	began, err := r.eng.Begin(ctx)
	if err != nil {
		return &engine.RunError{Stage: engine.StagePrepare, Err: errs.Errorf("begin the run: %w", err)}
	}
	r.fuses = began.Fuse && !r.cfg.Observed
	r.earlier, r.info.Step, r.clock = began.Steps, began.Steps, began.At
	return r.start(&began)
}

// start combines history and prompt.
func (r *run) start(began *engine.Beginning) error {
	if r.info.RunID == "" {
		r.info.RunID = began.RunID
	}
	history := r.cfg.History
	if err := valid(history); err != nil {
		return &engine.RunError{Stage: engine.StagePrepare, Err: errs.Errorf("the history has %w", err)}
	}
	for i := len(history) - 1; i >= 0 && r.info.ConversationID == ""; i-- {
		r.info.ConversationID = history[i].ConversationID
	}
	if r.info.ConversationID == "" {
		r.info.ConversationID = began.ConversationID
	}
	id := r.info.RunID
	taken := func(m *model.Message) bool { return m.RunID == id }
	if !began.Continued && slices.ContainsFunc(history, taken) {
		r.info.RunID = "" // the messages of that id are not this run's
		return &engine.RunError{Stage: engine.StagePrepare, Err: errs.Errorf("%w: %q", engine.ErrRunID, id)}
	}
	last := r.last()
	pending := last != nil && last.Kind == model.KindRequest && last.Pending
	if r.cfg.Answers != nil && (last == nil || !pending && !last.HasToolCalls()) {
		return &engine.RunError{Stage: engine.StagePrepare, Err: errs.Errorf("%w: the history does not end with pending calls", engine.ErrResults)}
	}
	if r.cfg.Resume && r.cfg.Prompt != nil {
		return &engine.RunError{Stage: engine.StagePrepare, Err: errors.New("WithResume continues the history as it is: leave out the prompt")}
	}
	if r.cfg.Prompt == nil {
		// The answer of an output tool is made again of its call.
		again := r.cfg.Resume && len(history) > 1 && history[len(history)-2].HasToolCalls() &&
			last.Kind == model.KindRequest && finished(last)
		r.budgets = budgetsOf(r.resume(history, pending || again))
		if !r.cfg.Resume && !pending && finished(r.last()) {
			return &engine.RunError{Stage: engine.StagePrepare, Err: engine.ErrFinished}
		}
		return nil
	}
	if pending || r.cfg.Answers != nil {
		r.instead = true
		r.resume(history, pending)
		return nil
	}
	if last != nil && last.HasToolCalls() && !last.Interrupted {
		return &engine.RunError{Stage: engine.StagePrepare, Err: engine.ErrUnprocessedCalls}
	}
	// Leave room for a call and its result, which many runs need.
	r.messages = slices.Grow(slices.Clip(Repair(history, true)), 4)
	r.append(&model.Message{Kind: model.KindRequest, Parts: r.cfg.Prompt})
	return nil
}

// resume continues at the end of a history. It returns the history without the request that lists the pending calls.
func (r *run) resume(history []*model.Message, pending bool) []*model.Message {
	if pending {
		r.resumed, history = r.last(), history[:len(history)-1]
	}
	messages := Repair(history, false)
	if len(history) > 0 && &messages[0] != &history[0] {
		messages = asking(messages)
	}
	r.messages = slices.Clip(messages)
	return history
}

// finished reports whether a history with this last message ends in an answer.
func finished(last *model.Message) bool {
	switch {
	case last == nil:
		return false
	case last.Kind == model.KindResponse:
		return !last.HasToolCalls() && !last.Interrupted
	}
	for i := range last.Parts {
		if last.Parts[i].Final {
			return true
		}
	}
	return false
}
