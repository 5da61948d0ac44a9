// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-playground/validator/v10"
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
		calls[i] = add("c", 1, 2)
	}
	return model.Func(model.Info{Name: "turns"}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		if turn > 0 {
			if got := req.Messages[len(req.Messages)-1].Parts[0].Text; got != "3" {
				return nil, fmt.Errorf("the model is shown %q", got)
			}
		}
		if turn == n {
			turn = 0
			return model.Response(model.Text("the sum is 3")), nil
		}
		turn++
		return model.Response(calls[turn-1]), nil
	})
}

// floor does the same work as an agent does with turns, by hand and without a framework: the least that it can cost.
// Arguments are decoded and validated with the same libraries, messages are kept, ids are not made.
func floor(ctx context.Context, m model.Model, validate *validator.Validate, tools []model.ToolDef) (string, error) {
	req := model.Request{Instructions: "You add numbers.", Tools: tools, Messages: []*model.Message{model.UserText("What is 1+2?")}}
	for {
		resp, err := m.Generate(ctx, &req, nil)
		if err != nil {
			return "", err
		}
		req.Messages = append(req.Messages, resp)
		answer := &model.Message{Kind: model.KindRequest}
		for i := range resp.Parts {
			p := &resp.Parts[i]
			if p.Kind != model.PartToolCall {
				return p.Text, nil
			}
			var in addArgs
			dec := json.NewDecoder(strings.NewReader(string(p.Args)))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&in); err != nil {
				return "", err
			}
			if err := validate.Struct(&in); err != nil {
				return "", err
			}
			out, err := json.Marshal(in.X + in.Y)
			if err != nil {
				return "", err
			}
			answer.Parts = append(answer.Parts, model.ToolReturn(p.CallID, p.Tool, string(out)))
		}
		req.Messages = append(req.Messages, answer)
	}
}

func BenchmarkOneToolCall(b *testing.B) {
	a := newAgent(b, cfg{Model: turns(1), Instructions: "You add numbers."}, addTool())
	m, validate, tools := turns(1), validator.New(), []model.ToolDef{addTool().Def}
	const n = 20000
	begin := time.Now()
	for range n {
		if _, err := floor(context.Background(), m, validate, tools); err != nil {
			b.Fatal(err)
		}
	}
	base := float64(time.Since(begin).Nanoseconds()) / n
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Run(context.Background(), deps{}, "What is 1+2?"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/base, "×floor")
	b.ReportMetric(base, "floor-ns/op")
}

func BenchmarkSteps(b *testing.B) {
	for _, n := range []int{50, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			a := newAgent(b, cfg{Model: turns(n), Limits: agent.Limits{Requests: -1}}, addTool())
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a.Run(context.Background(), deps{}, "What is 1+2?"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// deltas is a model that streams n words.
func deltas(n int) model.Model {
	return model.Func(model.Info{}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		for range n {
			if err := sink(model.Delta{Kind: model.PartText, Text: "token "}); err != nil {
				return nil, err
			}
		}
		return model.Response(model.Text("token")), nil
	})
}

func drain(tb testing.TB, a *agent.Agent[deps, string], want int) {
	got := 0
	for e := range a.Stream(context.Background(), deps{}, "go").Events() {
		if e.Kind == agent.EventPartDelta {
			got++
		}
	}
	require.Equal(tb, want, got)
}

func BenchmarkStreamedDelta(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			a := newAgent(b, cfg{Model: deltas(n)})
			b.ReportAllocs()
			for b.Loop() {
				drain(b, a, n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/delta")
		})
	}
}

func BenchmarkTypedOutputWithOneRetry(b *testing.B) {
	bad := true
	m := model.Func(model.Info{}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		bad = !bad
		if bad {
			return model.Response(final("2", paris)), nil
		}
		return model.Response(final("1", badParis)), nil
	})
	a := newAgent(b, cityCfg{Model: m})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Run(context.Background(), deps{}, "go"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParallel16(b *testing.B) {
	var calls []model.Part
	for i := range 16 {
		calls = append(calls, call(fmt.Sprint(i), "slow"))
	}
	turn := 0
	m := model.Func(model.Info{}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		if turn++; turn%2 == 0 {
			return model.Response(model.Text("ok")), nil
		}
		return model.Response(calls...), nil
	})
	a := newAgent(b, cfg{Model: m}, sleeper("slow", 10*time.Millisecond))
	for b.Loop() {
		if _, err := a.Run(context.Background(), deps{}, "go"); err != nil {
			b.Fatal(err)
		}
	}
}

func TestOneToolCallCostsAtMost25Allocations(t *testing.T) {
	a := newAgent(t, cfg{Model: turns(1), Instructions: "You add numbers."}, addTool())
	allocs := testing.AllocsPerRun(100, func() {
		_, err := a.Run(context.Background(), deps{}, "What is 1+2?")
		require.NoError(t, err)
	})
	t.Logf("%.0f allocations", allocs)
	if !raceEnabled { // pools forget at random
		require.LessOrEqual(t, allocs, 25.0)
	}
}

func TestStreamedDeltaCostsNoAllocation(t *testing.T) {
	allocs := func(n int) float64 {
		a := newAgent(t, cfg{Model: deltas(n)})
		return testing.AllocsPerRun(10, func() { drain(t, a, n) })
	}
	require.Less(t, (allocs(2000)-allocs(1000))/1000, 0.01, "the buffer grows now and then")
}

func TestCostOfARunGrowsWithItsStepsOnly(t *testing.T) {
	idle := func(_ context.Context, _ *toolset.RunContext[deps], messages []*model.Message) ([]*model.Message, error) {
		return messages, nil
	}
	measure := func(n int) (allocs, bytes float64) {
		a := newAgent(t, cfg{Model: turns(n), Limits: agent.Limits{Requests: -1}, History: []agent.HistoryProcessor[deps]{idle}}, addTool())
		const runs = 50
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			_, err := a.Run(context.Background(), deps{}, "What is 1+2?")
			require.NoError(t, err)
		}
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs-before.Mallocs) / runs, float64(after.TotalAlloc-before.TotalAlloc) / runs
	}
	measure(1) // fill the caches
	allocs50, bytes50 := measure(50)
	allocs200, bytes200 := measure(200)
	t.Logf("200 steps against 50: %.2f times the allocations, %.2f times the bytes", allocs200/allocs50, bytes200/bytes50)
	require.LessOrEqual(t, allocs200/allocs50, 4.3, "nothing that a step does may walk the history")
	require.LessOrEqual(t, bytes200/bytes50, 4.3, "nothing that a step does may copy the history")
}

// TestInstrumentationThatIsNotInstalledCostsNothing: a context without one, an empty one, and one that was removed again.
func TestInstrumentationThatIsNotInstalledCostsNothing(t *testing.T) {
	a := newAgent(t, cfg{Model: turns(1)}, addTool())
	allocs := func(ctx context.Context) float64 {
		return testing.AllocsPerRun(100, func() {
			_, err := a.Run(ctx, deps{}, "go")
			require.NoError(t, err)
		})
	}
	bare, empty := allocs(context.Background()), allocs(agent.WithInstrumentation(context.Background()))
	defer agent.SetInstrumentation()
	agent.SetInstrumentation(agent.Hooks[any]{})
	agent.SetInstrumentation()
	removed := allocs(context.Background())
	if !raceEnabled { // pools forget at random
		require.Equal(t, bare, empty)
		require.Equal(t, bare, removed)
	}
}
