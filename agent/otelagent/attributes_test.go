// SPDX-License-Identifier: Apache-2.0

package otelagent_test

import (
	"context"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// strict is a TracerProvider that keeps all attributes that it is given, as they are. An SDK drops
// those that have no key.
type strict struct {
	trace.TracerProvider
	all *[]attribute.KeyValue
}

func (s strict) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	return strictTracer{s.TracerProvider.Tracer(name, opts...), s.all}
}

type strictTracer struct {
	trace.Tracer
	all *[]attribute.KeyValue
}

func (s strictTracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	start := trace.NewSpanStartConfig(opts...)
	*s.all = append(*s.all, start.Attributes()...)
	ctx, span := s.Tracer.Start(ctx, name, opts...)
	span = strictSpan{span, s.all}
	return trace.ContextWithSpan(ctx, span), span
}

type strictSpan struct {
	trace.Span
	all *[]attribute.KeyValue
}

func (s strictSpan) SetAttributes(attrs ...attribute.KeyValue) {
	*s.all = append(*s.all, attrs...)
	s.Span.SetAttributes(attrs...)
}

func TestEachAttributeHasAKey(t *testing.T) {
	r := newRecorder()
	var all []attribute.KeyValue
	config := r.config()
	config.TracerProvider = strict{r.tracer, &all}
	a := newAgent(t, agent.Config[deps, string]{
		Hooks: []agent.Hooks[deps]{hooksOf(config)}, Model: answers(modeltest.Say(call("1", "look")), modeltest.SayText("done")),
	}, says("look", "nothing"))
	_, err := a.Run(t.Context(), deps{}, "go", ids()...)
	require.NoError(t, err)
	require.Greater(t, len(all), 30)
	for _, attr := range all {
		require.True(t, attr.Valid(), "%q", attr.Key)
	}
}

// Settings are recorded if they are set, however small.
func TestOnlySettingsThatAreSetAreRecorded(t *testing.T) {
	for most, want := range []string{"", "1", "2"} {
		r := newRecorder()
		a := newAgent(t, agent.Config[deps, string]{Hooks: r.hooks(), Model: answers(modeltest.SayText("done"))})
		_, err := a.Run(t.Context(), deps{}, "go", agent.WithSettings(model.Settings{MaxTokens: most, Temperature: new(0.5)}))
		require.NoError(t, err)
		require.Equal(t, want, value(find(r, "chat")[0], "gen_ai.request.max_tokens"))
		require.Equal(t, "0.5", value(find(r, "chat")[0], "gen_ai.request.temperature"))
	}
}

// However small the bound is, what is cut is text.
func TestTinyContentIsText(t *testing.T) {
	for n := 1; n < 5; n++ {
		in, out := recorded(t, n, "é😀", []model.Part{model.Text("😀é")})
		require.True(t, utf8.ValidString(in+out))
		require.NotContains(t, in+out, "\ufffd")
		require.Contains(t, in, map[bool]string{true: `"… (6 bytes)"`, false: `"é… (6 bytes)"`}[n < 2])
		require.Contains(t, out, map[bool]string{true: `"… (6 bytes)"`, false: `"😀… (6 bytes)"`}[n < 4])
	}
}

// What the model would have been told with the next request belongs to no step if there is none.
func TestEventsAtTheEndHaveNoStep(t *testing.T) {
	for most, want := range map[int]string{1: "", 2: "2"} {
		r := newRecorder()
		a := newAgent(t, agent.Config[deps, string]{
			Hooks: r.hooks(), Limits: agent.Limits{Requests: most}, Model: answers(modeltest.Say(call("1", "broken")), modeltest.SayText("done")),
		}, fails("broken", toolset.Failed("no disk")))
		_, err := a.Run(t.Context(), deps{}, "go")
		require.Equal(t, most == 1, err != nil)
		events := find(r, "invoke_agent")[0].Events
		require.NotEmpty(t, events)
		require.Equal(t, "ponte.tool.outcome", events[0].Name)
		step := ""
		for _, attr := range events[0].Attributes {
			if attr.Key == "ponte.step" {
				step = attr.Value.String()
			}
		}
		require.Equal(t, want, step)
	}
}
