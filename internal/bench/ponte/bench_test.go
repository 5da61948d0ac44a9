// SPDX-License-Identifier: Apache-2.0

package ponte_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/bench/work"
	"github.com/ponte-go/ponte/toolset"
)

type deps struct{ base int }

type addArgs struct {
	X int `json:"x" jsonschema:"description=first number"`
	Y int `json:"y" jsonschema:"description=second number"`
}

type city struct {
	City       string `json:"city" validate:"required"`
	Population int    `json:"population" validate:"min=1"`
}

func BenchmarkAgent(b *testing.B) {
	work.Benchmark(b, work.Peer{
		New: func() { newAgent(answers(work.Answer), addTool()) },
		Steps: func(n int) work.Run {
			return runner(newAgent(steps(n), addTool()))
		},
		Parallel: func(n int, d time.Duration) work.Run {
			return runner(newAgent(parallel(n), slowTool(d)))
		},
		Stream: func(n int) func(context.Context) (int, string, error) {
			a := newAgent(deltas(n))
			return func(ctx context.Context) (got int, text string, err error) {
				s := a.Stream(ctx, deps{}, work.Prompt)
				for e := range s.Events() {
					if e.Kind == agent.EventPartDelta {
						got++
					}
				}
				res, err := s.Result()
				if err != nil {
					return got, "", err
				}
				return got, res.Output, nil
			}
		},
		Structured: func(texts ...string) func(context.Context) (int, error) {
			next := work.NewAnswers(texts...)
			a := work.Must(agent.New(agent.Config[deps, city]{
				Instructions: work.Instructions,
				Model: generate(func(*model.Request, model.Sink) (*model.Message, error) {
					return responds(model.ToolCall(work.CallID(1), "final_result", next.Next())), nil
				}),
			}))
			return func(ctx context.Context) (int, error) {
				res, err := a.Run(ctx, deps{}, work.Prompt)
				if err != nil {
					return 0, err
				}
				return res.Output.Population, nil
			}
		},
		Retries: true,
		Waiting: func(wait func()) work.Run {
			return runner(newAgent(generate(func(*model.Request, model.Sink) (*model.Message, error) {
				wait()
				return responds(model.Text(work.Answer)), nil
			}), addTool()))
		},
	})
}

func newAgent(m model.Model, tools ...*toolset.Tool[deps]) *agent.Agent[deps, string] {
	return work.Must(agent.New(agent.Config[deps, string]{
		Model:        m,
		Instructions: work.Instructions,
		Toolsets:     []toolset.Toolset[deps]{toolset.Of(tools...)},
		Limits:       agent.Limits{Requests: -1},
	}))
}

func addTool() *toolset.Tool[deps] {
	return toolset.Func(work.AddTool, work.AddDescription, func(_ context.Context, run *toolset.RunContext[deps], in addArgs) (int, error) {
		return run.Deps.base + in.X + in.Y, nil
	})
}

func slowTool(d time.Duration) *toolset.Tool[deps] {
	return toolset.Func(work.SlowTool, work.AddDescription, func(_ context.Context, _ *toolset.RunContext[deps], in addArgs) (int, error) {
		time.Sleep(d)
		return in.X + in.Y, nil
	})
}

func runner(a *agent.Agent[deps, string]) work.Run {
	return func(ctx context.Context) (string, error) {
		res, err := a.Run(ctx, deps{}, work.Prompt)
		if err != nil {
			return "", err
		}
		return res.Output, nil
	}
}

func generate(fn func(*model.Request, model.Sink) (*model.Message, error)) model.Model {
	return model.Func(model.Info{Provider: "bench", Name: "bench"}, func(_ context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		return fn(req, sink)
	})
}

func responds(parts ...model.Part) *model.Message {
	resp := model.Response(parts...)
	resp.Usage = model.Usage{InputTokens: work.InputTokens, OutputTokens: work.OutputTokens}
	return resp
}

func answers(text string) model.Model {
	return generate(func(*model.Request, model.Sink) (*model.Message, error) { return responds(model.Text(text)), nil })
}

func steps(n int) model.Model {
	s := work.NewSteps(n)
	return generate(func(req *model.Request, _ model.Sink) (*model.Message, error) {
		id, err := s.Next(req.Messages[len(req.Messages)-1].Parts[0].Text)
		switch {
		case err != nil:
			return nil, err
		case id == "":
			return responds(model.Text(work.Answer)), nil
		}
		return responds(model.ToolCall(id, work.AddTool, work.AddArgs)), nil
	})
}

func parallel(n int) model.Model {
	return generate(func(req *model.Request, _ model.Sink) (*model.Message, error) {
		if last := req.Messages[len(req.Messages)-1]; last.Parts[0].Kind == model.PartToolReturn {
			if len(last.Parts) != n {
				return nil, fmt.Errorf("%d results", len(last.Parts))
			}
			return responds(model.Text(work.Answer)), nil
		}
		parts := make([]model.Part, n)
		for i := range parts {
			parts[i] = model.ToolCall(work.CallID(i), work.SlowTool, work.AddArgs)
		}
		return responds(parts...), nil
	})
}

// deltas is a model that streams: it joins the deltas itself, as the contract of [model.Model] says.
func deltas(n int) model.Model {
	return generate(func(_ *model.Request, sink model.Sink) (*model.Message, error) {
		text, err := work.Deltas(n, func(delta string) error { return sink(model.Delta{Kind: model.PartText, Text: delta}) })
		if err != nil {
			return nil, err
		}
		return responds(model.Text(text)), nil
	})
}
