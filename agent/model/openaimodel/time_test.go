// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

// inProcess returns a model whose endpoint is f, without a network, so that time can be faked. When the bubble ends, no
// goroutine may be left, so every test here also detects leaks.
func inProcess(t *testing.T, f transport, change ...func(*openaimodel.Config)) *openaimodel.Model {
	change = append([]func(*openaimodel.Config){func(c *openaimodel.Config) {
		c.HTTPClient = f.Client()
		c.Retry = model.RetryPolicy{}
	}}, change...)
	return newModel(t, "http://endpoint.test/v1", "", change...)
}

func once(c *openaimodel.Config) { c.Retry.Attempts = 1 }

func failing(status int, header ...string) transport {
	return adaptertest.Failing(status, `{"error":{"message":"no"}}`, header...)
}

func TestRetriesBackOffWithJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		start := time.Now()
		m := inProcess(t, func(r *http.Request) (*http.Response, error) {
			at = append(at, time.Since(start))
			return failing(503)(r)
		}, func(c *openaimodel.Config) {
			c.Retry = model.RetryPolicy{Attempts: 5, Base: time.Second, Max: 3 * time.Second}
		})
		_, err := m.Generate(t.Context(), hello(), nil)
		require.Equal(t, 503, apiError(t, err).Status)
		require.Len(t, at, 5)
		for i, most := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second} {
			wait := at[i+1] - at[i]
			require.LessOrEqual(t, wait, most)
			require.GreaterOrEqual(t, wait, most*3/4)
		}
	})
}

func TestRetryUsesRetryAfter(t *testing.T) {
	for name, header := range map[string][]string{
		"seconds":      {"Retry-After", "20"},
		"milliseconds": {"Retry-After", "1", "Retry-After-Ms", "20000"},
		"a date":       {"Retry-After", "date"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if header[1] == "date" {
					header[1] = time.Now().Add(20 * time.Second).UTC().Format(http.TimeFormat)
				}
				n, start := 0, time.Now()
				m := inProcess(t, func(r *http.Request) (*http.Response, error) {
					if n++; n == 1 {
						return failing(429, header...)(r)
					}
					return adaptertest.Respond(r, 200, adaptertest.Text(dialects[0].text.plain)), nil
				})
				msg, err := m.Generate(t.Context(), hello(), nil)
				require.NoError(t, err)
				require.Equal(t, "Hello, wörld", msg.Text())
				require.Equal(t, 20*time.Second, time.Since(start))
			})
		})
	}
}

func TestLongRetryAfterIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := inProcess(t, failing(429, "Retry-After", "31")).Generate(t.Context(), hello(), nil)
		require.Equal(t, 31*time.Second, apiError(t, err).RetryAfter)
		require.Zero(t, time.Since(start))
	})
}

func TestWhatIsRetried(t *testing.T) {
	broken := func(r *http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }
	body := func(s string) transport {
		return func(r *http.Request) (*http.Response, error) {
			return adaptertest.Respond(r, 200, adaptertest.Text(s)), nil
		}
	}
	for name, test := range map[string]struct {
		f    transport
		want int
	}{
		"408": {failing(408), 3}, "409": {failing(409), 3}, "425": {failing(425), 3}, "429": {failing(429), 3},
		"500": {failing(500), 3}, "529": {failing(529), 3}, "501": {failing(501), 1}, "400": {failing(400), 1}, "404": {failing(404), 1},
		"no connection":               {broken, 3},
		"a stream cut before a delta": {body(": hi\n\n" + openEvents(delta(`{"role":"assistant","content":""}`))), 3},
		"a stream cut after a delta":  {body(openEvents(delta(`{"content":"x"}`))), 1},
		"a body cut short":            {body(`{"choices":[`), 3},
		"a body of nonsense":          {body(`{"choices":[}, 1]`), 1},
		"no choices":                  {body(`{"id":"x","choices":[]}`), 3},
		"an overload in the stream":   {body(openEvents(`{"error":{"code":503,"message":"overloaded"}}`)), 3},
		"a refusal in the stream":     {body(openEvents(`{"error":{"code":400,"message":"bad"}}`)), 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				m := inProcess(t, func(r *http.Request) (*http.Response, error) {
					n++
					sent, err := io.ReadAll(r.Body)
					require.NoError(t, err)
					require.Contains(t, string(sent), `"hi"`, "every attempt sends the whole body")
					return test.f(r)
				})
				_, err := stream(t, m, hello())
				apiError(t, err)
				require.Equal(t, test.want, n)
			})
		})
	}
}

func TestFirstByteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		m := inProcess(t, adaptertest.Never, once)
		_, err := m.Generate(t.Context(), hello(), nil)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.True(t, apiError(t, err).Retryable)
		require.ErrorContains(t, err, "no response within 10m0s")
		require.Equal(t, 10*time.Minute, time.Since(start))

		m = inProcess(t, adaptertest.Drip(time.Hour, "late"), once, func(c *openaimodel.Config) { c.Timeouts.FirstByte = time.Second })
		start = time.Now()
		_, err = m.Generate(t.Context(), hello(), nil)
		require.ErrorContains(t, err, "no response within 1s", "headers alone are not a response")
		require.Equal(t, time.Second, time.Since(start))

		_, err = inProcess(t, adaptertest.Never).Models(t.Context())
		require.ErrorContains(t, err, "no response within 10m0s")
		time.Sleep(time.Hour) // the slow server ends before the bubble
	})
}

func TestIdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := adaptertest.Drip(4*time.Minute, ": keep-alive\n\n", openEvents(delta(`{"content":"a"}`)), ": keep-alive\n\n", ": keep-alive\n\n", openEvents(delta(`{"content":"b"}`)), events(finish("stop")))
		msg, err := stream(t, inProcess(t, slow), hello())
		require.NoError(t, err)
		require.Equal(t, "ab", msg.Text())

		start := time.Now()
		_, err = stream(t, inProcess(t, adaptertest.Drip(time.Second, openEvents(delta(`{"content":"a"}`)))), hello())
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.ErrorContains(t, err, "nothing for 5m0s")
		require.Equal(t, time.Second+5*time.Minute, time.Since(start))
	})
}

func TestSinkTimeIsNotSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := inProcess(t, adaptertest.Drip(time.Second, openEvents(delta(`{"content":"a"}`)), openEvents(delta(`{"content":"b"}`)), events(finish("stop"))))
		msg, err := m.Generate(t.Context(), hello(), func(model.Delta) error { time.Sleep(time.Hour); return nil })
		require.NoError(t, err)
		require.Equal(t, "ab", msg.Text())
	})
}

func TestStreamLeftOpenIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		msg, err := stream(t, inProcess(t, adaptertest.Drip(0, events(delta(`{"content":"a"}`), finish("stop")))), hello())
		require.NoError(t, err)
		require.Equal(t, "a", msg.Text())
		require.LessOrEqual(t, time.Since(start), 100*time.Millisecond)

		start = time.Now()
		msg, err = stream(t, inProcess(t, adaptertest.Drip(0, openEvents(delta(`{"content":"a"}`), finish("stop")))), hello())
		require.NoError(t, err)
		require.Equal(t, "a", msg.Text())
		require.LessOrEqual(t, time.Since(start), 6*time.Second)
	})
}

func TestWaitAfterTheEndIsLimited(t *testing.T) {
	for idle, want := range map[time.Duration]time.Duration{time.Second: time.Second, time.Minute: 5 * time.Second, -1: 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			m := inProcess(t, adaptertest.Drip(0, openEvents(delta(`{"content":"a"}`), finish("stop"))), func(c *openaimodel.Config) { c.Timeouts.Idle = idle })
			start := time.Now()
			msg, err := stream(t, m, hello())
			require.NoError(t, err)
			require.Equal(t, "a", msg.Text())
			require.Equal(t, want, time.Since(start))
		})
	}
}

func TestTotalTimeoutCoversRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, f := range map[string]transport{"waiting": adaptertest.Never, "between attempts": failing(429, "Retry-After", "20")} {
			start := time.Now()
			m := inProcess(t, f, func(c *openaimodel.Config) { c.Timeouts.Total = 10 * time.Second })
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
		"in the stream":     adaptertest.Drip(time.Second, openEvents(delta(`{"content":"a"}`))),
		"in back-off":       failing(429, "Retry-After", "25"),
		"after the finish":  adaptertest.Drip(4*time.Second, openEvents(finish("stop"))),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				start := time.Now()
				time.AfterFunc(5*time.Second, func() { cancel(mine) })
				msg, err := stream(t, within(ctx, inProcess(t, f)), hello())
				require.Nil(t, msg)
				require.ErrorIs(t, err, mine)
				require.ErrorIs(t, err, context.Canceled)
				require.Equal(t, 5*time.Second, time.Since(start))
				require.Equal(t, name == "in back-off", errors.Is(err, model.ErrRateLimited), "%v", err)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := inProcess(t, adaptertest.Never).Generate(ctx, hello(), nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "openaimodel: endpoint.test test-model: request cancelled: context deadline exceeded")
	})
	// Deltas that have already been received must not hide the end.
	ctx, cancel := context.WithCancel(t.Context())
	m := newModel(t, serve(t, answer{Body: events(delta(`{"content":"a"}`), delta(`{"content":"b"}`), finish("stop"))}).URL, "")
	_, err := m.Generate(ctx, hello(), func(model.Delta) error { cancel(); return nil })
	require.ErrorIs(t, err, context.Canceled)
}

// within returns a model that calls m with ctx.
func within(ctx context.Context, m model.Model) model.Model {
	return model.Func(m.Info(), func(_ context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		return m.Generate(ctx, req, sink)
	})
}
