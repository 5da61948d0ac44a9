// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type sum struct {
	N int `json:"n"`
}

// payee notes the keys of payments and what was paid.
type payee struct {
	keys []string
	paid []int
	err  error // the end of the process, in the middle of a payment
}

func (p *payee) tool(opts ...toolset.Option) *toolset.Tool[struct{}] {
	opts = append(opts, toolset.Approve(func(context.Context, *toolset.RunContext[struct{}], sum) (*toolset.Approval, error) {
		return &toolset.Approval{Reason: "it is money"}, nil
	}))
	return toolset.Func("pay", "", func(_ context.Context, run *toolset.RunContext[struct{}], in sum) (string, error) {
		p.keys, p.paid = append(p.keys, run.IdempotencyKey()), append(p.paid, in.N)
		return "paid", p.err
	}, opts...)
}

// readBack is what another process reads of a history.
func readBack(t *testing.T, history []*model.Message) (back []*model.Message) {
	t.Helper()
	data, err := json.Marshal(history)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &back))
	return back
}

func pendingHistory(t *testing.T, err error) []*model.Message {
	t.Helper()
	var failed *agent.RunError
	require.ErrorAs(t, err, &failed)
	require.ErrorAs(t, err, new(*agent.PendingError))
	return readBack(t, failed.Messages)
}

func payingAgent(m model.Model, tools ...*toolset.Tool[struct{}]) *agent.Agent[struct{}, string] {
	return agent.Must(agent.New(agent.Config[struct{}, string]{Name: "payer", Model: m, Tools: tools}))
}

// chains are agents that wait for a payment: of their own, of an agent inside, of one inside that, and of one that the run was handed
// over to.
var chains = map[string]func(p *payee, m model.Model) *agent.Agent[struct{}, string]{
	"own": func(p *payee, m model.Model) *agent.Agent[struct{}, string] { return payingAgent(m, p.tool()) },
	"inside": func(p *payee, m model.Model) *agent.Agent[struct{}, string] {
		return payingAgent(m, agent.AsTool("ask", "", payingAgent(m, p.tool()), unchanged))
	},
	"deep inside": func(p *payee, m model.Model) *agent.Agent[struct{}, string] {
		return payingAgent(m, agent.AsTool("ask", "", payingAgent(m, agent.AsTool("ask", "", payingAgent(m, p.tool()), unchanged)), unchanged))
	},
	"handed over": func(p *payee, m model.Model) *agent.Agent[struct{}, string] {
		return agent.Must(agent.New(agent.Config[struct{}, string]{Model: m, Alternatives: []agent.Alternative[struct{}, string]{
			agent.HandOver("ask", "", payingAgent(m, p.tool()), unchanged), agent.Text(func(_ context.Context, _ *toolset.RunContext[struct{}], text string) (string, error) {
				return text, nil
			}),
		}}))
	},
}

func unchanged(d struct{}) struct{} { return d }

func pays(name string) modeltest.Step {
	args := `{"n":5}`
	if name == "ask" {
		args = `{"prompt":"pay"}`
	}
	return modeltest.Say(model.ToolCall("c", name, args))
}

// The key is that of the response that made the call, whoever resumes it and how often.
func TestResumedCallsHaveTheKeyOfTheirResponse(t *testing.T) {
	for name, chain := range chains {
		t.Run(name, func(t *testing.T) {
			var p payee
			steps := []modeltest.Step{pays("pay")}
			switch name {
			case "inside", "handed over":
				steps = []modeltest.Step{pays("ask"), pays("pay")}
			case "deep inside":
				steps = []modeltest.Step{pays("ask"), pays("ask"), pays("pay")}
			}
			_, err := chain(&p, modeltest.Script(steps...)).Run(t.Context(), struct{}{}, "go")
			history := pendingHistory(t, err)
			calls := agent.PendingCalls(history)
			require.Len(t, calls, 1)
			allow := agent.DeferredResults{Decisions: map[string]toolset.Decision{calls[0].Key(): toolset.Allow()}}
			edit := agent.DeferredResults{Decisions: map[string]toolset.Decision{calls[0].Key(): toolset.AllowWith(json.RawMessage(`{"n":7}`))}}
			p.err = errors.New("the process ends")
			for _, results := range []agent.DeferredResults{allow, edit, allow} {
				_, err := chain(&p, modeltest.Script(modeltest.SayText("x"), modeltest.SayText("x"), modeltest.SayText("x"))).Run(t.Context(), struct{}{}, "", agent.WithHistory(readBack(t, history)), agent.WithResults(results))
				_ = err // an agent inside that fails is a failed call
			}
			p.err = nil
			// A history that was cut down has the response still.
			short := readBack(t, history)
			if n := len(short); n > 2 {
				short = short[n-2:]
			}
			_, err = chain(&p, modeltest.Script(modeltest.SayText("x"), modeltest.SayText("x"), modeltest.SayText("x"))).Run(t.Context(), struct{}{}, "", agent.WithHistory(short), agent.WithResults(allow))
			require.NoError(t, err)
			require.Equal(t, []int{5, 7, 5, 5}, p.paid, "the arguments are those that were approved")
			require.Len(t, p.keys, 4)
			for _, key := range p.keys {
				require.Equal(t, p.keys[0], key)
			}
		})
	}
}

// Other calls with the same id have other keys.
func TestCallsOfOtherResponsesHaveOtherKeys(t *testing.T) {
	var p payee
	a := func(m model.Model) *agent.Agent[struct{}, string] { return payingAgent(m, p.tool()) }
	allow := agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{"c": toolset.Allow()}})
	_, err := a(modeltest.Script(pays("pay"))).Run(t.Context(), struct{}{}, "go")
	for range 3 {
		_, err = a(modeltest.Script(pays("pay"))).Run(t.Context(), struct{}{}, "", agent.WithHistory(pendingHistory(t, err)), allow)
	}
	require.Len(t, p.keys, 3)
	require.NotEqual(t, p.keys[0], p.keys[1])
	require.NotEqual(t, p.keys[1], p.keys[2])
	require.NotEqual(t, p.keys[0], p.keys[2])
}

// A call that was allowed and may have run is never told as not executed.
func TestCallsThatMayHaveRunAreToldAsSuch(t *testing.T) {
	const unknown = "Allowed, but the process ended before there was a result. It is not known whether the call had any effect. The call was not repeated."
	for name, chain := range chains {
		t.Run(name, func(t *testing.T) {
			var p payee
			steps := []modeltest.Step{pays("pay")}
			switch name {
			case "inside", "handed over":
				steps = []modeltest.Step{pays("ask"), pays("pay")}
			case "deep inside":
				steps = []modeltest.Step{pays("ask"), pays("ask"), pays("pay")}
			}
			_, err := chain(&p, modeltest.Script(steps...)).Run(t.Context(), struct{}{}, "go")
			history := pendingHistory(t, err)
			key := agent.PendingCalls(history)[0].Key()
			marked := readBack(t, agent.MarkAllowed(history, agent.DeferredResults{Decisions: map[string]toolset.Decision{key: {Verdict: toolset.VerdictAllow, By: "ada", Args: json.RawMessage(`{"n":7}`)}}}))
			require.False(t, agent.PendingCalls(history)[0].MayHaveRun, "the history that was given does not change")
			call := agent.PendingCalls(marked)[0]
			require.True(t, call.MayHaveRun)
			require.Equal(t, "ada", call.Decision.By)
			require.True(t, call.Approval.Once, "no rule may allow it")
			require.Contains(t, call.Approval.Reason, "It is not known whether the call had any effect")
			require.Contains(t, call.Approval.Reason, "it is money")

			for _, how := range [][]agent.RunOption{
				{agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{key: toolset.Deny("The tool was not run.")}})},
				{agent.WithParts(model.User("Forget it."))},
				{agent.WithParts(model.User("Forget it.")), agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{key: toolset.Deny("The tool was not run.")}})},
			} {
				script := modeltest.Script(modeltest.SayText("x"), modeltest.SayText("x"), modeltest.SayText("x"))
				_, err := chain(&p, script).Run(t.Context(), struct{}{}, "", append(how, agent.WithHistory(marked))...)
				require.NoError(t, err)
				said := ""
				for _, req := range script.Requests() {
					for _, m := range req.Messages {
						for _, part := range m.Parts {
							if part.Kind == model.PartToolReturn {
								said += part.Text + "\n"
							}
						}
					}
				}
				require.Contains(t, said, unknown)
				require.NotContains(t, said, "Not executed")
				require.NotContains(t, said, "not run")
			}
			require.Empty(t, p.keys)
			_, err = chain(&p, modeltest.Script(modeltest.SayText("x"), modeltest.SayText("x"), modeltest.SayText("x"))).Run(t.Context(), struct{}{}, "", agent.WithHistory(marked),
				agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{key: toolset.Allow()}}))
			require.NoError(t, err)
			require.Equal(t, []int{7}, p.paid, "it runs with the arguments that were approved")
		})
	}
}

// Without an answer, a call that may have run runs again only if its tool says that this has no further effect.
func TestOnlyIdempotentCallsRunAgainByThemselves(t *testing.T) {
	for _, idempotent := range []bool{false, true} {
		var p payee
		var opts []toolset.Option
		if idempotent {
			opts = append(opts, toolset.Idempotent())
		}
		_, err := payingAgent(modeltest.Script(pays("pay")), p.tool(opts...)).Run(t.Context(), struct{}{}, "go", agent.WithRunID("r"))
		marked := agent.MarkAllowed(pendingHistory(t, err), agent.DeferredResults{Decisions: map[string]toolset.Decision{"c": {Verdict: toolset.VerdictAllow, By: "ada"}}})
		auto := agent.WithAsker(toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
			require.True(t, r.Approval.Once)
			require.Contains(t, r.Approval.Reason, "It is not known whether the call had any effect")
			return toolset.Defer(), nil
		}})
		_, err = payingAgent(modeltest.Script(modeltest.SayText("x")), p.tool(opts...)).Run(t.Context(), struct{}{}, "", agent.WithHistory(marked), auto)
		if !idempotent {
			again := agent.PendingCalls(pendingHistory(t, err))
			require.True(t, again[0].MayHaveRun, "it is still not known")
			require.Empty(t, p.keys)
		} else {
			require.NoError(t, err)
			require.Equal(t, []string{"r/1/c"}, p.keys)
		}
		res, err := payingAgent(modeltest.Script(modeltest.SayText("x")), p.tool(opts...)).Run(t.Context(), struct{}{}, "Go on.", agent.WithHistory(marked))
		require.NoError(t, err)
		if idempotent {
			require.Equal(t, "paid", res.Messages[2].Parts[0].Text)
			require.Equal(t, []string{"r/1/c", "r/1/c"}, p.keys)
		} else {
			require.Contains(t, res.Messages[2].Parts[0].Text, "It is not known")
			require.Equal(t, "ada", res.Messages[2].Parts[0].Decision.By, "who allowed it stays")
		}
	}
}
