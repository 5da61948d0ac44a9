// SPDX-License-Identifier: Apache-2.0

package ollamadialect_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

const empty = `{"model":"m","done":true}` + "\n"

func TestErrorInsteadOfAStream(t *testing.T) {
	for name, test := range map[string]struct {
		answer    adaptertest.Answer
		says      string
		retryable bool
		is        error
	}{
		"Ollama's":  {answer: adaptertest.Answer{Status: 404, Body: `{"error":"model 'x' not found"}`}, says: "HTTP 404 Not Found: model 'x' not found"},
		"a proxy's": {answer: adaptertest.Answer{Status: 401, Body: "<h1>Who are you?</h1>"}, says: "HTTP 401 Unauthorized: <h1>Who", is: model.ErrAuth},
		"overload":  {answer: adaptertest.Answer{Status: 503, Body: `{"error":"busy"}`}, says: "HTTP 503 Service Unavailable: busy", retryable: true},
		"no JSON":   {answer: adaptertest.Answer{Body: "<h1>Welcome</h1>"}, says: "failed to translate chunk", retryable: true, is: io.ErrUnexpectedEOF},
		"nothing":   {answer: adaptertest.Answer{Body: empty}, says: "the response is empty", retryable: true, is: io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			e := adaptertest.Serve(t, test.answer)
			_, err := adaptertest.Stream(t, open(t, e.URL, false), adaptertest.Hello())
			require.ErrorContains(t, err, test.says)
			require.Equal(t, test.retryable, adaptertest.APIError(t, err, "no key").Retryable)
			require.Equal(t, 2, e.Count())
			if test.is != nil {
				require.ErrorIs(t, err, test.is)
			}
		})
	}
}

func TestSecondResponseIsUsed(t *testing.T) {
	e := adaptertest.Serve(t, adaptertest.Answer{Body: empty}, adaptertest.Answer{Body: `{"message":{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{}}}]}}`})
	msg, err := adaptertest.Stream(t, open(t, e.URL, false), adaptertest.Hello())
	require.NoError(t, err)
	require.Equal(t, "f", msg.Parts[0].Tool)
	require.Equal(t, model.FinishToolCalls, msg.Finish)
	_, body := e.Last()
	require.Contains(t, body, `"stream":false`)
}

func TestNoSecondRequestAfterADelta(t *testing.T) {
	e := adaptertest.Serve(t, adaptertest.Answer{Body: `{"message":{"role":"assistant","content":"Os"}}` + "\n" + `{"mess`})
	_, err := adaptertest.Stream(t, open(t, e.URL, false), adaptertest.Hello())
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, 1, e.Count())
	_, err = open(t, adaptertest.Serve(t, adaptertest.Answer{Body: empty}).URL, false).Generate(t.Context(), adaptertest.Hello(), nil)
	require.ErrorContains(t, err, "the response is empty", "no second request for unstreamed responses")
}

func TestSecondRequestEndsWithTheContext(t *testing.T) {
	asked := 0
	left := errors.New("the user has left")
	ctx, cancel := context.WithCancelCause(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if asked++; asked == 1 {
			_, _ = io.WriteString(w, empty)
			return
		}
		cancel(left)
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	_, err := open(t, server.URL, false).Generate(ctx, adaptertest.Hello(), func(model.Delta) error { return nil })
	require.ErrorIs(t, err, left)
	require.False(t, errors.As(err, new(*model.APIError)))
}
