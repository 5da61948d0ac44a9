// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
)

// prepare has an OpPrepare done. The offer is made anew at each replay, because tools are code, not
// data. The instructions are part of the history and stay as they were. A history that processors
// have changed is recorded by reference to their input, so the processors, which may call a model,
// need not run again.
func (j *Journal) prepare(ctx context.Context, worker engine.Worker, t *engine.Task, l engine.Listener, done *engine.Done) {
	j.enter(t.Info.Step)
	j.caughtUp(ctx, t.Info.Step, false)
	defer j.takeBack(place{step: t.Info.Step})
	task := *t
	var history []*model.Message
	if j.unprocessed = nil; t.Process {
		j.unprocessed = t.Info.Messages
		var err error
		if history, task.Process, err = j.history(t); err != nil {
			*done = engine.Done{Err: err}
			return
		}
	}
	if history != nil {
		info := *t.Info
		info.Messages = history
		task.Info = &info
	}
	if worker.Do(ctx, &task, l, done); done.Err != nil {
		return
	}
	offer := *done.Offer
	switch {
	case task.Process:
		var err error
		if offer.History, err = j.processed(ctx, t, done); err != nil {
			*done = engine.Done{Err: err}
			return
		}
	case history != nil:
		offer.History = history
	}
	if r := j.past.records[key{op: opModel, step: t.Info.Step}]; r != nil {
		if offer.Instructions = j.instructions; r.Instructions != nil {
			offer.Instructions = *r.Instructions
		}
	}
	done.Offer = &offer
}

// history returns the recorded history that the processors made; nil if they changed nothing. live
// means that a record is missing and they must run.
func (j *Journal) history(t *engine.Task) (made []*model.Message, live bool, err error) {
	r := j.past.take(key{op: opHistory, step: t.Info.Step})
	if r == nil {
		return nil, !j.past.begun(t.Info.Step), nil
	}
	if r.Messages != len(t.Info.Messages) {
		return nil, false, j.diverged("the history before step %d had %d messages and has %d", t.Info.Step, r.Messages, len(t.Info.Messages))
	}
	if r.Used != nil {
		j.meter.Add(*r.Used)
	}
	if made, err = j.build(r.History, t.Info.Messages); err == nil {
		made, err = loop.Processed(t.Info.Messages, made)
	}
	return made, false, err
}

// processed records a history that the processors have just made, and returns it as it will be read again.
func (j *Journal) processed(ctx context.Context, t *engine.Task, done *engine.Done) ([]*model.Message, error) {
	before, after := t.Info.Messages, done.Offer.History
	if after == nil {
		after = before
	}
	r := record{Op: opHistory, Step: t.Info.Step, At: now(), Messages: len(before)}
	if done.Used != nil {
		r.Used = usedOf(done.Used)
	}
	var same bool
	if r.History, same = spans(before, after); same && r.Used == nil {
		return nil, nil
	}
	back, err := j.write(ctx, &r)
	if err != nil {
		return nil, err
	}
	if after, err = j.build(back.History, before); err != nil {
		return nil, err
	}
	return loop.Processed(before, after)
}
