// SPDX-License-Identifier: Apache-2.0

package langchaingo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/outputparser"
	"github.com/tmc/langchaingo/tools"

	"github.com/ponte-go/ponte/internal/bench/work"
)

type city struct {
	City       string `json:"city"`
	Population int    `json:"population"`
}

func BenchmarkAgent(b *testing.B) {
	work.Benchmark(b, work.Peer{
		New:      func() { newAgent(steps(1), addTool{name: work.AddTool}) },
		Steps:    func(n int) work.Run { return runner(newAgent(steps(n), addTool{name: work.AddTool})) },
		Parallel: func(n int, d time.Duration) work.Run { return runner(newAgent(parallel(n), addTool{work.SlowTool, d})) },
		Stream: func(n int) func(context.Context) (int, string, error) {
			a := newAgent(deltas(n))
			return func(ctx context.Context) (got int, text string, err error) {
				// The callbacks of an agent get no deltas in v0.1.14: chains.GetLLMCallOptions replaces their streaming function.
				text, err = chains.Run(ctx, a, work.Prompt, chains.WithStreamingFunc(func(context.Context, []byte) error { got++; return nil }))
				return got, text, err
			}
		},
		Structured: func(answers ...string) func(context.Context) (int, error) {
			fenced := make([]string, len(answers))
			for i, text := range answers {
				fenced[i] = "```json\n" + text + "\n```" // which the parser insists on
			}
			next := work.NewAnswers(fenced...)
			run := runner(newAgent(generate(func([]llms.MessageContent) (*llms.ContentResponse, error) { return says(next.Next()), nil })))
			parser := work.Must(outputparser.NewDefined(city{}))
			return func(ctx context.Context) (int, error) {
				text, err := run(ctx)
				if err != nil {
					return 0, err
				}
				out, err := parser.Parse(text)
				return out.Population, err
			}
		},
		Waiting: func(wait func()) work.Run {
			return runner(newAgent(generate(func([]llms.MessageContent) (*llms.ContentResponse, error) {
				wait()
				return says(work.Answer), nil
			}), addTool{name: work.AddTool}))
		},
	})
}

// addTool adds, after a while.
type addTool struct {
	name string
	d    time.Duration
}

func (t addTool) Name() string { return t.name }

func (t addTool) Description() string { return work.AddDescription }

func (t addTool) Call(_ context.Context, input string) (string, error) {
	var args struct{ X, Y int }
	if err := json.Unmarshal([]byte(input), &args); err != nil {
		return "", err
	}
	if t.d > 0 {
		time.Sleep(t.d)
	}
	return strconv.Itoa(args.X + args.Y), nil
}

func newAgent(m llms.Model, t ...tools.Tool) *agents.Executor {
	a := agents.NewOpenAIFunctionsAgent(m, t, agents.NewOpenAIOption().WithSystemMessage(work.Instructions))
	return agents.NewExecutor(a, agents.WithMaxIterations(1000))
}

func runner(a *agents.Executor) work.Run {
	return func(ctx context.Context) (string, error) { return chains.Run(ctx, a, work.Prompt) }
}

// fake is a model.
type fake func(ctx context.Context, messages []llms.MessageContent, options *llms.CallOptions) (*llms.ContentResponse, error)

func (f fake) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, apply := range options {
		apply(&o)
	}
	return f(ctx, messages, &o)
}

func (f fake) Call(context.Context, string, ...llms.CallOption) (string, error) { panic("not used") }

// generate is a model that answers at once.
func generate(fn func(messages []llms.MessageContent) (*llms.ContentResponse, error)) llms.Model {
	return fake(func(_ context.Context, messages []llms.MessageContent, _ *llms.CallOptions) (*llms.ContentResponse, error) {
		return fn(messages)
	})
}

func responds(c llms.ContentChoice) *llms.ContentResponse {
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{&c}}
}

func says(text string) *llms.ContentResponse {
	return responds(llms.ContentChoice{Content: text, StopReason: "stop"})
}

// call wraps the arguments as the agent expects them.
func call(id, tool string) llms.ToolCall {
	const args = `{"__arg1":"{\"x\":1,\"y\":2}"}`
	return llms.ToolCall{ID: id, Type: "function", FunctionCall: &llms.FunctionCall{Name: tool, Arguments: args}}
}

func steps(n int) llms.Model {
	s := work.NewSteps(n)
	return generate(func(messages []llms.MessageContent) (*llms.ContentResponse, error) {
		result, _ := messages[len(messages)-1].Parts[0].(llms.ToolCallResponse)
		id, err := s.Next(result.Content)
		switch {
		case err != nil:
			return nil, err
		case id == "":
			return says(work.Answer), nil
		}
		return responds(llms.ContentChoice{ToolCalls: []llms.ToolCall{call(id, work.AddTool)}}), nil
	})
}

func parallel(n int) llms.Model {
	return generate(func(messages []llms.MessageContent) (*llms.ContentResponse, error) {
		results := 0
		for _, m := range messages {
			for _, p := range m.Parts {
				if _, ok := p.(llms.ToolCallResponse); ok {
					results++
				}
			}
		}
		switch results {
		case n:
			return says(work.Answer), nil
		case 0:
			calls := make([]llms.ToolCall, n)
			for i := range calls {
				calls[i] = call(work.CallID(i), work.SlowTool)
			}
			return responds(llms.ContentChoice{ToolCalls: calls}), nil
		}
		return nil, fmt.Errorf("%d results", results)
	})
}

func deltas(n int) llms.Model {
	return fake(func(ctx context.Context, _ []llms.MessageContent, o *llms.CallOptions) (*llms.ContentResponse, error) {
		text, err := work.Deltas(n, func(delta string) error { return o.StreamingFunc(ctx, []byte(delta)) })
		if err != nil {
			return nil, err
		}
		return says(text), nil
	})
}
