// SPDX-License-Identifier: Apache-2.0

package guardrails_test

import (
	"context"
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

// sayings are ways in which an agent comes to an output with the secret.
var sayings = map[string]func() agent.Config[none, string]{
	"the model": func() agent.Config[none, string] {
		return agent.Config[none, string]{Model: modeltest.Script(modeltest.SayText("It is " + secret + "."))}
	},
	"a validator": func() agent.Config[none, string] {
		return agent.Config[none, string]{Model: modeltest.Script(modeltest.SayText("It is none.")), Validators: []agent.Validator[none, string]{
			func(_ context.Context, _ *toolset.RunContext[none], _ string) (string, error) {
				return "It is " + secret + ".", nil
			},
		}}
	},
	"a policy of its own": func() agent.Config[none, string] {
		return agent.Config[none, string]{Model: modeltest.Script(modeltest.SayText("It is none.")), Policies: []*agent.Policy{
			agent.NewPolicy(agent.PolicyConfig[none]{Name: "own", Output: func(context.Context, *toolset.RunContext[none], any) (any, error) {
				return "It is " + secret + ".", nil
			}}),
		}}
	},
	"a guard of its own": func() agent.Config[none, string] {
		return agent.Config[none, string]{Model: modeltest.Script(modeltest.SayText("It is none.")), Policies: []*agent.Policy{
			guardrails.Policy("guardrails", guard{Name: "cards", On: guardrails.Output, Check: func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
				if s.Partial {
					return guardrails.Pass(), nil
				}
				return guardrails.Replace("It is "+secret+".", ""), nil
			}}),
		}}
	},
	"a hook": func() agent.Config[none, string] {
		return agent.Config[none, string]{Model: modeltest.Script(), Hooks: []agent.Hooks[none]{{
			Request: func(context.Context, *toolset.RunContext[none], *model.Request, agent.RequestFunc) (*model.Message, error) {
				return model.Response(model.Text("It is " + secret + ".")), nil
			},
		}}}
	},
}

// The words of an agent that is handed over to pass the output checks of the run at the top, however deep it is, whatever it allows itself,
// and before anybody sees them.
func TestWordsOfDeepHandOversPassTheOuterChecks(t *testing.T) {
	outputs := agent.NewPolicy(agent.PolicyConfig[any]{Name: "house", Output: func(_ context.Context, _ *toolset.RunContext[any], output any) (any, error) {
		return strings.ReplaceAll(output.(string), secret, "[card]"), nil
	}})
	for _, house := range []*agent.Policy{
		guardrails.Policy("house", guard{Name: "cards", On: guardrails.Output, Check: redact}),
		guardrails.Policy("house", guard{Name: "cards", On: guardrails.Output, Check: redact, Stream: 20}),
		outputs,
	} {
		for depth := range 4 {
			for name, last := range sayings {
				for _, stays := range []bool{false, true} {
					for _, streamed := range []bool{false, true} {
						c := last()
						c.Name = "last"
						a := agent.Must(agent.New(c))
						for i := range depth {
							var opts []agent.HandOverOption
							if stays {
								opts = append(opts, agent.Stay())
							}
							a = agent.Must(agent.New(agent.Config[none, string]{
								Name: fmt.Sprint("level", i), Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "next", `{"prompt":"go"}`))),
								Alternatives: []agent.Alternative[none, string]{agent.HandOver("next", "", a, func(n none) none { return n }, opts...)},
							}))
						}
						var shown strings.Builder
						var res *agent.Result[string]
						var err error
						if streamed {
							s := a.Stream(t.Context(), none{}, "go", agent.WithPolicies(house))
							for e := range s.Events() {
								fmt.Fprintf(&shown, "%s %s %v %+v\n", e.Kind, e.Text, e.Value, e)
							}
							res, err = s.Result()
						} else {
							res, err = a.Run(t.Context(), none{}, "go", agent.WithPolicies(house))
						}
						where := fmt.Sprintf("%s by %s, depth %d, stays %t, streamed %t", res.Output, name, depth, stays, streamed)
						require.NoError(t, err, where)
						require.Equal(t, "It is [card].", res.Output, where)
						if house == outputs || name == "a hook" { // they look at outputs, not at responses
							continue
						}
						require.NotContains(t, shown.String(), secret, where)
						for _, m := range res.Messages {
							require.NotContains(t, fmt.Sprintf("%+v", m), secret, where)
						}
					}
				}
			}
		}
	}
}
