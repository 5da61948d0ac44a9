// SPDX-License-Identifier: Apache-2.0

package adaptertest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

// The ids are those at which providers draw a line: at 9, 40 and 64 characters, and beyond.
func TestWhatAwkwardCallsAre(t *testing.T) {
	x := strings.Repeat
	ids := []string{
		"call_1", "functions.weather:0", "functions_weather_0", "", "ø", "a b", "a.b", "a:b", "a_b", "123456789", "chatcmpl-tool-0123456789abcdef0123456789abcdef",
		x("x", 40), x("x", 41), x("x", 64), x("x", 65), x("x", 66), "exec|" + x("y", 100), "quote\"\n\x00",
	}
	names := []string{"weather", "web.search", "read a file!", "", x("n", 70), "ørret", "2nd"}
	conversation := adaptertest.AwkwardCalls()
	require.Len(t, conversation, 3)
	require.Equal(t, model.UserText("hi"), conversation[0])
	calls, results := conversation[1], conversation[2]
	require.Equal(t, "elsewhere other", calls.Provider+" "+calls.Model)
	require.Len(t, calls.Parts, len(ids))
	require.Len(t, results.Parts, len(ids))
	for i, id := range ids {
		name := names[i%7]
		require.Equal(t, model.ToolCall(id, name, "{}"), calls.Parts[i])
		require.Equal(t, model.ToolReturn(id, name, fmt.Sprintf("result of %d", i)), results.Parts[17-i])
	}
}

// A long history has a question, and then calls with their results.
func TestWhatALongHistoryIs(t *testing.T) {
	for n, want := range map[int]int{0: 1, 1: 1, 2: 3, 3: 3, 4: 5, 9: 9} {
		require.Len(t, adaptertest.LongHistory(n), want, "%d messages", n)
	}
	history := adaptertest.LongHistory(5)
	result := strings.Repeat("func main() {\n\tfmt.Println(\"hello, wörld\")\n}\n", 10)
	call := func(id string) []model.Part {
		return []model.Part{model.Text("Let me look at that file."), model.ToolCall(id, "read", `{"path":"src/main.go","from":10,"to":20}`)}
	}
	require.Equal(t, model.UserText("What is where?"), history[0])
	require.Equal(t, call("call_1"), history[1].Parts)
	require.Equal(t, []model.Part{model.ToolReturn("call_1", "read", result)}, history[2].Parts)
	require.Equal(t, call("call_2"), history[3].Parts)
	require.Equal(t, []model.Part{model.ToolReturn("call_2", "read", result)}, history[4].Parts)
}

// Responses are those of HTTP 1.1, of unknown length.
func TestWhatTransportsRespond(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("asked"))
	body := adaptertest.Text("said")
	require.Equal(t, &http.Response{
		StatusCode: 418, Status: "I'm a teapot", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: body, ContentLength: -1, Request: r,
	}, adaptertest.Respond(r, 418, body))

	for name, test := range map[string]struct {
		transport adaptertest.Transport
		status    int
		header    http.Header
	}{
		"canned":  {adaptertest.Canned("said"), 200, http.Header{}},
		"dripped": {adaptertest.Drip(0, "sa", "", "id"), 200, http.Header{}},
		"failing": {adaptertest.Failing(503, "said", "Retry-After", "7", "X-Id", "a"), 503, http.Header{"Retry-After": {"7"}, "X-Id": {"a"}}},
		"no more": {adaptertest.Failing(404, "said"), 404, http.Header{}},
	} {
		resp, err := test.transport(httptest.NewRequest(http.MethodPost, "/", strings.NewReader("asked")))
		require.NoError(t, err, name)
		require.Equal(t, test.status, resp.StatusCode, name)
		require.Equal(t, test.header, resp.Header, name)
		if name != "dripped" {
			said, err := io.ReadAll(resp.Body)
			require.NoError(t, err, name)
			require.Equal(t, "said", string(said), name)
			continue
		}
		said := make([]byte, 4)
		_, err = io.ReadFull(resp.Body, said)
		require.NoError(t, err)
		require.Equal(t, "said", string(said))
		require.NoError(t, resp.Body.Close())
	}
}

// An endpoint gives its answers in their order, and the last one again and again.
func TestWhatEndpointsAnswer(t *testing.T) {
	e := adaptertest.Serve(t, adaptertest.Answer{Body: "{}"}, adaptertest.Answer{Status: 201, Body: "second"},
		adaptertest.Answer{Status: 429, Header: map[string]string{"Content-Type": "text/plain", "Retry-After": "3"}, Body: "third"})
	for i, want := range []string{
		"200 application/json; charset=UTF-8 {}", "201 text/event-stream second", "429 text/plain third", "429 text/plain third",
	} {
		require.Equal(t, i, e.Count())
		asked := fmt.Sprintf("asked %d", i)
		resp, err := e.Client().Post(fmt.Sprintf("%s/%d", e.URL, i), "text/plain", strings.NewReader(asked))
		require.NoError(t, err)
		said, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, fmt.Sprintf("%d %s %s", resp.StatusCode, resp.Header.Get("Content-Type"), said))
		r, body := e.Last()
		require.Equal(t, fmt.Sprintf("/%d %s", i, asked), r.URL.Path+" "+body)
	}
}
