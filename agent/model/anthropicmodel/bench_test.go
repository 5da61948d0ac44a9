// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

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
	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

// The floor is a minimal client: net/http, encoding/json, and its own types.
type (
	floorBlock struct {
		Type      string          `json:"type"`
		Text      string          `json:"text,omitempty"`
		ID        string          `json:"id,omitempty"`
		Name      string          `json:"name,omitempty"`
		Input     json.RawMessage `json:"input,omitempty"`
		ToolUseID string          `json:"tool_use_id,omitempty"`
		Content   []floorBlock    `json:"content,omitempty"`
	}
	floorMessage struct {
		Role    string       `json:"role"`
		Content []floorBlock `json:"content"`
	}
	floorRequest struct {
		Model     string         `json:"model"`
		MaxTokens int            `json:"max_tokens"`
		Stream    bool           `json:"stream,omitempty"`
		Messages  []floorMessage `json:"messages"`
	}
	floorEvent struct {
		Type  string `json:"type"`
		Delta struct {
			Text        string `json:"text"`
			PartialJSON string `json:"partial_json"`
		} `json:"delta"`
	}
)

func floorHistory(history []*model.Message) []floorMessage {
	var out []floorMessage
	for _, m := range history {
		f := floorMessage{Role: "user"}
		if m.Kind == model.KindResponse {
			f.Role = "assistant"
		}
		for i := range m.Parts {
			switch p := &m.Parts[i]; p.Kind {
			case model.PartToolCall:
				f.Content = append(f.Content, floorBlock{Type: "tool_use", ID: p.CallID, Name: p.Tool, Input: json.RawMessage(p.Args)})
			case model.PartToolReturn:
				f.Content = append(f.Content, floorBlock{Type: "tool_result", ToolUseID: p.CallID, Content: []floorBlock{{Type: "text", Text: p.Text}}})
			default:
				f.Content = append(f.Content, floorBlock{Type: "text", Text: p.Text})
			}
		}
		out = append(out, f)
	}
	return out
}

func floorDo(b *testing.B, c *http.Client, req floorRequest) io.ReadCloser {
	body, err := json.Marshal(req)
	require.NoError(b, err)
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://endpoint.test/v1/messages", bytes.NewReader(body))
	require.NoError(b, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Api-Key", "x")
	resp, err := c.Do(r)
	require.NoError(b, err)
	return resp.Body
}

func BenchmarkStepWithHistory(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			history := adaptertest.LongHistory(n)
			client := adaptertest.Canned(searched.whole).Client()
			m := newModel(b, "http://endpoint.test", func(c *anthropicmodel.Config) { c.HTTPClient = client })
			req := &model.Request{Messages: history, Settings: &model.Settings{MaxTokens: 1000}}
			adaptertest.Ratio(b, func() {
				_, err := m.Generate(context.Background(), req, nil)
				require.NoError(b, err)
			}, func() {
				body := floorDo(b, client, floorRequest{Model: "x", MaxTokens: 1000, Messages: floorHistory(history)})
				defer body.Close()
				var resp struct{ Content []json.RawMessage }
				require.NoError(b, json.NewDecoder(body).Decode(&resp))
			})
		})
	}
}

func BenchmarkStream(b *testing.B) {
	for kind, piece := range map[string]string{"text": delta(0, `{"type":"text_delta","text":" word"}`), "arguments": delta(0, `{"type":"input_json_delta","partial_json":"\"x\":"}`)} {
		b.Run(kind, func(b *testing.B) {
			block := `{"type":"text","text":""}`
			if kind == "arguments" {
				block = `{"type":"tool_use","id":"a","name":"b","input":{}}`
			}
			body := finished("end_turn", start(0, block), strings.Repeat(piece, 500), stop(0))
			client := adaptertest.Canned(body).Client()
			m := newModel(b, "http://endpoint.test", func(c *anthropicmodel.Config) { c.HTTPClient = client })
			req := hello()
			adaptertest.Ratio(b, func() {
				_, err := m.Generate(context.Background(), req, ignore)
				require.NoError(b, err)
			}, func() {
				body := floorDo(b, client, floorRequest{Model: "x", MaxTokens: 1000, Stream: true, Messages: floorHistory(req.Messages)})
				defer body.Close()
				lines := bufio.NewScanner(body)
				var text strings.Builder
				for lines.Scan() {
					if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
						var e floorEvent
						require.NoError(b, json.Unmarshal(data, &e))
						text.WriteString(e.Delta.Text + e.Delta.PartialJSON)
					}
				}
			})
		})
	}
}

// The cost of a message in the history, or of an event of a stream, does not depend on their number.
func TestCostsAreLinear(t *testing.T) {
	step := func(n int) float64 {
		m := newModel(t, "http://x.test", func(c *anthropicmodel.Config) { c.HTTPClient = adaptertest.Canned(searched.whole).Client() })
		req := &model.Request{Messages: adaptertest.LongHistory(n)}
		return testing.AllocsPerRun(3, func() {
			_, err := m.Generate(context.Background(), req, nil)
			require.NoError(t, err)
		}) / float64(n)
	}
	streamed := func(n int) float64 {
		body := finished("end_turn", start(0, `{"type":"text","text":""}`), strings.Repeat(delta(0, `{"type":"text_delta","text":" word"}`), n), stop(0))
		m := newModel(t, "http://x.test", func(c *anthropicmodel.Config) { c.HTTPClient = adaptertest.Canned(body).Client() })
		return testing.AllocsPerRun(3, func() {
			_, err := m.Generate(context.Background(), hello(), ignore)
			require.NoError(t, err)
		}) / float64(n)
	}
	require.LessOrEqual(t, step(3000), step(100))
	require.LessOrEqual(t, step(3000), 8.0)
	require.LessOrEqual(t, streamed(3000), streamed(100))
	require.LessOrEqual(t, streamed(3000), 25.0)
}
