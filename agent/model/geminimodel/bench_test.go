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
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
)

// The benchmarks report their time as a ratio ("x-floor") to a client that does nothing but what it must: net/http,
// encoding/json and the fields that it needs, for the same request and answer, in the same run.

// canned answers in the process, after reading the whole request as a connection would.
func canned(body string) *http.Client {
	return &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
		return respond(r, 200, io.NopCloser(strings.NewReader(body))), nil
	})}
}

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

// floorContents is history in the floor's own types, converted anew for each request as a client has to.
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

// ratio runs ours as the benchmark, the floor as often, in turns so that both meet the same machine, and reports the
// quotient of their times.
func ratio(b *testing.B, ours, floor func()) {
	ours()
	floor()
	var oursTime, floorTime time.Duration
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		ours()
		oursTime += time.Since(start)
		b.StopTimer()
		start = time.Now()
		floor()
		floorTime += time.Since(start)
		b.StartTimer()
	}
	b.ReportMetric(float64(oursTime)/float64(floorTime), "x-floor")
}

func longHistory(n int) []*model.Message {
	history := []*model.Message{model.UserText("What is where?")}
	for i := 1; len(history) < n; i++ {
		id := fmt.Sprint("call_", i)
		history = append(history,
			model.Response(model.Text("Let me look at that file."), model.ToolCall(id, "read", `{"path":"src/main.go","from":10,"to":20}`)),
			request(model.ToolReturn(id, "read", strings.Repeat("func main() {\n\tfmt.Println(\"hello, wörld\")\n}\n", 10))))
	}
	return history
}

func BenchmarkStepWithHistory(b *testing.B) {
	call := `{"functionCall":{"id":"a","name":"read","args":{"path":"src/main.go"}}}`
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			client := canned(chunk("STOP", call, call))
			m := newModel(b, "http://bench.test", func(c *geminimodel.Config) { c.HTTPClient = client })
			req := &model.Request{Messages: longHistory(n)}
			ratio(b, func() {
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
			client := canned(events(append(chunks, chunk("STOP"))...))
			m := newModel(b, "http://bench.test", func(c *geminimodel.Config) { c.HTTPClient = client })
			req := hello()
			ratio(b, func() {
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

func TestAHistoryCostsNoAllocationPerMessage(t *testing.T) {
	if raceDetector {
		t.Skip("allocations are not counted under the race detector")
	}
	allocations := func(n int) float64 {
		m := newModel(t, "http://x.test", func(c *geminimodel.Config) { c.HTTPClient = canned(chunk("STOP", `{"text":"a"}`)) })
		req := &model.Request{Messages: longHistory(n)}
		return testing.AllocsPerRun(10, func() {
			_, err := m.Generate(context.Background(), req, nil)
			require.NoError(t, err)
		})
	}
	require.InDelta(t, allocations(10), allocations(1000), 20)
}

func TestAStreamCostsTheSamePerChunkHoweverLongItIs(t *testing.T) {
	if raceDetector {
		t.Skip("allocations are not counted under the race detector")
	}
	allocations := func(n int) float64 {
		chunks := make([]string, n)
		for i := range chunks {
			chunks[i] = chunk("", `{"text":" word"}`)
		}
		client := canned(events(append(chunks, chunk("STOP"))...))
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
