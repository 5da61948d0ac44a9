// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

func TestBackoffDoublesUpToItsBound(t *testing.T) {
	for attempt, most := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 3: 3 * time.Second, 1000: 3 * time.Second} {
		for range 20 {
			wait, ok := adapter.Backoff(attempt, time.Second, 3*time.Second, 0)
			require.True(t, ok)
			require.LessOrEqual(t, wait, most)
			require.GreaterOrEqual(t, wait, most*3/4)
		}
	}
	wait, ok := adapter.Backoff(1, time.Second, 3*time.Second, 3*time.Second)
	require.Equal(t, 3*time.Second, wait)
	require.True(t, ok)
	_, ok = adapter.Backoff(1, time.Second, 3*time.Second, 4*time.Second)
	require.False(t, ok)
}

func TestSleepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		adapter.Sleep(ctx, time.Hour)
		require.Equal(t, time.Second, time.Since(began))
		adapter.Sleep(t.Context(), time.Minute)
		require.Equal(t, time.Minute+time.Second, time.Since(began))
	})
}

// A watchdog bounds the wait for each piece, and the time between reads is the reader's own.
func TestWatchdogWatchesReadsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, dog := adapter.Watch(t.Context(), model.Timeouts{FirstByte: time.Minute, Idle: time.Second})
		pr, pw := io.Pipe()
		body := dog.Guard(pr)
		stop := context.AfterFunc(ctx, func() { pw.CloseWithError(context.Cause(ctx)) })
		defer stop()
		go func() {
			time.Sleep(59 * time.Second)
			_, _ = io.WriteString(pw, "ab")
		}()
		one := make([]byte, 1)
		_, err := body.Read(one)
		require.NoError(t, err)
		time.Sleep(time.Hour)
		_, err = body.Read(one)
		require.NoError(t, err)
		require.NoError(t, dog.Expired(ctx))
		began := time.Now()
		_, err = body.Read(one)
		require.Error(t, err)
		require.Equal(t, time.Second, time.Since(began))
		require.ErrorIs(t, dog.Expired(ctx), os.ErrDeadlineExceeded)
		require.ErrorContains(t, dog.Expired(ctx), "nothing for 1s")
		dog.Finish(false)
		require.ErrorIs(t, ctx.Err(), context.Canceled)
	})
}

func TestWatchdogDrainsCompleteAnswers(t *testing.T) {
	for complete, rest := range map[bool]string{true: "", false: "tail"} {
		ctx, dog := adapter.Watch(t.Context(), model.Timeouts{})
		r := strings.NewReader("tail")
		dog.Guard(io.NopCloser(r))
		dog.Finish(complete)
		left, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, rest, string(left))
		require.NoError(t, dog.Expired(ctx), "it was ended, not silent")
	}
}

func TestRedirectsDoNotLeakBodyOrKey(t *testing.T) {
	check := adapter.SharedClient().CheckRedirect
	for name, test := range map[string]struct {
		from, to, method string
		followed         bool
	}{
		"to another path":      {"https://api.test/v1", "https://api.test/v2", "POST", true},
		"into TLS":             {"http://api.test/v1", "https://api.test/v1", "POST", false},
		"to another port":      {"http://127.0.0.1:1/", "http://127.0.0.1:2/", "POST", false},
		"to the usual port":    {"https://api.test/v1", "https://API.test:443/v1", "POST", true},
		"from the usual port":  {"http://api.test:80/v1", "http://api.test:8080/v1", "POST", false},
		"to another host":      {"https://api.test/v1", "https://elsewhere.test/v1", "POST", false},
		"out of TLS":           {"https://api.test/v1", "http://api.test/v1", "POST", false},
		"without its body":     {"https://api.test/v1", "https://api.test/v2", "GET", false},
		"to a host's relative": {"https://api.test/v1", "https://api.test.elsewhere.test/v1", "POST", false},
	} {
		t.Run(name, func(t *testing.T) {
			first, err := http.NewRequest("POST", test.from, nil)
			require.NoError(t, err)
			next, err := http.NewRequest(test.method, test.to, nil)
			require.NoError(t, err)
			want := http.ErrUseLastResponse
			if test.followed {
				want = nil
			}
			require.Equal(t, want, check(next, []*http.Request{first}))
		})
	}
}

func TestClientsOfTheProgramGetTheRuleForRedirects(t *testing.T) {
	require.Same(t, adapter.SharedClient(), adapter.Client(nil))
	own := &http.Client{Timeout: 5}
	used := adapter.Client(own)
	require.Nil(t, own.CheckRedirect, "it is not changed")
	require.EqualValues(t, 5, used.Timeout)
	require.NotNil(t, used.CheckRedirect)
	ruled := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}
	require.Same(t, ruled, adapter.Client(ruled))
}
