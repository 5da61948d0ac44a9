// SPDX-License-Identifier: Apache-2.0

package modelwrap_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
)

// recovering is a model that fails n times and then answers.
func recovering(n int, err error) model.Model {
	return named("one", func(context.Context, model.Sink) (*model.Message, error) {
		if n--; n >= 0 {
			return nil, err
		}
		return say("hello"), nil
	})
}

func TestRetryAfterRetryableErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, asked := counted(recovering(2, overloaded("one")))
		text, resp, err := stream(t.Context(), modelwrap.Retry(m, model.RetryPolicy{}), ask("hi"))
		require.NoError(t, err)
		require.Equal(t, "hello", resp.Text())
		require.Empty(t, text)
		require.EqualValues(t, 3, asked.Load())
	})
}

func TestRetryGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, asked := counted(failing("one", overloaded("one")))
		_, err := modelwrap.Retry(m, model.RetryPolicy{Attempts: 4}).Generate(t.Context(), ask("hi"), nil)
		require.EqualError(t, err, "modelwrap: after 4 attempts: model: test one: HTTP 503 Service Unavailable: too busy")
		require.ErrorAs(t, err, new(*model.APIError))
		require.EqualValues(t, 4, asked.Load())
	})
}

func TestRetryIgnoresOtherErrors(t *testing.T) {
	wrong := &model.APIError{Provider: "test", Status: 401}
	for _, failure := range []error{errBoom, wrong, fmt.Errorf("wrapped: %w", wrong)} {
		m, asked := counted(failing("one", failure))
		_, err := modelwrap.Retry(m, model.RetryPolicy{}).Generate(t.Context(), ask("hi"), nil)
		require.Equal(t, failure, err)
		require.EqualValues(t, 1, asked.Load())
	}
}

func TestRetryOnSelectsErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := model.RetryPolicy{On: func(err error) bool { return errors.Is(err, errBoom) }}
		resp, err := modelwrap.Retry(recovering(1, errBoom), policy).Generate(t.Context(), ask("hi"), nil)
		require.NoError(t, err)
		require.Equal(t, "hello", resp.Text())
	})
}

func TestNoRetryAfterADelta(t *testing.T) {
	m, asked := counted(breaking("one", overloaded("one")))
	text, _, err := stream(t.Context(), modelwrap.Retry(m, model.RetryPolicy{}), ask("hi"))
	require.Equal(t, overloaded("one"), err)
	require.Equal(t, "half ", text)
	require.EqualValues(t, 1, asked.Load())
}

func TestRetryBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		longest := map[int]time.Duration{}
		for range 200 {
			n := 0
			policy := model.RetryPolicy{Attempts: 6, Base: time.Second, Max: 5 * time.Second, Total: time.Hour, Observe: func(_ context.Context, err error, wait time.Duration) {
				require.Equal(t, overloaded("one"), err)
				bound := []time.Duration{1, 2, 4, 5, 5}[n] * time.Second
				require.LessOrEqual(t, wait, bound)
				require.GreaterOrEqual(t, wait, bound*3/4)
				longest[n] = max(longest[n], wait)
				n++
			}}
			_, err := modelwrap.Retry(failing("one", overloaded("one")), policy).Generate(t.Context(), ask("hi"), nil)
			require.Error(t, err)
			require.Equal(t, 5, n)
		}
		require.Greater(t, longest[0], 800*time.Millisecond, "the whole range is used")
		require.Greater(t, longest[2], 3*time.Second)
	})
}

func TestRetryUsesRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failure := overloaded("one")
		failure.RetryAfter = 7 * time.Second
		begin := time.Now()
		_, err := modelwrap.Retry(recovering(1, failure), model.RetryPolicy{Base: time.Second}).Generate(t.Context(), ask("hi"), nil)
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(begin), 7*time.Second)
		require.LessOrEqual(t, time.Since(begin), 8*time.Second)
	})
}

func TestRetryLimitsTheTotalWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failure := overloaded("one")
		failure.RetryAfter = 7 * time.Second
		for _, policy := range []model.RetryPolicy{{Max: 6 * time.Second}, {Total: 6 * time.Second}} {
			begin := time.Now()
			_, err := modelwrap.Retry(recovering(1, failure), policy).Generate(t.Context(), ask("hi"), nil)
			require.Equal(t, failure, err)
			require.Zero(t, time.Since(begin))
		}
		// The limit applies to the sum of the waits.
		begin := time.Now()
		m, asked := counted(failing("one", failure))
		_, err := modelwrap.Retry(m, model.RetryPolicy{Attempts: 100, Total: 30 * time.Second}).Generate(t.Context(), ask("hi"), nil)
		require.ErrorContains(t, err, "after 5 attempts")
		require.EqualValues(t, 5, asked.Load())
		require.LessOrEqual(t, time.Since(begin), 30*time.Second)
	})
}

func TestRetryOfAFallbackUsesTheShortestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, quick, never := overloaded("one"), overloaded("two"), overloaded("three")
		slow.RetryAfter, quick.RetryAfter, never.Retryable = 20*time.Second, 5*time.Second, false
		inner := fallback(modelwrap.FallbackPolicy{}, failing("three", never), failing("one", slow), recovering(1, quick))
		begin := time.Now()
		_, err := modelwrap.Retry(inner, model.RetryPolicy{Base: time.Second}).Generate(t.Context(), ask("hi"), nil)
		require.NoError(t, err)
		require.InDelta(t, 5.5, time.Since(begin).Seconds(), 0.5)
	})
}

func TestRetryEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("the user has left")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		failure := overloaded("one")
		failure.RetryAfter = 20 * time.Second
		begin := time.Now()
		_, err := modelwrap.Retry(failing("one", failure), model.RetryPolicy{}).Generate(ctx, ask("hi"), nil)
		require.ErrorIs(t, err, cause)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "modelwrap: request cancelled: the user has left (context canceled); before that: model: test one")
		require.Equal(t, time.Second, time.Since(begin))

		m, asked := counted(failing("one", failure))
		_, err = modelwrap.Retry(m, model.RetryPolicy{}).Generate(ctx, ask("hi"), nil)
		require.ErrorIs(t, err, cause)
		require.EqualValues(t, 1, asked.Load())
	})
}

func TestRetryEndsWithItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		failure := overloaded("one")
		failure.RetryAfter = 20 * time.Second
		_, err := modelwrap.Retry(failing("one", failure), model.RetryPolicy{}).Generate(ctx, ask("hi"), nil)
		require.EqualError(t, err, "modelwrap: request cancelled: context deadline exceeded; before that: "+failure.Error())
	})
}
