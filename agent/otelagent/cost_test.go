// SPDX-License-Identifier: Apache-2.0

package otelagent_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/otelagent"
	"github.com/ponte-go/ponte/toolset"
)

// steps is a model that calls a tool in every step but the last, and says and calls with some text.
func steps(n int) model.Model {
	text := strings.Repeat("lorem ipsum ", 20)
	return model.Func(model.Info{Provider: "acme", Name: "acme-1"}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		resp := model.Response(model.Text(text))
		if len(req.Messages) < 2*n-1 {
			resp = model.Response(model.Text(text), model.ToolCall("1", "look", `{}`))
		}
		resp.Provider, resp.Model, resp.Usage = "acme", "acme-1", model.Usage{InputTokens: 10, OutputTokens: 5}
		return resp, nil
	})
}

// drop is a span processor that has spans recorded and does nothing with them.
type drop struct{}

func (drop) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (drop) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (drop) Shutdown(context.Context) error                  { return nil }
func (drop) ForceFlush(context.Context) error                { return nil }

// weight is a span processor that adds up what is recorded and keeps nothing.
type weight struct {
	drop
	spans, bytes int
}

func (w *weight) OnEnd(s sdktrace.ReadOnlySpan) {
	w.spans++
	for _, a := range s.Attributes() {
		w.bytes += len(a.Key) + len(a.Value.String())
	}
	for _, e := range s.Events() {
		for _, a := range e.Attributes {
			w.bytes += len(a.Key) + len(a.Value.String())
		}
	}
}

func TestWhatIsRecordedGrowsLinearly(t *testing.T) {
	hooks := func(p sdktrace.SpanProcessor) agent.Hooks[deps] {
		return hooksOf(otelagent.Config{
			TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p)), MeterProvider: metricnoop.NewMeterProvider(), Content: true,
		})
	}
	measure := func(n int) (w weight, allocs float64) {
		_, err := looker(t, n, hooks(&w)).Run(t.Context(), deps{}, "go")
		require.NoError(t, err)
		return w, cost(t, n, hooks(drop{})) - cost(t, n, through)
	}
	short, shortAllocs := measure(50)
	long, longAllocs := measure(200)
	require.Equal(t, 50+49+1, short.spans)
	require.Equal(t, 200+199+1, long.spans)
	t.Logf("50 steps: %d bytes, %.0f allocations; 200 steps: %d bytes, %.0f allocations", short.bytes, shortAllocs, long.bytes, longAllocs)
	require.Less(t, float64(long.bytes)/float64(short.bytes), 4.1)
	if !racing {
		require.Less(t, longAllocs/shortAllocs, 4.1)
	}
}

func looker(t testing.TB, n int, hooks ...agent.Hooks[deps]) *agent.Agent[deps, string] {
	return newAgent(t, agent.Config[deps, string]{
		Name: "helper", Hooks: hooks, Model: steps(n), Limits: agent.Limits{Requests: -1},
	}, says("look", strings.Repeat("dolor ", 50)))
}

// cost returns the allocations of a run of n steps with the given hooks.
func cost(t testing.TB, n int, hooks agent.Hooks[deps]) float64 {
	a := looker(t, n, hooks)
	return testing.AllocsPerRun(20, func() {
		if _, err := a.Run(context.Background(), deps{}, "go"); err != nil {
			t.Fatal(err)
		}
	})
}

// through are hooks that do nothing: what any hooks cost.
var through = typed(agent.Hooks[any]{
	Run: func(ctx context.Context, _ *toolset.RunContext[any], next agent.RunFunc) error {
		_, err := next(ctx)
		return err
	},
	Request: func(ctx context.Context, _ *toolset.RunContext[any], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
		return next(ctx, req)
	},
	Call: func(ctx context.Context, _ *toolset.RunContext[any], args any, next toolset.CallFunc) (toolset.Result, error) {
		return next(ctx, args)
	},
})

// TestHooksAreCheapWithoutAnSDK counts allocations beyond those of hooks that only call next. They belong to the
// run's span, which the API makes even if nobody wants it: requests and calls add none, however many there are.
func TestHooksAreCheapWithoutAnSDK(t *testing.T) {
	if racing {
		t.Skip("counts allocations")
	}
	for name, c := range map[string]struct {
		config otelagent.Config
		most   float64
	}{
		"no-op":  {otelagent.Config{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider(), Content: true}, 1},
		"global": {otelagent.Config{}, 3},
	} {
		for _, n := range []int{1, 2, 50} {
			extra := cost(t, n, hooksOf(c.config)) - cost(t, n, through)
			t.Logf("%s, %d steps: %.0f allocations", name, n, extra)
			require.LessOrEqual(t, extra, c.most, "%s, %d steps", name, n)
		}
	}
}

func TestUnsampledSpansAreNotFilledIn(t *testing.T) {
	if racing {
		t.Skip("counts allocations")
	}
	var w weight
	hooks := hooksOf(otelagent.Config{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(&w), sdktrace.WithSampler(sdktrace.NeverSample())),
		MeterProvider:  metricnoop.NewMeterProvider(), Content: true,
	})
	const n = 50
	extra := cost(t, n, hooks) - cost(t, n, through)
	t.Logf("%.1f allocations a step", extra/n)
	require.Zero(t, w.spans)
	require.Less(t, extra/n, 12.0) // with the gate of a request whose context is the hook's
}

func TestConcurrentRunsDoNotMix(t *testing.T) {
	r := newRecorder()
	calls := make([]model.Part, 16)
	for i := range calls {
		calls[i] = call(string(rune('a'+i)), "look")
	}
	a := newAgent(t, agent.Config[deps, string]{
		Name: "helper", Hooks: r.hooks(), Model: modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			resp := model.Response(model.Text("done"))
			if len(req.Messages) == 1 {
				resp = model.Response(calls...)
			}
			resp.Usage = model.Usage{InputTokens: 1, OutputTokens: 1}
			return resp, nil
		}),
	}, says("look", "nothing"))
	var runs sync.WaitGroup
	for range 20 {
		runs.Go(func() {
			_, err := a.Run(context.Background(), deps{}, "go")
			if err != nil {
				t.Error(err)
			}
		})
	}
	runs.Wait()
	spans := r.spans.GetSpans()
	require.Len(t, spans, 20*(1+2+16))
	byTrace := map[trace.TraceID]int{}
	for _, s := range spans {
		byTrace[s.SpanContext.TraceID()]++
	}
	require.Len(t, byTrace, 20)
	for _, n := range byTrace {
		require.Equal(t, 1+2+16, n)
	}
	for _, s := range find(r, "invoke_agent") {
		require.Equal(t, "2", value(s, "gen_ai.usage.input_tokens"))
	}
}

func BenchmarkRun(b *testing.B) {
	var w weight
	sdk := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(&w))
	for name, hooks := range map[string]agent.Hooks[deps]{
		"through":  through,
		"no-op":    hooksOf(otelagent.Config{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider()}),
		"recorded": hooksOf(otelagent.Config{TracerProvider: sdk, MeterProvider: metricnoop.NewMeterProvider()}),
		"content":  hooksOf(otelagent.Config{TracerProvider: sdk, MeterProvider: metricnoop.NewMeterProvider(), Content: true}),
	} {
		b.Run(name, func(b *testing.B) {
			a := looker(b, 2, hooks)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a.Run(context.Background(), deps{}, "go"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
