// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
)

// recorder is a worker that records results before it returns them.
type recorder struct {
	journal *Journal
	worker  engine.Worker
}

// Do implements [engine.Worker].
func (w *recorder) Do(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done) {
	j := w.journal
	var b beside
	ctx = context.WithValue(ctx, besideKey{}, &b)
	over := false
	failed := func(c engine.Checked) bool { return c.Err != nil }
	defer func() {
		if !over || done.Err != nil || slices.ContainsFunc(done.Checked, failed) {
			j.lose(ctx, t, &b, done) // also if the goroutine ends
		}
	}()
	switch t.Op { // these are done on the run's goroutine
	case engine.OpPrepare:
		j.prepare(ctx, w.worker, t, l, done)
	case engine.OpCheck:
		j.check(ctx, w.worker, t, l, done)
	case engine.OpPreview:
		j.preview(ctx, w.worker, t, l, done)
	default:
		over = w.do(ctx, t, l, done, &b)
		return
	}
	over = true
}

// do carries out a task and records the result. It reports whether it has.
func (w *recorder) do(
	ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done, b *beside,
) bool {
	j := w.journal
	w.worker.Do(ctx, t, l, done)
	j.mu.Lock()
	f := j.live[t]
	delete(j.live, t)
	j.mu.Unlock()
	done.At = engine.TimeOf(now())
	used := done.Used
	if !told(t, done) || !done.Settle(ctx, t) {
		done.Used = used
		return false
	}
	f.record.At = done.At.Time()
	b.take(&f.record, done)
	j.keepPrepaid(&f.record, done)
	recorded, err := j.record(ctx, f, done)
	if err != nil {
		if t.Op == engine.OpInbox {
			j.unread, j.unreadAtEnd = done.Inbox, t.AtEnd
		}
		*done = engine.Done{Err: err}
		return false
	}
	*done = *recorded
	return true
}

// lose records what a task has used that has no result. A request that failed and used nothing is
// not recorded, because a provider that is down must not use up the limits of a run.
func (j *Journal) lose(ctx context.Context, t *engine.Task, b *beside, done *engine.Done) {
	if done.Used == nil {
		return
	}
	lost := b.besides(*done.Used)
	paid := lost.Usage != (model.Usage{}) || lost.Cost != 0 || lost.Unpriced != 0
	if !paid && !(j.keepLost && lost.Requests > 0) {
		return
	}
	r := &record{Op: opLost, Step: t.Info.Step, At: now(), Used: &lost}
	if t.Call != nil {
		r.Call = t.Call.ID
	}
	if _, err := j.write(ctx, r); err != nil && done.Err == nil {
		done.Err = err
	}
}

// told reports whether a result says anything. What does not ends the run, or follows from other
// records.
func told(t *engine.Task, done *engine.Done) bool {
	switch t.Op {
	case engine.OpModel:
		return done.Response != nil
	case engine.OpInbox:
		return t.AtEnd || len(done.Inbox) > 0 // that nothing came in follows from the step's going on
	case engine.OpApprove:
		return done.Decision != nil
	}
	return true
}

// record records a result and returns it as it will be read back. A run and its repetition thus see
// the same.
func (j *Journal) record(ctx context.Context, f *journaled, done *engine.Done) (*engine.Done, error) {
	r := &f.record
	r.take(done, j.codec)
	if f.again != nil && r.Again {
		r.At, done.At = f.again.At, engine.TimeOf(f.again.At)
		return done, nil // that says no more than the record that is there
	}
	back, err := j.write(ctx, r)
	if err != nil {
		return nil, err
	}
	if r.Op == opOutput && r.Return == nil {
		return done, nil
	}
	same, err := back.done(j.codec)
	if err == nil {
		same.Return.Cause = done.Return.Cause
	}
	return same, err
}

// write appends a record to the log and returns what will be read of it.
func (j *Journal) write(ctx context.Context, r *record) (*record, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return nil, j.failed("encode", err)
	}
	back, err := decodeRecord(line)
	if err != nil {
		return nil, j.failed("encode", err)
	}
	if err := j.append(ctx, line); err != nil {
		return nil, j.failed("append", err)
	}
	return back, nil
}

// append appends to the log, whatever becomes of the run: what has been done must be recorded.
func (j *Journal) append(ctx context.Context, line []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return j.log.Append(context.WithoutCancel(ctx), line)
}
