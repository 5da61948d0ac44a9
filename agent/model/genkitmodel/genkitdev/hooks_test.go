// SPDX-License-Identifier: Apache-2.0

package genkitdev_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/genkitdev"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/otelagent"
	"github.com/ponte-go/ponte/toolset"
)

// traced returns the spans of a run started by Genkit's tools.
func traced(t *testing.T, name, input string) (tracetest.SpanStubs, answer) {
	t.Helper()
	a := run(t, name, input, false)
	id := a.Telemetry.TraceID
	require.True(t, id != "" || a.Error != nil)
	return slices.DeleteFunc(spans.GetSpans(), func(s tracetest.SpanStub) bool {
		if id == "" { // for an error, Genkit reports the trace elsewhere: it is the last one
			id = spans.GetSpans()[len(spans.GetSpans())-1].SpanContext.TraceID().String()
		}
		return s.SpanContext.TraceID().String() != id
	}), a
}

func value(s tracetest.SpanStub, key string) string {
	for _, a := range s.Attributes {
		if string(a.Key) == "genkit:"+key {
			return a.Value.String()
		}
	}
	return ""
}

// tree formats spans as Genkit's tools show them: children below their parents, in the order they started.
func tree(all tracetest.SpanStubs) string {
	var b strings.Builder
	var show func(parent trace.SpanID, indent string)
	show = func(parent trace.SpanID, indent string) {
		children := slices.DeleteFunc(slices.Clone(all), func(s tracetest.SpanStub) bool { return s.Parent.SpanID() != parent })
		slices.SortStableFunc(children, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
		for _, s := range children {
			fmt.Fprintf(&b, "%s%s %s %s %s\n", indent, value(s, "type"), value(s, "metadata:subtype"), value(s, "name"), value(s, "state"))
			show(s.SpanContext.SpanID(), indent+"  ")
		}
	}
	show(trace.SpanID{}, "")
	return b.String()
}

// find returns the span with the name, or fails.
func find(t *testing.T, all tracetest.SpanStubs, name string) tracetest.SpanStub {
	t.Helper()
	i := slices.IndexFunc(all, func(s tracetest.SpanStub) bool { return value(s, "name") == name })
	require.GreaterOrEqual(t, i, 0, "%s in\n%s", name, tree(all))
	return all[i]
}

func otelHooks(provider trace.TracerProvider) agent.Hooks[deps] {
	h := otelagent.New(otelagent.Config{TracerProvider: provider, MeterProvider: metricnoop.NewMeterProvider()})
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

func acme(steps ...modeltest.Step) model.Model {
	script := modeltest.Script(steps...)
	return model.Func(model.Info{Provider: "acme", Name: "acme-1"}, script.Generate)
}

// hookSets returns ways to observe an agent that must look the same in Genkit's tools.
func hookSets(foreign *tracetest.InMemoryExporter) map[string][]agent.Hooks[deps] {
	return map[string][]agent.Hooks[deps]{
		"alone":     {genkitdev.Hooks[deps]()},
		"otelagent": {otelHooks(nil), genkitdev.Hooks[deps]()},
		"behind otelagent and spans of others": {otelHooks(nil), {
			Run: func(ctx context.Context, _ *toolset.RunContext[deps], next agent.RunFunc) error {
				_, err := next(ctx)
				return err
			},
		}, genkitdev.Hooks[deps]()},
		"otelagent goes elsewhere": {
			otelHooks(sdktrace.NewTracerProvider(sdktrace.WithSyncer(foreign))), genkitdev.Hooks[deps](),
		},
	}
}

func TestTraceHasRunRequestsAndCalls(t *testing.T) {
	foreign := tracetest.NewInMemoryExporter()
	for name, hooks := range hookSets(foreign) {
		t.Run(name, func(t *testing.T) {
			flow, _ := register(t, agent.Config[deps, forecast]{
				Name: "helper", Instructions: "Be brief.", Hooks: hooks, Toolsets: tools(says("look", "<clouds>")),
				Model: acme(
					modeltest.Say(model.Text("Let me look."), call("c1", "look")),
					modeltest.Say(model.ToolCall("c2", "final_result", `{"city":"Oslo","degrees":1}`)),
				),
			}, genkitdev.Options[deps]{})
			all, _ := traced(t, flow, `{"prompt":"Oslo?"}`)
			require.Equal(t, "action flow "+flow+" success\n"+
				"  action agent helper success\n"+
				"    action model acme/acme-1 success\n"+
				"    action tool look success\n"+
				"    action model acme/acme-1 success\n", tree(all))

			run := find(t, all, "helper")
			require.JSONEq(t, `[{"role":"user","content":[{"text":"Oslo?"}]}]`, value(run, "input"))
			require.JSONEq(t, `{"city":"Oslo","degrees":1}`, value(run, "output"))
			tool := find(t, all, "look")
			require.Equal(t, `{}`, value(tool, "input"))
			require.Equal(t, `"<clouds>"`, value(tool, "output"))
			require.Equal(t, `c1`, value(tool, "metadata:ref"))
			requests := slices.DeleteFunc(slices.Clone(all), func(s tracetest.SpanStub) bool { return value(s, "name") != "acme/acme-1" })
			slices.SortFunc(requests, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
			var first, second ai.ModelRequest
			require.NoError(t, json.Unmarshal([]byte(value(requests[0], "input")), &first))
			require.NoError(t, json.Unmarshal([]byte(value(requests[1], "input")), &second))
			require.Equal(t, "Be brief.", first.Messages[0].Content[0].Text)
			require.Equal(t, ai.RoleSystem, first.Messages[0].Role)
			require.Len(t, first.Tools, 2)
			require.Equal(t, "object", first.Tools[0].InputSchema["type"])
			require.Equal(t, ai.RoleTool, second.Messages[3].Role)
			require.Equal(t, "<clouds>", second.Messages[3].Content[0].ToolResponse.Output)
			var answered ai.ModelResponse
			require.NoError(t, json.Unmarshal([]byte(value(requests[0], "output")), &answered))
			require.Equal(t, "Let me look.", answered.Message.Content[0].Text)
			require.Equal(t, "c1", answered.Message.Content[1].ToolRequest.Ref)
			require.Positive(t, answered.Usage.InputTokens)
			if strings.Contains(name, "otelagent") && name != "otelagent goes elsewhere" {
				require.Equal(t, "execute_tool look", tool.Name, "the span is otelagent's")
			}
		})
	}
	require.NotEmpty(t, foreign.GetSpans())
	for _, s := range foreign.GetSpans() {
		require.Empty(t, value(s, "input"), "conversations go only to Genkit's tools")
	}
}

func TestForeignSpansAreNotChanged(t *testing.T) {
	between := agent.Hooks[deps]{
		Request: func(ctx context.Context, _ *toolset.RunContext[deps], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
			ctx, span := otel.Tracer("mine").Start(ctx, "cache")
			defer span.End()
			return next(ctx, req)
		},
	}
	flow, _ := register(t, agent.Config[deps, string]{
		Name: "helper", Hooks: []agent.Hooks[deps]{between, genkitdev.Hooks[deps]()}, Model: acme(modeltest.SayText("x")),
	}, genkitdev.Options[deps]{})
	all, _ := traced(t, flow, `{"prompt":"x"}`)
	i := slices.IndexFunc(all, func(s tracetest.SpanStub) bool { return s.Name == "cache" })
	require.Empty(t, value(all[i], "name"))
	require.Equal(t, find(t, all, "helper").SpanContext.SpanID(), all[i].Parent.SpanID())
	require.Equal(t, "success", value(find(t, all, "acme/acme-1"), "state"))
}

func TestInnerAgentsAndFlowsNest(t *testing.T) {
	for name, hooks := range hookSets(tracetest.NewInMemoryExporter()) {
		t.Run(name, func(t *testing.T) {
			inner, err := agent.New(agent.Config[deps, string]{Name: "inner", Hooks: hooks, Model: modeltest.Func(
				func(context.Context, *model.Request) (*model.Message, error) {
					return model.Response(model.Text("x")), nil
				})})
			require.NoError(t, err)
			wrapped := genkit.DefineFlow(g, unique(t.Name()), func(ctx context.Context, prompt string) (string, error) {
				res, err := inner.Run(ctx, deps{}, prompt)
				if err != nil {
					return "", err
				}
				return res.Output, nil
			})
			flow, _ := register(t, agent.Config[deps, string]{
				Name: "outer", Hooks: hooks, Model: acme(modeltest.Say(call("1", "direct"), call("2", "flow")), modeltest.SayText("x")), MaxParallelCalls: 1,
				Toolsets: tools(
					tool("direct", func(ctx context.Context, _ *toolset.RunContext[deps]) (string, error) {
						res, err := inner.Run(ctx, deps{}, "go")
						if err != nil {
							return "", err
						}
						return res.Output, nil
					}),
					tool("flow", func(ctx context.Context, _ *toolset.RunContext[deps]) (string, error) { return wrapped.Run(ctx, "go") })),
			}, genkitdev.Options[deps]{})
			all, _ := traced(t, flow, `{"prompt":"x"}`)
			if name == "otelagent goes elsewhere" {
				require.Contains(t, tree(all), "    action tool direct success\n      action agent inner success\n        action model")
				return
			}
			require.Equal(t, "action flow "+flow+" success\n"+
				"  action agent outer success\n"+
				"    action model acme/acme-1 success\n"+
				"    action tool direct success\n"+
				"      action agent inner success\n"+
				"        action model modeltest/func success\n"+
				"    action tool flow success\n"+
				"      action flow "+wrapped.Name()+" success\n"+
				"        action agent inner success\n"+
				"          action model modeltest/func success\n"+
				"    action model acme/acme-1 success\n", tree(all))
		})
	}
}

func TestTraceShowsFailures(t *testing.T) {
	for name, hooks := range hookSets(tracetest.NewInMemoryExporter()) {
		t.Run(name, func(t *testing.T) {
			flow, _ := register(t, agent.Config[deps, string]{
				Name: "helper", Hooks: hooks,
				Model: acme(
					modeltest.Say(call("1", "wrong"), call("2", "denied"), call("3", "failed")),
					modeltest.Fail(errors.New("out of paper"))),
				Toolsets: tools(
					tool("wrong", func(context.Context, *toolset.RunContext[deps]) (string, error) {
						return "", toolset.Retry("other way")
					}),
					tool("denied", func(context.Context, *toolset.RunContext[deps]) (string, error) { return "", toolset.Denied("no") }),
					tool("failed", func(context.Context, *toolset.RunContext[deps]) (string, error) { return "", toolset.Failed("broken") })),
			}, genkitdev.Options[deps]{})
			all, a := traced(t, flow, `{"prompt":"x"}`)
			require.Contains(t, a.Error.Message, "out of paper")
			require.Equal(t, "success", value(find(t, all, "wrong"), "state"), "the model tries again")
			require.Equal(t, `"retry: other way"`, value(find(t, all, "wrong"), "output"))
			require.Equal(t, "success", value(find(t, all, "denied"), "state"))
			require.Equal(t, "error", value(find(t, all, "failed"), "state"))
			run := find(t, all, "helper")
			require.Equal(t, "error", value(run, "state"))
			require.Equal(t, codes.Error, run.Status.Code)
			require.Len(t, slices.DeleteFunc(slices.Clone(run.Events), func(e sdktrace.Event) bool {
				return e.Name != "exception" || !strings.Contains(fmt.Sprint(e.Attributes), "out of paper")
			}), 1)
			require.Contains(t, value(run, "input"), `"text":"x"`)
		})
	}
}

func TestTraceShowsPanics(t *testing.T) {
	flow, _ := register(t, agent.Config[deps, string]{
		Name: "helper", Hooks: []agent.Hooks[deps]{genkitdev.Hooks[deps]()}, Model: acme(modeltest.Say(call("1", "burst"))),
		Toolsets: tools(tool("burst", func(context.Context, *toolset.RunContext[deps]) (string, error) { panic("water") })),
	}, genkitdev.Options[deps]{})
	all, a := traced(t, flow, `{"prompt":"x"}`)
	require.Contains(t, a.Error.Message, "panic: water")
	require.Equal(t, "error", value(find(t, all, "burst"), "state"))
	require.Equal(t, "error", value(find(t, all, "helper"), "state"))
}

func TestPendingRunHasNotFailed(t *testing.T) {
	flow, _ := register(t, agent.Config[deps, string]{
		Name: "helper", Hooks: []agent.Hooks[deps]{genkitdev.Hooks[deps]()}, Model: acme(modeltest.Say(call("1", "remove"))),
		Toolsets: []toolset.Toolset[deps]{toolset.Approved(toolset.Of(says("remove", "x")), nil)},
	}, genkitdev.Options[deps]{})
	all, _ := traced(t, flow, `{"prompt":"x"}`)
	require.Equal(t, "success", value(find(t, all, "helper"), "state"))
	require.Contains(t, value(find(t, all, "helper"), "output"), `"pending":[{"id":"1","tool":"remove"`)
}

func TestTraceLeavesOutSecretsAndLargeMedia(t *testing.T) {
	thinking := model.Part{Kind: model.PartThinking, Text: "hm", Provider: "acme", Signature: []byte("secret")}
	opaque := model.Part{Kind: model.PartOpaque, Provider: "acme", Data: []byte("secret")}
	temperature := 0.5
	flow, _ := register(t, agent.Config[deps, string]{
		Name: "helper", Hooks: []agent.Hooks[deps]{genkitdev.Hooks[deps]()},
		Model: acme(modeltest.Say(thinking, opaque, call("1", "look")), modeltest.SayText("x")), Toolsets: tools(says("look", "x")),
		Settings: &model.Settings{Temperature: &temperature, ExtraHeaders: map[string]string{"Authorization": "secret"}},
	}, genkitdev.Options[deps]{Run: []agent.RunOption{agent.WithParts(
		model.Media("image/png", []byte("small")), model.Media("image/png", make([]byte, 1<<20)),
		model.Part{Kind: model.PartMedia, MediaType: "image/png", URL: "https://example.com/a.png"},
	)}})
	all, _ := traced(t, flow, `{"prompt":"x"}`)
	for _, s := range all {
		if value(s, "metadata:subtype") == "model" {
			in := value(s, "input")
			require.NotContains(t, in+value(s, "output"), "secret")
			require.NotContains(t, in+value(s, "output"), "c2VjcmV0", "base64")
			require.Less(t, len(in), 10_000)
			require.Contains(t, in, `"config":{"temperature":0.5}`)
			require.Contains(t, in, `{"text":"[image/png, 1048576 bytes]"}`)
			require.Contains(t, in, `"url":"data:image/png;base64,c21hbGw="`)
			require.Contains(t, in, `"url":"https://example.com/a.png"`)
		}
	}
}

// Agents and models without names are shown by what they are.
func TestNamesInTraces(t *testing.T) {
	for want, c := range map[string]struct {
		agent string
		info  model.Info
	}{
		"agent agent, model model": {"", model.Info{}}, "agent a, model m": {"a", model.Info{Name: "m"}}, "agent a, model p/m": {"a", model.Info{Provider: "p", Name: "m"}}, "agent b, model model": {"b", model.Info{Provider: "p"}},
	} {
		script := modeltest.Script(modeltest.SayText("x"))
		flow, _ := register(t, agent.Config[deps, string]{Name: c.agent, Hooks: []agent.Hooks[deps]{genkitdev.Hooks[deps]()}, Model: model.Func(c.info, script.Generate)}, genkitdev.Options[deps]{})
		all, _ := traced(t, flow, `{"prompt":"x"}`)
		var names []string
		for _, kind := range []string{"agent", "model"} {
			i := slices.IndexFunc(all, func(s tracetest.SpanStub) bool { return value(s, "metadata:subtype") == kind })
			require.GreaterOrEqual(t, i, 0)
			require.Equal(t, value(all[i], "name"), all[i].Name)
			names = append(names, kind+" "+all[i].Name)
			require.Empty(t, value(all[i], "isFailureSource"))
			require.Equal(t, codes.Unset, all[i].Status.Code)
			require.False(t, all[i].EndTime.IsZero())
		}
		require.Equal(t, want, strings.Join(names, ", "))
	}
}

func TestRunsOutsideOfFlowsAreNotTraced(t *testing.T) {
	a, err := agent.New(agent.Config[deps, string]{
		Name: t.Name(), Hooks: []agent.Hooks[deps]{otelHooks(nil), genkitdev.Hooks[deps]()}, Model: acme(modeltest.SayText("x")),
	})
	require.NoError(t, err)
	before := len(spans.GetSpans())
	_, err = a.Run(t.Context(), deps{}, "x")
	require.NoError(t, err)
	own := spans.GetSpans()[before:]
	require.Len(t, own, 2, "those of otelagent")
	for _, s := range own {
		require.Empty(t, value(s, "input"))
	}
}

func TestHooksDoNotAllocateOutsideOfFlows(t *testing.T) {
	h := genkitdev.Hooks[deps]()
	req, resp, run := &model.Request{}, model.Response(model.Text("x")), &toolset.RunContext[deps]{}
	next := func(context.Context, *model.Request) (*model.Message, error) { return resp, nil }
	called := func(context.Context, any) (toolset.Result, error) { return toolset.Result{}, nil }
	ctx := t.Context()
	allocs := testing.AllocsPerRun(100, func() {
		_, _ = h.Request(ctx, run, req, next)
		_, _ = h.Call(ctx, run, nil, called)
	})
	require.Zero(t, allocs)
}

func TestNoHooksOutsideOfDevelopment(t *testing.T) {
	t.Setenv("GENKIT_ENV", "prod")
	h := genkitdev.Hooks[deps]()
	require.Nil(t, h.Run)
	require.Nil(t, h.Request)
	require.Nil(t, h.Call)
}
