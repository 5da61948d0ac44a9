// SPDX-License-Identifier: Apache-2.0

package modelwrap_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
)

// scripted returns the given errors in turn, nil for a response, and counts requests.
type scripted struct {
	next  error
	asked int
}

func (s *scripted) model() model.Model {
	return named("one", func(context.Context, model.Sink) (*model.Message, error) {
		s.asked++
		if s.next != nil {
			return nil, s.next
		}
		return say("hello"), nil
	})
}

// status makes an API error as adapters do.
func status(code int) *model.APIError {
	return &model.APIError{Provider: "test", Model: "one", Status: code, Retryable: code == 429 || code == 408 || code >= 500}
}

func send(t *testing.T, m model.Model) error {
	t.Helper()
	_, err := m.Generate(t.Context(), ask("hi"), nil)
	return err
}

func TestBreakerOpensAfterFailuresInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{next: status(503)}
		b := modelwrap.Break(s.model(), modelwrap.BreakPolicy{})
		for range 4 {
			require.Equal(t, s.next, send(t, b))
		}
		s.next = nil
		require.NoError(t, send(t, b))
		s.next = status(503)
		for range 5 {
			require.Equal(t, modelwrap.BreakerClosed, b.Status().State)
			require.Equal(t, s.next, send(t, b))
		}
		require.Equal(t, modelwrap.BreakerStatus{State: modelwrap.BreakerOpen, Failures: 5, Until: time.Now().Add(30 * time.Second), Err: s.next}, b.Status())
		require.Equal(t, 10, s.asked)

		var open *modelwrap.OpenError
		time.Sleep(10 * time.Second)
		err := send(t, b)
		require.ErrorAs(t, err, &open)
		require.EqualError(t, err, "modelwrap: circuit breaker is open for 20s (consecutive failures: 5): model: test one: HTTP 503 Service Unavailable")
		require.Equal(t, 20*time.Second, open.Wait)
		require.Equal(t, 10, s.asked)
	})
}

func TestBreakerSendsATrialRequestAfterTheCoolDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{next: status(503)}
		b := modelwrap.Break(s.model(), modelwrap.BreakPolicy{Failures: 1, CoolDown: time.Minute, MaxCoolDown: 3 * time.Minute})
		require.Error(t, send(t, b))
		for _, wait := range []time.Duration{time.Minute, 2 * time.Minute, 3 * time.Minute, 3 * time.Minute} {
			require.Equal(t, time.Now().Add(wait), b.Status().Until)
			time.Sleep(wait - 1)
			require.ErrorAs(t, send(t, b), new(*modelwrap.OpenError))
			time.Sleep(time.Nanosecond)
			require.Equal(t, modelwrap.BreakerHalfOpen, b.Status().State)
			require.Equal(t, s.next, send(t, b))
		}
		require.Equal(t, 5, s.asked)
		time.Sleep(3 * time.Minute)
		s.next = nil
		require.NoError(t, send(t, b))
		require.Equal(t, modelwrap.BreakerStatus{State: modelwrap.BreakerClosed}, b.Status())
		s.next = status(503)
		require.Error(t, send(t, b))
		require.Equal(t, time.Now().Add(time.Minute), b.Status().Until, "a success resets the cool-down")
	})
}

func TestBreakerSendsOneTrialRequestAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		b := modelwrap.Break(g.model(), modelwrap.BreakPolicy{Failures: 1})
		go func() { g.open <- status(500) }()
		require.Error(t, send(t, b))
		time.Sleep(30 * time.Second)

		var wg sync.WaitGroup
		var mu sync.Mutex
		refused := 0
		for range 10 {
			wg.Go(func() {
				if errors.As(send(t, b), new(*modelwrap.OpenError)) {
					mu.Lock()
					refused++
					mu.Unlock()
				}
			})
		}
		synctest.Wait()
		mu.Lock()
		require.Equal(t, 9, refused)
		mu.Unlock()
		require.ErrorContains(t, send(t, b), "while a trial request is in progress")
		g.open <- nil
		wg.Wait()
		require.Equal(t, modelwrap.BreakerClosed, b.Status().State)
	})
}

func TestBreakerOpensAtOnceForAuthErrors(t *testing.T) {
	noMoney := status(429)
	noMoney.Retryable = false
	for name, failure := range map[string]error{
		"401": status(401), "403": fmt.Errorf("wrapped: %w", status(403)), "no money": noMoney,
		"in a stream": &model.APIError{Err: model.ErrAuth},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{next: failure}
				b := modelwrap.Break(s.model(), modelwrap.BreakPolicy{})
				require.Equal(t, failure, send(t, b))
				require.Equal(t, time.Now().Add(10*time.Minute), b.Status().Until)
				err := send(t, b)
				require.ErrorAs(t, err, new(*modelwrap.OpenError))
				require.Equal(t, errors.Is(failure, model.ErrAuth), errors.Is(err, model.ErrAuth))
				require.Equal(t, 1, s.asked)
			})
		})
	}
}

func TestBreakerUsesRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := status(429)
		slow.RetryAfter = time.Hour
		b := modelwrap.Break((&scripted{next: slow}).model(), modelwrap.BreakPolicy{Failures: 1})
		require.Error(t, send(t, b))
		require.Equal(t, time.Now().Add(time.Hour), b.Status().Until)
	})
}

func TestBreakerIgnoresErrorsOfTheRequest(t *testing.T) {
	tooLong := status(400)
	tooLong.Code = "context_length_exceeded"
	for name, test := range map[string]struct {
		err   error
		count bool
	}{
		"400": {status(400), false}, "413": {status(413), false}, "422": {status(422), false}, "too long": {tooLong, false},
		"cannot take it": {fmt.Errorf("x: %w", model.ErrUnsupported), false}, "a bug": {errBoom, false},
		"404": {status(404), true}, "408": {status(408), true}, "429": {status(429), true}, "500": {status(500), true},
		"499": {&model.APIError{Status: 499}, false}, "500, not to be repeated": {&model.APIError{Status: 500}, true},
		"501": {&model.APIError{Status: 501}, true}, "no connection": {&model.APIError{Err: errBoom, Retryable: true}, true},
		"broken off":  {fmt.Errorf("after 3 attempts: %w", status(502)), true},
		"all models":  {&modelwrap.FallbackError{Errs: []error{status(401), status(503)}}, true},
		"some models": {&modelwrap.FallbackError{Errs: []error{status(503), status(400)}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{next: test.err}
			b := modelwrap.Break(s.model(), modelwrap.BreakPolicy{Failures: 2})
			require.Equal(t, test.err, send(t, b))
			require.Equal(t, test.count, b.Status().Failures == 1)
			require.Equal(t, modelwrap.BreakerClosed, b.Status().State)
		})
	}
}

func TestBreakerIgnoresTheEndOfTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := modelwrap.Break(named("one", func(ctx context.Context, _ model.Sink) (*model.Message, error) {
			<-ctx.Done()
			return nil, fmt.Errorf("%w (%w)", status(503), context.Cause(ctx))
		}), modelwrap.BreakPolicy{Failures: 1})
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := b.Generate(ctx, ask("hi"), nil)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		require.Equal(t, modelwrap.BreakerStatus{State: modelwrap.BreakerClosed}, b.Status())
	})
}

func TestBreakerTriesAgainAfterANeutralOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{next: status(503)}
		inner := s.model()
		b := modelwrap.Break(named("one", func(ctx context.Context, sink model.Sink) (*model.Message, error) {
			if errors.Is(s.next, errBoom) {
				panic("oh")
			}
			return inner.Generate(ctx, nil, sink)
		}), modelwrap.BreakPolicy{Failures: 1})
		require.Error(t, send(t, b))
		time.Sleep(30 * time.Second)
		s.next = status(400)
		require.Equal(t, s.next, send(t, b))
		require.Equal(t, modelwrap.BreakerHalfOpen, b.Status().State)
		s.next = errBoom
		require.Panics(t, func() { _ = send(t, b) })
		require.Equal(t, modelwrap.BreakerHalfOpen, b.Status().State)
		s.next = nil
		require.NoError(t, send(t, b))
		require.Equal(t, modelwrap.BreakerClosed, b.Status().State)
	})
}

func TestBreakerIgnoresEarlierRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		b := modelwrap.Break(g.model(), modelwrap.BreakPolicy{Failures: 1})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { _ = send(t, b) })
		}
		synctest.Wait()
		g.open <- status(503)
		synctest.Wait()
		until := b.Status().Until
		time.Sleep(time.Second)
		g.open <- status(503) // sent before the breaker opened
		g.open <- nil
		wg.Wait()
		require.Equal(t, until, b.Status().Until)
		require.Equal(t, modelwrap.BreakerOpen, b.Status().State)
		require.Equal(t, 1, b.Status().Failures)
	})
}

func TestFallbackSkipsOpenBreakers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locked, busy := &scripted{next: status(401)}, &scripted{}
		var states []modelwrap.BreakerState
		observe := func(_ context.Context, m model.Info, s modelwrap.BreakerStatus) {
			require.Equal(t, "one", m.Name)
			states = append(states, s.State)
		}
		m := fallback(modelwrap.FallbackPolicy{},
			modelwrap.Break(locked.model(), modelwrap.BreakPolicy{Observe: observe}),
			modelwrap.Break(busy.model(), modelwrap.BreakPolicy{Failures: 1}))
		for range 3 {
			require.NoError(t, send(t, m))
		}
		require.Equal(t, 1, locked.asked)
		require.Equal(t, 3, busy.asked)

		busy.next = status(503)
		require.Error(t, send(t, m))
		err := send(t, m)
		require.EqualError(t, err, "modelwrap: all models failed: "+
			"test one: modelwrap: circuit breaker is open for 10m0s (consecutive failures: 1): model: test one: HTTP 401 Unauthorized; "+
			"test one: modelwrap: circuit breaker is open for 30s (consecutive failures: 1): model: test one: HTTP 503 Service Unavailable")
		require.ErrorIs(t, err, model.ErrAuth)

		start := time.Now()
		busy.next = nil
		patient := modelwrap.Retry(m, model.RetryPolicy{Base: time.Millisecond})
		require.NoError(t, send(t, patient), "Retry waits for the first breaker to close")
		require.Equal(t, 30*time.Second, time.Since(start).Truncate(time.Second))

		time.Sleep(10 * time.Minute)
		locked.next = nil
		require.NoError(t, send(t, m))
		require.Equal(t, []modelwrap.BreakerState{modelwrap.BreakerOpen, modelwrap.BreakerHalfOpen, modelwrap.BreakerClosed}, states)
	})
}

func TestBreakerIsSafeForConcurrentUse(t *testing.T) {
	b := modelwrap.Break(named("one", func(ctx context.Context, _ model.Sink) (*model.Message, error) {
		if ctx.Value(turn{}) == 0 {
			return nil, status(503)
		}
		return say("hello"), nil
	}), modelwrap.BreakPolicy{Failures: 2, CoolDown: time.Nanosecond, MaxCoolDown: time.Nanosecond})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 500 {
				_, _ = b.Generate(context.WithValue(t.Context(), turn{}, i%3), ask("hi"), nil)
				_ = b.Status()
			}
		})
	}
	wg.Wait()
}

type turn struct{}
