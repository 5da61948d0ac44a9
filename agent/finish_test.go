// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// What tools say is text of others: it says nothing about the run.
func TestResultOfAToolDoesNotFinishAHistory(t *testing.T) {
	for _, text := range []string{"Final result processed.", "Final result processed. ", "Not executed: a final result had already been processed."} {
		script := modeltest.Script(modeltest.Say(call("1", "look")))
		_, err := newAgent(t, cfg{Model: script}, says("look", text)).Run(t.Context(), deps{}, "go")
		failed := asRunError(t, err) // the script is at its end
		res, err := newAgent(t, cfg{Model: modeltest.Script(modeltest.SayText("done"))}, says("look", text)).Run(t.Context(), deps{}, "", throughJSON(t, failed.Messages))
		require.NoError(t, err, text)
		require.Equal(t, "done", res.Output)
	}
}

// That a call has given the output is a field of its answer, whatever the text is by now.
func TestOutputCallFinishesAHistoryWhateverWasDoneToIt(t *testing.T) {
	script := modeltest.Script(modeltest.Say(final("1", `{"city":"Oslo","population":1}`)))
	res, err := newAgent(t, agent.Config[deps, city]{Model: script}).Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	data, err := json.Marshal(res.Messages)
	require.NoError(t, err)
	require.Contains(t, string(data), `"final":true`)
	redact, err := history.Redact[deps](history.Rule{Name: "words", Pattern: regexp.MustCompile("processed"), Replacement: "done"})(t.Context(), nil, res.Messages)
	require.NoError(t, err)
	require.NotEqual(t, res.Messages[2].Parts[0].Text, redact[2].Parts[0].Text)
	cloned := append([]*model.Message(nil), res.Messages...)
	cloned[2] = cloned[2].Clone()
	summary := history.Summary{Model: modeltest.Script(modeltest.SayText("short")), Threshold: 1000}
	longer := append(append([]*model.Message{}, model.UserText("before"), model.Response(model.Text("yes"))), res.Messages...)
	compact, _, err := history.Compact(context.Background(), summary, longer, "", nil)
	require.NoError(t, err)
	require.Less(t, len(compact), len(longer))
	for name, messages := range map[string][]*model.Message{"as it is": res.Messages, "redacted": redact, "cloned": cloned, "compacted": compact} {
		_, err := newAgent(t, agent.Config[deps, city]{Model: modeltest.Script()}).Run(t.Context(), deps{}, "", throughJSON(t, messages))
		require.ErrorIs(t, err, agent.ErrFinished, name)
	}
}

// With the last report of a stream, the response is complete. So it is without a stream.
func TestLimitOfTheLastReportLeavesTheResponseComplete(t *testing.T) {
	for name, step := range map[string]modeltest.Step{
		"text": modeltest.SayText("The answer is forty-two."), "output": modeltest.Say(final("1", `{"city":"Oslo","population":1}`)), "calls": modeltest.Say(call("1", "look"), call("2", "look")),
	} {
		for limit, limits := range map[string]agent.Limits{"output": {OutputTokens: 4}, "total": {TotalTokens: 5}, "input": {InputTokens: 5}, "cost": {Cost: 0.1}} {
			_, err, _ := run(t, agent.Config[deps, city]{Limits: limits, Prices: dollar}, []modeltest.Step{step}, says("look", "x"))
			require.ErrorAs(t, err, new(*agent.LimitError), "%s, %s", name, limit)
			resp := err.Messages[1]
			require.Equal(t, model.KindResponse, resp.Kind)
			require.False(t, resp.Interrupted, "%s, %s", name, limit)
			require.EqualValues(t, 5, resp.Usage.OutputTokens)
			require.EqualValues(t, 5, err.Usage.OutputTokens, "it is counted once")
		}
	}
}

func TestModelThatGoesOnAfterALimitIsStopped(t *testing.T) {
	sent := 0
	m := model.Func(model.Info{}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		for _, d := range []model.Delta{
			{Kind: model.PartText, Text: "one "}, {Usage: &model.Usage{OutputTokens: 10}}, {Usage: &model.Usage{OutputTokens: 11}}, {Kind: model.PartText, Text: "two "}, {Kind: model.PartText, Text: "three "},
		} {
			if err := sink(d); err != nil {
				return nil, err
			}
			sent++
		}
		return model.Response(model.Text("one two three ")), nil
	})
	_, err := newAgent(t, cfg{Model: m, Limits: agent.Limits{OutputTokens: 9}}).Stream(t.Context(), deps{}, "go").Result()
	require.ErrorAs(t, err, new(*agent.LimitError))
	require.Equal(t, 3, sent)
	require.Equal(t, "one ", asRunError(t, err).Messages[1].Text())
	require.True(t, asRunError(t, err).Messages[1].Interrupted)
}
