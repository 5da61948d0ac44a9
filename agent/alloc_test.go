package agent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// turns is a model that calls the tool add n times, one call a response, and then answers.
func turns(n int) model.Model {
	turn := 0
	calls := make([]model.Part, n)
	for i := range calls {
		calls[i] = model.ToolCall("c", "add", `{"x":1,"y":2}`)
	}
	return model.Func(model.Info{Name: "turns"}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		if turn == n {
			turn = 0
			return model.Response(model.Text("the sum is 3")), nil
		}
		turn++
		return model.Response(calls[turn-1]), nil
	})
}

func adder(t testing.TB, m model.Model, limits agent.Limits) *agent.Agent[deps, string] {
	add := toolset.Func("add", "Add two numbers.", func(_ context.Context, run *toolset.RunContext[deps], in addArgs) (int, error) {
		return run.Deps.base + in.X + in.Y, nil
	})
	a, err := agent.New(agent.Config[deps, string]{
		Model: m, Instructions: "You add numbers.", Limits: limits, Toolsets: []toolset.Toolset[deps]{toolset.Of(add)},
	})
	require.NoError(t, err)
	return a
}

func TestOneToolCallCostsAtMost70Allocations(t *testing.T) {
	a := adder(t, turns(1), agent.Limits{})
	allocs := testing.AllocsPerRun(100, func() {
		_, err := a.Run(context.Background(), deps{}, "What is 1+2?")
		require.NoError(t, err)
	})
	t.Logf("%.0f allocations", allocs)
	require.LessOrEqual(t, allocs, 70.0)
}
func BenchmarkOneTool(b *testing.B) {
	a := adder(b, turns(1), agent.Limits{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Run(context.Background(), deps{}, "What is 1+2?"); err != nil {
			b.Fatal(err)
		}
	}
}
func BenchmarkSeq200(b *testing.B) {
	a := adder(b, turns(200), agent.Limits{Requests: -1})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Run(context.Background(), deps{}, "What is 1+2?"); err != nil {
			b.Fatal(err)
		}
	}
}
func BenchmarkSeq50(b *testing.B) {
	a := adder(b, turns(50), agent.Limits{Requests: -1})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Run(context.Background(), deps{}, "What is 1+2?"); err != nil {
			b.Fatal(err)
		}
	}
}
func BenchmarkStream(b *testing.B) {
	const n = 10000
	m := model.Func(model.Info{Name: "s"}, func(_ context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		for range n {
			if err := sink(model.Delta{Kind: model.PartText, Text: "token "}); err != nil {
				return nil, err
			}
		}
		return model.Response(model.Text("tokens")), nil
	})
	a := adder(b, m, agent.Limits{})
	b.ReportAllocs()
	for b.Loop() {
		got := 0
		for e := range a.Stream(context.Background(), deps{}, "go").Events() {
			if e.Kind == agent.EventPartDelta {
				got++
			}
		}
		if got != n {
			b.Fatal(got)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/delta")
}
