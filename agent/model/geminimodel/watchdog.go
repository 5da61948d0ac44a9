package geminimodel

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

// watchdog cancels an attempt that waits too long: for the first byte of the body, and then for each further read. It
// runs while the model waits for the endpoint only, not while the sink works. It has no goroutine while it waits.
type watchdog struct {
	body      io.ReadCloser
	firstByte time.Duration
	idle      time.Duration
	timer     *time.Timer
	cancel    context.CancelCauseFunc
	answering bool
}

// watch returns a watchdog that is waiting for the first byte, and the context that it cancels.
func watch(ctx context.Context, t Timeouts) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watchdog{firstByte: t.FirstByte, idle: t.Idle, cancel: cancel}
	w.timer = time.AfterFunc(time.Hour, func() { cancel(errSilent) })
	w.arm(t.FirstByte)
	return ctx, w
}

func (w *watchdog) arm(d time.Duration) {
	if d > 0 {
		w.timer.Reset(d)
	} else {
		w.timer.Stop()
	}
}

// Read reads from the body.
func (w *watchdog) Read(p []byte) (int, error) {
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

// drainTime and drainBytes bound how much is done to make a connection reusable.
const (
	drainTime  = 100 * time.Millisecond
	drainBytes = 64 << 10
)

// finish reads the rest of the body if complete says that it ends here, so that the connection can be used again, and
// ends the attempt.
func (w *watchdog) finish(complete bool) {
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

// expired is the error for an attempt that the watchdog has cancelled.
func (w *watchdog) expired() error {
	if w.answering {
		return fmt.Errorf("the answer broke off: nothing for %s: %w", w.idle, os.ErrDeadlineExceeded)
	}
	return fmt.Errorf("no answer within %s: %w", w.firstByte, os.ErrDeadlineExceeded)
}
