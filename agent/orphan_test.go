// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// A result without its call is not sent, and no request is sent without anything in it.
func TestProcessorThatLeavesOnlyOrphanResultsEndsTheRun(t *testing.T) {
	orphan := func() *model.Message {
		return &model.Message{Kind: model.KindRequest, Parts: []model.Part{model.ToolReturn("9", "look", "x"), model.Retry("8", "look", "again")}}
	}
	for name, left := range map[string][]*model.Message{
		"one": {orphan()}, "two": {orphan(), orphan()}, "after an answer": {model.UserText("go"), model.Response(model.Text("yes")), orphan()}, "nothing in it": {{Kind: model.KindRequest}},
		"an answer alone": {model.Response(model.Text("yes")), orphan()},
	} {
		for _, instructions := range []string{"", "Be brief."} {
			script := modeltest.Script(modeltest.SayText("no"))
			a := newAgent(t, cfg{Model: script, Instructions: instructions, History: []agent.HistoryProcessor[deps]{
				func(context.Context, *toolset.RunContext[deps], []*model.Message) ([]*model.Message, error) {
					return left, nil
				},
			}})
			_, err := a.Run(t.Context(), deps{}, "go")
			require.ErrorContains(t, err, "a history processor left nothing to ask", name)
			require.Equal(t, agent.StagePrepare, asRunError(t, err).Stage)
			require.Empty(t, script.Requests(), name)
		}
	}
}

func TestProcessorThatDropsACallKeepsThePrompt(t *testing.T) {
	script := modeltest.Script(modeltest.Say(call("1", "look")), modeltest.SayText("done"))
	a := newAgent(t, cfg{Model: script, History: []agent.HistoryProcessor[deps]{
		func(_ context.Context, _ *toolset.RunContext[deps], messages []*model.Message) ([]*model.Message, error) {
			if len(messages) == 3 {
				return []*model.Message{messages[0], messages[2]}, nil // the result without its call
			}
			return messages, nil
		},
	}}, says("look", "x"))
	res, err := a.Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, "request\n  user: go\nrequest\n", dump(script.Requests()[1].Messages))
	require.Len(t, res.Messages, 3)
}

func TestHistoryOfOnlyOrphanResultsIsNothingToAsk(t *testing.T) {
	orphan := &model.Message{Kind: model.KindRequest, Parts: []model.Part{model.ToolReturn("9", "look", "x")}}
	for _, history := range [][]*model.Message{{orphan}, {orphan, orphan}, {{Kind: model.KindRequest}}} {
		script := modeltest.Script(modeltest.SayText("no"))
		_, err := newAgent(t, cfg{Model: script}).Run(t.Context(), deps{}, "", agent.WithHistory(history))
		require.ErrorIs(t, err, agent.ErrNoPrompt)
		require.Empty(t, script.Requests())
	}
	answered := []*model.Message{model.UserText("go"), model.Response(model.Text("yes")), orphan}
	_, err := newAgent(t, cfg{Model: modeltest.Script()}).Run(t.Context(), deps{}, "", agent.WithHistory(answered))
	require.ErrorIs(t, err, agent.ErrFinished)
	script := modeltest.Script(modeltest.SayText("two"))
	_, err = newAgent(t, cfg{Model: script}).Run(t.Context(), deps{}, "more", agent.WithHistory(answered))
	require.NoError(t, err)
	require.Equal(t, "request\n  user: go\nresponse\n  text: yes\nrequest\nrequest\n  user: more\n", dump(script.Requests()[0].Messages))
}
