// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

func TestWhatProcessorsLeaveIsRepaired(t *testing.T) {
	forget := func(_ context.Context, run *toolset.RunContext[deps], messages []*model.Message) ([]*model.Message, error) {
		switch run.Step {
		case 2: // an orphan result
			return messages[len(messages)-1:], nil
		case 3: // a call without its result
			return []*model.Message{messages[len(messages)-2], model.UserText("go on")}, nil
		}
		return messages, nil
	}
	script := []modeltest.Step{modeltest.Say(add("1", 1, 2)), modeltest.Say(model.Text("again"), add("2", 3, 4)), modeltest.SayText("ok")}
	config := cfg{History: []agent.HistoryProcessor[deps]{func(ctx context.Context, run *toolset.RunContext[deps], messages []*model.Message) ([]*model.Message, error) {
		left, err := forget(ctx, run, messages)
		return append([]*model.Message{model.UserText("summary")}, left...), err
	}}}
	res, err, sent := run(t, config, script, addTool())
	require.Nil(t, err)
	require.Equal(t, "ok", res.Output)
	for i, req := range sent.Requests() {
		require.NoError(t, wellFormed(req.Messages), "request %d", i+1)
	}
	require.NotContains(t, dump(sent.Requests()[1].Messages), "tool_return 1")
	require.Contains(t, dump(sent.Requests()[2].Messages), "tool_return 2 add interrupted")
}

func TestCallWithoutArgumentsAtTheTokenLimitIsIncomplete(t *testing.T) {
	for _, args := range []string{"", " ", "{", `{"a":`} {
		ran := 0
		deleteAll := tool("delete_all", func(context.Context, *toolset.RunContext[deps]) (string, error) { ran++; return "", nil })
		_, err, _ := run(t, cfg{}, []modeltest.Step{modeltest.Finish(model.FinishLength, model.ToolCall("1", "delete_all", args))}, deleteAll)
		require.ErrorIs(t, err, agent.ErrIncompleteToolCall, "%q", args)
		require.Zero(t, ran)
	}
}

func TestNameOfAnUnknownToolIsEchoedInPart(t *testing.T) {
	long := strings.Repeat("é", 1<<16)
	res, err, _ := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", long)), modeltest.SayText("ok")}, addTool())
	require.Nil(t, err)
	told := res.Messages[2].Parts[0].Text
	require.Less(t, len(told), 200)
	require.Contains(t, told, "…")
	require.NotContains(t, told, "�")
	require.Contains(t, told, "add")

	_, err, _ = run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", long)), modeltest.Say(call("1", long))}, addTool())
	var budget *agent.BudgetError
	require.ErrorAs(t, err, &budget)
	require.Less(t, len(budget.Err.Error()), 200)
}

func TestCallWithoutANameHasABudgetOfItsOwn(t *testing.T) {
	res, err, _ := run(t, cfg{}, []modeltest.Step{
		modeltest.Say(call("1", "")), modeltest.SayText(" "), modeltest.SayText("ok"),
	}, addTool())
	require.Nil(t, err, "one retry of the call and one of the text")
	require.Equal(t, "ok", res.Output)

	_, err, _ = run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "")), modeltest.Say(call("1", ""))}, addTool())
	var budget *agent.BudgetError
	require.ErrorAs(t, err, &budget)
	_, err, _ = run(t, cfg{}, []modeltest.Step{modeltest.SayText(""), modeltest.SayText("")}, addTool())
	require.ErrorAs(t, err, &budget)
	require.Empty(t, budget.Tool)

	// The counts are the same when they are derived from the history.
	history := []*model.Message{model.UserText("go"), model.Response(call("1", "")), {Kind: model.KindRequest, Parts: []model.Part{model.Retry("1", "", "no")}}}
	_, err, _ = runWith(t, cfg{}, []modeltest.Step{modeltest.SayText(" "), modeltest.SayText("ok")}, "", []agent.RunOption{agent.WithHistory(history)}, addTool())
	require.Nil(t, err)
}

func TestTextThatGrowsAgainIsPartOfThePartialOutput(t *testing.T) {
	m := model.Func(model.Info{}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		for _, d := range []model.Delta{{Part: 0, Kind: model.PartText, Text: "one "}, {Part: 1, Kind: model.PartThinking, Text: "hm"}, {Part: 0, Kind: model.PartText, Text: "two"}} {
			if err := sink(d); err != nil {
				return nil, err
			}
		}
		return model.Response(model.Text("one two"), model.Thinking("hm")), nil
	})
	var got []string
	for text := range newAgent(t, cfg{Model: m}).Stream(context.Background(), deps{}, "go").Partials() {
		got = append(got, text)
	}
	require.Equal(t, []string{"one ", "one two"}, got)
}

func TestCallOfAFilteredResponseIsNotCompleted(t *testing.T) {
	for _, finish := range []model.FinishReason{model.FinishContentFilter, model.FinishError, model.FinishOther} {
		ran := 0
		count := toolset.Func("count", "", func(context.Context, *toolset.RunContext[deps], addArgs) (string, error) { ran++; return "", nil })
		_, err, _ := run(t, cfg{}, []modeltest.Step{modeltest.Finish(finish, model.ToolCall("1", "count", `{"x":1,"y":2`)), modeltest.SayText("ok")}, count)
		require.Equal(t, finish == model.FinishOther, err == nil, "%s: %v", finish, err)
		require.Zero(t, ran, "%s", finish)
	}
}
