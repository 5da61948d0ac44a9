// SPDX-License-Identifier: Apache-2.0

package agent_test

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

// endings is the table of what a response gives by how it ended: nil is an output, or a call that runs.
var endings = []struct {
	finish           model.FinishReason
	text, call, half error
	cut              bool
}{
	{finish: "", half: errRetried}, {finish: model.FinishStop, half: errRetried}, {finish: model.FinishToolCalls, half: errRetried},
	{finish: model.FinishOther, half: errRetried},
	{finish: model.FinishLength, half: agent.ErrIncompleteToolCall, cut: true},
	{model.FinishContentFilter, agent.ErrContentFilter, agent.ErrContentFilter, agent.ErrContentFilter, false},
	{model.FinishRefusal, agent.ErrRefused, agent.ErrRefused, agent.ErrRefused, false},
	{model.FinishError, agent.ErrResponseFailed, agent.ErrResponseFailed, agent.ErrResponseFailed, false},
}

// errRetried stands for a call that the model is asked to repeat.
var errRetried = fmt.Errorf("retried")

func TestResponseGivesWhatItsEndingAllows(t *testing.T) {
	for _, c := range endings {
		for name, want := range map[string]error{"text": c.text, "call": c.call, "half": c.half} {
			t.Run(fmt.Sprintf("%s %s", c.finish, name), func(t *testing.T) {
				first := map[string][]model.Part{
					"text": {model.Text("Half an answ")},
					"call": {model.Text("I act."), model.ToolCall("1", "act", `{"x":1,"y":2}`)},
					"half": {model.Text("I act."), model.ToolCall("1", "act", `{"x":1,"y"`)},
				}[name]
				ran := 0
				act := toolset.Func("act", "", func(context.Context, *toolset.RunContext[deps], addArgs) (string, error) { ran++; return "", nil })
				res, err, _ := run(t, cfg{NoRepair: true}, []modeltest.Step{modeltest.Finish(c.finish, first...), modeltest.SayText("done")}, act)
				switch {
				case want == errRetried || want == nil && name == "call":
					require.Nil(t, err)
					require.Equal(t, "done", res.Output)
					require.Empty(t, res.Cut, "the output is that of the last response")
					require.Equal(t, want == nil, ran > 0)
				case want == nil:
					require.Equal(t, "Half an answ", res.Output)
					require.Equal(t, c.cut, res.Cut == model.FinishLength)
				default:
					require.ErrorIs(t, err, want)
					require.Zero(t, ran)
					requireInterrupted(t, err.Messages, first[0].Text)
				}
			})
		}
	}
}

// requireInterrupted checks that the last response is kept as interrupted, and that the history can be continued from JSON.
func requireInterrupted(t *testing.T, messages []*model.Message, text string) {
	t.Helper()
	var resp *model.Message
	for _, m := range messages {
		if m.Kind == model.KindResponse {
			resp = m
		}
	}
	require.True(t, resp.Interrupted)
	require.Equal(t, text, resp.Text())
	data, err := json.Marshal(messages)
	require.NoError(t, err)
	var history []*model.Message
	require.NoError(t, json.Unmarshal(data, &history))
	for _, prompt := range []string{"", "again"} {
		res, runErr, _ := runWith(t, cfg{}, []modeltest.Step{modeltest.SayText("fine")}, prompt, []agent.RunOption{agent.WithHistory(history)}, addTool())
		require.Nil(t, runErr)
		require.Equal(t, "fine", res.Output)
	}
}

func TestEndingsDecideWhichTextsMayBeOutputs(t *testing.T) {
	half := func(f model.FinishReason) []modeltest.Step {
		return []modeltest.Step{modeltest.Finish(f, model.Text("half"))}
	}
	strict := agent.Endings{NoCut: true}
	_, err, _ := run(t, cfg{Endings: strict}, half(model.FinishLength))
	require.ErrorIs(t, err, agent.ErrTokenLimit)
	requireInterrupted(t, err.Messages, "half")

	lenient := agent.Endings{Filtered: true}
	res, err, _ := run(t, cfg{Endings: lenient}, half(model.FinishContentFilter))
	require.Nil(t, err)
	require.Equal(t, "half", res.Output)
	require.Equal(t, model.FinishContentFilter, res.Cut)

	res, err, _ = runWith(t, cfg{Endings: strict}, half(model.FinishLength), "go", []agent.RunOption{agent.WithEndings(agent.Endings{})})
	require.Nil(t, err)
	require.Equal(t, model.FinishLength, res.Cut, "an option replaces what the agent says")

	for _, f := range []model.FinishReason{model.FinishRefusal, model.FinishError} {
		_, err, _ := run(t, cfg{Endings: lenient}, half(f))
		require.NotNil(t, err, "never an output")
	}
	call := []modeltest.Step{modeltest.Finish(model.FinishContentFilter, model.Text("half"), add("1", 1, 2)), modeltest.SayText("3")}
	_, err, _ = run(t, cfg{Endings: lenient}, call, addTool())
	require.ErrorIs(t, err, agent.ErrContentFilter, "a filtered call does not run")
	_, err, _ = run(t, cfg{Endings: lenient}, []modeltest.Step{modeltest.Finish(model.FinishContentFilter)})
	require.ErrorIs(t, err, agent.ErrContentFilter, "nothing is no output")
	requireInterrupted(t, err.Messages, "")
}

// A call that a token limit did not reach runs, although a cut text would be an error.
func TestCutTextAsAnErrorLeavesCompleteCalls(t *testing.T) {
	res, err, _ := run(t, cfg{Endings: agent.Endings{NoCut: true}},
		[]modeltest.Step{modeltest.Finish(model.FinishLength, model.Text("so"), add("1", 1, 2)), modeltest.SayText("3")}, addTool())
	require.Nil(t, err)
	require.Equal(t, 1, res.Usage.ToolCalls)
}

func TestCutTextOfAnInnerAgentSaysSo(t *testing.T) {
	inner := newAgent(t, cfg{Name: "inner", Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		resp := model.Response(model.Text("half"))
		resp.Finish = model.FinishLength
		return resp, nil
	})})
	same := func(d deps) deps { return d }
	_, _, script := run(t, cfg{}, []modeltest.Step{modeltest.Say(model.ToolCall("1", "ask", `{"prompt":"x"}`)), modeltest.SayText("ok")},
		agent.AsTool("ask", "", inner, same))
	require.Contains(t, dump(script.Requests()[1].Messages), "half\n\n[This answer is not complete")

	over := cfg{Alternatives: []agent.Alternative[deps, string]{agent.HandOver[deps, deps, string]("over", "", inner, same)}}
	res, err, _ := run(t, over, []modeltest.Step{modeltest.Say(model.ToolCall("1", "over", `{"prompt":"x"}`))})
	require.Nil(t, err)
	require.Equal(t, "half", res.Output)
	require.Equal(t, model.FinishLength, res.Cut)
}
