// SPDX-License-Identifier: Apache-2.0

package otelagent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/otelagent"
	"github.com/ponte-go/ponte/toolset"
)

// TestContentOfEachKindOfPart has what is recorded of all parts of requests and responses, whole and within bounds.
func TestContentOfEachKindOfPart(t *testing.T) {
	var all strings.Builder
	for _, limit := range []int{0, -1, 60, 20, 5, 1} {
		for _, finish := range []model.FinishReason{"", model.FinishToolCalls, model.FinishStop} {
			if limit != 0 && finish != model.FinishStop {
				continue
			}
			r := newRecorder()
			config := r.config()
			config.Content, config.MaxContent = true, limit
			n := 0
			m := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
				if n++; n > 1 {
					return model.Response(model.Text("done")), nil
				}
				resp := model.Response(model.Thinking("I think"), model.Text("I say"), model.Media("image/png", []byte("12345")), model.Part{Kind: model.PartMedia, MediaType: "audio/wav", URL: "https://example.com/a.wav"},
					model.Part{Kind: model.PartCitation, URL: "https://example.com/cited", Text: "quote"}, model.Part{Kind: model.PartOpaque, Data: []byte("123")}, model.ToolCall("1", "look", `{ }`), model.ToolCall("2", "look", ``), model.ToolCall("3", "look", `{"a":`), model.ToolCall("", "look", `{}`))
				resp.Finish = finish
				return resp, nil
			})
			a := newAgent(t, agent.Config[deps, string]{Name: "helper", Model: m, Instructions: "Be kind.", MaxParallelCalls: 1, Hooks: []agent.Hooks[deps]{hooksOf(config)}}, says("look", "nothing is there"))
			history := []*model.Message{{Kind: model.KindRequest, Parts: []model.Part{model.System("rules"), model.User("old"), model.Media("video/mp4", []byte("1")), model.Media("text/plain", []byte("22"))}}}
			_, err := a.Run(t.Context(), deps{}, "gö", append(ids(), agent.WithHistory(history))...)
			require.NoError(t, err)
			fmt.Fprintf(&all, "limit %d, finish %q\n", limit, finish)
			for _, s := range r.spans.GetSpans() {
				for _, key := range []string{"gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"} {
					if v := value(s, key); v != "" {
						fmt.Fprintf(&all, "  %s %s: %s\n", s.Name, key, v)
					}
				}
				for _, e := range s.Events {
					fmt.Fprintf(&all, "  %s event %s %s\n", s.Name, e.Name, attributes(e.Attributes))
				}
			}
		}
	}
	goldenText(t, all.String())
}

// TestChangedArgumentsAreMarked: a span of a call says that a person changed its arguments, and who allowed it.
func TestChangedArgumentsAreMarked(t *testing.T) {
	for args, want := range map[string]string{`{"city":"Rome","population":1}`: "true", ``: ""} {
		r := newRecorder()
		a := newAgent(t, agent.Config[deps, string]{
			Hooks: r.hooks(), Model: answers(modeltest.Say(model.ToolCall("1", "look", `{"city":"Oslo","population":1}`)), modeltest.SayText("done")),
			Toolsets: []toolset.Toolset[deps]{toolset.Approved(toolset.Of(toolset.Func("look", "", func(context.Context, *toolset.RunContext[deps], city) (string, error) { return "x", nil })), nil)},
			Asker: toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
				d := toolset.Allow()
				if d.By = "ada"; args != "" {
					d = toolset.AllowWith(json.RawMessage(args))
				}
				return d, nil
			}},
		})
		_, err := a.Run(t.Context(), deps{}, "go")
		require.NoError(t, err)
		span := find(r, "execute_tool")[0]
		require.Equal(t, want, value(span, "ponte.tool.arguments_changed"))
		require.Equal(t, "true", value(span, "ponte.tool.approved"))
		if args == "" {
			require.Equal(t, "ada", value(span, "ponte.tool.approved_by"))
		}
	}
}

// TestExplanationsAreBounded: by the default, by a bound, or not at all.
func TestExplanationsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 40_000)
	for limit, want := range map[int]string{0: long[:otelagent.DefaultMaxContent] + "… (40000 bytes)", 10: long[:10] + "… (40000 bytes)", -1: long} {
		spans := tracetest.NewSpanRecorder()
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
		otelagent.Evaluation(otelagent.Config{TracerProvider: provider, Content: true, MaxContent: limit})(t.Context(), otelagent.EvaluationResult{Name: "n", Reason: long})
		attrs := spans.Ended()[0].Events()[0].Attributes
		require.Contains(t, attrs, attribute.String("gen_ai.evaluation.explanation", want), limit)
		require.Len(t, attrs, 2)
	}
}
