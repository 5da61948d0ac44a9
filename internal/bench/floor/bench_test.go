// SPDX-License-Identifier: Apache-2.0

package floor

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/ponte-go/ponte/internal/bench/work"
)

type deps struct{ base int }

type addArgs struct {
	X int `json:"x" jsonschema:"first number"`
	Y int `json:"y" jsonschema:"second number"`
}

type city struct {
	City       string `json:"city"`
	Population int    `json:"population"`
}

func BenchmarkAgent(b *testing.B) {
	work.Benchmark(b, work.Peer{
		New: func() { newAgent(nil, addTool()) },
		Steps: func(n int) work.Run {
			return runner(newAgent(steps(n), addTool()))
		},
		Parallel: func(n int, d time.Duration) work.Run {
			return runner(newAgent(parallel(n), slowTool(d)))
		},
		Stream: func(n int) func(context.Context) (int, string, error) {
			a := newAgent(stream(n))
			return func(ctx context.Context) (got int, text string, err error) {
				for _, err := range a.Stream(ctx, work.Prompt, &text) {
					if err != nil {
						return got, "", err
					}
					got++
				}
				return got, text, nil
			}
		},
		Structured: func(answers ...string) func(context.Context) (int, error) {
			out := work.Must(newChecked[city](func(s *jsonschema.Schema) {
				s.Properties["city"].MinLength = jsonschema.Ptr(1)
				s.Properties["population"].Minimum = jsonschema.Ptr(1.0)
			}))
			next := work.NewAnswers(answers...)
			a := NewAgent[deps](generate(func(*Request) (*Response, error) { return says(next.Next()), nil }), work.Instructions, out.decode)
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
			return runner(newAgent(generate(func(*Request) (*Response, error) {
				wait()
				return says(work.Answer), nil
			}), addTool()))
		},
	})
}

func newAgent(m Model, tools ...*Tool[deps]) *Agent[deps, string] {
	return NewAgent(m, work.Instructions, func(text string) (string, error) { return text, nil }, tools...)
}

func addTool() *Tool[deps] {
	return work.Must(NewTool(work.AddTool, work.AddDescription, func(_ context.Context, d deps, in addArgs) (int, error) {
		return d.base + in.X + in.Y, nil
	}))
}

func slowTool(d time.Duration) *Tool[deps] {
	return work.Must(NewTool(work.SlowTool, work.AddDescription, func(_ context.Context, _ deps, in addArgs) (int, error) {
		time.Sleep(d)
		return in.X + in.Y, nil
	}))
}

func runner(a *Agent[deps, string]) work.Run {
	return func(ctx context.Context) (string, error) {
		res, err := a.Run(ctx, deps{}, work.Prompt)
		if err != nil {
			return "", err
		}
		return res.Output, nil
	}
}

// generate is a model that answers at once.
type generate func(*Request) (*Response, error)

func (g generate) Generate(_ context.Context, req *Request) (*Response, error) { return g(req) }

func (g generate) Stream(context.Context, *Request) iter.Seq2[Part, error] { panic("not used") }

// stream is a model that writes that many deltas.
type stream int

func (n stream) Generate(context.Context, *Request) (*Response, error) { panic("not used") }

func (n stream) Stream(context.Context, *Request) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		for range n {
			if !yield(Part{Text: work.Delta}, nil) {
				return
			}
		}
	}
}

func says(text string) *Response {
	return &Response{[]Part{{Text: text}}, Usage{work.InputTokens, work.OutputTokens}}
}

func calls(parts ...Part) *Response {
	return &Response{parts, Usage{work.InputTokens, work.OutputTokens}}
}

func steps(n int) Model {
	s := work.NewSteps(n)
	return generate(func(req *Request) (*Response, error) {
		id, err := s.Next(req.Messages[len(req.Messages)-1].Parts[0].Text)
		switch {
		case err != nil:
			return nil, err
		case id == "":
			return says(work.Answer), nil
		}
		return calls(Part{CallID: id, Tool: work.AddTool, Args: work.AddArgs}), nil
	})
}

func parallel(n int) Model {
	return generate(func(req *Request) (*Response, error) {
		if last := req.Messages[len(req.Messages)-1]; last.Role == RoleTool {
			if len(last.Parts) != n {
				return nil, fmt.Errorf("%d results", len(last.Parts))
			}
			return says(work.Answer), nil
		}
		parts := make([]Part, n)
		for i := range parts {
			parts[i] = Part{CallID: work.CallID(i), Tool: work.SlowTool, Args: work.AddArgs}
		}
		return calls(parts...), nil
	})
}
