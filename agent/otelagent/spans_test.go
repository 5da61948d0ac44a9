// SPDX-License-Identifier: Apache-2.0

package otelagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

func TestRunHasSpansForRequestsAndCalls(t *testing.T) {
	r := newRecorder()
	a := newAgent(t, agent.Config[deps, string]{
		Name: "helper", Hooks: r.hooks(), Model: answers(modeltest.Say(call("1", "look")), modeltest.SayText("done")),
		Settings: &model.Settings{MaxTokens: 100, Temperature: new(0.5), TopP: new(0.9), Stop: []string{"END"}, Seed: new(int64(7))},
	}, says("look", "nothing"))
	_, err := a.Run(t.Context(), deps{}, "go", ids()...)
	require.NoError(t, err)
	golden(t, r)
}

func TestParallelCallsAreSiblings(t *testing.T) {
	r := newRecorder()
	a := newAgent(t, agent.Config[deps, string]{
		Name: "helper", Hooks: r.hooks(),
		Model: answers(modeltest.Say(call("1", "a"), call("2", "b"), call("3", "a")), modeltest.SayText("done")),
	}, says("a", "A"), says("b", "B"))
	_, err := a.Run(t.Context(), deps{}, "go", ids()...)
	require.NoError(t, err)
	golden(t, r)
}

func TestRetriesAndOutcomesAreVisible(t *testing.T) {
	r := newRecorder()
	two := 2
	strict := toolset.Func("strict", "Is strict.", func(_ context.Context, run *toolset.RunContext[deps], in city) (string, error) {
		if run.Call.Attempt < 2 {
			return "", toolset.Retry("secret reason")
		}
		return "ok", nil
	}, toolset.Retries(2))
	a := newAgent(t, agent.Config[deps, string]{
		Name: "helper", Hooks: r.hooks(), ToolRetries: &two,
		Model: answers(
			modeltest.Say(model.ToolCall("1", "strict", `{"city":"Oslo"}`)), // invalid
			modeltest.Say(model.ToolCall("2", "strict", `{"city":"Oslo","population":1}`)),
			modeltest.Say(model.ToolCall("3", "strict", `{"city":"Oslo","population":2}`), call("4", "broken"), call("5", "locked"), call("6", "guarded")),
			modeltest.SayText("done"),
		),
		Asker: toolset.AskerFuncs{OnApprove: func(_ context.Context, _ toolset.ApprovalRequest) (toolset.Decision, error) {
			return toolset.Deny("not today"), nil
		}},
		Toolsets: []toolset.Toolset[deps]{toolset.Approved(toolset.Of(says("guarded", "never")), nil)},
	}, strict, fails("broken", toolset.Failed("no disk")), fails("locked", toolset.Denied("no")))
	_, err := a.Run(t.Context(), deps{}, "go", ids()...)
	require.NoError(t, err)
	golden(t, r)
}

func TestTypedOutputWithARefusedAttempt(t *testing.T) {
	r := newRecorder()
	a := newAgent(t, agent.Config[deps, city]{
		Name: "helper", Hooks: r.hooks(), Model: answers(
			modeltest.Say(model.ToolCall("1", "final_result", `{"city":"Oslo"}`)),
			modeltest.Say(model.ToolCall("2", "final_result", `{"city":"Oslo","population":700000}`)),
		),
	})
	_, err := a.Run(t.Context(), deps{}, "go", ids()...)
	require.NoError(t, err)
	golden(t, r)
}

func TestNativeOutputIsJSON(t *testing.T) {
	r := newRecorder()
	a := newAgent(t, agent.Config[deps, city]{
		Hooks: r.hooks(), Output: agent.Output{Mode: agent.OutputNative}, Model: answers(modeltest.SayText(`{"city":"Oslo","population":1}`)),
	})
	_, err := a.Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, "json", value(find(r, "chat")[0], "gen_ai.output.type"))
	require.Len(t, find(r, "invoke_agent"), 1)
}

func TestFailedRequestFailsTheRunSpan(t *testing.T) {
	r := newRecorder()
	a := newAgent(t, agent.Config[deps, string]{
		Name: "helper", Hooks: r.hooks(), Model: answers(
			modeltest.Say(call("1", "look")),
			modeltest.Fail(&model.APIError{Provider: "acme", Model: "acme-1", Status: 429, Message: "secret quota"}),
		),
	}, says("look", "nothing"))
	_, err := a.Run(t.Context(), deps{}, "go", ids()...)
	require.Error(t, err)
	golden(t, r)
}

func TestFailedCallFailsTheRunSpan(t *testing.T) {
	r := newRecorder()
	a := newAgent(t, agent.Config[deps, string]{
		Name: "helper", Hooks: r.hooks(), Model: answers(modeltest.Say(call("1", "look"))),
	}, fails("look", errors.New("secret trouble")))
	_, err := a.Run(t.Context(), deps{}, "go", ids()...)
	require.Error(t, err)
	golden(t, r)
}

func TestCancelledRun(t *testing.T) {
	r := newRecorder()
	ctx, cancel := context.WithCancelCause(t.Context())
	a := newAgent(t, agent.Config[deps, string]{
		Name: "helper", Hooks: r.hooks(), Model: answers(modeltest.Say(call("1", "wait"))),
	}, tool("wait", func(ctx context.Context, _ *toolset.RunContext[deps]) (string, error) {
		cancel(errors.New("the user went home"))
		<-ctx.Done()
		return "", context.Cause(ctx)
	}))
	_, err := a.Run(ctx, deps{}, "go", ids()...)
	require.Error(t, err)
	golden(t, r)
}

func TestCallTimeout(t *testing.T) {
	r := newRecorder()
	synctest.Test(t, func(t *testing.T) {
		a := newAgent(t, agent.Config[deps, string]{
			Name: "helper", Hooks: r.hooks(), ToolTimeout: time.Minute,
			Model: answers(modeltest.Say(call("1", "wait")), modeltest.SayText("never mind")),
		}, tool("wait", func(ctx context.Context, _ *toolset.RunContext[deps]) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}))
		_, err := a.Run(t.Context(), deps{}, "go", ids()...)
		require.NoError(t, err)
	})
	golden(t, r)
	s := find(r, "execute_tool")[0]
	require.Equal(t, time.Minute, s.EndTime.Sub(s.StartTime))
}

func TestPendingRunIsNotAnError(t *testing.T) {
	r := newRecorder()
	steps := []modeltest.Step{
		modeltest.Say(call("2", "ask_first"), call("3", "later"), call("4", "elsewhere"), call("1", "approve_me")),
		modeltest.SayText("done"),
	}
	a := newAgent(t, agent.Config[deps, string]{
		Name: "helper", Hooks: r.hooks(), Model: answers(steps...),
		Toolsets: []toolset.Toolset[deps]{toolset.Approved(toolset.Of(says("approve_me", "ok")), nil)},
	},
		tool("ask_first", func(_ context.Context, run *toolset.RunContext[deps]) (string, error) {
			if !run.Call.Approved {
				return "", toolset.ApprovalRequired(toolset.Approval{Reason: "secret"})
			}
			return "ok", nil
		}),
		fails("later", toolset.Deferred(nil)),
		toolset.ExternalTool[deps, none]("elsewhere", "Is run elsewhere."),
	)
	_, err := a.Run(t.Context(), deps{}, "go", ids()...)
	var failed *agent.RunError
	require.ErrorAs(t, err, &failed)
	require.ErrorAs(t, err, new(*agent.PendingError))

	_, err = a.Run(t.Context(), deps{}, "", agent.WithRunID("second"), agent.WithHistory(failed.Messages), agent.WithResults(agent.DeferredResults{
		Decisions: map[string]toolset.Decision{"1": toolset.Allow(), "2": toolset.Allow()},
		Results:   map[string]toolset.Result{"3": {Text: "late"}, "4": {Text: "remote"}},
	}))
	require.NoError(t, err)
	golden(t, r)
}

// A tool that is written out may give errors that toolset.Func makes results of.
func TestOutcomesOfToolsThatAreWrittenOut(t *testing.T) {
	for want, err := range map[string]error{"failed": toolset.Failed("no"), "denied": toolset.Denied("no"), "retry": toolset.Retry("no")} {
		r := newRecorder()
		written := &toolset.Tool[deps]{
			Def: model.ToolDef{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)},
			Call: func(context.Context, *toolset.RunContext[deps], any) (toolset.Result, error) {
				return toolset.Result{}, err
			},
		}
		a := newAgent(t, agent.Config[deps, string]{
			Hooks: r.hooks(), Model: answers(modeltest.Say(call("1", "look")), modeltest.SayText("done")),
		}, written)
		_, err := a.Run(t.Context(), deps{}, "go")
		require.NoError(t, err)
		s := find(r, "execute_tool")[0]
		require.Equal(t, want, value(s, "ponte.tool.outcome"))
		require.Equal(t, want == "failed", value(s, "error.type") == "tool_failed")
	}
}

func TestStreamsAreRecordedLikeRuns(t *testing.T) {
	r := newRecorder()
	config := agent.Config[deps, string]{
		Name: "helper", Hooks: r.hooks(), Model: answers(modeltest.Say(call("1", "look")), modeltest.SayText("done")),
	}
	_, err := newAgent(t, config, says("look", "nothing")).Run(t.Context(), deps{}, "go", ids()...)
	require.NoError(t, err)
	run := tree(r.spans.GetSpans())
	r.spans.Reset()
	config.Model = answers(modeltest.Say(call("1", "look")), modeltest.SayText("done"))
	_, err = newAgent(t, config, says("look", "nothing")).Stream(t.Context(), deps{}, "go", ids()...).Result()
	require.NoError(t, err)
	require.Equal(t, run, tree(r.spans.GetSpans()))
}

func TestStreamLeftEarlyIsStopped(t *testing.T) {
	r := newRecorder()
	a := newAgent(t, agent.Config[deps, string]{Hooks: r.hooks(), Model: answers(modeltest.SayText("one two three"))})
	for e := range a.Stream(t.Context(), deps{}, "go").Events() {
		if e.Kind == agent.EventPartDelta {
			break
		}
	}
	require.Equal(t, "stopped", value(find(r, "invoke_agent")[0], "error.type"))
}

func TestUsageHasItsDetails(t *testing.T) {
	r := newRecorder()
	usage := model.Usage{InputTokens: 100, OutputTokens: 50, CacheReadTokens: 80, CacheWriteTokens: 10, ReasoningTokens: 30}
	a := newAgent(t, agent.Config[deps, string]{Hooks: r.hooks(), Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		resp := model.Response(model.Text("done"))
		resp.Usage = usage
		return resp, nil
	})})
	_, err := a.Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	for _, s := range r.spans.GetSpans() {
		require.Equal(t, "100", value(s, "gen_ai.usage.input_tokens"))
		require.Equal(t, "50", value(s, "gen_ai.usage.output_tokens"))
		require.Equal(t, "80", value(s, "gen_ai.usage.cache_read.input_tokens"))
		require.Equal(t, "10", value(s, "gen_ai.usage.cache_creation.input_tokens"))
		require.Equal(t, "30", value(s, "gen_ai.usage.reasoning.output_tokens"))
	}
	require.Len(t, find(r, "chat"), 1)
	require.Equal(t, "chat func", find(r, "chat")[0].Name, "the model that was asked, as none said that it answered")
}

func TestProvidersHaveTheNamesOfTheConventions(t *testing.T) {
	names := map[string]string{ // those of the adapters of this module, and of others
		"openai": "openai", "anthropic": "anthropic", "azure": "azure.ai.openai", "bedrock": "aws.bedrock", "google": "gcp.gemini",
		"vertex": "gcp.vertex_ai", "mistral": "mistral_ai", "xai": "x_ai", "deepseek": "deepseek", "groq": "groq", "llamacpp": "llamacpp",
		"Mistral": "mistral_ai", "gemini": "gcp.gemini", "googleai": "gcp.gemini", "vertexai": "gcp.vertex_ai", "watsonx": "ibm.watsonx.ai",
	}
	for given, want := range names {
		r := newRecorder()
		a := newAgent(t, agent.Config[deps, string]{Hooks: r.hooks(), Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			resp := model.Response(model.Text("done"))
			resp.Provider = given
			return resp, nil
		})})
		_, err := a.Run(t.Context(), deps{}, "go")
		require.NoError(t, err)
		require.Equal(t, want, value(find(r, "chat")[0], "gen_ai.provider.name"))
	}
}
