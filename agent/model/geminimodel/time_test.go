// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

// inProcess returns a model whose endpoint is f, without a network, so that time can be faked. When the bubble ends, no
// goroutine may be left, so every test here also detects leaks.
func inProcess(t *testing.T, f transport, change ...func(*geminimodel.Config)) *geminimodel.Model {
	change = append([]func(*geminimodel.Config){func(c *geminimodel.Config) {
		c.HTTPClient = f.Client()
		c.Retry = model.RetryPolicy{}
	}}, change...)
	return newModel(t, "http://endpoint.test", change...)
}

func once(c *geminimodel.Config) { c.Retry.Attempts = 1 }

func TestRetriesBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		start := time.Now()
		m := inProcess(t, func(r *http.Request) (*http.Response, error) {
			at = append(at, time.Since(start))
			return adaptertest.Failing(503, `{"error":{"message":"no"}}`)(r)
		}, func(c *geminimodel.Config) {
			c.Retry = model.RetryPolicy{Attempts: 4, Base: time.Second, Max: 3 * time.Second}
		})
		_, err := m.Generate(t.Context(), hello(), nil)
		require.Equal(t, 503, apiError(t, err).Status)
		require.Len(t, at, 4)
		for i, most := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second} {
			wait := at[i+1] - at[i]
			require.LessOrEqual(t, wait, most)
			require.GreaterOrEqual(t, wait, most*3/4)
		}
	})
}

func TestRetryUsesRetryAfter(t *testing.T) {
	details := func(r *http.Request) (*http.Response, error) {
		return adaptertest.Respond(r, 429, adaptertest.Text(`{"error":{"code":429,"details":[{"retryDelay":"20s"}]}}`)), nil
	}
	for name, first := range map[string]transport{"in a header": adaptertest.Failing(429, `{"error":{"message":"no"}}`, "Retry-After", "20"), "in the error": details} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, start := 0, time.Now()
				m := inProcess(t, func(r *http.Request) (*http.Response, error) {
					if n++; n == 1 {
						return first(r)
					}
					return adaptertest.Respond(r, 200, adaptertest.Text(chunk("STOP", `{"text":"ok"}`))), nil
				})
				_, err := m.Generate(t.Context(), hello(), nil)
				require.NoError(t, err)
				require.Equal(t, 20*time.Second, time.Since(start))
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := inProcess(t, adaptertest.Failing(429, `{"error":{"message":"no"}}`, "Retry-After", "31")).Generate(t.Context(), hello(), nil)
		require.Equal(t, 31*time.Second, apiError(t, err).RetryAfter)
		require.Zero(t, time.Since(start), "the caller decides about a long wait")
	})
}

func TestFirstByteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, sink := range []model.Sink{nil, func(model.Delta) error { return nil }} {
			start := time.Now()
			_, err := inProcess(t, adaptertest.Never, once).Generate(t.Context(), hello(), sink)
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			require.True(t, apiError(t, err).Retryable)
			require.ErrorContains(t, err, "no response within 10m0s")
			require.Equal(t, 10*time.Minute, time.Since(start))
		}
		m := inProcess(t, adaptertest.Drip(time.Hour, "late"), once, func(c *geminimodel.Config) { c.Timeouts.FirstByte = time.Second })
		start := time.Now()
		_, err := m.Generate(t.Context(), hello(), nil)
		require.ErrorContains(t, err, "no response within 1s", "headers alone are not a response")
		require.Equal(t, time.Second, time.Since(start))
		time.Sleep(time.Hour) // the slow server ends before the bubble
	})
}

func TestIdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := adaptertest.Drip(4*time.Minute, ": keep-alive\n\n", events(chunk("", `{"text":"a"}`)), ": keep-alive\n\n", events(chunk("STOP", `{"text":"b"}`)))
		msg, err := stream(t, inProcess(t, slow), hello())
		require.NoError(t, err)
		require.Equal(t, "ab", msg.Text())

		start := time.Now()
		_, err = stream(t, inProcess(t, adaptertest.Drip(time.Second, events(chunk("", `{"text":"a"}`)))), hello())
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.ErrorContains(t, err, "nothing for 5m0s")
		require.Equal(t, time.Second+5*time.Minute, time.Since(start))
	})
}

func TestStreamLeftOpenIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		msg, err := stream(t, inProcess(t, adaptertest.Drip(0, events(chunk("", `{"text":"a"}`), chunk("STOP")))), hello())
		require.NoError(t, err)
		require.Equal(t, "a", msg.Text())
		require.LessOrEqual(t, time.Since(start), 6*time.Second)
	})
}

func TestTotalTimeoutCoversRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, f := range map[string]transport{"waiting": adaptertest.Never, "between attempts": adaptertest.Failing(429, `{"error":{"message":"no"}}`, "Retry-After", "20")} {
			start := time.Now()
			m := inProcess(t, f, func(c *geminimodel.Config) { c.Timeouts.Total = 10 * time.Second })
			_, err := m.Generate(t.Context(), hello(), nil)
			require.ErrorIs(t, err, os.ErrDeadlineExceeded, name)
			require.NotErrorIs(t, err, context.DeadlineExceeded, "it is not the caller's deadline")
			require.True(t, apiError(t, err).Retryable)
			require.Equal(t, 10*time.Second, time.Since(start))
			require.Equal(t, name == "between attempts", errors.Is(err, model.ErrRateLimited), "the last failure is kept")
		}
	})
}

func TestGenerateEndsWithTheContext(t *testing.T) {
	mine := errors.New("the user left")
	for name, f := range map[string]transport{
		"before the answer": adaptertest.Never,
		"in the stream":     adaptertest.Drip(time.Second, events(chunk("", `{"text":"a"}`))),
		"in back-off":       adaptertest.Failing(429, `{"error":{"message":"no"}}`, "Retry-After", "25"),
		"after the finish":  adaptertest.Drip(4*time.Second, events(chunk("STOP"))),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				start := time.Now()
				time.AfterFunc(5*time.Second, func() { cancel(mine) })
				msg, err := inProcess(t, f).Generate(ctx, hello(), func(model.Delta) error { return nil })
				require.Nil(t, msg)
				require.ErrorIs(t, err, mine)
				require.ErrorIs(t, err, context.Canceled)
				require.Equal(t, 5*time.Second, time.Since(start))
				require.Equal(t, name == "in back-off", errors.Is(err, model.ErrRateLimited), "%v", err)
				require.ErrorContains(t, err, "geminimodel: google test-model: request cancelled: the user left")
			})
		})
	}
}

func TestSlowCredentialsEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		m := inProcess(t, adaptertest.Never, onVertex, func(c *geminimodel.Config) { c.Credentials = slowCredentials() })
		_, err := m.Generate(ctx, hello(), nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, model.ErrAuth)
	})
}
