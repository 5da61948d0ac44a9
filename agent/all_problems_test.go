// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// Whoever repairs one problem should not find the next one behind it.
func TestNewReportsEveryProblem(t *testing.T) {
	broken := says("not a name", "x")
	late := &toolset.Tool[deps]{Def: model.ToolDef{Name: "late"}, Options: toolset.Options{Timeout: -time.Second, Retries: new(-1)}}
	_, err := agent.New(agent.Config[deps, city]{
		Model:       modeltest.Script(),
		Tools:       []*toolset.Tool[deps]{broken, nil, says("add", "x"), late},
		Toolsets:    []toolset.Toolset[deps]{toolset.Of(addTool(), says("final_result", "x")), nil, toolset.Prefixed(toolset.Of(says("a b", "x"), says("dd", "x")), strings.Repeat("p", 64)), toolset.Searchable(toolset.Of(says("c d", "x")), toolset.Search[deps]{Max: -1})},
		Validators:  []agent.Validator[deps, city]{nil, func(_ context.Context, _ *toolset.RunContext[deps], c city) (city, error) { return c, nil }, nil},
		Dynamic:     []agent.InstructionFunc[deps]{nil},
		History:     []agent.HistoryProcessor[deps]{nil},
		Output:      agent.Output{Mode: "strange"},
		EndStrategy: "later", ToolTimeout: -1, ToolRetries: new(-1), Limits: agent.Limits{Requests: -7, Cost: -3},
		ToolChoice:   model.ToolChoice{Mode: "perhaps"},
		Settings:     &model.Settings{MaxTokens: -3, ExtraHeaders: map[string]string{"a b": "c"}},
		Commands:     []agent.Command[deps]{{Name: "a b"}},
		Capabilities: []agent.Capability[deps]{{Tools: []*toolset.Tool[deps]{says("e f", "x")}, Commands: []agent.Command[deps]{{Name: "g h"}}, Settings: &model.Settings{CompactAt: -5}}, {Name: "named", Tools: []*toolset.Tool[deps]{nil}}},
		Alternatives: []agent.Alternative[deps, city]{
			agent.As[deps]("", "", func(c city) city { return c }), agent.As[deps, city, city]("no function", "", nil), agent.OutputFunc[deps, city, city]("nor here", "", nil), agent.Text[deps, city](nil), {},
		},
	})
	for _, want := range []string{
		`tool name "not a name"`, "tool 1 is nil", `both have a tool "add"`, `tool "late": timeout -1s`, `tool "late": retries -1`, "schema is missing",
		`Toolsets[1] is nil`, `tool name "a b"`, `tool name "ppppp`, `toolsets "Config.Tools" and`, "Max -1 must not be negative", `tool name "c d"`,
		"Validators[0] is nil", "Validators[2] is nil", "Dynamic[0] is nil", "History[0] is nil", `unknown output mode "strange"`, `unknown end strategy "later"`,
		"ToolTimeout", "ToolRetries is -1", "Requests is -7", "Cost is -3", `unknown mode "perhaps"`, "MaxTokens is -3", `ExtraHeaders["a b"]`, "CompactAt is -5", `command "a b": the name`, `command "a b": set either`,
		"capability 0 has no name", `tool name "e f"`, `command "g h": the name`, "toolset capability named: toolset of(): tool 0 is nil",
		"output no function: the function is nil", "output nor here: the function is nil", "alternative 3 is empty", "alternative 4 is empty",
	} {
		require.ErrorContains(t, err, want)
	}
}

// A pointer that is nil is found in every place, beside other mistakes, with the panic that it caused.
func TestNilPointersOfToolsetsAreReported(t *testing.T) {
	var missing *struct{ toolset.Toolset[deps] }
	_, err := agent.New(agent.Config[deps, string]{
		Model: modeltest.Script(),
		Toolsets: []toolset.Toolset[deps]{
			toolset.Of(says("a b", "x")), missing, toolset.Prefixed[deps](missing, "p_"), toolset.Combine[deps](missing), toolset.Limited[deps](missing, 1),
		},
		Capabilities: []agent.Capability[deps]{{Name: "extra", Toolsets: []toolset.Toolset[deps]{missing}}},
	})
	for _, want := range []string{"Toolsets[1]: panic", "Toolsets[2]: panic", "Toolsets[3]: panic", "Toolsets[4]: panic", "capability extra: Toolsets[0]: panic", `tool name "a b"`} {
		require.ErrorContains(t, err, want)
	}
	_, isPanic := errors.AsType[*agent.PanicError](err)
	require.True(t, isPanic)
}

// A name that is not valid, or any other mistake in a toolset, does not hide that two tools have one name.
func TestMistakesDoNotHideClashes(t *testing.T) {
	for name, bad := range map[string]toolset.Toolset[deps]{
		"name": toolset.Of(says("a b", "x"), addTool(), says("final_result", "x")), "nil": toolset.Of(nil, addTool(), says("final_result", "x")),
		"wrapped":  toolset.Wrapped(toolset.Of(addTool(), says("final_result", "x")), nil),
		"named":    toolset.Named(toolset.Of(says("a b", "x"), addTool(), says("final_result", "x")), "other"),
		"combined": toolset.Combine(toolset.Of(says("a b", "x")), toolset.Of(addTool(), says("final_result", "x"))),
		"prefixed": toolset.Prefixed(toolset.Of(says(" b", "x"), says("dd", "x"), says("final_result", "x"), says("inal_result", "x")), ""),
	} {
		for _, other := range []*toolset.Tool[deps]{addTool(), says("dd", "x")} {
			_, err := agent.New(agent.Config[deps, city]{Tools: []*toolset.Tool[deps]{other, says("more", "x")}, Toolsets: []toolset.Toolset[deps]{bad, toolset.Of(says("more", "x"))}})
			require.ErrorContains(t, err, `both have a tool "more"`, name)
			require.ErrorContains(t, err, "the agent's output", name)
			if (other.Def.Name == "dd") == (name == "prefixed") {
				require.ErrorContains(t, err, `both have a tool "`+other.Def.Name+`"`, name)
			}
		}
	}
}

// A policy that is nil does not hide what is wrong with others.
func TestMissingPolicyDoesNotHideOthers(t *testing.T) {
	broken := agent.NewPolicy(agent.PolicyConfig[deps]{Limits: agent.Limits{Requests: -7}})
	for _, policies := range [][]*agent.Policy{{nil, broken}, {broken, new(agent.Policy)}} {
		_, err := agent.New(cfg{Policies: policies})
		require.ErrorContains(t, err, "a policy is nil or empty")
		require.ErrorContains(t, err, "Requests is -7")
		_, err = newAgent(t, cfg{Model: modeltest.Script()}).Run(t.Context(), deps{}, "go", agent.WithPolicies(policies...))
		require.ErrorContains(t, err, "a policy is nil or empty")
		require.ErrorContains(t, err, "Requests is -7")
	}
}

func TestToolChoiceOfAnUnknownToolIsFoundByNew(t *testing.T) {
	choose := func(name string) model.ToolChoice { return model.ToolChoice{Mode: model.ToolChoiceTool, Tool: name} }
	_, err := agent.New(agent.Config[deps, city]{ToolChoice: choose("gone"), Tools: []*toolset.Tool[deps]{addTool()}})
	require.ErrorContains(t, err, `ToolChoice: unknown tool "gone"`)
	_, err = agent.New(cfg{ToolChoice: choose("add")})
	require.ErrorContains(t, err, `ToolChoice: unknown tool "add"`, "there is none at all")
	for _, ok := range []string{"add", "final_result"} {
		_, err = agent.New(agent.Config[deps, city]{ToolChoice: choose(ok), Tools: []*toolset.Tool[deps]{addTool()}})
		require.NoError(t, err)
	}
	dynamic := toolset.PerRun("later", func(context.Context, *toolset.RunContext[deps]) (toolset.Toolset[deps], error) { return nil, nil })
	_, err = agent.New(cfg{ToolChoice: choose("gone"), Tools: []*toolset.Tool[deps]{addTool()}, Toolsets: []toolset.Toolset[deps]{dynamic}})
	require.NoError(t, err, "only a run knows the tools")
}

func TestModelThatIsNilIsAnErrorOfTheRun(t *testing.T) {
	a := newAgent(t, cfg{Model: modeltest.Script(modeltest.SayText("no"))})
	_, err := a.Run(t.Context(), deps{}, "go", agent.WithModel(nil))
	require.ErrorIs(t, err, agent.ErrNoModel)
	require.ErrorContains(t, err, "WithModel")
}

func TestRunReportsImpossibleSettings(t *testing.T) {
	m := modeltest.Script(modeltest.Say(model.Text("done")))
	a := agent.Must(agent.New(agent.Config[deps, string]{Model: m, Settings: &model.Settings{MaxTokens: 5}}))
	_, err := a.Run(t.Context(), deps{}, "hello", agent.WithSettings(model.Settings{MaxTokens: -3}), agent.WithSettings(model.Settings{CompactAt: -1}))
	require.ErrorContains(t, err, "the setting MaxTokens is -3, must not be negative")
	require.ErrorContains(t, err, "the setting CompactAt is -1, must not be negative")
	require.Empty(t, m.Requests())
}

// What is wrong inside a capability is reported beside the function that is missing for it.
func TestAdaptWithoutAFunctionHidesNothing(t *testing.T) {
	type inner struct{}
	bad := toolset.Func("a b", "A tool.", func(context.Context, *toolset.RunContext[inner], struct{}) (string, error) { return "", nil })
	_, err := agent.New(cfg{Capabilities: []agent.Capability[deps]{agent.Adapt[inner, deps](agent.Capability[inner]{
		Name: "c", Tools: []*toolset.Tool[inner]{bad}, Dynamic: []agent.InstructionFunc[inner]{nil},
		Include: []agent.Capability[inner]{{Name: "inside", History: []agent.HistoryProcessor[inner]{nil}}},
	}, nil)}})
	for _, want := range []string{"Adapt: the function is nil", `"a b"`, "capability c: Dynamic[0] is nil", "capability inside: History[0] is nil"} {
		require.ErrorContains(t, err, want)
	}
}
