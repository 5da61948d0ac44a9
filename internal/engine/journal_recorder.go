// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/toolset"
)

// recorder is a worker that records results before it returns them.
type recorder struct {
	journal *Journal
	worker  engine.Worker
}

// Do implements [engine.Worker].
func (w *recorder) Do(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done) {
	j := w.journal
	switch t.Op { // these are done on the run's goroutine
	case engine.OpPrepare:
		j.prepare(ctx, w.worker, t, l, done)
		return
	case engine.OpCheck:
		j.check(ctx, w.worker, t, l, done)
		return
	case engine.OpPreview:
		j.preview(ctx, w.worker, t, l, done)
		return
	}
	var b beside
	if t.Op == engine.OpTool {
		ctx = context.WithValue(ctx, besideKey{}, &b)
	}
	w.worker.Do(ctx, t, l, done)
	j.mu.Lock()
	f := j.live[t]
	delete(j.live, t)
	j.mu.Unlock()
	done.At = engine.TimeOf(now())
	used := done.Used
	if !told(t, done) || !done.Settle(ctx, t) {
		j.lose(ctx, f, done, used)
		return
	}
	f.record.At = done.At.Time()
	b.take(&f.record)
	j.keepPrepaid(&f.record, done)
	recorded, err := j.record(ctx, f, done)
	if err != nil {
		if t.Op == engine.OpInbox {
			j.unread, j.unreadAtEnd = done.Inbox, t.AtEnd
		}
		*done = engine.Done{Err: err}
		return
	}
	*done = *recorded
}

// lose records the usage of a task without a result.
func (j *Journal) lose(ctx context.Context, f *journaled, done *engine.Done, used *toolset.Usage) {
	if !j.keepLost || used == nil || *used == (toolset.Usage{}) {
		return
	}
	r := &f.record
	lost := &record{Op: opLost, Step: r.Step, Call: r.Call, At: done.At.Time(), Used: used}
	if _, err := j.write(ctx, lost); err != nil && done.Err == nil {
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
