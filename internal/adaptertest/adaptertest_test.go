// SPDX-License-Identifier: Apache-2.0

package adaptertest_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adaptertest"
	"github.com/ponte-go/ponte/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func get(t *testing.T, url string) (*http.Response, string, error) {
	t.Helper()
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

func TestAnEndpointKeepsToItsScript(t *testing.T) {
	e := adaptertest.Serve(t, adaptertest.Answer{Body: "data: x\n\n"}, adaptertest.Answer{Body: "{}", Cut: true},
		adaptertest.Answer{Status: 429, Header: map[string]string{"Retry-After": "7"}})
	resp, body, err := get(t, e.URL+"/first")
	require.NoError(t, err)
	require.Equal(t, "data: x\n\n", body)
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	resp, _, err = get(t, e.URL)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, "application/json; charset=UTF-8", resp.Header.Get("Content-Type"))
	for range 2 {
		resp, _, err = get(t, e.URL+"/last")
		require.NoError(t, err)
		require.Equal(t, 429, resp.StatusCode)
		require.Equal(t, "7", resp.Header.Get("Retry-After"))
	}
	require.Equal(t, 4, e.Count())
	require.Equal(t, "/first", e.Requests[0].URL.Path)
	last, _ := e.Last()
	require.Equal(t, "/last", last.URL.Path)
	http.DefaultClient.CloseIdleConnections()
}

func TestADripIsSilentBetweenItsPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://x.test", nil)
		require.NoError(t, err)
		resp, err := adaptertest.Drip(time.Second, "a", "b").Client().Do(r)
		require.NoError(t, err)
		began := time.Now()
		body, err := io.ReadAll(resp.Body)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, "ab", string(body))
		require.Equal(t, time.Minute, time.Since(began))
	})
}

func TestARecorderKnowsPartsByTheirDeltas(t *testing.T) {
	r := &adaptertest.Recorder{T: t}
	for _, d := range []model.Delta{
		{Kind: model.PartText, Text: "a"}, {Part: 1, Kind: model.PartToolCall, CallID: "c", Tool: "f", Text: "{"},
		{Kind: model.PartText, Text: "b"}, {Part: 1, Kind: model.PartToolCall, Text: "}"}, {Usage: &model.Usage{InputTokens: 1}},
	} {
		require.NoError(t, r.Sink(d))
	}
	r.Agrees(&model.Message{Parts: []model.Part{model.ToolCall("c", "f", "{}"), model.Text("ab")}, Usage: model.Usage{InputTokens: 1}})
}

func TestTheListsOfErrorsAreWhole(t *testing.T) {
	require.Len(t, adaptertest.TooLong, 135)
	require.Len(t, adaptertest.NotTooLong, 67)
	for _, a := range append(adaptertest.TooLong, adaptertest.NotTooLong...) {
		require.NotEmpty(t, a.Source)
		require.NotZero(t, a.Status)
	}
}
