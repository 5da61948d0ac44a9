// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
)

// errSilent is the cause with which a watchdog cancels an attempt.
var errSilent = errors.New("the endpoint is silent")

// Watchdog cancels an attempt that waits too long: for the first byte of the body, then for each
// further read, and for the next event, however much the endpoint sends to keep the connection
// alive. It runs while the endpoint is waited for only, not while the sink works. It has no
// goroutine while it waits.
type Watchdog struct {
	body      io.ReadCloser
	bounds    model.Timeouts
	timer     *time.Timer
	cancel    context.CancelCauseFunc
	answering bool
	// waited and read are the time waited and the bytes read since the last event, maxRead bounds
	// the latter if not 0.
	waited        time.Duration
	read, maxRead int64
}

// Watch returns a watchdog that is waiting for the first byte, and the context that it cancels. Its
// user must call Finish. A bound of 0 means no bound. Total is ignored.
func Watch(ctx context.Context, bounds model.Timeouts) (context.Context, *Watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &Watchdog{bounds: bounds, cancel: cancel}
	w.timer = time.AfterFunc(time.Hour, func() { cancel(errSilent) })
	w.arm(bounds.FirstByte)
	return ctx, w
}

// Guard returns a body whose reads are watched. It is called once.
func (w *Watchdog) Guard(body io.ReadCloser) io.ReadCloser {
	w.body = body
	return w
}

func (w *Watchdog) arm(d time.Duration) {
	if d > 0 {
		w.timer.Reset(d)
	} else {
		w.timer.Stop()
	}
}

// Read reads from the body.
func (w *Watchdog) Read(p []byte) (int, error) {
	var began time.Time
	if w.answering {
		began = time.Now()
		wait := w.bounds.Idle
		if w.bounds.Stall > 0 {
			left := max(w.bounds.Stall-w.waited, 1)
			if wait <= 0 || left < wait {
				wait = left
			}
		}
		w.arm(wait)
	}
	n, err := w.body.Read(p)
	if !began.IsZero() {
		w.waited += time.Since(began)
	}
	if n > 0 {
		w.answering = true
	}
	if n > 0 || err != nil {
		w.timer.Stop()
	}
	if w.read += int64(n); w.maxRead > 0 && w.read > w.maxRead {
		return 0, &FloodError{w.maxRead}
	}
	return n, err
}

// Close leaves it to Finish to close the body.
func (w *Watchdog) Close() error { return nil }

// drainTime and drainBytes bound the work to make a connection reusable.
const (
	drainTime  = 100 * time.Millisecond
	drainBytes = 64 << 10
)

// Finish ends the attempt. If complete is set, the body ends here, and Finish reads its rest so the
// connection can be reused.
func (w *Watchdog) Finish(complete bool) {
	if w.body != nil {
		if complete {
			w.timer.Reset(drainTime)
			_, _ = io.CopyN(io.Discard, w.body, drainBytes)
		}
		w.body.Close()
	}
	w.timer.Stop()
	w.cancel(nil)
}

// Expired returns the error for an attempt that the watchdog has cancelled, which wraps
// [os.ErrDeadlineExceeded], or nil if it has not. ctx is the context that Watch returned.
func (w *Watchdog) Expired(ctx context.Context) error {
	switch {
	case context.Cause(ctx) != errSilent:
		return nil
	case w.answering && w.bounds.Stall > 0 && w.waited >= w.bounds.Stall:
		return errs.Errorf("the response stalled: only keep-alives for %s: %w", w.bounds.Stall, os.ErrDeadlineExceeded)
	case w.answering:
		return errs.Errorf("the response broke off: nothing for %s: %w", w.bounds.Idle, os.ErrDeadlineExceeded)
	}
	return errs.Errorf("no response within %s: %w", w.bounds.FirstByte, os.ErrDeadlineExceeded)
}
