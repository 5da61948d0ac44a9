package adapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// errSilent is the cause with which a watchdog cancels an attempt.
var errSilent = errors.New("the endpoint is silent")

// Watchdog cancels an attempt that waits too long: for the first byte of the body, and then for each further read. It
// runs while the endpoint is waited for only, not while the sink works. It has no goroutine while it waits.
type Watchdog struct {
	body            io.ReadCloser
	firstByte, idle time.Duration
	timer           *time.Timer
	cancel          context.CancelCauseFunc
	answering       bool
}

// Watch returns a watchdog that is waiting for the first byte, and the context that it cancels. Its user must call Finish.
// A bound of 0 is none.
func Watch(ctx context.Context, firstByte, idle time.Duration) (context.Context, *Watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &Watchdog{firstByte: firstByte, idle: idle, cancel: cancel}
	w.timer = time.AfterFunc(time.Hour, func() { cancel(errSilent) })
	w.arm(firstByte)
	return ctx, w
}

// Guard returns body such that reading it is watched. It is called once.
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
	if w.answering {
		w.arm(w.idle)
	}
	n, err := w.body.Read(p)
	if n > 0 {
		w.answering = true
	}
	if n > 0 || err != nil {
		w.timer.Stop()
	}
	return n, err
}

// Close leaves it to Finish to close the body.
func (w *Watchdog) Close() error { return nil }

// drainTime and drainBytes bound how much is done to make a connection reusable.
const (
	drainTime  = 100 * time.Millisecond
	drainBytes = 64 << 10
)

// Finish reads the rest of the body if complete says that it ends here, so that the connection can be used again, and
// ends the attempt.
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

// Expired returns the error for an attempt that the watchdog has cancelled, which wraps [os.ErrDeadlineExceeded], or nil
// if it has not. ctx is the context that Watch returned.
func (w *Watchdog) Expired(ctx context.Context) error {
	switch {
	case context.Cause(ctx) != errSilent:
		return nil
	case w.answering:
		return fmt.Errorf("the answer broke off: nothing for %s: %w", w.idle, os.ErrDeadlineExceeded)
	}
	return fmt.Errorf("no answer within %s: %w", w.firstByte, os.ErrDeadlineExceeded)
}
