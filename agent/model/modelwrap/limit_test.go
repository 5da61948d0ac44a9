// SPDX-License-Identifier: Apache-2.0

package modelwrap_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
)

// working is a model that takes a second for each request.
func working() model.Model {
	return named("one", func(ctx context.Context, _ model.Sink) (*model.Message, error) {
		select {
		case <-time.After(time.Second):
			return say("done"), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	})
}

func TestLimitBoundsConcurrentRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		inner := working()
		m := modelwrap.Limit(named("one", func(ctx context.Context, sink model.Sink) (*model.Message, error) {
			defer now.Add(-1)
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			return inner.Generate(ctx, nil, sink)
		}), 3)
		begin := time.Now()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				_, err := m.Generate(t.Context(), ask("hi"), nil)
				require.NoError(t, err)
			})
		}
		wg.Wait()
		require.EqualValues(t, 3, most.Load())
		require.Equal(t, 4*time.Second, time.Since(begin))
	})
}

func TestLimitIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var order []string
		inner := working()
		m := modelwrap.Limit(model.Func(inner.Info(), func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
			mu.Lock()
			order = append(order, req.Instructions)
			mu.Unlock()
			return inner.Generate(ctx, req, sink)
		}), 1)
		var wg sync.WaitGroup
		for _, name := range []string{"a", "b", "c", "d"} {
			wg.Go(func() {
				_, err := m.Generate(t.Context(), &model.Request{Instructions: name}, nil)
				require.NoError(t, err)
			})
			synctest.Wait()
		}
		wg.Wait()
		require.Equal(t, []string{"a", "b", "c", "d"}, order)
	})
}

func TestLimitWaitEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, m := range map[string]model.Model{
			"Limit":     modelwrap.Limit(working(), 1),
			"RateLimit": modelwrap.RateLimit(working(), modelwrap.Rate{Requests: 1}),
		} {
			cause := errors.New("the user has left")
			ctx, cancel := context.WithCancelCause(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				_, err := m.Generate(t.Context(), ask("first"), nil)
				require.NoError(t, err, name)
			})
			synctest.Wait()
			for range 3 { // one is next, the others queue
				wg.Go(func() {
					_, err := m.Generate(ctx, ask("second"), nil)
					require.ErrorIs(t, err, cause, name)
				})
			}
			synctest.Wait()
			begin := time.Now()
			cancel(cause)
			synctest.Wait()
			require.Zero(t, time.Since(begin), name)
			wg.Wait()
			// Requests that gave up hold no place.
			_, err := m.Generate(t.Context(), ask("third"), nil)
			require.NoError(t, err, name)
		}
	})
}

func TestLimitIsReleasedByFailuresAndPanics(t *testing.T) {
	m := modelwrap.Limit(failing("one", errBoom), 1)
	for range 3 {
		_, err := m.Generate(t.Context(), ask("hi"), nil)
		require.Equal(t, errBoom, err)
	}
	m = modelwrap.Limit(named("one", func(context.Context, model.Sink) (*model.Message, error) { panic("oh") }), 1)
	for range 3 {
		require.Panics(t, func() { _, _ = m.Generate(t.Context(), ask("hi"), nil) })
	}
}

func TestRateLimitBoundsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := modelwrap.RateLimit(saying("one", "hello"), modelwrap.Rate{Requests: 6})
		begin := time.Now()
		for i := range 12 {
			_, err := m.Generate(t.Context(), ask("hi"), nil)
			require.NoError(t, err)
			require.Equal(t, time.Duration(max(0, i-5))*10*time.Second, time.Since(begin), "request %d", i)
		}
		time.Sleep(time.Hour) // a pause does not overfill the bucket
		begin = time.Now()
		for i := range 8 {
			_, err := m.Generate(t.Context(), ask("hi"), nil)
			require.NoError(t, err)
			require.Equal(t, time.Duration(max(0, i-5))*10*time.Second, time.Since(begin), "request %d", i)
		}
	})
}

func TestRateLimitBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := modelwrap.RateLimit(saying("one", "hello"), modelwrap.Rate{Requests: 4, Per: time.Second, Burst: 1})
		begin := time.Now()
		for i := range 8 {
			_, err := m.Generate(t.Context(), ask("hi"), nil)
			require.NoError(t, err)
			require.Equal(t, time.Duration(i)*250*time.Millisecond, time.Since(begin))
		}
	})
}

func TestRateLimitBoundsTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Each response uses 15 tokens. 30 are added per minute.
		m := modelwrap.RateLimit(saying("one", "hello"), modelwrap.Rate{Tokens: 30})
		begin := time.Now()
		for i, at := range []time.Duration{0, 0, 2, 32, 62} { // the third waits for one token and leaves a debt
			_, err := m.Generate(t.Context(), ask("hi"), nil)
			require.NoError(t, err)
			require.Equal(t, at*time.Second, time.Since(begin), "request %d", i)
		}
	})
}

func TestRateLimitIgnoresTokensOfFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := modelwrap.RateLimit(failing("one", errBoom), modelwrap.Rate{Tokens: 1})
		begin := time.Now()
		for range 10 {
			_, err := m.Generate(t.Context(), ask("hi"), nil)
			require.Equal(t, errBoom, err)
		}
		require.Zero(t, time.Since(begin))
	})
}

func TestRateLimitIsFairAndWaitsForDebt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		var mu sync.Mutex
		inner := working()
		m := modelwrap.RateLimit(model.Func(inner.Info(), func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
			mu.Lock()
			order = append(order, req.Instructions)
			mu.Unlock()
			return inner.Generate(ctx, req, sink)
		}), modelwrap.Rate{Requests: 8, Tokens: 15, Per: 10 * time.Second, Burst: 1})
		begin := time.Now()
		var wg sync.WaitGroup
		for _, name := range []string{"a", "b", "c"} {
			wg.Go(func() {
				_, err := m.Generate(t.Context(), &model.Request{Instructions: name}, nil)
				require.NoError(t, err)
			})
			synctest.Wait()
		}
		wg.Wait()
		require.Equal(t, []string{"a", "b", "c"}, order)
		// The second could start at 1.25 s, but the 15 tokens of the first are known after 1 s: one is available again at
		// 1.67 s. The third also waits for those of the second.
		require.InDelta(t, 11.67+1, time.Since(begin).Seconds(), 0.01)
	})
}
