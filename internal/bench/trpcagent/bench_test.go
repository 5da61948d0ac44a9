// SPDX-License-Identifier: Apache-2.0

package trpcagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"trpc.group/trpc-go/trpc-agent-go/agent/llmagent"
	"trpc.group/trpc-go/trpc-agent-go/log"
	"trpc.group/trpc-go/trpc-agent-go/model"
	"trpc.group/trpc-go/trpc-agent-go/runner"
	"trpc.group/trpc-go/trpc-agent-go/session"
	"trpc.group/trpc-go/trpc-agent-go/session/inmemory"
	"trpc.group/trpc-go/trpc-agent-go/tool"
	"trpc.group/trpc-go/trpc-agent-go/tool/function"

	"github.com/ponte-go/ponte/internal/bench/work"
)

type addArgs struct {
	X int `json:"x" jsonschema:"description=first number,required"`
	Y int `json:"y" jsonschema:"description=second number,required"`
}

type city struct {
	City       string `json:"city"`
	Population int    `json:"population"`
}

func BenchmarkAgent(b *testing.B) {
	log.SetLevel(log.LevelError)
	work.Benchmark(b, work.Peer{
		New:   func() { newAgent(steps(1), llmagent.WithTools([]tool.Tool{addTool()})) },
		Steps: func(n int) work.Run { return newApp(steps(n), llmagent.WithTools([]tool.Tool{addTool()})).answer },
		Parallel: func(n int, d time.Duration) work.Run {
			return newApp(parallel(n), llmagent.WithTools([]tool.Tool{slowTool(d)}), llmagent.WithEnableParallelTools(true)).answer
		},
		Stream: func(n int) func(context.Context) (int, string, error) {
			return newApp(deltas(n), llmagent.WithGenerationConfig(model.GenerationConfig{Stream: true})).run
		},
		Structured: func(answers ...string) func(context.Context) (int, error) {
			next := work.NewAnswers(answers...)
			a := newApp(generate(func(*model.Request) (*model.Response, error) { return says(next.Next()), nil }), llmagent.WithOutputSchema(map[string]any{
				"type": "object",
				"properties": map[string]any{
					"city":       map[string]any{"type": "string", "minLength": 1},
					"population": map[string]any{"type": "integer", "minimum": 1},
				},
				"required": []any{"city", "population"},
			}))
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
			return newApp(generate(func(*model.Request) (*model.Response, error) {
				wait()
				return says(work.Answer), nil
			}), llmagent.WithTools([]tool.Tool{addTool()})).answer
		},
	})
}

func addTool() tool.Tool {
	return function.NewFunctionTool(func(_ context.Context, in addArgs) (int, error) { return in.X + in.Y, nil },
		function.WithName(work.AddTool), function.WithDescription(work.AddDescription))
}

func slowTool(d time.Duration) tool.Tool {
	return function.NewFunctionTool(func(_ context.Context, in addArgs) (int, error) {
		time.Sleep(d)
		return in.X + in.Y, nil
	}, function.WithName(work.SlowTool), function.WithDescription(work.AddDescription))
}

// app is an agent with what it takes to run it.
type app struct {
	runner   runner.Runner
	sessions session.Service
	last     atomic.Int64 // session
}

const (
	appName = "bench"
	user    = "user"
)

func newAgent(m model.Model, opts ...llmagent.Option) *llmagent.LLMAgent {
	return llmagent.New("adder", append([]llmagent.Option{llmagent.WithModel(m), llmagent.WithInstruction(work.Instructions)}, opts...)...)
}

func newApp(m model.Model, opts ...llmagent.Option) *app {
	sessions := inmemory.NewSessionService()
	return &app{runner: runner.NewRunner(appName, newAgent(m, opts...), runner.WithSessionService(sessions)), sessions: sessions}
}

func (a *app) answer(ctx context.Context) (string, error) {
	_, text, err := a.run(ctx)
	return text, err
}

// run runs the agent in a session of its own, which it deletes: sessions in memory would grow without bound.
func (a *app) run(ctx context.Context) (deltas int, text string, err error) {
	id := strconv.FormatInt(a.last.Add(1), 10)
	events, err := a.runner.Run(ctx, user, id, model.NewUserMessage(work.Prompt))
	if err != nil {
		return 0, "", err
	}
	for e := range events {
		switch {
		case e.Error != nil:
			return deltas, "", errors.New(e.Error.Message)
		case e.Response == nil:
		case e.IsPartial:
			deltas++
		case len(e.Choices) > 0 && e.Choices[0].Message.Content != "":
			text = e.Choices[0].Message.Content
		}
	}
	return deltas, text, a.sessions.DeleteSession(ctx, session.Key{AppName: appName, UserID: user, SessionID: id})
}

// generate is a model that answers at once.
type generate func(req *model.Request) (*model.Response, error)

func (g generate) Info() model.Info { return model.Info{Name: "bench"} }

func (g generate) GenerateContent(_ context.Context, req *model.Request) (<-chan *model.Response, error) {
	resp, err := g(req)
	if err != nil {
		return nil, err
	}
	ch := make(chan *model.Response, 1)
	ch <- resp
	close(ch)
	return ch, nil
}

func responds(finish string, m model.Message) *model.Response {
	m.Role = model.RoleAssistant
	return &model.Response{
		ID: "response", Object: model.ObjectTypeChatCompletion, Done: true,
		Usage: &model.Usage{
			PromptTokens: work.InputTokens, CompletionTokens: work.OutputTokens, TotalTokens: work.InputTokens + work.OutputTokens,
		},
		Choices: []model.Choice{{Message: m, FinishReason: &finish}},
	}
}

func says(text string) *model.Response { return responds("stop", model.Message{Content: text}) }

func calls(list ...model.ToolCall) *model.Response {
	return responds("tool_calls", model.Message{ToolCalls: list})
}

func call(id, tool string) model.ToolCall {
	return model.ToolCall{Type: "function", ID: id, Function: model.FunctionDefinitionParam{Name: tool, Arguments: []byte(work.AddArgs)}}
}

func steps(n int) model.Model {
	s := work.NewSteps(n)
	return generate(func(req *model.Request) (*model.Response, error) {
		id, err := s.Next(req.Messages[len(req.Messages)-1].Content)
		switch {
		case err != nil:
			return nil, err
		case id == "":
			return says(work.Answer), nil
		}
		return calls(call(id, work.AddTool)), nil
	})
}

func parallel(n int) model.Model {
	return generate(func(req *model.Request) (*model.Response, error) {
		results := 0
		for i := range req.Messages {
			if req.Messages[i].Role == model.RoleTool {
				results++
			}
		}
		switch results {
		case n:
			return says(work.Answer), nil
		case 0:
			list := make([]model.ToolCall, n)
			for i := range list {
				list[i] = call(work.CallID(i), work.SlowTool)
			}
			return calls(list...), nil
		}
		return nil, fmt.Errorf("%d results", results)
	})
}

// deltas is a model that writes that many deltas, through a channel as its interface wants it.
type deltas int

func (n deltas) Info() model.Info { return model.Info{Name: "bench"} }

func (n deltas) GenerateContent(ctx context.Context, _ *model.Request) (<-chan *model.Response, error) {
	ch := make(chan *model.Response, 16)
	go func() {
		defer close(ch)
		send := func(resp *model.Response) error {
			select {
			case ch <- resp:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		text, err := work.Deltas(int(n), func(delta string) error {
			return send(&model.Response{
				ID: "response", Object: model.ObjectTypeChatCompletionChunk, IsPartial: true,
				Choices: []model.Choice{{Delta: model.Message{Role: model.RoleAssistant, Content: delta}}},
			})
		})
		if err == nil {
			_ = send(says(text))
		}
	}()
	return ch, nil
}
