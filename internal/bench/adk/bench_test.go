// SPDX-License-Identifier: Apache-2.0

package adk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model"
	"google.golang.org/adk/runner"
	"google.golang.org/adk/session"
	"google.golang.org/adk/tool"
	"google.golang.org/adk/tool/functiontool"
	"google.golang.org/genai"

	"github.com/ponte-go/ponte/internal/bench/work"
)

type addArgs struct {
	X int `json:"x" jsonschema:"first number"`
	Y int `json:"y" jsonschema:"second number"`
}

// sum is a tool's result, which must be an object.
type sum struct {
	Sum int `json:"sum"`
}

type city struct {
	City       string `json:"city"`
	Population int    `json:"population"`
}

func BenchmarkAgent(b *testing.B) {
	work.Benchmark(b, work.Peer{
		New:      func() { newApp(steps(1), nil, addTool()) },
		Steps:    func(n int) work.Run { return newApp(steps(n), nil, addTool()).answer },
		Parallel: func(n int, d time.Duration) work.Run { return newApp(parallel(n), nil, slowTool(d)).answer },
		Stream: func(n int) func(context.Context) (int, string, error) {
			a := newApp(deltas(n), nil)
			return func(ctx context.Context) (int, string, error) {
				return a.run(ctx, agent.RunConfig{StreamingMode: agent.StreamingModeSSE})
			}
		},
		Structured: func(answers ...string) func(context.Context) (int, error) {
			next := work.NewAnswers(answers...)
			a := newApp(generate(func(*model.LLMRequest) (*model.LLMResponse, error) { return says(next.Next()), nil }), &genai.Schema{
				Type: genai.TypeObject,
				Properties: map[string]*genai.Schema{
					"city":       {Type: genai.TypeString, MinLength: genai.Ptr[int64](1)},
					"population": {Type: genai.TypeInteger, Minimum: genai.Ptr(1.0)},
				},
				Required: []string{"city", "population"},
			})
			return func(ctx context.Context) (int, error) {
				text, err := a.answer(ctx)
				if err != nil {
					return 0, err
				}
				var out city
				err = json.Unmarshal([]byte(text), &out)
				return out.Population, err
			}
		},
		Waiting: func(wait func()) work.Run {
			return newApp(generate(func(*model.LLMRequest) (*model.LLMResponse, error) {
				wait()
				return says(work.Answer), nil
			}), nil, addTool()).answer
		},
	})
}

func addTool() tool.Tool {
	return work.Must(functiontool.New(functiontool.Config{Name: work.AddTool, Description: work.AddDescription}, func(_ tool.Context, in addArgs) (sum, error) {
		return sum{in.X + in.Y}, nil
	}))
}

func slowTool(d time.Duration) tool.Tool {
	return work.Must(functiontool.New(functiontool.Config{Name: work.SlowTool, Description: work.AddDescription}, func(_ tool.Context, in addArgs) (sum, error) {
		time.Sleep(d)
		return sum{in.X + in.Y}, nil
	}))
}

// app is an agent with what it takes to run it.
type app struct {
	runner   *runner.Runner
	sessions session.Service
	last     atomic.Int64 // session
}

const (
	appName = "bench"
	user    = "user"
)

func newApp(m model.LLM, output *genai.Schema, tools ...tool.Tool) *app {
	a := work.Must(llmagent.New(llmagent.Config{
		Name: "adder", Description: "Adds.", Instruction: work.Instructions, Model: m, Tools: tools, OutputSchema: output,
	}))
	sessions := session.InMemoryService()
	r := work.Must(runner.New(runner.Config{AppName: appName, Agent: a, SessionService: sessions}))
	return &app{runner: r, sessions: sessions}
}

func (a *app) answer(ctx context.Context) (string, error) {
	_, text, err := a.run(ctx, agent.RunConfig{})
	return text, err
}

// run runs the agent in a session of its own, which it deletes: sessions in memory would grow without bound.
func (a *app) run(ctx context.Context, cfg agent.RunConfig) (deltas int, text string, err error) {
	id := strconv.FormatInt(a.last.Add(1), 10)
	if _, err := a.sessions.Create(ctx, &session.CreateRequest{AppName: appName, UserID: user, SessionID: id}); err != nil {
		return 0, "", err
	}
	for ev, err := range a.runner.Run(ctx, user, id, genai.NewContentFromText(work.Prompt, genai.RoleUser), cfg) {
		switch {
		case err != nil:
			return deltas, "", err
		case ev.Partial:
			deltas++
		case ev.Content != nil && len(ev.Content.Parts) > 0 && ev.Content.Parts[0].Text != "":
			text = ev.Content.Parts[0].Text
		}
	}
	return deltas, text, a.sessions.Delete(ctx, &session.DeleteRequest{AppName: appName, UserID: user, SessionID: id})
}

// fake is a model.
type fake func(req *model.LLMRequest, yield func(*model.LLMResponse, error) bool)

func (f fake) Name() string { return "bench" }

func (f fake) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) { f(req, yield) }
}

// generate is a model that answers at once.
func generate(fn func(*model.LLMRequest) (*model.LLMResponse, error)) model.LLM {
	return fake(func(req *model.LLMRequest, yield func(*model.LLMResponse, error) bool) { yield(fn(req)) })
}

func responds(parts ...*genai.Part) *model.LLMResponse {
	return &model.LLMResponse{
		Content: &genai.Content{Role: genai.RoleModel, Parts: parts}, TurnComplete: true,
		UsageMetadata: &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: work.InputTokens, CandidatesTokenCount: work.OutputTokens},
	}
}

func says(text string) *model.LLMResponse { return responds(genai.NewPartFromText(text)) }

// call is what the provider's client makes of arguments: they are decoded by then.
func call(id, tool string) *genai.Part {
	return &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: tool, Args: map[string]any{"x": 1, "y": 2}}}
}

func steps(n int) model.LLM {
	s := work.NewSteps(n)
	return generate(func(req *model.LLMRequest) (*model.LLMResponse, error) {
		id, err := s.Next(shown(req))
		switch {
		case err != nil:
			return nil, err
		case id == "":
			return says(work.Answer), nil
		}
		return responds(call(id, work.AddTool)), nil
	})
}

// shown is the last tool's result.
func shown(req *model.LLMRequest) string {
	resp := req.Contents[len(req.Contents)-1].Parts[0].FunctionResponse
	if resp == nil {
		return ""
	}
	switch out := resp.Response["sum"].(type) {
	case int:
		return strconv.Itoa(out)
	case float64:
		return strconv.FormatFloat(out, 'g', -1, 64)
	default:
		return fmt.Sprint(out)
	}
}

func parallel(n int) model.LLM {
	return generate(func(req *model.LLMRequest) (*model.LLMResponse, error) {
		if last := req.Contents[len(req.Contents)-1]; last.Parts[0].FunctionResponse != nil {
			if len(last.Parts) != n {
				return nil, fmt.Errorf("%d results", len(last.Parts))
			}
			return says(work.Answer), nil
		}
		calls := make([]*genai.Part, n)
		for i := range calls {
			calls[i] = call(work.CallID(i), work.SlowTool)
		}
		return responds(calls...), nil
	})
}

func deltas(n int) model.LLM {
	return fake(func(_ *model.LLMRequest, yield func(*model.LLMResponse, error) bool) {
		text, err := work.Deltas(n, func(delta string) error {
			if !yield(&model.LLMResponse{Content: genai.NewContentFromText(delta, genai.RoleModel), Partial: true}, nil) {
				return context.Canceled
			}
			return nil
		})
		if err == nil {
			yield(says(text), nil)
		}
	})
}
