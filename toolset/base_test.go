// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

// own is a combinator as users write it.
type own struct{ toolset.Base[deps] }

func owned(inner set) set { return &own{toolset.Base[deps]{Toolset: inner}} }

func newProblems(sets ...set) error {
	_, err := agent.New(agent.Config[deps, string]{Model: modeltest.Script(), Toolsets: sets})
	return err
}

// What New finds in a toolset it finds through combinators of users, and through those of this package around them, at any depth.
func TestNewSeesThroughCombinatorsOfUsers(t *testing.T) {
	mistakes := map[string]func() set{
		"a tool": func() set {
			return toolset.Of(toolset.Func("bad name", "", func(context.Context, *toolset.RunContext[deps], struct{}) (string, error) { return "", nil }))
		},
		"a nil tool":    func() set { return toolset.Of[deps](nil) },
		"a combinator":  func() set { return toolset.Limited(tells("tell"), -1) },
		"a nil toolset": func() set { return nil },
		"a clash":       func() set { return toolset.Combine(tells("other"), tells("other")) },
	}
	around := map[string]func(set) set{
		"itself":  func(s set) set { return s },
		"another": owned,
	}
	for name, combine := range combinators() {
		around[name] = func(s set) set { made, _ := combine(s); return made }
	}
	for what, mistake := range mistakes {
		for name, combine := range around {
			if name == "PerRun" || name == "PerStep" {
				continue // there is no toolset before the run
			}
			require.Error(t, newProblems(combine(owned(mistake()))), "%s in %s", what, name)
		}
		require.Error(t, newProblems(owned(owned(mistake()))), what)
	}
	require.NoError(t, newProblems(owned(tells("tell")), owned(tells("other"))))

	var clash *toolset.NameClashError
	for name, combine := range around {
		if name == "Filtered" || name == "Prepared" || name == "PreparedAll" || name == "PerRun" || name == "PerStep" {
			continue // which tools a run has is not known before
		}
		set := combine(owned(tells("tell")))
		fixed := set.(toolset.Fixed[deps]).FixedTools()
		require.NotEmpty(t, fixed, name)
		require.ErrorAs(t, newProblems(set, owned(tells(fixed[0].Def.Name))), &clash, name)
	}
}

func TestBaseWithoutAToolsetIsAnError(t *testing.T) {
	for _, s := range []set{&own{}, owned(nil), toolset.Named[deps](&own{}, "x"), toolset.Combine[deps](&own{}), toolset.Prefixed[deps](&own{}, "x_")} {
		require.ErrorContains(t, newProblems(s), "toolset: Base: the toolset is nil")
		require.NotEmpty(t, s.Name())
		_, err := s.Open(t.Context(), &toolset.RunContext[deps]{})
		require.Error(t, err)
	}
}

func TestCombinatorsOfUsersConform(t *testing.T) {
	toolsettest.Conformance(t, func() set { return owned(tells("tell")) }, deps{"Ada"}, toolsettest.Case{Tool: "tell", Args: "{}"})
}

// A combinator of one's own counts the calls of the tools inside. What agent.New finds in them it finds through Base.
func ExampleBase() {
	broken := toolset.Of(toolset.Func("two words", "", func(context.Context, *toolset.RunContext[struct{}], struct{}) (string, error) { return "", nil }))
	_, err := agent.New(agent.Config[struct{}, string]{Model: modeltest.Script(), Toolsets: []toolset.Toolset[struct{}]{&logged{toolset.Base[struct{}]{Toolset: broken}}}})
	fmt.Println(err != nil)

	fine := toolset.Of(toolset.Func("hello", "", func(context.Context, *toolset.RunContext[struct{}], struct{}) (string, error) { return "Hello.", nil }))
	a := agent.Must(agent.New(agent.Config[struct{}, string]{
		Model:    modeltest.Script(modeltest.Say(model.ToolCall("1", "hello", `{}`)), modeltest.SayText("done")),
		Toolsets: []toolset.Toolset[struct{}]{&logged{toolset.Base[struct{}]{Toolset: fine}}},
	}))
	_, err = a.Run(context.Background(), struct{}{}, "Say hello.")
	fmt.Println(err)
	// Output:
	// true
	// opened
	// <nil>
}

type logged struct{ toolset.Base[struct{}] }

func (l *logged) Open(ctx context.Context, run *toolset.RunContext[struct{}]) (toolset.Instance[struct{}], error) {
	fmt.Println("opened")
	return l.Base.Open(ctx, run)
}

// Check joins what the combinator finds with what Base does.
func (l *logged) Check() error { return errors.Join(l.Base.Check()) }
