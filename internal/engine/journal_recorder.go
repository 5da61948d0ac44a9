// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
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
	w.worker.Do(ctx, t, l, done)
	j.mu.Lock()
	f := j.live[t]
	delete(j.live, t)
	j.mu.Unlock()
	f.record.At = now()
	switch worth := worthOf(ctx, t, done); {
	case worth == nothing:
		return
	case worth == doubtful:
		*done = engine.Done{Err: context.Cause(ctx)}
		return
	}
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

// worth classifies the end of a task.
type worth uint8

const (
	// nothing: an error, after which nothing follows, or what follows from other records.
	nothing worth = iota
	// doubtful: a result shaped by the end of the task's context. The run must not continue with
	// it, because everything after it would be recorded.
	doubtful
	// result: valid in any process.
	result
)

func worthOf(ctx context.Context, t *engine.Task, done *engine.Done) worth {
	good := true
	switch t.Op {
	case engine.OpModel:
		if done.Response == nil {
			return nothing
		}
		good = !done.Response.Interrupted
	case engine.OpInbox:
		if !t.AtEnd && len(done.Inbox) == 0 {
			return nothing // it follows from the step's going on
		}
	case engine.OpApprove:
		if done.Decision == nil {
			return nothing
		}
		good = done.Decision.Verdict == toolset.VerdictAllow
	default:
		good = !done.Return.Retry && done.Return.Outcome == model.OutcomeSuccess
	}
	switch {
	case done.Err != nil:
		return nothing
	case !good && ctx.Err() != nil:
		return doubtful
	}
	return result
}

// record records a result and returns it as it will be read back. A run and its repetition thus see
// the same.
func (j *Journal) record(ctx context.Context, f *journaled, done *engine.Done) (*engine.Done, error) {
	r := &f.record
	r.take(done, j.codec)
	if f.again != nil && r.Again {
		r.At = f.again.At
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
