// SPDX-License-Identifier: Apache-2.0

package otelagent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// What a policy has refused is in no span, also where content is recorded, in no event and in no log of its errors; and the spans and the
// last event say which policy it was.
func TestRefusedContentIsInNoSpanEventOrLog(t *testing.T) {
	const hidden = "hunter2"
	found := func(s *guardrails.Subject) bool { return strings.Contains(s.Text, hidden) }
	guard := func(on guardrails.Stage, v guardrails.Verdict) *agent.Policy {
		return guardrails.Policy("house rules", guardrails.Guard[any]{Name: "g", On: on, Check: func(_ context.Context, _ *toolset.RunContext[any], s *guardrails.Subject) (guardrails.Verdict, error) {
			if found(s) {
				return v, nil
			}
			return guardrails.Pass(), nil
		}})
	}
	leaks := toolset.Func("leaks", "", func(_ context.Context, run *toolset.RunContext[deps], _ struct{}) (toolset.Result, error) {
		run.Emit("emitted " + hidden)
		return toolset.Result{Text: hidden, Content: []model.Part{model.User(hidden)}, Meta: json.RawMessage(`"` + hidden + `"`)}, nil
	})
	fails := toolset.Func("leaks", "", func(context.Context, *toolset.RunContext[deps], struct{}) (string, error) {
		return "", toolset.Failed(hidden)
	})
	breaks := toolset.Func("leaks", "", func(context.Context, *toolset.RunContext[deps], struct{}) (string, error) {
		return "", errors.New(hidden)
	})
	takes := toolset.Func("takes", "", func(context.Context, *toolset.RunContext[deps], struct {
		Text string `json:"text"`
	}) (string, error) {
		return "ok", nil
	})
	say := modeltest.SayText
	used := func(tool, args string) modeltest.Step { return modeltest.Say(model.ToolCall("1", tool, args)) }
	for name, c := range map[string]struct {
		policy *agent.Policy
		prompt string
		model  modeltest.Step
		tool   *toolset.Tool[deps]
		handle func(context.Context, *toolset.RunContext[deps], error) error
	}{
		"a prompt":               {policy: guard(guardrails.Input, guardrails.Block("no")), prompt: hidden, model: say("x")},
		"a text":                 {policy: guard(guardrails.Output, guardrails.Block("no")), model: say(hidden)},
		"a text, asked":          {policy: guard(guardrails.Output, guardrails.Ask("no")), model: say(hidden)},
		"thinking":               {policy: guard(guardrails.Output, guardrails.Block("no")), model: modeltest.Say(model.Thinking(hidden), model.Text("x"))},
		"arguments":              {policy: guard(guardrails.Call, guardrails.Block("no")), model: used("takes", `{"text":"hunter2"}`), tool: takes},
		"a result":               {policy: guard(guardrails.Result, guardrails.Block("no")), model: used("leaks", `{}`), tool: leaks},
		"a failure":              {policy: guard(guardrails.Result, guardrails.Deny("no")), model: used("leaks", `{}`), tool: fails},
		"an error for the model": {policy: guard(guardrails.Result, guardrails.Block("no")), model: used("leaks", `{}`), tool: breaks, handle: func(_ context.Context, _ *toolset.RunContext[deps], err error) error { return toolset.Retry("%v", err) }},
	} {
		for _, content := range []bool{false, true} {
			for _, streamed := range []bool{false, true} {
				r := newRecorder()
				config := r.config()
				config.Content = content
				tools := []*toolset.Tool[deps]{}
				if c.tool != nil {
					tools = append(tools, c.tool)
				}
				a := newAgent(t, agent.Config[deps, string]{Hooks: []agent.Hooks[deps]{hooksOf(config)}, Model: answers(c.model), Policies: []*agent.Policy{c.policy}, ToolError: c.handle}, tools...)
				prompt := c.prompt
				if prompt == "" {
					prompt = "go"
				}
				var log bytes.Buffer
				where := fmt.Sprintf("%s, content %t, streamed %t", name, content, streamed)
				logger := slog.New(slog.NewJSONHandler(&log, nil))
				var err error
				last := agent.Event{}
				if streamed {
					s := a.Stream(t.Context(), deps{}, prompt)
					for e := range s.Events() {
						data, err := json.Marshal(e)
						require.NoError(t, err)
						require.NotContains(t, string(data)+fmt.Sprintf("%v %v", e.Value, e.Err), hidden, where)
						last = e
					}
					_, err = s.Result()
					require.Equal(t, agent.EventRunEnd, last.Kind, where)
					require.ErrorAs(t, last.Err, new(*agent.PolicyError), where)
				} else {
					_, err = a.Run(t.Context(), deps{}, prompt)
				}
				var refused *agent.PolicyError
				require.ErrorAs(t, err, &refused, where)
				require.Equal(t, "house rules", refused.Policy, where)
				logger.Error("run failed", "err", err)
				logger.Error("run failed", "err", fmt.Sprintf("%+v", err))
				require.NotContains(t, log.String(), hidden, where)
				spans := tree(r.spans.GetSpans())
				require.NotContains(t, spans, hidden, where)
				require.Equal(t, "house rules", value(find(r, "invoke_agent")[0], "ponte.policy"), where)
				var failed *agent.RunError
				require.ErrorAs(t, err, &failed, where)
				data, err := json.Marshal(failed.Messages)
				require.NoError(t, err)
				require.NotContains(t, string(data), hidden, where)
			}
		}
	}
}

// A call that was denied stays in the history, so its arguments are in spans where content is recorded, and only there.
func TestArgumentsOfADeniedCallAreContent(t *testing.T) {
	never := guardrails.Policy("house rules", guardrails.Guard[any]{Name: "g", On: guardrails.Call, Check: func(context.Context, *toolset.RunContext[any], *guardrails.Subject) (guardrails.Verdict, error) {
		return guardrails.Deny("no"), nil
	}})
	for _, content := range []bool{false, true} {
		r := newRecorder()
		config := r.config()
		config.Content = content
		a := newAgent(t, agent.Config[deps, string]{
			Hooks: []agent.Hooks[deps]{hooksOf(config)}, Policies: []*agent.Policy{never},
			Model: answers(modeltest.Say(model.ToolCall("1", "look", `{"extra":"hunter2"}`)), modeltest.SayText("done")),
		}, toolset.Func("look", "", func(context.Context, *toolset.RunContext[deps], struct {
			Extra string `json:"extra"`
		}) (string, error) {
			return "x", nil
		}))
		_, err := a.Run(t.Context(), deps{}, "go")
		require.NoError(t, err)
		require.Equal(t, "house rules", value(find(r, "execute_tool")[0], "ponte.policy"))
		require.Equal(t, content, strings.Contains(tree(r.spans.GetSpans()), "hunter2"))
	}
}
