// SPDX-License-Identifier: Apache-2.0

package openaidialect_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/openaidialect"
)

// answering is a transport that answers with a body, read through wrap.
type answering struct {
	body, contentType string
	wrap              func(io.Reader) io.Reader
}

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {a.contentType}}, Body: io.NopCloser(a.wrap(strings.NewReader(a.body))), Request: r,
	}, nil
}

func openOffline(t testing.TB, a answering) *genkitmodel.Model {
	t.Helper()
	m, err := openaidialect.New(openaidialect.Config{Name: "m", APIKey: testKey, HTTPClient: &http.Client{Transport: a}})
	require.NoError(t, err)
	return m
}

func TestStreamInSingleBytes(t *testing.T) {
	body := events(delta(`{"content":"æ"}`), delta(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"t","arguments":"{ }"}}]}`), finish("stop"))
	for name, wrap := range map[string]func(io.Reader) io.Reader{"bytes": iotest.OneByteReader, "end with data": iotest.DataErrReader} {
		m := openOffline(t, answering{strings.ReplaceAll(body, "\n", "\r\n"), "text/event-stream; charset=utf-8", wrap})
		msg, err := m.Generate(t.Context(), hello(), func(model.Delta) error { return nil })
		require.NoError(t, err, name)
		require.Equal(t, []model.Part{model.Text("æ"), model.ToolCall("c", "t", "{ }")}, msg.Parts, name)
	}
}

// A server may stream unasked, and the other way round.
func TestResponseFormIsDetected(t *testing.T) {
	whole := func(r io.Reader) io.Reader { return r }
	m := openOffline(t, answering{events(delta(`{"content":"hi"}`), finish("stop")), "text/event-stream", whole})
	msg, err := m.Generate(t.Context(), hello(), nil)
	require.NoError(t, err)
	require.Equal(t, "hi", msg.Text())
	m = openOffline(t, answering{hi, "application/json", whole})
	msg, err = m.Generate(t.Context(), hello(), func(model.Delta) error { return nil })
	require.NoError(t, err)
	require.Equal(t, "hi", msg.Text())
}

// The SDK allocates as many choices and calls as an index says.
func TestUnreasonableIndexDoesNotReachTheSDK(t *testing.T) {
	for _, index := range []string{"1000000000000", "1e12", "-1", `"1000000000000"`, "{}", "1024"} {
		for _, chunk := range []string{
			delta(`{"tool_calls":[{"index":` + index + `,"id":"c","function":{"name":"t","arguments":"{}"}}]}`),
			`{"choices":[{"index":` + index + `,"delta":{"content":"a"}}]}`,
		} {
			m := openOffline(t, answering{events(delta(`{"content":"a"}`), chunk, finish("stop")), "text/event-stream", func(r io.Reader) io.Reader { return r }})
			_, err := m.Generate(t.Context(), hello(), func(model.Delta) error { return nil })
			require.ErrorContains(t, err, "an unreasonable index", chunk)
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add(events(delta(`{"content":"a","reasoning_content":"b","refusal":"c"}`), finish("stop")))
	f.Add(openEvents(delta(`{"tool_calls":[{"index":3,"id":"c","function":{"name":"t","arguments":"{"}}]}`), `{"error":{"message":"m","code":400}}`))
	f.Add(events(`{"choices":[{"index":0,"delta":{"content":[{"text":"a"}]},"finish_reason":"length"}],"usage":{"prompt_tokens":1}}`))
	f.Add(openEvents(delta(`{"tool_calls":[{"index":1e9,"function":{"name":"t"}}]}`)))
	var body string // of one request at a time
	m := openOffline(f, answering{"", "text/event-stream", func(io.Reader) io.Reader { return strings.NewReader(body) }})
	f.Fuzz(func(t *testing.T, stream string) {
		body = stream
		streamed := map[int]string{}
		msg, err := m.Generate(t.Context(), hello(), func(d model.Delta) error {
			streamed[d.Part] += d.Text
			return nil
		})
		if err != nil {
			return
		}
		if _, err := json.Marshal(msg); err != nil {
			t.Fatal(err)
		}
		said := 0
		for _, p := range msg.Parts {
			said += len(p.Text) + len(p.Args)
		}
		for _, s := range streamed {
			said -= len(s)
		}
		if said != 0 {
			t.Errorf("the sink was told %d bytes less than the message has: %v, %+v", said, streamed, msg.Parts)
		}
	})
}
