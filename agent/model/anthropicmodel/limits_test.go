// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

const tooLong = `error: model: anthropic claude-haiku-4-5: HTTP 200 OK: the response is longer than 64 MiB, or has more than 10000 blocks` +
	"\n" + `  of anthropic claude-haiku-4-5, status 200, code "", type "", request "", retryable false, after 0s`

func TestWholeAnswerMayBeAsLongAsTheLimit(t *testing.T) {
	body := whole(`{"type":"text","text":"a"}`)
	anthropicmodel.LimitResponses(t, len(body))
	require.Contains(t, outcome(t, inMemory(t, nil, nil, answer{Body: body}), hello(), false)[0], `"text":"a"`)
	require.Equal(t, []string{tooLong}, outcome(t, inMemory(t, nil, nil, answer{Body: body + " "}), hello(), false))
}

// TestBlocksOfAStreamCountTowardsTheLimit checks that the last byte that fits is taken, and that one more is not, in each kind
// of block and delta.
func TestBlocksOfAStreamCountTowardsTheLimit(t *testing.T) {
	const text, thinking, call, other = `{"type":"text","text":""}`, `{"type":"thinking"}`, `{"type":"tool_use","id":"c","name":"f"}`, `{"type":"x"}`
	for name, test := range map[string]struct{ block, before, after string }{
		"text":           {text, `{"type":"text_delta","text":"`, `"}`},
		"thinking":       {thinking, `{"type":"thinking_delta","thinking":"`, `"}`},
		"signatures":     {thinking, `{"type":"signature_delta","signature":"`, `"}`},
		"arguments":      {call, `{"type":"input_json_delta","partial_json":"`, `"}`},
		"more arguments": {other, `{"type":"input_json_delta","partial_json":"`, `"}`},
		"citations":      {text, `{"type":"citations_delta","citation":"`, `"}`},
		"what is new":    {other, `{"type":"y","text":"`, `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			counted := func(n int) int { // what the delta counts
				switch name {
				case "citations":
					return n + len(`""`)
				case "what is new":
					return n + len(test.before+test.after)
				}
				return n
			}
			for _, more := range []int{0, 1} {
				anthropicmodel.LimitResponses(t, len(test.block)+counted(20))
				body := events(start(0, test.block) + delta(0, test.before+strings.Repeat("x", 20+more)+test.after) + stop(0))
				got := outcome(t, inMemory(t, nil, nil, answer{Body: body}), hello(), true)
				if last := got[len(got)-1]; more == 0 {
					require.Contains(t, last, "message: ")
				} else {
					require.Equal(t, tooLong, last)
				}
			}
			anthropicmodel.LimitResponses(t, len(test.block)-1)
			require.Equal(t, []string{tooLong}, outcome(t, inMemory(t, nil, nil, answer{Body: events(start(0, test.block))}), hello(), true))
		})
	}
}

func TestLongestEventIsNamed(t *testing.T) {
	flood := transport(func(r *http.Request) (*http.Response, error) {
		return adaptertest.Respond(r, 200, io.NopCloser(&endless{line: strings.Repeat(": keep-alive\n", 1000)})), nil
	})
	_, err := inProcess(t, flood, once).Generate(t.Context(), hello(), func(model.Delta) error { return nil })
	require.ErrorContains(t, err, "more than 33 MiB without a complete event")
}

// endless is a body that repeats a line.
type endless struct{ line string }

func (e *endless) Read(p []byte) (int, error) { return copy(p, e.line), nil }

// TestBrokenConnectionsMatchTheGoldenFile breaks an answer at several places, with several errors.
func TestBrokenConnectionsMatchTheGoldenFile(t *testing.T) {
	first, end := begin()+strings.Join(say("a"), ""), strings.Join(end("end_turn", `{"output_tokens":7}`), "")
	object := whole(`{"type":"text","text":"a"}`)
	var told story
	for _, at := range [][2]string{
		{"nothing", ""}, {"half an event", first[:len(first)-30]}, {"an event", first}, {"half the last event", first + end[:30]}, {"half the last line", first + end[:len(end)-5]}, {"all events", first + end},
		{"half an object", object[:30]}, {"an object", object}, {"an error", `{"error":{"message":"m"}}`},
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
	bodies := maps.Clone(wholeAnswers)
	for name, between := range blocks {
		bodies["stream: "+name] = events(between)
	}
	for name, body := range bodies {
		for n := 1; ; n++ {
			calls := 0
			_, err := inMemory(t, nil, nil, answer{Body: body}).Generate(t.Context(), hello(), func(model.Delta) error {
				if calls++; calls >= n {
					return mine
				}
				return nil
			})
			if calls < n {
				break
			}
			require.True(t, err == mine, "%s: %v", name, err)
			require.Equal(t, n, calls, name)
		}
	}
}

// TestMemoryOfMessagesIsSetAsideOnce checks that what is set aside for messages fits them, and is not much more.
func TestMemoryOfMessagesIsSetAsideOnce(t *testing.T) {
	const size = 1 << 20
	long := strings.Repeat("x", size)
	escaped := strings.Repeat("xxxxxxx\n", size/8) // every eighth character takes one more
	m := newModel(t, "", uncached)
	for name, test := range map[string]struct {
		part  model.Part
		count int
		waste float64
	}{
		"text":            {model.User(long), 1, 1.13},
		"escapes":         {model.User(escaped), 1, 1.01},
		"results":         {model.ToolReturn("c", "f", long), 1, 1.13},
		"escaped results": {model.ToolReturn("c", "f", escaped), 1, 1.01},
		"parts":           {model.User("x"), 10_000, 5},
		"nothing":         {model.User("x"), 1, 25},
	} {
		req := &model.Request{Messages: []*model.Message{request(slices.Repeat([]model.Part{test.part}, test.count)...)}}
		body, err := anthropicmodel.RequestBody(m, req)
		require.NoError(t, err)
		_, messages, _ := strings.Cut(string(body), `"messages":`)
		hint, err := anthropicmodel.SizeOf(m, req)
		require.NoError(t, err)
		require.GreaterOrEqual(t, hint, len(messages), name)
		require.Less(t, float64(hint), float64(len(messages))*test.waste, name)
	}
}
