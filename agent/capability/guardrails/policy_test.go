// SPDX-License-Identifier: Apache-2.0

package guardrails_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

func sameDeps(d none) none { return d }

var go1 = modeltest.Say(model.ToolCall("1", "inner", `{"prompt":"go"}`))

// TestOneGuardHoldsForAllSpellingsInTheTree: the guard is a policy of the outer run, and the value appears in an inner one.
func TestOneGuardHoldsForAllSpellingsInTheTree(t *testing.T) {
	pay := toolset.Func("pay", "", func(context.Context, *toolset.RunContext[none], payment) (string, error) {
		t.Error("the call has run")
		return "", nil
	})
	all := spellings()
	require.GreaterOrEqual(t, len(all), 40)
	for i, text := range all {
		look := toolset.Func("look", "", func(context.Context, *toolset.RunContext[none], none) (json.RawMessage, error) {
			return json.RawMessage(text), nil
		})
		for stage, c := range map[guardrails.Stage]struct {
			tool  *toolset.Tool[none]
			first modeltest.Step
		}{
			guardrails.Call:   {pay, modeltest.Say(model.ToolCall("1", "pay", text))},
			guardrails.Result: {look, modeltest.Say(model.ToolCall("1", "look", "{}"))},
			guardrails.Output: {look, modeltest.SayText(text)},
		} {
			for _, handOver := range []bool{false, true} {
				inner := agent.Must(agent.New(agent.Config[none, string]{
					Name: "inner", Model: modeltest.Script(c.first, modeltest.SayText("done")), Tools: []*toolset.Tool[none]{c.tool},
				}))
				config := agent.Config[none, string]{
					Name: "outer", Model: modeltest.Script(go1, modeltest.SayText("done")),
					Policies: []*agent.Policy{guardrails.Policy("values", finder(stage, i%2 == 0, 0))},
				}
				if handOver {
					config.Alternatives = []agent.Alternative[none, string]{agent.HandOver("inner", "", inner, sameDeps)}
				} else {
					config.Tools = []*toolset.Tool[none]{agent.AsTool("inner", "", inner, sameDeps)}
				}
				outer := agent.Must(agent.New(config))
				var shown strings.Builder
				s := outer.Stream(t.Context(), none{}, "go")
				for e := range s.Events() {
					fmt.Fprint(&shown, e.Value)
				}
				_, err := s.Result()
				var refused *agent.PolicyError
				require.ErrorAs(t, err, &refused, "%v %s", stage, text)
				require.Equal(t, "values", refused.Policy)
				require.ErrorIs(t, err, guardrails.ErrBlocked)
				if stage != guardrails.Call {
					require.NotContains(t, shown.String(), text)
				}
			}
		}
	}
}

// TestStreamOfAHandOverShowsCheckedWordsOnly: the guard belongs to the outer run.
func TestStreamOfAHandOverShowsCheckedWordsOnly(t *testing.T) {
	inner := agent.Must(agent.New(agent.Config[none, string]{Name: "inner", Model: modeltest.Script(modeltest.SayText("Your card is " + secret + "."))}))
	for _, stream := range []int{0, 20} {
		outer := agent.Must(agent.New(agent.Config[none, string]{
			Model: modeltest.Script(go1), Alternatives: []agent.Alternative[none, string]{agent.HandOver("inner", "", inner, sameDeps)},
			Policies: []*agent.Policy{guardrails.Policy("cards", guard{Name: "cards", On: guardrails.Output, Check: redact, Stream: stream})},
		}))
		inner = agent.Must(agent.New(agent.Config[none, string]{Name: "inner", Model: modeltest.Script(modeltest.SayText("Your card is " + secret + "."))}))
		var shown strings.Builder
		s := outer.Stream(t.Context(), none{}, "go")
		for e := range s.Events() {
			fmt.Fprint(&shown, e.Text, e.Value)
		}
		res, err := s.Result()
		require.NoError(t, err)
		require.Equal(t, "Your card is [card].", res.Output)
		require.NotContains(t, shown.String(), secret)
	}
}

type refund struct {
	Amount int    `json:"amount"`
	note   string // only hooks set it
}

// TestArgumentsThatHooksChangeAreCheckedAgain: whatever a hook makes of the arguments, the guard has seen what the tool gets.
func TestArgumentsThatHooksChangeAreCheckedAgain(t *testing.T) {
	change := map[string]toolset.CallHook[none]{
		"in place": func(ctx context.Context, _ *toolset.RunContext[none], args any, next toolset.CallFunc) (toolset.Result, error) {
			args.(*refund).Amount = 5000
			return next(ctx, args)
		},
		"with another value": func(ctx context.Context, _ *toolset.RunContext[none], _ any, next toolset.CallFunc) (toolset.Result, error) {
			return next(ctx, &refund{Amount: 5000})
		},
		"by value": func(ctx context.Context, _ *toolset.RunContext[none], _ any, next toolset.CallFunc) (toolset.Result, error) {
			return next(ctx, refund{Amount: 5000})
		},
		"twice": func(ctx context.Context, _ *toolset.RunContext[none], args any, next toolset.CallFunc) (toolset.Result, error) {
			if res, err := next(ctx, args); err != nil {
				return res, err
			}
			return next(ctx, &refund{Amount: 5000})
		},
	}
	verdicts := map[string]guardrails.Verdict{"denied": guardrails.Deny("too much"), "asked": guardrails.Ask("much"), "blocked": guardrails.Block("too much")}
	for how, hook := range change {
		for verdict, v := range verdicts {
			for _, wrapped := range []bool{false, true} {
				most := 0
				pay := toolset.Func("refund", "", func(_ context.Context, _ *toolset.RunContext[none], in refund) (string, error) {
					most = max(most, in.Amount)
					return "ok", nil
				})
				limit := guardrails.Guard[none]{Name: "limit", On: guardrails.Call, Check: func(_ context.Context, _ *toolset.RunContext[none], s *subject) (guardrails.Verdict, error) {
					amount, _ := s.At("/amount").(json.Number)
					if n, err := amount.Int64(); err != nil || n > 1000 {
						return v, nil
					}
					return guardrails.Pass(), nil
				}}
				c := agent.Config[none, string]{
					Model:    modeltest.Script(modeltest.Say(model.ToolCall("1", "refund", `{"amount":10}`)), modeltest.SayText("done")),
					Policies: []*agent.Policy{guardrails.Policy("limit", limit)},
				}
				if set := toolset.Of(pay); wrapped {
					c.Toolsets = []toolset.Toolset[none]{toolset.Wrapped(set, hook)}
				} else {
					c.Toolsets, c.Hooks = []toolset.Toolset[none]{set}, []agent.Hooks[none]{{Call: hook}}
				}
				res, err := agent.Must(agent.New(c)).Run(t.Context(), none{}, "go")
				require.LessOrEqual(t, most, 1000, "%s %s %v", how, verdict, wrapped)
				if verdict == "blocked" {
					require.ErrorIs(t, err, guardrails.ErrBlocked)
					continue
				}
				require.NoError(t, err)
				part := res.Messages[2].Parts[0]
				require.Equal(t, model.OutcomeDenied, part.Outcome, "%s %s %v", how, verdict, wrapped)
				require.Equal(t, `policy "limit"`, part.Decision.By)
			}
		}
	}
}

// TestArgumentsThatAreNotChangedAreCheckedOnce: however a tool decodes them.
func TestArgumentsThatAreNotChangedAreCheckedOnce(t *testing.T) {
	odd := &toolset.Tool[none]{
		Def:    model.ToolDef{Name: "odd", Schema: json.RawMessage(`{"type":"object"}`)},
		Decode: func(args []byte) (any, error) { return refund{note: string(args)}, nil },
		Call: func(context.Context, *toolset.RunContext[none], any) (toolset.Result, error) {
			return toolset.Result{Text: "ok"}, nil
		},
	}
	typed := toolset.Func("typed", "", func(context.Context, *toolset.RunContext[none], *refund) (string, error) { return "ok", nil })
	raw := toolset.Raw("raw", "", json.RawMessage(`{"type":"object"}`), func(context.Context, *toolset.RunContext[none], json.RawMessage) (toolset.Result, error) {
		return toolset.Result{Text: "ok"}, nil
	})
	for _, args := range []string{`{"amount":10}`, `{"amount": 1e1}`, `{}`, ``, `{"amount":null}`} {
		for _, tool := range []*toolset.Tool[none]{odd, typed, raw} {
			asked := 0
			count := guardrails.Guard[none]{Name: "count", On: guardrails.Call, Check: func(context.Context, *toolset.RunContext[none], *subject) (guardrails.Verdict, error) {
				asked++
				return guardrails.Pass(), nil
			}}
			_, err := agent.Must(agent.New(agent.Config[none, string]{
				Model:    modeltest.Script(modeltest.Say(model.ToolCall("1", tool.Def.Name, args)), modeltest.SayText("done"), modeltest.SayText("done")),
				Toolsets: []toolset.Toolset[none]{toolset.Wrapped(toolset.Of(tool))}, Policies: []*agent.Policy{guardrails.Policy("count", count)},
			})).Run(t.Context(), none{}, "go")
			require.NoError(t, err)
			require.Equal(t, 1, asked, "%s %q", tool.Def.Name, args)
		}
	}
}

// TestGuardsDecideAboutCallsThatNoHookWraps: nobody else would hear of a denial there.
func TestGuardsDecideAboutCallsThatNoHookWraps(t *testing.T) {
	inner := agent.Must(agent.New(agent.Config[none, string]{Name: "inner", Model: modeltest.Script()})) // must not be asked
	external := toolset.ExternalTool[none, none]("outside", "")
	person := func(answer string) agent.RunOption {
		return agent.WithAsker(toolset.AskerFuncs{OnAnswer: func(context.Context, toolset.Question) (toolset.Reply, error) {
			return toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(`{"answer":"` + answer + `"}`)}, nil
		}})
	}
	for _, call := range []model.Part{model.ToolCall("1", "inner", `{"prompt":"go"}`), model.ToolCall("1", "outside", `{}`)} {
		for name, v := range map[string]guardrails.Verdict{"deny": guardrails.Deny("no"), "ask": guardrails.Ask("hm"), "block": guardrails.Block("no")} {
			a := agent.Must(agent.New(agent.Config[none, string]{
				Model: modeltest.Script(modeltest.Say(call), modeltest.Say(call)), Tools: []*toolset.Tool[none]{external},
				Alternatives: []agent.Alternative[none, string]{agent.HandOver("inner", "", inner, sameDeps)},
				Policies:     []*agent.Policy{guardrails.Policy("p", guard{Name: "g", On: guardrails.Call, Check: always(v)})},
			}))
			_, err := a.Run(t.Context(), none{}, "go", person("Block it"))
			require.ErrorIs(t, err, guardrails.ErrBlocked, "%s %s", call.Tool, name)
			if name == "ask" && call.Tool == "outside" {
				_, err = a.Run(t.Context(), none{}, "go", person("Let it pass"))
				require.ErrorAs(t, err, new(*agent.PendingError))
			}
		}
	}
}

// TestOutputsThatNoResponseHadAreChecked: they come from functions, validators and hooks.
func TestOutputsThatNoResponseHadAreChecked(t *testing.T) {
	fetch := agent.OutputFunc("fetch", "", func(context.Context, *toolset.RunContext[none], none) (string, error) { return "card " + secret, nil })
	validate := func(_ context.Context, _ *toolset.RunContext[none], text string) (string, error) {
		return strings.ReplaceAll(text, "#", secret), nil
	}
	hook := agent.Hooks[none]{Request: func(ctx context.Context, _ *toolset.RunContext[none], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
		if _, err := next(ctx, req); err != nil {
			return nil, err
		}
		return model.Response(model.Text("card " + secret)), nil
	}}
	for name, c := range map[string]agent.Config[none, string]{
		"a function":  {Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "fetch", "{}"))), Alternatives: []agent.Alternative[none, string]{fetch}},
		"a validator": {Model: modeltest.Script(modeltest.SayText("card #")), Validators: []agent.Validator[none, string]{validate}},
		"a hook":      {Model: modeltest.Script(modeltest.SayText("x")), Hooks: []agent.Hooks[none]{hook}},
	} {
		c.Policies = []*agent.Policy{guardrails.Policy("cards", guard{Name: "cards", On: guardrails.Output, Check: redact})}
		res, err := agent.Must(agent.New(c)).Run(t.Context(), none{}, "go")
		require.NoError(t, err, name)
		require.Equal(t, "card [card]", res.Output, name)
	}
}

// TestOutputsThatTheResponseHadAreCheckedOnce: in whichever form.
func TestOutputsThatTheResponseHadAreCheckedOnce(t *testing.T) {
	asked := 0
	count := guardrails.Guard[none]{Name: "count", On: guardrails.Output, Check: func(context.Context, *toolset.RunContext[none], *subject) (guardrails.Verdict, error) {
		asked++
		return guardrails.Pass(), nil
	}}
	policies := []*agent.Policy{guardrails.Policy("count", count)}
	_, err := agent.Must(agent.New(agent.Config[none, string]{Model: modeltest.Script(modeltest.SayText("hello")), Policies: policies})).Run(t.Context(), none{}, "go")
	require.NoError(t, err)
	require.Equal(t, 1, asked)
	for _, c := range []agent.Config[none, payment]{
		{Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "final_result", `{"amount": 1e1, "card": "x"}`))), Policies: policies},
		{Model: modeltest.Script(modeltest.SayText("```json\n{\"card\":\"x\",\"amount\":10.0}\n```")), Output: agent.Output{Mode: agent.OutputPrompted}, Policies: policies},
	} {
		asked = 0
		_, err = agent.Must(agent.New(c)).Run(t.Context(), none{}, "go")
		require.NoError(t, err)
		require.Equal(t, 1, asked)
	}
	asked = 0
	_, err = agent.Must(agent.New(agent.Config[none, []int]{
		Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "final_result", `{"items":[1, 2]}`), model.ToolCall("2", "final_result", `{"value":[1, 2]}`))), Policies: policies,
	})).Run(t.Context(), none{}, "go")
	require.NoError(t, err)
	require.Equal(t, 2, asked)
}
