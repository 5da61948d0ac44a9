package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
)

// recorder is a worker that has its results recorded before it returns them.
type recorder struct {
	journal *Journal
	worker  loop.Worker
}

// Do implements [loop.Worker].
func (w *recorder) Do(ctx context.Context, t *loop.Task, notify func(loop.Note) error) loop.Done {
	done := w.worker.Do(ctx, t, notify)
	j := w.journal
	j.mu.Lock()
	f := j.live[t]
	delete(j.live, t)
	j.mu.Unlock()
	f.record.At = now()
	if !isResult(ctx, t, &done) {
		return done
	}
	recorded, err := j.record(ctx, f, &done)
	if err != nil {
		if t.Op == loop.OpInbox {
			j.unread, j.unreadAtEnd = done.Inbox, t.AtEnd
		}
		return loop.Done{Err: err}
	}
	return *recorded
}

// isResult reports whether a task has come to something that is true of the run whoever runs it. An error is not, and
// neither is what a task makes of the end of its context.
func isResult(ctx context.Context, t *loop.Task, done *loop.Done) bool {
	if done.Err != nil {
		return false
	}
	ended := ctx.Err() != nil
	switch t.Op {
	case loop.OpModel:
		return done.Response != nil && !(ended && done.Response.Interrupted)
	case loop.OpApprove:
		return !ended || done.Decision.Verdict == loop.Allow
	case loop.OpInbox:
		return t.AtEnd || len(done.Inbox) > 0 // that nothing came in follows from what comes next
	}
	return !ended || !done.Return.Retry && done.Return.Outcome == model.OutcomeSuccess
}

// record records a result and returns it as it will be read again, so that a run and its repetition see the same.
func (j *Journal) record(ctx context.Context, f *journaled, done *loop.Done) (*loop.Done, error) {
	r := &f.record
	r.take(done, j.codec)
	if f.again && r.Again {
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
