// SPDX-License-Identifier: Apache-2.0

package otelagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/otelagent"
	"github.com/ponte-go/ponte/toolset"
)

// chatty runs an agent in which everything that can be said holds the word canary, down to errors.
func chatty(t *testing.T, config otelagent.Config) {
	t.Helper()
	const secret = "canary"
	steps := []modeltest.Step{
		modeltest.Say(model.Thinking(secret), model.Text(secret), model.ToolCall("1", "echo", `{"city":"canary","population":1}`)),
		modeltest.Say(model.ToolCall("2", "echo", `{"city":"canary"}`), call("3", "retried"), call("4", "broken"), call("5", "locked"), call("6", "guarded")),
		modeltest.Say(call("7", "retried"), call("10", "canary")),
		modeltest.Say(model.ToolCall("8", "final_result", `{"city":"canary","population":0}`)),
		modeltest.Say(call("9", "trouble")),
	}
	retries := 3
	echo := toolset.Func("echo", "Echoes.", func(_ context.Context, _ *toolset.RunContext[deps], in city) (string, error) {
		return in.City, nil
	})
	run := func(m model.Model, tools ...*toolset.Tool[deps]) {
		a := newAgent(t, agent.Config[deps, city]{
			Name: "helper", Model: m, Instructions: secret, ToolRetries: &retries, Hooks: []agent.Hooks[deps]{hooksOf(config)},
			Toolsets: []toolset.Toolset[deps]{toolset.Approved(toolset.Of(says("guarded", secret)), nil)},
			Asker: toolset.AskerFuncs{OnApprove: func(_ context.Context, _ toolset.ApprovalRequest) (toolset.Decision, error) {
				return toolset.Deny(secret), nil
			}},
		}, append(tools, echo, fails("retried", toolset.Retry(secret)), fails("broken", toolset.Failed(secret)), fails("locked", toolset.Denied(secret)))...)
		_, err := a.Run(t.Context(), deps{}, secret, agent.WithRunID("run"), agent.WithConversationID("conversation"),
			agent.WithParts(model.Part{Kind: model.PartMedia, MediaType: "image/png", URL: "https://example.com/" + secret}))
		require.Error(t, err)
	}
	run(answers(steps...), fails("trouble", errors.New(secret)))
	run(answers(steps...), tool("trouble", func(context.Context, *toolset.RunContext[deps]) (string, error) { panic(secret) }))
	run(answers(modeltest.Fail(&model.APIError{Provider: "acme", Model: "acme-1", Status: 500, Code: secret, Message: secret})))
	run(answers(modeltest.Fail(errors.New(secret))))
}

func TestContentIsOffByDefault(t *testing.T) {
	r := newRecorder()
	chatty(t, r.config())
	require.Len(t, find(r, "invoke_agent"), 4)
	for _, s := range r.spans.GetSpans() {
		require.NotContains(t, fmt.Sprintf("%+v", s), "canary", s.Name)
	}
	require.NotContains(t, tree(r.spans.GetSpans()), "canary")
	var data metricdata.ResourceMetrics
	require.NoError(t, r.reader.Collect(t.Context(), &data))
	require.NotEmpty(t, data.ScopeMetrics)
	require.NotContains(t, fmt.Sprintf("%+v", data), "canary")
}

func TestContentIsRecordedOnceWhereItIsNew(t *testing.T) {
	r := newRecorder()
	config := r.config()
	config.Content = true
	chatty(t, config)
	golden(t, r)
}

func TestInstructionsAreRecordedWhenTheyChange(t *testing.T) {
	r := newRecorder()
	config := r.config()
	config.Content = true
	a := newAgent(t, agent.Config[deps, string]{
		Hooks: []agent.Hooks[deps]{hooksOf(config)},
		Model: answers(modeltest.Say(call("1", "look")), modeltest.Say(call("2", "look")), modeltest.SayText("done")),
		Dynamic: []agent.InstructionFunc[deps]{func(_ context.Context, run *toolset.RunContext[deps]) (string, error) {
			return fmt.Sprintf("part %d", run.Step/3), nil
		}},
	}, says("look", "nothing"))
	_, err := a.Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	var said []string
	for _, s := range find(r, "chat") {
		said = append(said, value(s, "gen_ai.system_instructions"))
	}
	require.Equal(t, []string{`[{"type":"text","content":"part 0"}]`, "", `[{"type":"text","content":"part 1"}]`}, said)
}

// recorded runs an agent that is told the parts, and returns the messages on the span of its request.
func recorded(t *testing.T, limit int, prompt string, answer []model.Part, parts ...model.Part) (input, output string) {
	t.Helper()
	r := newRecorder()
	config := r.config()
	config.Content, config.MaxContent = true, limit
	a := newAgent(t, agent.Config[deps, string]{
		Hooks: []agent.Hooks[deps]{hooksOf(config)}, Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			return model.Response(answer...), nil
		}),
	})
	_, err := a.Run(t.Context(), deps{}, prompt, agent.WithParts(parts...))
	require.NoError(t, err)
	s := find(r, "chat")[0]
	return value(s, "gen_ai.input.messages"), value(s, "gen_ai.output.messages")
}

func TestMessagesHaveTheFormOfTheConventions(t *testing.T) {
	in, out := recorded(t, 0, "<b>", []model.Part{
		model.Thinking("hm"), model.Text("yes"), {Kind: model.PartOpaque, Provider: "acme", Data: []byte("xyz")}, model.Media("audio/wav", []byte("abc")),
	},
		model.Media("image/png", []byte("12345")),
		model.Part{Kind: model.PartMedia, MediaType: "application/pdf", URL: "https://example.com/a.pdf"},
		model.System("be kind"),
	)
	require.Equal(t, `[{"role":"user","parts":[{"type":"text","content":"<b>"},`+
		`{"type":"media","mime_type":"image/png","modality":"image","size":5},`+
		`{"type":"uri","mime_type":"application/pdf","modality":"document","uri":"https://example.com/a.pdf"}]},`+
		`{"role":"system","parts":[{"type":"text","content":"be kind"}]}]`, in)
	require.Equal(t, `[{"role":"assistant","parts":[{"type":"reasoning","content":"hm"},{"type":"text","content":"yes"},`+
		`{"type":"opaque","size":3},{"type":"media","mime_type":"audio/wav","modality":"audio","size":3}],"finish_reason":"other"}]`, out)
}

func TestContentIsTruncated(t *testing.T) {
	long := strings.Repeat("é", 1000)
	in, out := recorded(t, 100, long, []model.Part{model.Text("short"), model.Text(long)}, model.Media("image/png", nil))
	require.Contains(t, in, `"`+strings.Repeat("é", 25)+`… (2000 bytes)"`, "two parts share 100 bytes")
	require.Contains(t, out, `"short"`)
	require.Contains(t, out, `"`+strings.Repeat("é", 47)+`… (2000 bytes)"`, "the second has what the first has left")
	for _, s := range []string{in, out} {
		require.True(t, utf8.ValidString(s))
		require.True(t, json.Valid([]byte(s)))
	}

	in, _ = recorded(t, -1, long, []model.Part{model.Text("ok")})
	require.Contains(t, in, long, "no bound")
	in, _ = recorded(t, 0, strings.Repeat("x", 100_000), []model.Part{model.Text("ok")})
	require.Less(t, len(in), otelagent.DefaultMaxContent+100)
}

func TestArgumentsAreObjectsIfTheyFit(t *testing.T) {
	for args, want := range map[string]string{
		`{"a": 1}`: `"arguments":{"a":1}`,
		`{"a":`:    `"arguments":"{\"a\":"`,
		``:         `"name":"look"}`,
		`{"a":"` + strings.Repeat("x", 200) + `"}`: `"arguments":"{\"a\":\"xxx`,
	} {
		r := newRecorder()
		config := r.config()
		config.Content, config.MaxContent = true, 100
		a := newAgent(t, agent.Config[deps, string]{
			Hooks: []agent.Hooks[deps]{hooksOf(config)},
			Model: answers(modeltest.Say(model.ToolCall("1", "look", args)), modeltest.SayText("done")),
		}, says("look", "nothing"))
		_, err := a.Run(t.Context(), deps{}, "go")
		require.NoError(t, err)
		require.Contains(t, value(find(r, "chat")[0], "gen_ai.output.messages"), want)
	}
}

func TestUserAttributesAreOnEverySpan(t *testing.T) {
	r := newRecorder()
	config := r.config()
	config.Attributes = func(_ context.Context, run *toolset.RunContext[any]) []attribute.KeyValue {
		return []attribute.KeyValue{attribute.String("tenant", run.Deps.(deps).tenant)}
	}
	a := newAgent(t, agent.Config[deps, string]{
		Hooks: []agent.Hooks[deps]{hooksOf(config)}, Model: answers(modeltest.Say(call("1", "look")), modeltest.SayText("done")),
	}, says("look", "nothing"))
	_, err := a.Run(t.Context(), deps{tenant: "blue"}, "go")
	require.NoError(t, err)
	spans := r.spans.GetSpans()
	require.Len(t, spans, 4)
	for _, s := range spans {
		require.Equal(t, "blue", value(s, "tenant"), s.Name)
	}
}
