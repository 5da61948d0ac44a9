// SPDX-License-Identifier: Apache-2.0

package eino_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"

	"github.com/ponte-go/ponte/internal/bench/work"
)

type addArgs struct {
	X int `json:"x" jsonschema:"required,description=first number"`
	Y int `json:"y" jsonschema:"required,description=second number"`
}

type city struct {
	City       string `json:"city"`
	Population int    `json:"population"`
}

func addTool() tool.BaseTool {
	return work.Must(utils.InferTool(work.AddTool, work.AddDescription, func(_ context.Context, in addArgs) (int, error) {
		return in.X + in.Y, nil
	}))
}

func slowTool(d time.Duration) tool.BaseTool {
	return work.Must(utils.InferTool(work.SlowTool, work.AddDescription, func(_ context.Context, in addArgs) (int, error) {
		time.Sleep(d)
		return in.X + in.Y, nil
	}))
}

// generate is a model that answers at once.
type generate func(in []*schema.Message) (*schema.Message, error)

var _ model.ToolCallingChatModel = generate(nil)

func (g generate) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	return g(in)
}

func (g generate) Stream(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	m, err := g(in)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{m}), nil
}

func (g generate) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return g, nil }

// deltas is a model that writes that many deltas, through a pipe as the framework's own models do.
type deltas int

var _ model.ToolCallingChatModel = deltas(0)

func (n deltas) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	panic("not used")
}

func (n deltas) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	r, w := schema.Pipe[*schema.Message](16)
	go func() {
		defer w.Close()
		for range n {
			if closed := w.Send(&schema.Message{Role: schema.Assistant, Content: work.Delta}, nil); closed {
				return
			}
		}
	}()
	return r, nil
}

func (n deltas) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return n, nil }

func responds(m schema.Message) *schema.Message {
	m.Role = schema.Assistant
	m.ResponseMeta = &schema.ResponseMeta{FinishReason: "stop", Usage: &schema.TokenUsage{
		PromptTokens: work.InputTokens, CompletionTokens: work.OutputTokens, TotalTokens: work.InputTokens + work.OutputTokens,
	}}
	return &m
}

func says(text string) *schema.Message { return responds(schema.Message{Content: text}) }

func call(id, tool string) schema.ToolCall {
	return schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: tool, Arguments: work.AddArgs}}
}

func steps(n int) generate {
	s := work.NewSteps(n)
	return func(in []*schema.Message) (*schema.Message, error) {
		id, err := s.Next(in[len(in)-1].Content)
		switch {
		case err != nil:
			return nil, err
		case id == "":
			return says(work.Answer), nil
		}
		return responds(schema.Message{ToolCalls: []schema.ToolCall{call(id, work.AddTool)}}), nil
	}
}

func parallel(n int) generate {
	return func(in []*schema.Message) (*schema.Message, error) {
		results := 0
		for _, m := range in {
			if m.Role == schema.Tool {
				results++
			}
		}
		switch results {
		case n:
			return says(work.Answer), nil
		case 0:
			calls := make([]schema.ToolCall, n)
			for i := range calls {
				calls[i] = call(work.CallID(i), work.SlowTool)
			}
			return responds(schema.Message{ToolCalls: calls}), nil
		}
		return nil, fmt.Errorf("%d results", results)
	}
}

func waits(wait func()) generate {
	return func([]*schema.Message) (*schema.Message, error) {
		wait()
		return says(work.Answer), nil
	}
}

// structured is a model that gives these answers, over and over.
func structured(answers []string) generate {
	next := work.NewAnswers(answers...)
	return func([]*schema.Message) (*schema.Message, error) { return says(next.Next()), nil }
}
