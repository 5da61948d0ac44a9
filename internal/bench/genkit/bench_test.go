// SPDX-License-Identifier: Apache-2.0

package genkit_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"

	"github.com/ponte-go/ponte/internal/bench/work"
)

type addArgs struct {
	X int `json:"x" jsonschema:"description=first number"`
	Y int `json:"y" jsonschema:"description=second number"`
}

type city struct {
	City       string `json:"city" jsonschema:"minLength=1"`
	Population int    `json:"population" jsonschema:"minimum=1"`
}

func BenchmarkAgent(b *testing.B) {
	work.Benchmark(b, work.Peer{
		New:      func() { newApp(steps(1)).addTool() },
		Steps:    func(n int) work.Run { a := newApp(steps(n)); return a.runner(a.addTool()) },
		Parallel: func(n int, d time.Duration) work.Run { a := newApp(parallel(n)); return a.runner(a.slowTool(d)) },
		Stream: func(n int) func(context.Context) (int, string, error) {
			a := newApp(deltas(n))
			return func(ctx context.Context) (int, string, error) {
				got := 0
				resp, err := genkit.Generate(ctx, a.g, ai.WithModel(a.model), ai.WithSystem(work.Instructions), ai.WithPrompt(work.Prompt),
					ai.WithStreaming(func(context.Context, *ai.ModelResponseChunk) error { got++; return nil }))
				if err != nil {
					return got, "", err
				}
				return got, resp.Text(), nil
			}
		},
		Structured: func(answers ...string) func(context.Context) (int, error) {
			next := work.NewAnswers(answers...)
			a := newApp(func(_ context.Context, req *ai.ModelRequest, _ ai.ModelStreamCallback) (*ai.ModelResponse, error) {
				return says(req, next.Next()), nil
			})
			return func(ctx context.Context) (int, error) {
				out, _, err := genkit.GenerateData[city](ctx, a.g, ai.WithModel(a.model), ai.WithSystem(work.Instructions), ai.WithPrompt(work.Prompt))
				if err != nil {
					return 0, err
				}
				return out.Population, nil
			}
		},
		Waiting: func(wait func()) work.Run {
			a := newApp(func(_ context.Context, req *ai.ModelRequest, _ ai.ModelStreamCallback) (*ai.ModelResponse, error) {
				wait()
				return says(req, work.Answer), nil
			})
			return a.runner(a.addTool())
		},
	})
}

// app is the framework with one model.
type app struct {
	g     *genkit.Genkit
	model ai.Model
}

func newApp(fn ai.ModelFunc) app {
	g := genkit.Init(context.Background())
	return app{g, genkit.DefineModel(g, "bench/model", &ai.ModelOptions{Supports: &ai.ModelSupports{
		Tools: true, Multiturn: true, SystemRole: true, Constrained: ai.ConstrainedSupportAll,
	}}, fn)}
}

func (a app) addTool() ai.ToolRef {
	return genkit.DefineTool(a.g, work.AddTool, work.AddDescription, func(_ *ai.ToolContext, in addArgs) (int, error) {
		return in.X + in.Y, nil
	})
}

func (a app) slowTool(d time.Duration) ai.ToolRef {
	return genkit.DefineTool(a.g, work.SlowTool, work.AddDescription, func(_ *ai.ToolContext, in addArgs) (int, error) {
		time.Sleep(d)
		return in.X + in.Y, nil
	})
}

func (a app) runner(tool ai.ToolRef) work.Run {
	return func(ctx context.Context) (string, error) {
		resp, err := genkit.Generate(ctx, a.g, ai.WithModel(a.model), ai.WithSystem(work.Instructions), ai.WithPrompt(work.Prompt),
			ai.WithTools(tool), ai.WithMaxTurns(1000))
		if err != nil {
			return "", err
		}
		return resp.Text(), nil
	}
}

func responds(req *ai.ModelRequest, parts ...*ai.Part) *ai.ModelResponse {
	return &ai.ModelResponse{
		Request: req, Message: ai.NewModelMessage(parts...), FinishReason: ai.FinishReasonStop,
		Usage: &ai.GenerationUsage{InputTokens: work.InputTokens, OutputTokens: work.OutputTokens},
	}
}

func says(req *ai.ModelRequest, text string) *ai.ModelResponse {
	return responds(req, ai.NewTextPart(text))
}

// call is what a provider's plugin makes of arguments: they are decoded by then.
func call(id, tool string) *ai.Part {
	return ai.NewToolRequestPart(&ai.ToolRequest{Name: tool, Ref: id, Input: map[string]any{"x": 1, "y": 2}})
}

func steps(n int) ai.ModelFunc {
	s := work.NewSteps(n)
	return func(_ context.Context, req *ai.ModelRequest, _ ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		id, err := s.Next(shown(req))
		switch {
		case err != nil:
			return nil, err
		case id == "":
			return says(req, work.Answer), nil
		}
		return responds(req, call(id, work.AddTool)), nil
	}
}

// shown is the last tool's result.
func shown(req *ai.ModelRequest) string {
	resp := req.Messages[len(req.Messages)-1].Content[0].ToolResponse
	if resp == nil {
		return ""
	}
	switch out := resp.Output.(type) {
	case int:
		return strconv.Itoa(out)
	case float64:
		return strconv.FormatFloat(out, 'g', -1, 64)
	default:
		return fmt.Sprint(out)
	}
}

func parallel(n int) ai.ModelFunc {
	return func(_ context.Context, req *ai.ModelRequest, _ ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		if last := req.Messages[len(req.Messages)-1]; last.Role == ai.RoleTool {
			if len(last.Content) != n {
				return nil, fmt.Errorf("%d results", len(last.Content))
			}
			return says(req, work.Answer), nil
		}
		calls := make([]*ai.Part, n)
		for i := range calls {
			calls[i] = call(work.CallID(i), work.SlowTool)
		}
		return responds(req, calls...), nil
	}
}

func deltas(n int) ai.ModelFunc {
	return func(ctx context.Context, req *ai.ModelRequest, send ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		text, err := work.Deltas(n, func(delta string) error {
			return send(ctx, &ai.ModelResponseChunk{Content: []*ai.Part{ai.NewTextPart(delta)}})
		})
		if err != nil {
			return nil, err
		}
		return says(req, text), nil
	}
}
