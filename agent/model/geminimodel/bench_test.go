// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

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
	"github.com/ponte-go/ponte/agent/model/geminimodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

// The benchmarks report their time as a ratio ("x-floor") to a minimal client: net/http, encoding/json and only the
// fields it needs, for the same request and response, in the same run.

type (
	floorCall struct {
		ID   string          `json:"id,omitempty"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args,omitempty"`
	}
	floorResult struct {
		ID       string            `json:"id,omitempty"`
		Name     string            `json:"name"`
		Response map[string]string `json:"response"`
	}
	floorPart struct {
		Text   *string      `json:"text,omitempty"`
		Call   *floorCall   `json:"functionCall,omitempty"`
		Result *floorResult `json:"functionResponse,omitempty"`
	}
	floorContent struct {
		Role  string      `json:"role"`
		Parts []floorPart `json:"parts"`
	}
	floorRequest struct {
		Contents []floorContent `json:"contents"`
	}
	floorResponse struct {
		Candidates []struct {
			Content      floorContent `json:"content"`
			FinishReason string       `json:"finishReason"`
		} `json:"candidates"`
		Usage struct {
			Prompt     int `json:"promptTokenCount"`
			Candidates int `json:"candidatesTokenCount"`
		} `json:"usageMetadata"`
	}
)

// floorContents converts the history to the floor's own types, for each request, as a client must.
func floorContents(history []*model.Message) []floorContent {
	var out []floorContent
	for _, m := range history {
		c := floorContent{Role: "user"}
		if m.Kind == model.KindResponse {
			c.Role = "model"
		}
		for i := range m.Parts {
			switch p := &m.Parts[i]; p.Kind {
			case model.PartToolCall:
				c.Parts = append(c.Parts, floorPart{Call: &floorCall{p.CallID, p.Tool, json.RawMessage(p.Args)}})
			case model.PartToolReturn:
				c.Parts = append(c.Parts, floorPart{Result: &floorResult{p.CallID, p.Tool, map[string]string{"output": p.Text}}})
			default:
				c.Parts = append(c.Parts, floorPart{Text: &p.Text})
			}
		}
		out = append(out, c)
	}
	return out
}

func floorDo(b *testing.B, c *http.Client, req floorRequest) io.ReadCloser {
	body, err := json.Marshal(req)
	require.NoError(b, err)
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://bench.test/v1beta/models/m:generateContent", bytes.NewReader(body))
	require.NoError(b, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Goog-Api-Key", "x")
	resp, err := c.Do(r)
	require.NoError(b, err)
	return resp.Body
}

func BenchmarkStepWithHistory(b *testing.B) {
	call := `{"functionCall":{"id":"a","name":"read","args":{"path":"src/main.go"}}}`
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			client := adaptertest.Canned(chunk("STOP", call, call)).Client()
			m := newModel(b, "http://bench.test", func(c *geminimodel.Config) { c.HTTPClient = client })
			req := &model.Request{Messages: adaptertest.LongHistory(n)}
			adaptertest.Ratio(b, func() {
				msg, err := m.Generate(context.Background(), req, nil)
				require.NoError(b, err)
				require.Len(b, msg.Parts, 2)
			}, func() {
				body := floorDo(b, client, floorRequest{Contents: floorContents(req.Messages)})
				defer body.Close()
				data, err := io.ReadAll(body)
				require.NoError(b, err)
				var resp floorResponse
				require.NoError(b, json.Unmarshal(data, &resp))
				require.Len(b, resp.Candidates[0].Content.Parts, 2)
			})
		})
	}
}

func BenchmarkStream(b *testing.B) {
	for _, n := range []int{500, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var chunks []string
			for len(chunks) < n-1 {
				chunks = append(chunks, chunk("", `{"text":" word"}`))
			}
			client := adaptertest.Canned(events(append(chunks, chunk("STOP"))...)).Client()
			m := newModel(b, "http://bench.test", func(c *geminimodel.Config) { c.HTTPClient = client })
			req := hello()
			adaptertest.Ratio(b, func() {
				_, err := m.Generate(context.Background(), req, func(model.Delta) error { return nil })
				require.NoError(b, err)
			}, func() {
				body := floorDo(b, client, floorRequest{Contents: floorContents(req.Messages)})
				defer body.Close()
				lines := bufio.NewScanner(body)
				var content strings.Builder
				for lines.Scan() {
					data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
					if !ok {
						continue
					}
					var resp floorResponse
					require.NoError(b, json.Unmarshal(data, &resp))
					for _, p := range resp.Candidates[0].Content.Parts {
						content.WriteString(*p.Text)
					}
				}
			})
		})
	}
}

func TestHistoryDoesNotAllocatePerMessage(t *testing.T) {
	if raceDetector {
		t.Skip("allocations are not counted under the race detector")
	}
	allocations := func(n int) float64 {
		m := newModel(t, "http://x.test", func(c *geminimodel.Config) { c.HTTPClient = adaptertest.Canned(chunk("STOP", `{"text":"a"}`)).Client() })
		req := &model.Request{Messages: adaptertest.LongHistory(n)}
		return testing.AllocsPerRun(10, func() {
			_, err := m.Generate(context.Background(), req, nil)
			require.NoError(t, err)
		})
	}
	require.InDelta(t, allocations(10), allocations(1000), 20)
}

func TestStreamCostIsLinear(t *testing.T) {
	if raceDetector {
		t.Skip("allocations are not counted under the race detector")
	}
	allocations := func(n int) float64 {
		chunks := make([]string, n)
		for i := range chunks {
			chunks[i] = chunk("", `{"text":" word"}`)
		}
		client := adaptertest.Canned(events(append(chunks, chunk("STOP"))...)).Client()
		m := newModel(t, "http://x.test", func(c *geminimodel.Config) { c.HTTPClient = client })
		return testing.AllocsPerRun(3, func() {
			_, err := m.Generate(context.Background(), hello(), func(model.Delta) error { return nil })
			require.NoError(t, err)
		}) / float64(n)
	}
	short, long := allocations(100), allocations(3000)
	require.LessOrEqual(t, long, short)
	require.LessOrEqual(t, long, 40.0)
}
