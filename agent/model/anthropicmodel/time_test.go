// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

func inProcess(t testing.TB, f transport, change ...func(*anthropicmodel.Config)) *anthropicmodel.Model {
	change = append([]func(*anthropicmodel.Config){func(c *anthropicmodel.Config) {
		c.HTTPClient = f.Client()
		c.Retry = model.RetryPolicy{}
	}}, change...)
	return newModel(t, "http://endpoint.test", change...)
}

func once(c *anthropicmodel.Config) { c.Retry.Attempts = 1 }

func ignore(model.Delta) error { return nil }

func TestRetryableErrorsAreRetried(t *testing.T) {
	for name, first := range map[string]transport{
		"overloaded":        adaptertest.Failing(529, wireErrorOf("api_error", "no")),
		"rate limited":      adaptertest.Failing(429, wireErrorOf("api_error", "no"), "Retry-After", "2"),
		"no connection":     func(*http.Request) (*http.Response, error) { return nil, errors.New("gone") },
		"breaks off":        adaptertest.Canned(begin()),
		"no message":        adaptertest.Canned(`{}`),
		"error in a stream": adaptertest.Canned(begin() + event(wireErrorOf("overloaded_error", "busy"))),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var at []time.Duration
				began := time.Now()
				m := inProcess(t, func(r *http.Request) (*http.Response, error) {
					if at = append(at, time.Since(began)); len(at) < 3 {
						return first(r)
					}
					return adaptertest.Respond(r, 200, adaptertest.Text(events(say("ok")...))), nil
				})
				msg, err := stream(t, m, hello())
				require.NoError(t, err)
				require.Equal(t, "ok", msg.Text())
				require.Len(t, at, 3)
				if name == "rate limited" {
					require.Equal(t, []time.Duration{0, 2 * time.Second, 4 * time.Second}, at)
				} else {
					require.InDelta(t, 437*time.Millisecond, at[1], float64(63*time.Millisecond))
					require.InDelta(t, 875*time.Millisecond, at[2]-at[1], float64(126*time.Millisecond))
				}
			})
		})
	}
}

func TestOtherErrorsAreNotRetried(t *testing.T) {
	for name, first := range map[string]transport{
		"bad request":       adaptertest.Failing(400, wireErrorOf("api_error", "no")),
		"too long a wait":   adaptertest.Failing(429, wireErrorOf("api_error", "no"), "Retry-After", "31"),
		"told not to":       adaptertest.Failing(500, wireErrorOf("api_error", "no"), "X-Should-Retry", "false"),
		"deltas were shown": adaptertest.Canned(begin() + say("x")[0] + say("x")[1]),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				m := inProcess(t, func(r *http.Request) (*http.Response, error) {
					n++
					return first(r)
				})
				_, err := m.Generate(t.Context(), hello(), ignore)
				apiError(t, err)
				require.Equal(t, 1, n)
			})
		})
	}
}

func TestSilenceIsLimited(t *testing.T) {
	never := func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, context.Cause(r.Context())
	}
	ping := event(`{"type":"ping"}`)
	for name, test := range map[string]struct {
		transport transport
		timeouts  model.Timeouts
		after     time.Duration
		want      string
	}{
		"no answer":             {never, model.Timeouts{}, 10 * time.Minute, "no response within 10m0s"},
		"no first byte":         {adaptertest.Drip(time.Second), model.Timeouts{FirstByte: 5 * time.Second}, 5 * time.Second, "no response within 5s"},
		"silence within":        {adaptertest.Drip(time.Second, begin()), model.Timeouts{}, 5*time.Minute + time.Second, "nothing for 5m0s"},
		"pings are not silence": {adaptertest.Drip(4*time.Minute, begin(), ping, ping), model.Timeouts{}, 17 * time.Minute, "nothing for 5m0s"},
		"all in all":            {adaptertest.Drip(time.Minute, begin(), ping, ping, ping), model.Timeouts{Total: 150 * time.Second}, 150 * time.Second, "no complete response within 2m30s"},
		"within an error's body": {func(r *http.Request) (*http.Response, error) {
			resp, err := adaptertest.Drip(time.Second, "{")(r)
			resp.StatusCode = 500
			return resp, err
		}, model.Timeouts{}, 5*time.Minute + time.Second, "{"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := inProcess(t, test.transport, once, func(c *anthropicmodel.Config) { c.Timeouts = test.timeouts })
				began := time.Now()
				_, err := m.Generate(t.Context(), hello(), ignore)
				require.Equal(t, test.after, time.Since(began))
				require.ErrorContains(t, err, test.want)
				require.True(t, apiError(t, err).Retryable)
				if test.want != "{" {
					require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				}
			})
		})
	}
}

// A request that the caller ended has no failure of the provider to tell.
func TestContextEndsRequests(t *testing.T) {
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(asked)
		<-r.Context().Done()
	}))
	defer server.Close()
	m, err := anthropicmodel.New(anthropicmodel.Config{Name: "claude-haiku-4-5", BaseURL: server.URL, APIKey: "k"})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	_, err = m.Generate(ctx, hello(), nil)
	require.ErrorIs(t, err, context.Canceled)
	var failed *model.APIError
	require.False(t, errors.As(err, &failed), "%v", err)
}

func TestContextEndsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine := errors.New("changed my mind")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(mine) })
		began := time.Now()
		_, err := inProcess(t, adaptertest.Failing(429, wireErrorOf("api_error", "no"), "Retry-After", "20")).Generate(ctx, hello(), nil)
		require.Equal(t, time.Second, time.Since(began))
		require.ErrorIs(t, err, mine)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, model.ErrRateLimited, "it says what it was waiting for")
		require.ErrorContains(t, err, "anthropicmodel: anthropic claude-haiku-4-5: request cancelled: changed my mind")
	})
}
