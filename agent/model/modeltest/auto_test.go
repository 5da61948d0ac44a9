// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type query struct {
	City string `json:"city" validate:"required,min=3"`
	Days int    `json:"days" validate:"min=2,max=14"`
}

type report struct {
	Title string  `json:"title" validate:"required"`
	Parts []query `json:"parts" validate:"min=1"`
}

func forecast(opts ...toolset.Option) *toolset.Tool[nothing] {
	return toolset.Plain[nothing]("forecast", "Forecast.", func(_ context.Context, q query) (map[string]int, error) {
		return map[string]int{q.City: q.Days}, nil
	}, opts...)
}

func ping() *toolset.Tool[nothing] {
	return toolset.Plain[nothing]("ping", "Ping.", func(context.Context, nothing) (string, error) { return "pong", nil })
}

func runAuto[O any](t *testing.T, config agent.Config[nothing, O], opts []modeltest.AutoOption, tools ...*toolset.Tool[nothing]) (*agent.Result[O], *modeltest.Captured, error) {
	t.Helper()
	m := modeltest.Capture(modeltest.Auto(opts...))
	config.Model = m
	config.Toolsets = []toolset.Toolset[nothing]{toolset.Of(tools...)}
	a, err := agent.New(config)
	require.NoError(t, err)
	res, err := a.Run(t.Context(), nothing{}, "go")
	return res, m, err
}

func TestAutoCallsEveryTool(t *testing.T) {
	res, m, err := runAuto(t, agent.Config[nothing, string]{}, nil, forecast(), ping())
	require.NoError(t, err)
	require.Equal(t, `{"forecast":{"aaa":2},"ping":"pong"}`, res.Output)
	require.Len(t, m.Requests(), 2, "one response has all calls")
}

func TestAutoWithoutTools(t *testing.T) {
	res, _, err := runAuto(t, agent.Config[nothing, string]{}, nil)
	require.NoError(t, err)
	require.Equal(t, `{}`, res.Output)
}

func TestAutoReturnsValidOutput(t *testing.T) {
	want := report{Title: "a", Parts: []query{{"aaa", 2}}}
	for name, output := range map[string]agent.Output{
		"tool": {}, "named tool": {Name: "final_result_report"}, "native": {Mode: agent.OutputNative},
	} {
		t.Run(name, func(t *testing.T) {
			res, m, err := runAuto(t, agent.Config[nothing, report]{Output: output}, nil, forecast())
			require.NoError(t, err)
			require.Equal(t, want, res.Output)
			require.Len(t, m.Requests(), 2, "the tools come first")
		})
	}
	res, _, err := runAuto(t, agent.Config[nothing, report]{Output: agent.Output{Name: "give"}}, []modeltest.AutoOption{modeltest.OutputTool("give")}, forecast())
	require.NoError(t, err)
	require.Equal(t, want, res.Output)

	res, _, err = runAuto(t, agent.Config[nothing, report]{Output: agent.Output{Mode: agent.OutputPrompted}},
		[]modeltest.AutoOption{modeltest.Answering(`{"title":"b","parts":[{"city":"Oslo","days":3}]}`)}, forecast())
	require.NoError(t, err)
	require.Equal(t, "b", res.Output.Title)
}

func TestAutoOneByOne(t *testing.T) {
	calls := func(m *modeltest.Captured) (counts []int) {
		for _, req := range m.Requests() {
			counts = append(counts, len(req.Messages))
		}
		return counts
	}
	_, m, err := runAuto(t, agent.Config[nothing, string]{}, []modeltest.AutoOption{modeltest.OneByOne()}, forecast(), ping())
	require.NoError(t, err)
	require.Equal(t, []int{1, 3, 5}, calls(m))
	no := false
	_, m, err = runAuto(t, agent.Config[nothing, string]{Settings: &model.Settings{ParallelToolCalls: &no}}, nil, forecast(), ping())
	require.NoError(t, err)
	require.Equal(t, []int{1, 3, 5}, calls(m))
}

func TestAutoCallingAndSkipping(t *testing.T) {
	res, _, err := runAuto(t, agent.Config[nothing, string]{}, []modeltest.AutoOption{modeltest.Calling("ping"), modeltest.Calling("other")}, forecast(), ping())
	require.NoError(t, err)
	require.Equal(t, `{"ping":"pong"}`, res.Output)
	res, _, err = runAuto(t, agent.Config[nothing, string]{}, []modeltest.AutoOption{modeltest.Skipping("ping")}, forecast(), ping())
	require.NoError(t, err)
	require.Equal(t, `{"forecast":{"aaa":2}}`, res.Output)
}

func TestAutoSeeded(t *testing.T) {
	outputs := map[string]bool{}
	for seed := range uint64(10) {
		res, _, err := runAuto(t, agent.Config[nothing, string]{}, []modeltest.AutoOption{modeltest.Seeded(seed)}, forecast())
		require.NoError(t, err)
		outputs[res.Output] = true
	}
	require.Greater(t, len(outputs), 5)
}

func TestAutoFailsOnRetry(t *testing.T) {
	picky := toolset.Plain[nothing]("picky", "", func(context.Context, query) (string, error) { return "", toolset.Retry("Only Oslo.") })
	_, m, err := runAuto(t, agent.Config[nothing, string]{}, nil, picky, ping())
	require.ErrorContains(t, err, `modeltest: auto: tool "picky" did not accept the generated arguments {"city":"aaa","days":2}: Only Oslo. (use Skipping to leave it out)`)
	require.Len(t, m.Requests(), 2)

	_, _, err = runAuto(t, agent.Config[nothing, report]{Output: agent.Output{Name: "give"}}, []modeltest.AutoOption{modeltest.Skipping("give")})
	require.ErrorContains(t, err, "modeltest: auto: the answer was not accepted: ")
	require.ErrorContains(t, err, "use OutputTool")

	_, _, err = runAuto(t, agent.Config[nothing, report]{Validators: []agent.Validator[nothing, report]{
		func(context.Context, *toolset.RunContext[nothing], report) (report, error) {
			return report{}, toolset.Retry("Longer!")
		},
	}}, nil)
	require.ErrorContains(t, err, `tool "final_result" did not accept`)

	err = failure(t, modeltest.Auto(), &model.Request{Messages: []*model.Message{model.UserText("go"), {Kind: model.KindRequest, Parts: []model.Part{model.Retry("7", "lost", "no")}}}})
	require.ErrorContains(t, err, "the generated arguments of an unknown call")
}

func TestAutoReportsImpossibleSchemas(t *testing.T) {
	req := ask("go")
	req.Tools = []model.ToolDef{{Name: "odd", Schema: json.RawMessage(`{"properties":{"x":false},"required":["x"]}`)}}
	require.ErrorContains(t, failure(t, modeltest.Auto(), req), `modeltest: auto: cannot generate arguments for tool "odd": x: no value found`)
	req = ask("go")
	req.Output = &model.OutputSchema{Schema: json.RawMessage(`false`)}
	require.ErrorContains(t, failure(t, modeltest.Auto(), req), `modeltest: auto: cannot generate the output: `)
}

func TestAutoCallsToolsWithoutSchema(t *testing.T) {
	req := ask("go")
	req.Tools = []model.ToolDef{{Name: "bare"}}
	require.Equal(t, "{}", answer(t, modeltest.Auto(), req).Parts[0].Args.String())
}

func TestAutoObeysToolChoice(t *testing.T) {
	tools := []model.ToolDef{{Name: "a"}, {Name: "b"}, {Name: "final_result"}}
	called := func(choice model.ToolChoice, tools []model.ToolDef, history ...*model.Message) (names []string) {
		req := &model.Request{Messages: append([]*model.Message{model.UserText("go")}, history...), Tools: tools, ToolChoice: choice}
		for _, p := range answer(t, modeltest.Auto(), req).Parts {
			names = append(names, string(p.Kind)+p.Tool)
		}
		return names
	}
	done := []*model.Message{
		model.Response(model.ToolCall("1", "a", "{}"), model.ToolCall("2", "b", "{}")),
		{Kind: model.KindRequest, Parts: []model.Part{model.ToolReturn("1", "a", "1"), model.ToolReturn("2", "b", "2")}},
	}
	require.Equal(t, []string{"tool_calla", "tool_callb"}, called(model.ToolChoice{}, tools))
	require.Equal(t, []string{"tool_callfinal_result"}, called(model.ToolChoice{}, tools, done...))
	require.Equal(t, []string{"text"}, called(model.ToolChoice{Mode: model.ToolChoiceNone}, tools))
	require.Equal(t, []string{"tool_callb"}, called(model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "b"}, tools, done...))
	require.Equal(t, []string{"tool_calla"}, called(model.ToolChoice{Mode: model.ToolChoiceRequired}, tools[:2], done...))
	require.Equal(t, []string{"text"}, called(model.ToolChoice{Mode: model.ToolChoiceRequired}, nil))
}

func TestAutoReadsCallsFromTheHistory(t *testing.T) {
	m := modeltest.Auto()
	req := &model.Request{Tools: []model.ToolDef{{Name: "a"}}, Messages: []*model.Message{
		model.UserText("go"), model.Response(model.ToolCall("auto_1", "a", "{}")),
		{Kind: model.KindRequest, Parts: []model.Part{model.ToolReturn("auto_1", "a", "look"), model.User("content of the tool")}},
	}}
	require.Equal(t, `{"a":"look"}`, answer(t, m, req).Text(), "content from a tool does not start a new turn")

	req.Tools = append(req.Tools, model.ToolDef{Name: "discovered"})
	require.Equal(t, "discovered", answer(t, m, req).Parts[0].Tool, "a tool that appears later is called too")

	req.Messages = append(req.Messages, model.Response(model.Text("done")), model.UserText("again"))
	msg := answer(t, m, req)
	require.Len(t, msg.Parts, 2, "a new turn calls every tool")
	require.Equal(t, "auto_2", msg.Parts[0].CallID, "ids do not repeat those of the history")

	req = &model.Request{Instructions: "Only instructions.", Messages: []*model.Message{{Kind: model.KindRequest}}}
	require.Equal(t, `{}`, answer(t, m, req).Text())
}

func TestAutoContinuesResumedRuns(t *testing.T) {
	external := forecast()
	external.External, external.Call = true, nil
	_, _, err := runAuto(t, agent.Config[nothing, string]{}, nil, external, ping())
	var failed *agent.RunError
	var pending *agent.PendingError
	require.ErrorAs(t, err, &failed)
	require.ErrorAs(t, err, &pending)
	require.Len(t, pending.Calls, 1)

	a, err := agent.New(agent.Config[nothing, string]{Model: modeltest.Auto(), Toolsets: []toolset.Toolset[nothing]{toolset.Of(external, ping())}})
	require.NoError(t, err)
	res, err := a.Run(t.Context(), nothing{}, "", agent.WithHistory(failed.Messages), agent.WithResults(agent.DeferredResults{
		Results: map[string]toolset.Result{"auto_1": {Text: "rain"}},
	}))
	require.NoError(t, err)
	require.Equal(t, `{"forecast":"rain","ping":"pong"}`, res.Output)
}

func ExampleAuto() {
	type Query struct {
		City string `json:"city" validate:"required"`
		Days int    `json:"days" validate:"min=1,max=14"`
	}
	type Forecast struct {
		Summary string  `json:"summary" validate:"required"`
		High    float64 `json:"high" validate:"gte=-90,lte=60"`
	}
	a, err := agent.New(agent.Config[struct{}, Forecast]{
		Model: modeltest.Auto(),
		Toolsets: []toolset.Toolset[struct{}]{toolset.Of(
			toolset.Plain[struct{}]("forecast", "Forecast for a city.", func(_ context.Context, q Query) (string, error) {
				fmt.Printf("called with %+v\n", q)
				return "sunny", nil
			}),
		)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := a.Run(context.Background(), struct{}{}, "Oslo tomorrow?")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%+v\n", res.Output)
	// Output:
	// called with {City:a Days:1}
	// {Summary:a High:1}
}
