// SPDX-License-Identifier: Apache-2.0

package otelagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

func TestAgentAsToolHasItsOwnSpan(t *testing.T) {
	r := newRecorder()
	inner := newAgent(t, agent.Config[deps, string]{
		Name: "inner", Hooks: r.hooks(), Model: answers(modeltest.Say(call("1", "look")), modeltest.SayText("found")),
	}, says("look", "nothing"))
	outer := newAgent(t, agent.Config[deps, string]{
		Name: "outer", Hooks: r.hooks(),
		Model: answers(modeltest.Say(model.ToolCall("9", "ask", `{"prompt":"look"}`)), modeltest.SayText("done")),
	}, agent.AsTool("ask", "Asks.", inner, func(d deps) deps { return d }))
	res, err := outer.Run(t.Context(), deps{}, "go", ids()...)
	require.NoError(t, err)
	require.EqualValues(t, 40, res.Usage.InputTokens, "shared by both")

	var total int64
	for _, s := range find(r, "invoke_agent") {
		for _, a := range s.Attributes {
			if a.Key == "gen_ai.usage.input_tokens" {
				total += a.Value.AsInt64()
			}
		}
	}
	require.EqualValues(t, 40, total, "no token is counted twice")
	got := tree(r.spans.GetSpans())
	goldenText(t, withoutInnerIDs(got))
}

func TestHandOverSpanIsWithinTheRun(t *testing.T) {
	r := newRecorder()
	inner := newAgent(t, agent.Config[deps, string]{Name: "inner", Hooks: r.hooks(), Model: answers(modeltest.SayText("done"))})
	outer := newAgent(t, agent.Config[deps, string]{
		Name: "outer", Hooks: r.hooks(), Model: answers(modeltest.Say(model.ToolCall("1", "give_up", `{"prompt":"you do it"}`))),
		Alternatives: []agent.Alternative[deps, string]{agent.HandOver("give_up", "Gives up.", inner, func(d deps) deps { return d })},
	})
	_, err := outer.Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, find(r, "invoke_agent outer")[0].SpanContext.SpanID(), find(r, "invoke_agent inner")[0].Parent.SpanID())
}

func TestStepsFromAJournalHaveNoSpans(t *testing.T) {
	r := newRecorder()
	var j journal.Memory
	config := agent.Config[deps, string]{Hooks: r.hooks(), Model: answers(modeltest.Say(call("1", "look")), modeltest.Fail(errors.New("no network")))}
	opts := append(ids(), agent.WithJournal(&j))
	_, err := newAgent(t, config, says("look", "nothing")).Run(t.Context(), deps{}, "go", opts...)
	require.Error(t, err)
	r.spans.Reset()

	config.Model = answers(modeltest.SayText("done"))
	_, err = newAgent(t, config, says("look", "nothing")).Run(t.Context(), deps{}, "go", opts...)
	require.NoError(t, err)
	require.Empty(t, find(r, "execute_tool"))
	require.Len(t, find(r, "chat"), 1)
	require.Equal(t, "10", value(find(r, "invoke_agent")[0], "gen_ai.usage.input_tokens"), "of what this process did")
}

func TestPanicsEndTheirSpans(t *testing.T) {
	r := newRecorder()
	a := newAgent(t, agent.Config[deps, string]{
		Name: "helper", Hooks: r.hooks(), Model: answers(modeltest.Say(call("1", "crash"))),
	}, tool("crash", func(context.Context, *toolset.RunContext[deps]) (string, error) { panic("secret") }))
	_, err := a.Run(t.Context(), deps{}, "go", ids()...)
	require.ErrorAs(t, err, new(*agent.PanicError))
	golden(t, r)

	r = newRecorder()
	a = newAgent(t, agent.Config[deps, string]{
		Hooks: r.hooks(), Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) { panic("secret") }),
	})
	_, err = a.Run(t.Context(), deps{}, "go")
	require.ErrorAs(t, err, new(*agent.PanicError))
	require.Equal(t, "panic", value(find(r, "chat")[0], "error.type"))
	require.Equal(t, "panic", value(find(r, "invoke_agent")[0], "error.type"))
}

// A hook that crashes within the run's span takes the summary with it.
func TestPanicOfAnotherHookEndsTheSpan(t *testing.T) {
	r := newRecorder()
	crash := agent.Hooks[deps]{Run: func(context.Context, *toolset.RunContext[deps], agent.RunFunc) error {
		panic("secret")
	}}
	a := newAgent(t, agent.Config[deps, string]{Name: "helper", Hooks: append(r.hooks(), crash), Model: answers()})
	_, err := a.Run(t.Context(), deps{}, "go")
	require.Error(t, err)
	spans := r.spans.GetSpans()
	require.Len(t, spans, 1)
	require.Equal(t, "invoke_agent helper", spans[0].Name)
	require.Equal(t, "helper", value(spans[0], "gen_ai.agent.name"))
	require.Equal(t, "panic", value(spans[0], "error.type"))
}

// The run ends before the panic of an observer goes on.
func TestPanicOfAnObserverEndsTheSpan(t *testing.T) {
	r := newRecorder()
	a := newAgent(t, agent.Config[deps, string]{
		Hooks: r.hooks(), Model: answers(modeltest.SayText("done")), Observer: &agent.Observer{Response: func(agent.Event) { panic("secret") }},
	})
	require.PanicsWithValue(t, "secret", func() { _, _ = a.Run(t.Context(), deps{}, "go") })
	require.Len(t, find(r, "chat"), 1)
	require.Equal(t, "stopped", value(find(r, "invoke_agent")[0], "error.type"))
}

func TestHistoryIsRecordedOnce(t *testing.T) {
	r := newRecorder()
	history := []*model.Message{
		model.UserText("before"),
		model.Response(model.ToolCall("1", "look", "{}")),
		{Kind: model.KindRequest, RunID: "earlier", Parts: []model.Part{{Kind: model.PartToolReturn, CallID: "1", Tool: "look", Outcome: model.OutcomeInterrupted}}},
	}
	data, err := json.Marshal(history)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &history))
	a := newAgent(t, agent.Config[deps, string]{Hooks: r.hooks(), Model: answers(modeltest.SayText("done"))}, says("look", "x"))
	_, err = a.Run(t.Context(), deps{}, "go", agent.WithHistory(history))
	require.NoError(t, err)
	require.Empty(t, find(r, "invoke_agent")[0].Events, "that was another run's")
}

func TestRetryIsRecordedOnceIfTheRequestFails(t *testing.T) {
	r := newRecorder()
	a := newAgent(t, agent.Config[deps, string]{
		Hooks: r.hooks(), Model: answers(modeltest.Say(model.ToolCall("1", "look", "{")), modeltest.Fail(errors.New("no network"))),
	}, says("look", "nothing"))
	_, err := a.Run(t.Context(), deps{}, "go")
	require.Error(t, err)
	require.Len(t, find(r, "invoke_agent")[0].Events, 1)
}
