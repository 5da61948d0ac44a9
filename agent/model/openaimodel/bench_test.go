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

// The benchmarks report their time as a ratio ("x-floor") to a minimal client: net/http, encoding/json and only the
// fields it needs, for the same request and response, in the same run.

type (
	floorFunction struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	floorCall struct {
		ID       string        `json:"id"`
		Type     string        `json:"type"`
		Function floorFunction `json:"function"`
	}
	floorMessage struct {
		Role       string      `json:"role,omitempty"`
		Content    *string     `json:"content"`
		ToolCalls  []floorCall `json:"tool_calls,omitempty"`
		ToolCallID string      `json:"tool_call_id,omitempty"`
	}
	floorRequest struct {
		Model    string         `json:"model"`
		Stream   bool           `json:"stream,omitempty"`
		Messages []floorMessage `json:"messages"`
	}
	floorResponse struct {
		Choices []struct {
			Delta        floorMessage `json:"delta"`
			Message      floorMessage `json:"message"`
			FinishReason string       `json:"finish_reason"`
		} `json:"choices"`
		Usage *struct {
			PromptTokens     int `json:"prompt_tokens"`
			CompletionTokens int `json:"completion_tokens"`
		} `json:"usage"`
	}
)

// floorHistory converts the history to the floor's own types, for each request, as a client must.
func floorHistory(history []*model.Message) []floorMessage {
	var out []floorMessage
	for _, m := range history {
		if m.Kind == model.KindResponse {
			f := floorMessage{Role: "assistant"}
			for i := range m.Parts {
				switch p := &m.Parts[i]; p.Kind {
				case model.PartText:
					f.Content = &p.Text
				case model.PartToolCall:
					f.ToolCalls = append(f.ToolCalls, floorCall{p.CallID, "function", floorFunction{p.Tool, string(p.Args)}})
				}
			}
			out = append(out, f)
			continue
		}
		for i := range m.Parts {
			p := &m.Parts[i]
			role := "user"
			if p.Kind == model.PartToolReturn {
				role = "tool"
			}
			out = append(out, floorMessage{Role: role, Content: &p.Text, ToolCallID: p.CallID})
		}
	}
	return out
}

func floorDo(b *testing.B, c *http.Client, req floorRequest) io.ReadCloser {
	body, err := json.Marshal(req)
	require.NoError(b, err)
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://bench.test/v1/chat/completions", bytes.NewReader(body))
	require.NoError(b, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer x")
	resp, err := c.Do(r)
	require.NoError(b, err)
	return resp.Body
}

func BenchmarkStepWithHistory(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			history := adaptertest.LongHistory(n)
			client := adaptertest.Canned(dialects[0].calls.plain).Client()
			m := newModel(b, "http://bench.test/v1", "openai", func(c *openaimodel.Config) { c.HTTPClient = client })
			req := &model.Request{Messages: history}
			adaptertest.Ratio(b, func() {
				msg, err := m.Generate(context.Background(), req, nil)
				require.NoError(b, err)
				require.Len(b, msg.Parts, 2)
			}, func() {
				body := floorDo(b, client, floorRequest{Model: "test-model", Messages: floorHistory(history)})
				defer body.Close()
				data, err := io.ReadAll(body)
				require.NoError(b, err)
				var resp floorResponse
				require.NoError(b, json.Unmarshal(data, &resp))
				require.Len(b, resp.Choices[0].Message.ToolCalls, 2)
			})
		})
	}
}

func BenchmarkStream(b *testing.B) {
	for _, n := range []int{500, 5000} {
		for kind, chunk := range map[string]string{"text": delta(`{"content":" word"}`), "arguments": fragment(0, "", "", `"x\":`)} {
			b.Run(fmt.Sprint(kind, "/", n), func(b *testing.B) {
				chunks := []string{delta(`{"role":"assistant","content":""}`)}
				if kind == "arguments" {
					chunks = append(chunks, fragment(0, "call_1", "f", ""))
				}
				for len(chunks) < n-1 {
					chunks = append(chunks, chunk)
				}
				client := adaptertest.Canned(events(append(chunks, finish("stop"))...)).Client()
				m := newModel(b, "http://bench.test/v1", "openai", func(c *openaimodel.Config) { c.HTTPClient = client })
				req := hello()
				adaptertest.Ratio(b, func() {
					_, err := m.Generate(context.Background(), req, func(model.Delta) error { return nil })
					require.NoError(b, err)
				}, func() {
					body := floorDo(b, client, floorRequest{Model: "test-model", Stream: true, Messages: floorHistory(req.Messages)})
					defer body.Close()
					lines := bufio.NewScanner(body)
					var content, args strings.Builder
					for lines.Scan() {
						data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
						if !ok || string(data) == "[DONE]" {
							continue
						}
						var resp floorResponse
						require.NoError(b, json.Unmarshal(data, &resp))
						for _, c := range resp.Choices {
							if c.Delta.Content != nil {
								content.WriteString(*c.Delta.Content)
							}
							for _, call := range c.Delta.ToolCalls {
								args.WriteString(call.Function.Arguments)
							}
						}
					}
				})
			})
		}
	}
}

func TestHistoryDoesNotAllocatePerMessage(t *testing.T) {
	if raceDetector {
		t.Skip("allocations are not counted under the race detector")
	}
	allocations := func(n int) float64 {
		req := hello()
		for i := range n {
			id := fmt.Sprint(i)
			req.Messages = append(req.Messages, model.Response(model.Text("x"), model.ToolCall(id, "f", `{"a":[1,2,{"b":"c"}]}`)), request(model.ToolReturn(id, "f", "a\n\"b\"é")))
		}
		m := newModel(t, "http://x.test", "")
		return testing.AllocsPerRun(10, func() {
			_, err := openaimodel.RequestBody(m, req, true)
			require.NoError(t, err)
		})
	}
	require.InDelta(t, allocations(10), allocations(1000), 2)
}

func TestStreamCostIsLinear(t *testing.T) {
	if raceDetector {
		t.Skip("allocations are not counted under the race detector")
	}
	allocations := func(n int) float64 {
		chunks := make([]string, n)
		for i := range chunks {
			chunks[i] = delta(`{"content":" word"}`)
		}
		m := newModel(t, "http://x.test", "", func(c *openaimodel.Config) {
			c.HTTPClient = adaptertest.Canned(events(append(chunks, finish("stop"))...)).Client()
		})
		return testing.AllocsPerRun(3, func() {
			_, err := m.Generate(context.Background(), hello(), func(model.Delta) error { return nil })
			require.NoError(t, err)
		}) / float64(n)
	}
	short, long := allocations(100), allocations(5000)
	require.LessOrEqual(t, long, short)
	require.LessOrEqual(t, long, 3.0)
}
