// SPDX-License-Identifier: Apache-2.0

package otelagent_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/otelagent"
	"github.com/ponte-go/ponte/toolset"
)

var update = flag.Bool("update", false, "write the golden files")

type deps struct{ tenant string }

type none struct{}

type city struct {
	City       string `json:"city" validate:"required"`
	Population int    `json:"population" validate:"min=1"`
}

// recorder is an SDK that keeps everything.
type recorder struct {
	spans  *tracetest.InMemoryExporter
	tracer *sdktrace.TracerProvider
	reader *sdkmetric.ManualReader
	meter  *sdkmetric.MeterProvider
}

func newRecorder() *recorder {
	r := &recorder{spans: tracetest.NewInMemoryExporter(), reader: sdkmetric.NewManualReader()}
	r.tracer = sdktrace.NewTracerProvider(sdktrace.WithSyncer(r.spans))
	r.meter = sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader))
	return r
}

func (r *recorder) config() otelagent.Config {
	return otelagent.Config{TracerProvider: r.tracer, MeterProvider: r.meter}
}

func (r *recorder) hooks() []agent.Hooks[deps] {
	return []agent.Hooks[deps]{hooksOf(r.config())}
}

// hooksOf returns hooks for agents with deps.
func hooksOf(config otelagent.Config) agent.Hooks[deps] { return typed(otelagent.New(config)) }

func typed(h agent.Hooks[any]) agent.Hooks[deps] {
	untyped := func(run *toolset.RunContext[deps]) *toolset.RunContext[any] {
		return toolset.WithDeps(run, any(run.Deps))
	}
	return agent.Hooks[deps]{
		Run: func(ctx context.Context, run *toolset.RunContext[deps], next agent.RunFunc) error {
			return h.Run(ctx, untyped(run), next)
		},
		Request: func(ctx context.Context, run *toolset.RunContext[deps], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
			return h.Request(ctx, untyped(run), req, next)
		},
		Call: func(ctx context.Context, run *toolset.RunContext[deps], args any, next toolset.CallFunc) (toolset.Result, error) {
			return h.Call(ctx, untyped(run), args, next)
		},
	}
}

// answers is a script whose responses say who gave them.
func answers(steps ...modeltest.Step) model.Model {
	script := modeltest.Script(steps...)
	n := 0
	return modeltest.Func(func(ctx context.Context, req *model.Request) (*model.Message, error) {
		resp, err := script.Generate(ctx, req, nil)
		if err != nil {
			return nil, err
		}
		n++
		resp.Provider, resp.Model, resp.ResponseID = "acme", "acme-1", fmt.Sprintf("resp-%d", n)
		return resp, nil
	})
}

func tool(name string, fn func(ctx context.Context, run *toolset.RunContext[deps]) (string, error), opts ...toolset.Option) *toolset.Tool[deps] {
	return toolset.Func(name, "Does "+name+".", func(ctx context.Context, run *toolset.RunContext[deps], _ none) (string, error) {
		return fn(ctx, run)
	}, opts...)
}

func says(name, text string) *toolset.Tool[deps] {
	return tool(name, func(context.Context, *toolset.RunContext[deps]) (string, error) { return text, nil })
}

func fails(name string, err error) *toolset.Tool[deps] {
	return tool(name, func(context.Context, *toolset.RunContext[deps]) (string, error) { return "", err })
}

func call(id, tool string) model.Part { return model.ToolCall(id, tool, "{}") }

func newAgent[O any](t testing.TB, config agent.Config[deps, O], tools ...*toolset.Tool[deps]) *agent.Agent[deps, O] {
	t.Helper()
	if len(tools) > 0 {
		config.Toolsets = append(config.Toolsets, toolset.Of(tools...))
	}
	a, err := agent.New(config)
	require.NoError(t, err)
	return a
}

// ids make the ids of a run the same every time.
func ids() []agent.RunOption {
	return []agent.RunOption{agent.WithRunID("run"), agent.WithConversationID("conversation")}
}

// tree shows spans as a tree, without ids and times. Siblings that are not ordered by the run are ordered by their attributes.
func tree(spans tracetest.SpanStubs) string {
	children := map[trace.SpanID][]tracetest.SpanStub{}
	known := map[trace.SpanID]bool{}
	for _, s := range spans {
		known[s.SpanContext.SpanID()] = true
	}
	for _, s := range spans {
		parent := s.Parent.SpanID()
		if !known[parent] {
			parent = trace.SpanID{}
		}
		children[parent] = append(children[parent], s)
	}
	var b strings.Builder
	var show func(parent trace.SpanID, indent string)
	show = func(parent trace.SpanID, indent string) {
		siblings := children[parent]
		slices.SortStableFunc(siblings, func(x, y tracetest.SpanStub) int {
			if sx, sy := step(x), step(y); sx != sy {
				return int(sx - sy)
			}
			return strings.Compare(x.Name+attributes(x.Attributes), y.Name+attributes(y.Attributes))
		})
		for _, s := range siblings {
			fmt.Fprintf(&b, "%s%s [%s]", indent, s.Name, s.SpanKind)
			if s.Status.Code != codes.Unset {
				fmt.Fprintf(&b, " %s %q", s.Status.Code, s.Status.Description)
			}
			b.WriteString("\n")
			for _, a := range sorted(s.Attributes) {
				fmt.Fprintf(&b, "%s    %s = %s\n", indent, a.Key, a.Value.String())
			}
			for _, e := range s.Events {
				fmt.Fprintf(&b, "%s    * %s %s\n", indent, e.Name, attributes(e.Attributes))
			}
			show(s.SpanContext.SpanID(), indent+"  ")
		}
	}
	show(trace.SpanID{}, "")
	return b.String()
}

func step(s tracetest.SpanStub) int64 {
	for _, a := range s.Attributes {
		if a.Key == "ponte.step" {
			return a.Value.AsInt64()
		}
	}
	return 0
}

func sorted(attrs []attribute.KeyValue) []attribute.KeyValue {
	return slices.SortedFunc(slices.Values(attrs), func(a, b attribute.KeyValue) int {
		return strings.Compare(string(a.Key), string(b.Key))
	})
}

func attributes(attrs []attribute.KeyValue) string {
	var all []string
	for _, a := range sorted(attrs) {
		all = append(all, fmt.Sprintf("%s=%s", a.Key, a.Value.String()))
	}
	return strings.Join(all, " ")
}

// golden compares the spans with a file in testdata.
func golden(t *testing.T, r *recorder) {
	t.Helper()
	goldenText(t, tree(r.spans.GetSpans()))
}

// testLine is a line of a test, which a panic names.
var testLine = regexp.MustCompile(`_test\.go:\d+`)

func goldenText(t *testing.T, got string) {
	t.Helper()
	got = testLine.ReplaceAllString(got, "_test.go:N")
	file := filepath.Join("testdata", strings.ReplaceAll(t.Name(), "/", "_")+".golden")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run with -update")
	require.Equal(t, string(want), got)
}

// find returns the spans whose name begins with prefix.
func find(r *recorder, prefix string) tracetest.SpanStubs {
	var found tracetest.SpanStubs
	for _, s := range r.spans.GetSpans() {
		if strings.HasPrefix(s.Name, prefix) {
			found = append(found, s)
		}
	}
	return found
}

func value(s tracetest.SpanStub, key string) string {
	for _, a := range s.Attributes {
		if string(a.Key) == key {
			return a.Value.String()
		}
	}
	return ""
}

// withoutInnerIDs hides the ids of runs that the test did not start itself.
func withoutInnerIDs(tree string) string {
	var b strings.Builder
	for line := range strings.Lines(tree) {
		for _, key := range []string{"ponte.run.id", "gen_ai.conversation.id"} {
			if i := strings.Index(line, key+" = "); i >= 0 && !strings.Contains(line, "= run\n") && !strings.Contains(line, "= conversation\n") {
				line = line[:i] + key + " = …\n"
			}
		}
		b.WriteString(line)
	}
	return b.String()
}
