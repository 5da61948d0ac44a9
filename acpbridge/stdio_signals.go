package acpbridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
)

// errSignal is the cause of a ctx that a signal has ended.
var errSignal = errors.New("acpbridge: signal")

// withSignals returns a ctx that ends with the signals by which a process is asked to end. Then they do again what they usually do.
func withSignals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals, broken := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(signals, endSignals...)
	// Standard error may be a pipe to a client that is dead. Without a listener the next line of the log would end the process on
	// the spot.
	signal.Notify(broken, brokenPipe...)
	var listener sync.WaitGroup
	listener.Go(func() {
		select {
		case s := <-signals:
			cancel(fmt.Errorf("%w: %v", errSignal, s))
		case <-ctx.Done():
		}
		signal.Stop(signals)
	})
	return ctx, func() {
		cancel(nil)
		listener.Wait()
		signal.Stop(broken)
	}
}
