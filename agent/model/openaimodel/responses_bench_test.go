// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

// The floor of these benchmarks is the time of net/http and encoding/json. See bench_test.go.

type (
	floorItem struct {
		Type      string `json:"type,omitempty"`
		Role      string `json:"role,omitempty"`
		Content   string `json:"content,omitempty"`
		CallID    string `json:"call_id,omitempty"`
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments,omitempty"`
		Output    string `json:"output,omitempty"`
	}
	floorItems struct {
		Model  string      `json:"model"`
		Stream bool        `json:"stream,omitempty"`
		Store  bool        `json:"store"`
		Input  []floorItem `json:"input"`
	}
	floorOutput struct {
		Output []struct {
			Type    string `json:"type"`
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"output"`
		Usage struct {
			InputTokens int `json:"input_tokens"`
		} `json:"usage"`
	}
	floorEvent struct {
		Type     string      `json:"type"`
		Delta    string      `json:"delta"`
		Response floorOutput `json:"response"`
	}
)

func floorInput(history []*model.Message) []floorItem {
	var out []floorItem
	for _, m := range history {
		for i := range m.Parts {
			switch p := &m.Parts[i]; p.Kind {
			case model.PartText:
				out = append(out, floorItem{Role: "assistant", Content: p.Text})
			case model.PartToolCall:
				out = append(out, floorItem{Type: "function_call", CallID: p.CallID, Name: p.Tool, Arguments: string(p.Args)})
			case model.PartToolReturn:
				out = append(out, floorItem{Type: "function_call_output", CallID: p.CallID, Output: p.Text})
			default:
				out = append(out, floorItem{Role: "user", Content: p.Text})
			}
		}
	}
	return out
}

func floorPost(b *testing.B, c *http.Client, req floorItems) io.ReadCloser {
	body, err := json.Marshal(req)
	require.NoError(b, err)
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://bench.test/v1/responses", bytes.NewReader(body))
	require.NoError(b, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer x")
	resp, err := c.Do(r)
	require.NoError(b, err)
	return resp.Body
}

func benchResponses(b testing.TB, body string) (*openaimodel.Responses, *http.Client) {
	client := adaptertest.Canned(body).Client()
	return newResponses(b, "http://bench.test/v1", func(c *openaimodel.Config) { c.HTTPClient = client }), client
}

func BenchmarkResponsesStepWithHistory(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			history := adaptertest.LongHistory(n)
			m, client := benchResponses(b, finalResponse(aMessage, aCall))
			req := &model.Request{Messages: history}
			adaptertest.Ratio(b, func() {
				msg, err := m.Generate(context.Background(), req, nil)
				require.NoError(b, err)
				require.Len(b, msg.Parts, 2)
			}, func() {
				body := floorPost(b, client, floorItems{Model: "test-model", Input: floorInput(history)})
				defer body.Close()
				data, err := io.ReadAll(body)
				require.NoError(b, err)
				var resp floorOutput
				require.NoError(b, json.Unmarshal(data, &resp))
				require.Len(b, resp.Output, 2)
			})
		})
	}
}

// longStream has n events that add to text or arguments, and the events around them.
func longStream(kind string, n int) string {
	whole := strings.Repeat(" word", n)
	item := `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":` + quote(whole) + `}]}`
	name := "output_text"
	begin := `{"id":"msg_1","type":"message","role":"assistant","content":[]}`
	if kind == "arguments" {
		item = `{"id":"fc_1","type":"function_call","call_id":"call_1","name":"f","arguments":` + quote(whole) + `}`
		begin = `{"id":"fc_1","type":"function_call","call_id":"call_1","name":"f","arguments":""}`
		name = "function_call_arguments"
	}
	list := []string{`{"type":"response.created","response":{"id":"resp_1"}}`, `{"type":"response.output_item.added","output_index":0,"item":` + begin + `}`}
	for range n {
		list = append(list, `{"type":"response.`+name+`.delta","item_id":"msg_68f1c0a9d3c081908f1c0a9d3c081908","output_index":0,"content_index":0,"delta":" word","logprobs":[],"obfuscation":"aB3xYz"}`)
	}
	return itemEvents(append(list, `{"type":"response.`+name+`.done","item_id":"x","output_index":0,"content_index":0,"text":`+quote(whole)+`}`,
		`{"type":"response.output_item.done","output_index":0,"item":`+item+`}`, completed(finalResponse(item)))...)
}

func BenchmarkResponsesStream(b *testing.B) {
	for _, n := range []int{500, 5000} {
		for _, kind := range []string{"text", "arguments"} {
			b.Run(fmt.Sprint(kind, "/", n), func(b *testing.B) {
				m, client := benchResponses(b, longStream(kind, n))
				req := hello()
				adaptertest.Ratio(b, func() {
					_, err := m.Generate(context.Background(), req, func(model.Delta) error { return nil })
					require.NoError(b, err)
				}, func() {
					body := floorPost(b, client, floorItems{Model: "test-model", Stream: true, Input: floorInput(req.Messages)})
					defer body.Close()
					lines := bufio.NewScanner(body)
					lines.Buffer(nil, 1<<20)
					var content strings.Builder
					for lines.Scan() {
						if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
							var ev floorEvent
							require.NoError(b, json.Unmarshal(data, &ev))
							content.WriteString(ev.Delta)
						}
					}
					require.NoError(b, lines.Err())
				})
			})
		}
	}
}

func TestItemHistoryDoesNotAllocatePerMessage(t *testing.T) {
	if raceDetector {
		t.Skip("allocations are not counted under the race detector")
	}
	allocations := func(n int) float64 {
		req := hello()
		for i := range n {
			id := fmt.Sprint(i)
			req.Messages = append(req.Messages,
				model.Response(
					model.Part{Kind: model.PartThinking, Text: "hm", Provider: "openai", ID: "rs_" + id, Signature: []byte("gAAA")},
					model.Text("x"), model.ToolCall(id, "f", `{"a":[1,2,{"b":"c"}]}`)),
				request(model.ToolReturn(id, "f", "a\n\"b\"é")))
		}
		m := newResponses(t, "http://x.test")
		return testing.AllocsPerRun(10, func() {
			_, err := openaimodel.ResponsesBody(m, req, true)
			require.NoError(t, err)
		})
	}
	require.InDelta(t, allocations(10), allocations(1000), 2)
}

func TestItemStreamCostIsLinear(t *testing.T) {
	if raceDetector {
		t.Skip("allocations are not counted under the race detector")
	}
	for _, kind := range []string{"text", "arguments"} {
		allocations := func(n int) float64 {
			m, _ := benchResponses(t, longStream(kind, n))
			return testing.AllocsPerRun(3, func() {
				_, err := m.Generate(context.Background(), hello(), func(model.Delta) error { return nil })
				require.NoError(t, err)
			}) / float64(n)
		}
		short, long := allocations(100), allocations(5000)
		require.LessOrEqual(t, long, short, kind)
		require.LessOrEqual(t, long, 15.0, kind)
	}
}
