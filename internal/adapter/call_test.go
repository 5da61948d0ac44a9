// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

var busy = &model.APIError{Provider: "p", Status: 503, Retryable: true}

func patient() adapter.Call {
	return adapter.Call{Package: "pmodel", Info: model.Info{Provider: "p", Name: "m"}, Retry: model.RetryPolicy{Attempts: 3, Base: time.Second, Max: time.Minute, Total: time.Hour}}
}

// try counts the attempts that end in these errors, the last of them from then on.
func try(caller context.Context, c adapter.Call, heard bool, errs ...error) (attempts int, err error) {
	ctx, stop := c.Bound(caller)
	defer stop()
	err = c.Try(caller, ctx, func() error {
		attempts++
		return errs[min(attempts, len(errs))-1]
	}, func() bool { return heard })
	return attempts, err
}

func TestTryRetriesTransientErrors(t *testing.T) {
	final := &model.APIError{Provider: "p", Status: 400}
	long := &model.APIError{Provider: "p", Status: 429, Retryable: true, RetryAfter: time.Hour}
	other := errors.New("other")
	for name, test := range map[string]struct {
		heard    bool
		errs     []error
		attempts int
		want     error
	}{
		"passes":               {errs: []error{busy, nil}, attempts: 2},
		"never passes":         {errs: []error{busy}, attempts: 3, want: busy},
		"becomes final":        {errs: []error{busy, final}, attempts: 2, want: final},
		"no error of the API":  {errs: []error{other}, attempts: 1, want: other},
		"the sink has heard":   {heard: true, errs: []error{busy}, attempts: 1, want: busy},
		"too long a wait":      {errs: []error{long}, attempts: 1, want: long},
		"wrapped, of the sink": {errs: []error{fmt.Errorf("in a stream: %w", adapter.FromSink(busy))}, attempts: 1, want: busy},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				attempts, err := try(t.Context(), patient(), test.heard, test.errs...)
				require.Equal(t, test.attempts, attempts)
				require.True(t, err == test.want, "%v", err)
			})
		})
	}
}

func TestTryEndsWithContextOrBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := patient()
		c.Total = time.Second / 2
		attempts, err := try(t.Context(), c, false, busy)
		require.Equal(t, 1, attempts)
		var failed *model.APIError
		require.ErrorAs(t, err, &failed)
		require.True(t, failed.Retryable)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.EqualError(t, err, "model: p m: no complete response within 500ms: i/o timeout; before that: model: p: HTTP 503 Service Unavailable")

		cause := errors.New("enough")
		caller, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		attempts, err = try(caller, patient(), false, busy)
		require.Zero(t, attempts)
		require.ErrorIs(t, err, cause)
		require.EqualError(t, err, "pmodel: p m: request cancelled: enough (context canceled)")

		caller, cancel = context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second/2, func() { cancel(cause) })
		_, err = try(caller, patient(), false, busy)
		require.ErrorIs(t, err, cause)
		require.ErrorIs(t, err, busy, "why it was not finished before")
	})
}

func TestBrokenAnswerIsUnexpectedEOF(t *testing.T) {
	err := fmt.Errorf("x: %w", adapter.BrokeOff(io.EOF))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.ErrorAs(t, err, new(*adapter.ReadError))
	require.EqualError(t, err, "x: the answer broke off: unexpected EOF")
	require.ErrorIs(t, adapter.BrokeOff(os.ErrDeadlineExceeded), os.ErrDeadlineExceeded)
}

func TestUnknownBodiesAreDescribed(t *testing.T) {
	moved := http.Header{"Location": {"/there"}}
	for want, got := range map[string]string{
		"an empty body (is Config.BaseURL right? it is http://b)":                                 adapter.UnknownBody(404, nil, nil, "message", "http://b"),
		"the answer is no message but an HTML page: Hi (is Config.BaseURL right? it is http://b)": adapter.UnknownBody(200, nil, []byte(" <html><TITLE>Hi </title>"), "message", "http://b"),
		"the answer is no message but an HTML page (is Config.BaseURL right? it is http://b)":     adapter.UnknownBody(200, nil, []byte("<p>"), "message", "http://b"),
		`redirected to "/there" (Config.BaseURL is http://b)`:                                     adapter.UnknownBody(301, moved, nil, "message", "http://b"),
		"upstream is gone": adapter.UnknownBody(502, nil, []byte("upstream is gone\n"), "message", "http://b"),
	} {
		require.Equal(t, want, got)
	}
	require.Equal(t, "abc", adapter.Truncate("abc", 3))
	require.Equal(t, "ab…", adapter.Truncate("abé", 3), "in whole characters")
}

// FuzzAppendJSONString compares with encoding/json.
func FuzzAppendJSONString(f *testing.F) {
	f.Add("")
	f.Add("plain <&> text")
	f.Add("\x00\x1f\"\\\n\r\t\x7f\u2028é😀\xff\xed\xa0\x80")
	f.Fuzz(func(t *testing.T, in string) {
		out := adapter.AppendJSONString([]byte("x"), in)
		require.Equal(t, byte('x'), out[0], "it appends")
		require.Equal(t, string(out[2:len(out)-1]), string(adapter.AppendJSONChars(nil, []byte(in))))
		var back, want string
		require.NoError(t, json.Unmarshal(out[1:], &back))
		std, err := json.Marshal(in)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(std, &want))
		require.Equal(t, want, back)
		require.False(t, strings.ContainsAny(string(out), "\n\r"))
	})
}
