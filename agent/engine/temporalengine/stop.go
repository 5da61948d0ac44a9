// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
)

const (
	// stopTimeout bounds how long close waits for attempts that a stopping worker has interrupted.
	stopTimeout = 5 * time.Second
	// reportTimeout bounds how long such an attempt takes to tell the server.
	reportTimeout = 3 * time.Second
)

// do is the activity.
func (a *activities) do(ctx context.Context, in taskInput) (any, error) {
	a.mu.Lock()
	a.working++
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.working--; a.working == 0 && a.quiet != nil {
			close(a.quiet)
			a.quiet = nil
		}
	}()
	out, err := a.attempt(ctx, in)
	if errors.Is(context.Cause(ctx), worker.ErrWorkerShutdown) && !activity.GetInfo(ctx).IsLocalActivity {
		return report(ctx, out, err)
	}
	return out, err
}

// report tells the server what became of an attempt that was interrupted because the worker stops. The SDK would do that after the activity has returned, when
// the process may be gone: then the server would wait for a heartbeat before it gives the task to another worker.
func report(ctx context.Context, out any, err error) (any, error) {
	c := activity.GetClient(ctx)
	if c == nil {
		return out, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	if failed := c.CompleteActivity(ctx, activity.GetInfo(ctx).TaskToken, out, err); failed != nil {
		return out, err
	}
	return nil, activity.ErrResultPending
}

// settled waits briefly until no attempt is in progress.
func (a *activities) settled() {
	a.mu.Lock()
	if a.working == 0 {
		a.mu.Unlock()
		return
	}
	if a.quiet == nil {
		a.quiet = make(chan struct{})
	}
	quiet := a.quiet
	a.mu.Unlock()
	select {
	case <-quiet:
	case <-time.After(stopTimeout):
	}
}
