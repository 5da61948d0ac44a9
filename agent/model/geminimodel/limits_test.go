// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

const tooLong = `error: model: google test-model: HTTP 200 OK: the response is longer than 128 MiB, or has more than 10000 parts` +
	"\n" + `  of google test-model, status 200, code "", type "", request "", retryable false, after 0s`

func TestWholeAnswerMayBeAsLongAsTheLimit(t *testing.T) {
	body := chunk("STOP", `{"text":"a"}`)
	geminimodel.LimitResponses(t, len(body))
	require.Contains(t, outcome(t, inMemory(t, answer{Body: body}, nil), hello(), false)[0], `"text":"a"`)
	require.Equal(t, []string{tooLong}, outcome(t, inMemory(t, answer{Body: body + " "}, nil), hello(), false))
}

func TestPartsOfAStreamCountTowardsTheLimit(t *testing.T) {
	image := func(size int) string {
		return `{"inlineData":{"mimeType":"image/png","data":"` + base64.StdEncoding.EncodeToString(make([]byte, size)) + `"}}`
	}
	geminimodel.LimitResponses(t, 40)
	for name, parts := range map[string][2]string{
		"text":      {`{"text":"` + strings.Repeat("x", 40) + `"}`, `{"text":"` + strings.Repeat("x", 41) + `"}`},
		"thinking":  {`{"thought":true,"text":"` + strings.Repeat("x", 40) + `"}`, `{"thought":true,"text":"` + strings.Repeat("x", 41) + `"}`},
		"pieces":    {`{"text":"` + strings.Repeat("x", 20) + `"},{"text":"` + strings.Repeat("x", 20) + `"}`, `{"text":"` + strings.Repeat("x", 20) + `"},{"text":"` + strings.Repeat("x", 21) + `"}`},
		"arguments": {`{"functionCall":{"name":"f","args":"` + strings.Repeat("x", 38) + `"}}`, `{"functionCall":{"name":"f","args":"` + strings.Repeat("x", 39) + `"}}`},
		"images":    {image(40), image(41)},
		"opaque":    {`{"x":"` + strings.Repeat("x", 40-len(`{"x":""}`)) + `"}`, `{"x":"` + strings.Repeat("x", 41-len(`{"x":""}`)) + `"}`},
		"all":       {`{"text":"0123456789"},` + image(10) + `,{"functionCall":{"name":"f","args":{"a":"xx"}}},{"x":"yy"}`, `{"text":"0123456789"},` + image(10) + `,{"functionCall":{"name":"f","args":{"a":"xx"}}},{"x":"yyy"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := outcome(t, inMemory(t, answer{Body: events(chunk("STOP", parts[0]))}, nil), hello(), true)
			require.Contains(t, got[len(got)-1], "message: ")
			got = outcome(t, inMemory(t, answer{Body: events(chunk("STOP", parts[1]))}, nil), hello(), true)
			require.Equal(t, tooLong, got[len(got)-1])
		})
	}
}

func TestLongestEventIsNamed(t *testing.T) {
	flood := transport(func(r *http.Request) (*http.Response, error) {
		return adaptertest.Respond(r, 200, io.NopCloser(&endless{line: strings.Repeat(": keep-alive\n", 1000)})), nil
	})
	_, err := inProcess(t, flood, once).Generate(t.Context(), hello(), func(model.Delta) error { return nil })
	require.ErrorContains(t, err, "more than 65 MiB without a complete event")
}

// endless is a body that repeats a line.
type endless struct{ line string }

func (e *endless) Read(p []byte) (int, error) { return copy(p, e.line), nil }

func TestFinishedStreamWaitsFiveSecondsForMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := `{"usageMetadata":{"promptTokenCount":7}}`
		for pause, counted := range map[time.Duration]int64{5*time.Second - 1: 7, 5*time.Second + 1: 0} {
			start := time.Now()
			m := inProcess(t, adaptertest.Drip(pause, events(chunk("STOP", `{"text":"a"}`)), events(late)), once)
			msg, err := m.Generate(t.Context(), hello(), func(model.Delta) error { return nil })
			require.NoError(t, err)
			require.Equal(t, counted, msg.Usage.InputTokens, pause)
			if counted == 0 {
				require.Equal(t, pause+5*time.Second, time.Since(start))
			} else {
				require.Equal(t, 2*pause+5*time.Second, time.Since(start))
			}
		}
	})
}

// TestBrokenConnectionsMatchTheGoldenFile breaks an answer at several places, with several errors.
func TestBrokenConnectionsMatchTheGoldenFile(t *testing.T) {
	first, last := chunk("", `{"text":"a"}`), chunk("STOP", `{"text":"b"}`)
	var told story
	for _, at := range [][2]string{
		{"nothing", ""}, {"half an event", events(first)[:30]}, {"an event", events(first)}, {"half the last event", events(first) + events(last)[:30]}, {"all events", events(first, last)},
		{"half an object", first[:30]}, {"an object", last}, {"an error", `{"error":{"message":"m"}}`},
	} {
		name, sent := at[0], at[1]
		for _, status := range []int{200, 400} {
			told.ways(name+" "+http.StatusText(status), []string{"reset, whole", "reset, streamed", "cut, whole", "cut, streamed"}, func(way string) []string {
				cause := errors.New("connection reset by " + testKey)
				if strings.HasPrefix(way, "cut") {
					cause = io.ErrUnexpectedEOF
				}
				f := transport(func(r *http.Request) (*http.Response, error) {
					return adaptertest.Respond(r, status, io.NopCloser(io.MultiReader(strings.NewReader(sent), failing{cause}))), nil
				})
				return outcome(t, inProcess(t, f, once), hello(), strings.HasSuffix(way, "streamed"))
			})
		}
	}
	told.compare(t, "broken-connections.txt")
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestSinkMayFailAtAnyDelta checks, for every answer, that the first error of the sink ends it: it is returned as it is, and
// the sink is not called again.
func TestSinkMayFailAtAnyDelta(t *testing.T) {
	mine := errors.New("mine")
	for _, test := range answers {
		for n := 1; ; n++ {
			calls := 0
			_, err := inMemory(t, answer{Body: events(test.chunks...)}, nil).Generate(t.Context(), hello(), func(model.Delta) error {
				if calls++; calls >= n {
					return mine
				}
				return nil
			})
			if calls < n {
				break
			}
			require.True(t, err == mine, "%s: %v", test.name, err)
			require.Equal(t, n, calls, test.name)
		}
	}
}

func TestPanicOfATransportIsAnError(t *testing.T) {
	for _, sink := range []model.Sink{nil, func(model.Delta) error { return nil }} {
		f := transport(func(*http.Request) (*http.Response, error) { panic("boom") })
		_, err := inProcess(t, f, once).Generate(t.Context(), hello(), sink)
		require.ErrorContains(t, err, "the SDK panicked: boom")
	}
}

// TestMemoryOfABodyIsSetAsideOnce checks that what is set aside for a body fits it, and is not much more, for each thing that
// can be long.
func TestMemoryOfABodyIsSetAsideOnce(t *testing.T) {
	const size = 1 << 20
	long := strings.Repeat("x", size)
	escaped := strings.Repeat("xxxxxxx\n", size/8) // every eighth character takes one more
	data := make([]byte, size)
	saying := func(parts ...model.Part) *model.Request {
		return &model.Request{Messages: []*model.Message{model.UserText("u"), {Kind: model.KindResponse, Provider: "google", Parts: parts}}}
	}
	schema := json.RawMessage(`{"description":"` + long + `"}`)
	for name, test := range map[string]struct {
		req   *model.Request
		waste float64
	}{
		"instructions": {&model.Request{Instructions: long}, 1.01},
		"descriptions": {&model.Request{Messages: hello().Messages, Tools: []model.ToolDef{{Name: "f", Description: long}}}, 1.01},
		"schemas":      {&model.Request{Messages: hello().Messages, Tools: []model.ToolDef{{Name: "f", Schema: schema}}}, 1.01},
		"text":         {saying(model.Text(long)), 1.13},
		"escapes":      {saying(model.Text(escaped)), 1.01},
		"arguments":    {saying(model.ToolCall("c", "f", string(schema))), 1.13},
		"images":       {saying(model.Part{Kind: model.PartMedia, Provider: "google", MediaType: "image/png", Data: data}), 1.01},
		"signatures":   {saying(model.Part{Kind: model.PartThinking, Provider: "google", Signature: data}, model.Text("t")), 1.01},
		"addresses":    {&model.Request{Messages: []*model.Message{request(model.Part{Kind: model.PartMedia, MediaType: "image/png", URL: "https://youtu.be/" + long})}}, 1.01},
		"parts":        {saying(repeat(model.Text("x"), 10_000)...), 8},
		"tools":        {&model.Request{Messages: hello().Messages, Tools: repeat(model.ToolDef{Name: "f"}, 10_000)}, 10},
		"nothing":      {hello(), 25},
	} {
		sent := 0
		f := transport(func(r *http.Request) (*http.Response, error) {
			sent = int(r.ContentLength)
			return adaptertest.Respond(r, 200, adaptertest.Text(chunk("STOP"))), nil
		})
		_, err := inProcess(t, f, once).Generate(t.Context(), test.req, nil)
		require.NoError(t, err)
		hint := geminimodel.SizeHint(test.req)
		require.GreaterOrEqual(t, hint, sent, name)
		require.Less(t, float64(hint), float64(sent)*test.waste, name)
	}
}

func repeat[T any](v T, n int) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = v
	}
	return all
}
