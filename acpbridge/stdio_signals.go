// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
)

// withSignals returns a ctx that ends with the signals that ask a process to end. After that the
// signals have their usual effect. stop reports whether one came. parent may have ended earlier by
// the same signal.
func withSignals(parent context.Context) (_ context.Context, stop func() (signalled bool)) {
	ctx, cancel := context.WithCancelCause(parent)
	signals, broken := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(signals, endSignals...)
	// Standard error may be a pipe to a client that is dead. Without a listener the next line of
	// the log would end the process on the spot.
	signal.Notify(broken, brokenPipe...)
	signalled := false
	var listener sync.WaitGroup
	listener.Go(func() {
		select {
		case s := <-signals:
			signalled = true
			cancel(fmt.Errorf("acpbridge: signal: %v", s))
		case <-ctx.Done():
		}
		signal.Stop(signals)
	})
	return ctx, func() bool {
		cancel(nil)
		listener.Wait()
		signal.Stop(broken)
		return signalled || len(signals) > 0
	}
}
