// SPDX-License-Identifier: Apache-2.0

package guardrails_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// What is checked in parallel is what the user has said since the last response, in order: not what tools have returned or shown
// beside that, and nothing twice.
func TestParallelChecksSeeWhatTheUserHasSaid(t *testing.T) {
	var seen []string
	watch := guard{Name: "g", On: input, Parallel: true, Check: func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
		seen = append(seen, s.Text)
		return guardrails.Pass(), nil
	}}
	in := new(agent.Inbox)
	retries := toolset.Func("retries", "", func(context.Context, *toolset.RunContext[none], none) (string, error) {
		return "", toolset.Retry("again")
	})
	again := toolset.Func("again", "", func(context.Context, *toolset.RunContext[none], none) (string, error) {
		return "", toolset.Retry("again")
	})
	steers := toolset.Func("steers", "", func(context.Context, *toolset.RunContext[none], none) (toolset.Result, error) {
		in.Send(model.User("one"))
		in.Send(model.User("two"), model.Media("image/png", []byte("x")))
		in.Send(model.User("three"))
		return toolset.Result{Text: "said", Content: []model.Part{model.User("shown")}}, nil
	})
	script := modeltest.Script(
		modeltest.Say(model.ToolCall("1", "echo", `{"text":"a"}`)), modeltest.Say(model.ToolCall("2", "retries", `{}`)), modeltest.Say(model.ToolCall("3", "echo", `{"text":1}`)),
		modeltest.Say(model.ToolCall("4", "steers", `{}`)), modeltest.Say(model.ToolCall("5", "again", `{}`), model.ToolCall("6", "echo", `{"text":"a"}`)), modeltest.SayText("Done."),
	)
	c := config(script, watch)
	c.Tools = append(c.Tools, retries, again, steers)
	_, err := agent.Must(agent.New(c)).Run(t.Context(), none{}, "go", agent.WithInbox(in), agent.WithParts(model.User("and more")))
	require.NoError(t, err)
	require.Equal(t, []string{"go\nand more", "one\ntwo\nthree"}, seen)
	require.Zero(t, script.Left())

	seen = nil
	_, err = newAgent(t, modeltest.Script(modeltest.SayText("Done.")), watch).Run(t.Context(), none{}, "third", agent.WithHistory([]*model.Message{
		model.UserText("long ago"), model.Response(model.Text("yes")), model.UserText("first"), model.UserText("second"),
	}))
	require.NoError(t, err)
	require.Equal(t, []string{"first\nsecond\nthird"}, seen)
}

// A call that waits for approval is checked by the guards of the run that makes it, whatever a person has said.
func TestCallsOfAHistoryAreCheckedBeforeTheyRun(t *testing.T) {
	ran := 0
	pay := toolset.Func("pay", "", func(context.Context, *toolset.RunContext[none], none) (string, error) {
		ran++
		return "paid", nil
	}, toolset.Approve(func(context.Context, *toolset.RunContext[none], none) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Pay"}, nil
	}))
	of := func(script *modeltest.Scripted, guards ...guard) *agent.Agent[none, string] {
		c := config(script, guards...)
		c.Tools = append(c.Tools, pay)
		return agent.Must(agent.New(c))
	}
	_, err := of(modeltest.Script(modeltest.Say(model.ToolCall("1", "pay", `{}`)))).Run(t.Context(), none{}, "go")
	var failed *agent.RunError
	require.ErrorAs(t, err, &failed)
	require.ErrorAs(t, err, new(*agent.PendingError))
	for name, v := range map[string]verdict{"pass": guardrails.Pass(), "block": guardrails.Block("no"), "deny": guardrails.Deny("no"), "ask": guardrails.Ask("hm"), "replace": guardrails.Replace(`{"a":1}`, ""), "unknown": {Action: 9}} {
		ran = 0
		res, err := of(modeltest.Script(modeltest.SayText("Done.")), guard{Name: "g", On: call, Check: always(v)}).Run(t.Context(), none{}, "",
			agent.WithHistory(failed.Messages), agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{"1": toolset.Allow()}}))
		if name == "pass" {
			require.NoError(t, err)
			require.Equal(t, 1, ran)
			continue
		}
		require.Zero(t, ran, name)
		told := ""
		if err == nil {
			told = res.Messages[len(res.Messages)-2].Parts[0].Text
		}
		switch name {
		case "block":
			require.ErrorContains(t, err, `guardrails: call of tool "pay" blocked by "g": no`)
		case "unknown":
			require.ErrorContains(t, err, `guardrails: call of tool "pay" blocked by "g": unknown action 9`)
		case "deny":
			require.Equal(t, `Not executed: no (guardrail "g"). Do not try to do the same in another way.`, told)
		case "ask":
			require.Equal(t, `Not executed: it needs the approval of a person (guardrail g).`, told)
		case "replace":
			require.Equal(t, `Not executed: these arguments are not allowed (guardrail "g"). Do not try to do the same in another way.`, told)
		}
	}
}
