// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/engine"
)

// nobody executes nothing.
type nobody struct{ engine.Worker }

// depsOf are activities whose dependencies are made by a function.
func depsOf(open func(ctx context.Context) func(context.Context) error) *activities {
	return newActivities(func(ctx context.Context, _ Input) (engine.Worker, func(context.Context) error, error) {
		return nobody{}, open(ctx), nil
	}, new(MemoryBlobs), time.Minute)
}

// TestDependenciesThatBlockHoldUpOneAttempt: the next one makes them again.
func TestDependenciesThatBlockHoldUpOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := 0
		a := depsOf(func(ctx context.Context) func(context.Context) error {
			if made++; made == 1 {
				<-ctx.Done()
			}
			return func(context.Context) error { return nil }
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := a.use(ctx, Input{ID: "run"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		r, err := a.use(t.Context(), Input{ID: "run"})
		require.NoError(t, err)
		require.NotNil(t, r.worker)
		require.Equal(t, 2, made)
		a.leave(r)
		a.close()
	})
}

func TestDependenciesThatEndTheirGoroutine(t *testing.T) {
	a := depsOf(func(context.Context) func(context.Context) error {
		runtime.Goexit()
		return nil
	})
	for range 2 {
		_, err := a.use(t.Context(), Input{ID: "run"})
		require.ErrorIs(t, err, engine.ErrGoexit)
	}
}

// TestLateDependenciesAreReleased: nobody waits for them any more.
func TestLateDependenciesAreReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released := 0
		a := depsOf(func(context.Context) func(context.Context) error {
			time.Sleep(2 * time.Hour)
			return func(context.Context) error {
				released++
				return nil
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := a.use(ctx, Input{ID: "run"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		require.Equal(t, 1, released)
	})
}

// TestDependenciesAreReleasedWhenIdle, and a panic then does not end the program.
func TestDependenciesAreReleasedWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var released atomic.Int32
		var making context.Context
		a := depsOf(func(ctx context.Context) func(context.Context) error {
			making = ctx
			return func(context.Context) error {
				released.Add(1)
				panic("already closed")
			}
		})
		r, err := a.use(t.Context(), Input{ID: "run"})
		require.NoError(t, err)
		a.leave(r)
		time.Sleep(59 * time.Second)
		synctest.Wait()
		require.Zero(t, released.Load())
		require.NoError(t, making.Err())
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.EqualValues(t, 1, released.Load())
		require.Error(t, making.Err())
	})
}
