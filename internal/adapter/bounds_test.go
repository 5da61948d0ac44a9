// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run the test with -update, and read what it writes")
	require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), got)
}

// Waits are spread over the last quarter, so that many clients do not come at once.
func TestBackoffIsSpread(t *testing.T) {
	for attempt, most := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 4: 5 * time.Second, 5: 5 * time.Second} {
		least, longest := time.Hour, time.Duration(0)
		for range 2000 {
			wait, ok := adapter.Backoff(attempt, time.Second, 5*time.Second, 0)
			require.True(t, ok)
			least, longest = min(least, wait), max(longest, wait)
		}
		require.GreaterOrEqual(t, least, most*75/100)
		require.Less(t, least, most*76/100)
		require.LessOrEqual(t, longest, most)
		require.Greater(t, longest, most*99/100)
	}
	wait, ok := adapter.Backoff(9, time.Minute, time.Second, 0)
	require.True(t, ok)
	require.LessOrEqual(t, wait, time.Second, "a base beyond the bound")
	wait, ok = adapter.Backoff(1, time.Second, time.Second, 1)
	require.True(t, ok)
	require.EqualValues(t, 1, wait, "what was asked for")
	wait, ok = adapter.Backoff(1, time.Second, time.Second, -1)
	require.True(t, ok)
	require.Greater(t, wait, time.Second/2, "nobody asks for less than nothing")
}

func TestTheSharedClientKeepsConnections(t *testing.T) {
	c := adapter.SharedClient()
	require.Same(t, c, adapter.SharedClient())
	transport := c.Transport.(*http.Transport)
	require.Equal(t, []any{0, 256, true, 90 * time.Second}, []any{transport.MaxIdleConns, transport.MaxIdleConnsPerHost, transport.ForceAttemptHTTP2, transport.IdleConnTimeout})
	require.NotNil(t, transport.Proxy)
	require.NotSame(t, http.DefaultTransport, transport)
	require.Zero(t, c.Timeout)
	first, err := http.NewRequest("POST", "https://h.test", nil)
	require.NoError(t, err)
	via := make([]*http.Request, 9)
	for i := range via {
		via[i] = first
	}
	require.NoError(t, c.CheckRedirect(first, via))
	require.ErrorIs(t, c.CheckRedirect(first, append(via, first)), http.ErrUseLastResponse)
}

// attempts runs Try with a policy against an error, and returns what was observed.
func attempts(t *testing.T, retry model.RetryPolicy, err error) (observed []string, attempts int, took time.Duration, failed error) {
	synctest.Test(t, func(t *testing.T) {
		retry.Observe = func(ctx context.Context, err error, wait time.Duration) {
			require.NoError(t, ctx.Err())
			observed = append(observed, fmt.Sprintf("%v %s", err, wait))
		}
		began := time.Now()
		c := adapter.Call{Package: "p", Info: model.Info{Provider: "p", Name: "m"}, Retry: retry}
		ctx, stop := c.Bound(t.Context())
		defer stop()
		require.Equal(t, t.Context(), ctx, "no bound")
		failed = c.Try(t.Context(), ctx, func() error { attempts++; return err }, func() bool { return false })
		took = time.Since(began)
	})
	return observed, attempts, took, failed
}

func TestRetriesKeepToTheirPolicy(t *testing.T) {
	asked := &model.APIError{Status: 429, Retryable: true, RetryAfter: 5 * time.Second}
	final, other := &model.APIError{Status: 400}, errors.New("other")
	told := asked.Error() + " 5s"
	for name, test := range map[string]struct {
		retry    model.RetryPolicy
		err      error
		observed []string
		attempts int
		took     time.Duration
	}{
		"attempts":                {model.RetryPolicy{Attempts: 3, Max: time.Minute, Total: time.Hour}, asked, []string{told, told}, 3, 10 * time.Second},
		"one attempt":             {model.RetryPolicy{Attempts: 1, Max: time.Minute, Total: time.Hour}, asked, nil, 1, 0},
		"just enough time":        {model.RetryPolicy{Attempts: 9, Max: time.Minute, Total: 10 * time.Second}, asked, []string{told, told}, 3, 10 * time.Second},
		"too little time":         {model.RetryPolicy{Attempts: 9, Max: time.Minute, Total: 10*time.Second - 1}, asked, []string{told}, 2, 5 * time.Second},
		"the longest wait":        {model.RetryPolicy{Attempts: 2, Max: 5 * time.Second, Total: time.Hour}, asked, []string{told}, 2, 5 * time.Second},
		"too long a wait":         {model.RetryPolicy{Attempts: 2, Max: 5*time.Second - 1, Total: time.Hour}, asked, nil, 1, 0},
		"a final error":           {model.RetryPolicy{Attempts: 3, Max: time.Minute, Total: time.Hour}, final, nil, 1, 0},
		"what the policy retries": {model.RetryPolicy{Attempts: 2, Base: 0, Max: 0, Total: time.Hour, On: func(err error) bool { return errors.Is(err, other) }}, other, []string{"other 0s"}, 2, 0},
		"what the policy leaves":  {model.RetryPolicy{Attempts: 2, Max: time.Minute, Total: time.Hour, On: func(err error) bool { return errors.Is(err, other) }}, asked, nil, 1, 0},
	} {
		observed, n, took, err := attempts(t, test.retry, test.err)
		require.Equal(t, test.err, err, name)
		require.Equal(t, test.observed, observed, name)
		require.Equal(t, test.attempts, n, name)
		require.Equal(t, test.took, took, name)
	}
}

func TestRetriesDoNotTellHeaders(t *testing.T) {
	failed := &model.APIError{Status: 400, Message: "bad key-0123456789"}
	c := adapter.Call{Headers: map[string]string{"X-Key": "key-0123456789"}}
	err := c.Try(t.Context(), t.Context(), func() error { return failed }, func() bool { return false })
	require.EqualError(t, err, "model: HTTP 400 Bad Request: bad [redacted]")
}

func TestHowACallEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := &model.APIError{Provider: "p", Status: 503, Retryable: true}
		for name, test := range map[string]struct {
			total time.Duration
			last  error
			want  string
		}{
			"an error of the provider":   {time.Second, failed, "model: p m: no complete response within 1s: i/o timeout; before that: model: p: HTTP 503 Service Unavailable"},
			"the echo of the bound":      {time.Second, &model.APIError{Err: context.DeadlineExceeded}, "model: p m: no complete response within 1s: i/o timeout"},
			"the echo of a cancellation": {time.Second, &model.APIError{Err: context.Canceled}, "model: p m: no complete response within 1s: i/o timeout"},
			"another error":              {time.Second, errors.New("other"), "model: p m: no complete response within 1s: i/o timeout"},
			"the shortest bound":         {1, failed, "model: p m: no complete response within 1ns: i/o timeout; before that: model: p: HTTP 503 Service Unavailable"},
		} {
			c := adapter.Call{Package: "pkg", Info: model.Info{Provider: "p", Name: "m"}, Total: test.total, Retry: model.RetryPolicy{Attempts: 3}}
			ctx, stop := c.Bound(t.Context())
			err := c.Try(t.Context(), ctx, func() error { time.Sleep(test.total + 1); return test.last }, func() bool { return false })
			stop()
			require.EqualError(t, err, test.want, name)
			var e *model.APIError
			require.ErrorAs(t, err, &e)
			require.Equal(t, []any{"p", "m", true}, []any{e.Provider, e.Model, e.Retryable})
		}
		caller, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c := adapter.Call{Package: "pkg", Info: model.Info{Provider: "p", Name: "m"}, Retry: model.RetryPolicy{Attempts: 3}}
		err := c.Try(caller, caller, func() error { time.Sleep(time.Second + 1); return failed }, func() bool { return false })
		require.EqualError(t, err, "pkg: p m: request cancelled: context deadline exceeded; before that: model: p: HTTP 503 Service Unavailable")
	})
}

// Silence is bounded before the first byte, within an answer, and between events; each to the nanosecond.
func TestSilenceIsBoundedExactly(t *testing.T) {
	type step struct {
		after time.Duration
		event bool // the piece is an event, not a keep-alive
	}
	bounds := model.Timeouts{FirstByte: 10 * time.Second, Idle: 5 * time.Second, Stall: 12 * time.Second}
	for name, test := range map[string]struct {
		bounds model.Timeouts
		steps  []step
		want   string
		at     time.Duration
	}{
		"nothing":                   {bounds, nil, "no response within 10s: i/o timeout", 10 * time.Second},
		"just in time, then silent": {bounds, []step{{10*time.Second - 1, true}}, "the response broke off: nothing for 5s: i/o timeout", 15*time.Second - 1},
		"keep-alives":               {bounds, []step{{1, true}, {4 * time.Second, false}, {4 * time.Second, false}}, "the response stalled: only keep-alives for 12s: i/o timeout", 12*time.Second + 1},
		"keep-alives between":       {bounds, []step{{1, true}, {4 * time.Second, false}, {4 * time.Second, true}, {4 * time.Second, false}}, "the response broke off: nothing for 5s: i/o timeout", 17*time.Second + 1},
		"no bound on keep-alives":   {model.Timeouts{FirstByte: time.Second, Idle: 5 * time.Second}, []step{{1, true}, {4 * time.Second, false}, {4 * time.Second, false}, {4 * time.Second, false}}, "the response broke off: nothing for 5s: i/o timeout", 17*time.Second + 1},
		"a bound on events alone":   {model.Timeouts{Stall: 6 * time.Second}, []step{{time.Hour, true}, {4 * time.Second, false}}, "the response stalled: only keep-alives for 6s: i/o timeout", time.Hour + 6*time.Second},
		"the shortest bounds":       {model.Timeouts{FirstByte: 1, Idle: 1, Stall: 2}, nil, "no response within 1ns: i/o timeout", 1},
		"the shortest silence":      {model.Timeouts{Idle: 1}, []step{{time.Hour, true}}, "the response broke off: nothing for 1ns: i/o timeout", time.Hour + 1},
		"the shortest stall":        {model.Timeouts{Stall: 1}, []step{{time.Hour, true}}, "the response stalled: only keep-alives for 1ns: i/o timeout", time.Hour + 1},
		"no bounds":                 {model.Timeouts{}, []step{{time.Hour, true}, {time.Hour, false}}, "", 2 * time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, dog := adapter.Watch(t.Context(), test.bounds)
			pr, pw := io.Pipe()
			stop := context.AfterFunc(ctx, func() { pw.CloseWithError(context.Cause(ctx)) })
			defer stop()
			body := dog.Guard(pr)
			go func() {
				for _, s := range test.steps {
					select {
					case <-time.After(s.after):
					case <-ctx.Done():
						return
					}
					if _, err := io.WriteString(pw, "x"); err != nil {
						return
					}
				}
				if test.want == "" {
					pw.Close()
				}
			}()
			began := time.Now()
			var err error
			for n := 0; err == nil; n++ {
				if _, err = body.Read(make([]byte, 8)); err == nil && test.steps[n].event {
					dog.Event()
				}
			}
			require.Equal(t, test.at, time.Since(began), name)
			if test.want == "" {
				require.ErrorIs(t, err, io.EOF)
				require.NoError(t, dog.Expired(ctx))
			} else {
				require.EqualError(t, dog.Expired(ctx), test.want, name)
				require.ErrorIs(t, dog.Expired(ctx), os.ErrDeadlineExceeded)
			}
			dog.Finish(false)
		})
	}
}

func TestTheWaitForTheTailIsShortened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, dog := adapter.Watch(t.Context(), model.Timeouts{Idle: time.Hour, Stall: time.Hour})
		pr, pw := io.Pipe()
		stop := context.AfterFunc(ctx, func() { pw.CloseWithError(context.Cause(ctx)) })
		defer stop()
		body := dog.Guard(pr)
		go func() { _, _ = io.WriteString(pw, "x") }()
		_, err := body.Read(make([]byte, 1))
		require.NoError(t, err)
		dog.SetIdle(time.Second)
		began := time.Now()
		_, err = body.Read(make([]byte, 1))
		require.Error(t, err)
		require.Equal(t, time.Second, time.Since(began))
		require.NoError(t, body.Close(), "Finish closes the body")
		dog.Finish(true)
	})
}

// The rest of a complete answer is read for a tenth of a second and 64 KiB at most.
func TestTheRestOfAnAnswerIsReadWithinBounds(t *testing.T) {
	for size, left := range map[int]int{64 << 10: 0, 64<<10 + 1: 1} {
		_, dog := adapter.Watch(t.Context(), model.Timeouts{})
		r := strings.NewReader(strings.Repeat("x", size))
		dog.Guard(io.NopCloser(r))
		dog.Finish(true)
		require.Equal(t, left, r.Len())
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, dog := adapter.Watch(t.Context(), model.Timeouts{})
		pr, pw := io.Pipe()
		stop := context.AfterFunc(ctx, func() { pw.CloseWithError(context.Cause(ctx)) })
		defer stop()
		dog.Guard(pr)
		began := time.Now()
		dog.Finish(true)
		require.Equal(t, 100*time.Millisecond, time.Since(began))
	})
}

// An event and a line have as many bytes as the limit says, and not one more.
func TestEventsAreBoundedExactly(t *testing.T) {
	const limit = 100
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, test := range []struct {
		in   string
		fits bool
	}{
		{"data:" + x(95) + "\n\n", true}, {"data:" + x(96) + "\n\n", false}, {"data:" + x(95), true}, {"data:" + x(96), false}, {":" + x(99) + "\ndata:a\n\n", true}, {":" + x(100) + "\n\n", false},
		{"data:" + x(50) + "\ndata:" + x(49) + "\n\n", true}, {"data:" + x(50) + "\ndata:" + x(50) + "\n\n", false}, {"data:" + x(50) + "\ndata:" + x(50), false},
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(test.in), "bytes": iotest.OneByteReader(strings.NewReader(test.in))} {
			events, err := readEvents(r, limit)
			if test.fits {
				require.ErrorIs(t, err, io.EOF, test.in)
				require.Len(t, events, 1)
				continue
			}
			var flood *adapter.FloodError
			require.ErrorAs(t, err, &flood, "%s: %s", name, test.in)
			require.EqualValues(t, limit, flood.Bytes)
			require.Empty(t, events)
		}
	}
	require.EqualError(t, &adapter.FloodError{Bytes: 3<<20 + 5}, "the endpoint sent more than 3 MiB without a complete event")
}

// A stream without an event says something else in its first line.
func TestPlainTextsAreNoStreams(t *testing.T) {
	for in, want := range map[string]string{
		"Service is\nnot here\n": "Service is", "data: a\n\nService is": "", "id: 1\nretry: 2\nevent: x\n": "", ": comment\nfirst: line\nsecond": "first: line", "": "", "\n\n": "", "Service is": "Service is", "dat: x\n": "", "x\n": "x", "t\n": "",
	} {
		r := adapter.NewEventReader(strings.NewReader(in), 1000)
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
		require.Equal(t, want, r.Plain(), "%q", in)
	}
}

func TestStrayObjectsAreEvents(t *testing.T) {
	for in, want := range map[string][]event{
		"{\"a\":1}\n\n":               {{"", `{"a":1}`}},
		"[1,\n2]\n\ndata: x\n\n":      {{"", "[1,\n2]"}, {"", "x"}},
		"<html>\n<p>\n\n":             {{"", "<html>\n<p>"}},
		"data: x\n{\"a\":1}\n\n":      {{"", "x"}},
		"x{\n\ndata: y\n\n":           {{"", "y"}},
		"{\n\"data: x\"\ndata: y\n\n": {{"", "{\n\"data: x\"\ny"}},
		"event: e\n{}\n\n":            {{"e", "{}"}},
	} {
		r := adapter.NewEventReader(strings.NewReader(in), 1000)
		r.Stray = true
		got, err := readWith(r)
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, want, got, "%q", in)
	}
	r := adapter.NewEventReader(strings.NewReader("data: a\n\ndata: b"), 1000)
	ev, err := r.Next()
	require.NoError(t, err)
	require.False(t, ev.AtEnd)
	ev, err = r.Next()
	require.NoError(t, err)
	require.True(t, ev.AtEnd)
}

// An event is delivered as soon as it is complete, however short.
func TestShortEventsAreNotWaitedFor(t *testing.T) {
	for _, in := range []string{"{\n\n", "<\r\r", "data\n\n", "\ufeff{\n\n"} {
		r := adapter.NewEventReader(io.MultiReader(strings.NewReader(in), iotest.ErrReader(errors.New("read too far"))), 1000)
		r.Stray = true
		_, err := r.Next()
		require.NoError(t, err, "%q", in)
	}
}

// A read that gives nothing is not the first byte.
func TestEmptyReadsAreSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, dog := adapter.Watch(t.Context(), model.Timeouts{FirstByte: time.Second, Idle: time.Minute})
		body := dog.Guard(&waiting{ctx: ctx})
		began := time.Now()
		n, err := body.Read(make([]byte, 1))
		require.NoError(t, err)
		require.Zero(t, n)
		_, err = body.Read(make([]byte, 1))
		require.Error(t, err)
		require.Equal(t, time.Second, time.Since(began))
		require.EqualError(t, dog.Expired(ctx), "no response within 1s: i/o timeout")
		dog.Finish(false)
	})
}

// waiting gives nothing once, and then waits for the end of its context.
type waiting struct {
	ctx  context.Context
	read bool
}

func (w *waiting) Read([]byte) (int, error) {
	if !w.read {
		w.read = true
		return 0, nil
	}
	<-w.ctx.Done()
	return 0, w.ctx.Err()
}

func (w *waiting) Close() error { return nil }

// A reader that gives nothing a hundred times gives nothing.
func TestReadersThatGiveNothing(t *testing.T) {
	for pauses, want := range map[int]error{99: io.EOF, 100: io.ErrNoProgress} {
		_, err := readEvents(io.MultiReader(&pausing{pauses}, strings.NewReader("data: a\n\n")), 1000)
		require.ErrorIs(t, err, want)
	}
}

type pausing struct{ left int }

func (p *pausing) Read(b []byte) (int, error) {
	if p.left--; p.left >= 0 {
		return 0, nil
	}
	b[0] = '\n'
	return 1, io.EOF
}

// The status, and what else a message is about, decide whether a conversation is too long.
func TestWhatElseMayBeTooLong(t *testing.T) {
	for status := range 600 {
		e := &model.APIError{Status: status, Message: "prompt is too long"}
		adapter.Classify(e)
		want := status != 401 && status != 402 && status != 403 && status != 429
		require.Equal(t, want, errors.Is(e.Err, model.ErrContextLength), status)
		for _, silent := range []string{"", adapter.EmptyBody} {
			for _, provider := range []string{"", "cerebras", "mistral", "openai"} {
				e := &model.APIError{Status: status, Provider: provider, Message: silent}
				adapter.Classify(e)
				require.Equal(t, status == 413 || status == 400 && (provider == "cerebras" || provider == "mistral"), errors.Is(e.Err, model.ErrContextLength), "%d %s %q", status, provider, silent)
			}
		}
	}
	for message, want := range map[string]bool{
		"too large": true, "an Image too large": false, "the file too large": false, "Audio too large": false, "a FILE": false,
		"maximum context length is 100 tokens (50 in the messages, 100 for the completion)": false, "maximum context length is 100 tokens (50 in the messages, 99 for the completion)": true,
		"maximum context length is 100 tokens (50 in the messages, 100 in the output)": false, "maximum context length is 100 tokens (50 in the messages, 99 in the output)": true,
		"maximum context length is 100 tokens, and 100 output tokens with the prompt": false, "maximum context length is 100 tokens, and 99 output tokens with the prompt": true,
		"maximum context length is 100 tokens (50 in the messages, 900 in the completion)": false,
		"tokens' is too large: 100. maximum context length is 100 for the prompt":          false, "tokens' is too large: 99. maximum context length is 100 for the prompt": true, "maximum context length is 0 tokens, 5 output tokens and a prompt": true,
		"maximum context length is 1 tokens, 1 output tokens and a prompt": false, "maximum context length is 123456789012345 tokens (123456789012 in the completion), prompt": false, "maximum context length is 123456789012345 tokens (123456789011 in the completion), prompt": true,
	} {
		e := &model.APIError{Status: 413, Message: message}
		adapter.Classify(e)
		require.Equal(t, want, errors.Is(e.Err, model.ErrContextLength), message)
	}
}

// Every way to count tokens that providers have, and what it means.
func TestCountsOfTokens(t *testing.T) {
	var told strings.Builder
	seen := map[string]bool{}
	for _, in := range []int64{0, 100} {
		for _, out := range []int64{0, 50} {
			for _, read := range []int64{0, 20, 100, 130} {
				for _, written := range []int64{0, 7, 100, 140} {
					for _, reasoning := range []int64{0, 9, 50, 60} {
						for _, total := range []int64{0, in + out, in + out + reasoning, in + out + read, in + out + written, in + out + read + written, in + out + read + reasoning, in + out + written + reasoning, in + out + read + written + reasoning, in + out + 1, in + out + reasoning + 1} {
							line := fmt.Sprintf("%d of %d %d cached %d %d reasoning %d", total, in, out, read, written, reasoning)
							if seen[line] {
								continue
							}
							seen[line] = true
							u := adapter.Count(total, model.Usage{InputTokens: in, OutputTokens: out, CacheReadTokens: read, CacheWriteTokens: written, ReasoningTokens: reasoning})
							fmt.Fprintf(&told, "%s: %d %d cached %d %d reasoning %d\n", line, u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheWriteTokens, u.ReasoningTokens)
						}
					}
				}
			}
		}
	}
	golden(t, "counts.txt", told.String())
	most := int64(1 << 53)
	require.Equal(t, model.Usage{InputTokens: most, OutputTokens: 0}, adapter.Count(0, model.Usage{InputTokens: most + 1, OutputTokens: -1}))
	for text, want := range map[string]adapter.Tokens{"5": 5, `"5"`: 5, "5.9": 5, "-1": 0, "null": 0, `"x"`: 0, "{}": 0, "9007199254740992": 1 << 53, "1e300": 1 << 53, `"NaN"`: 0} {
		n := adapter.Tokens(7)
		require.NoError(t, n.UnmarshalJSON([]byte(text)))
		require.Equal(t, want, n, text)
	}
}
