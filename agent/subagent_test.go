// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type innerDeps struct{ name string }

// expert is an agent for narrower dependencies.
func expert(t *testing.T, m model.Model, config agent.Config[innerDeps, string]) *agent.Agent[innerDeps, string] {
	config.Name, config.Model = "expert", m
	config.Toolsets = []toolset.Toolset[innerDeps]{toolset.Of(toolset.Func("whoami", "", func(_ context.Context, run *toolset.RunContext[innerDeps], _ none) (string, error) {
		return run.Deps.name, nil
	}))}
	a, err := agent.New(config)
	require.NoError(t, err)
	return a
}

func narrow(d deps) innerDeps { return innerDeps{fmt.Sprint("expert ", d.base)} }

func ask(id string) model.Part { return model.ToolCall(id, "ask", `{"prompt":"who are you?"}`) }

func TestAgentIsAToolOfAnother(t *testing.T) {
	inner := modeltest.Script(modeltest.Say(call("i", "whoami")), modeltest.SayText("I am an expert"))
	outer := modeltest.Script(modeltest.Say(ask("1")), modeltest.SayText("they are an expert"))
	a := newAgent(t, cfg{Model: outer}, agent.AsTool("ask", "Ask the expert.", expert(t, inner, agent.Config[innerDeps, string]{}), narrow))
	s := a.Stream(context.Background(), deps{base: 7}, "go")
	var nested []string
	for e := range s.Events() {
		if n, ok := e.Value.(agent.Nested); ok {
			require.Equal(t, "1", e.CallID, "events are nested under the call")
			require.Equal(t, "expert", n.Agent)
			if n.Event.Kind == agent.EventToolResult {
				nested = append(nested, n.Event.Result.Text)
			}
		}
	}
	res, err := s.Result()
	require.NoError(t, err)
	require.Equal(t, []string{"expert 7"}, nested)
	require.Equal(t, "request\n  tool_return 1 ask: I am an expert\n", dump(res.Messages[2:3]))
	require.Equal(t, 4, res.Usage.Requests, "usage is shared")
	require.Equal(t, 2, res.Usage.ToolCalls)
}

func TestFailureOfAnInnerAgentIsToldToTheModel(t *testing.T) {
	outer := modeltest.Script(modeltest.Say(ask("1")), modeltest.SayText("no answer"))
	res, err := newAgent(t, cfg{Model: outer}, agent.AsTool("ask", "", expert(t, modeltest.Script(modeltest.Fail(errBoom)), agent.Config[innerDeps, string]{}), narrow)).Run(context.Background(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, "request\n  tool_return 1 ask failed: ask failed: boom\n", dump(res.Messages[2:3]))
}

func TestCancellationReachesInnerAgentsAndIsNotTakenForAFailure(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	inner := modeltest.Func(func(ctx context.Context, _ *model.Request) (*model.Message, error) {
		cancel(errCancelled)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	_, err := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(ask("1")))}, agent.AsTool("ask", "", expert(t, inner, agent.Config[innerDeps, string]{}), narrow)).Run(ctx, deps{}, "go")
	require.ErrorIs(t, err, errCancelled)
	require.Equal(t, "request interrupted\n", last(asRunError(t, err).Messages))
}

func TestRunIsHandedOverThroughAnOutputFunction(t *testing.T) {
	inner := modeltest.Script(modeltest.SayText("I take over"))
	config := cfg{Model: modeltest.Script(modeltest.Say(ask("1"))), Alternatives: []agent.Alternative[deps, string]{
		agent.HandOver("ask", "Hand over to the expert.", expert(t, inner, agent.Config[innerDeps, string]{}), narrow),
	}}
	res, err := newAgent(t, config).Run(context.Background(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, "I take over", res.Output)
	require.Equal(t, 2, res.Usage.Requests)
	require.Equal(t, "who are you?", inner.Requests()[0].Messages[0].Parts[0].Text)

	config.Model = modeltest.Script(modeltest.Say(ask("1")))
	config.Alternatives[0] = agent.HandOver("ask", "", expert(t, modeltest.Script(modeltest.Fail(errBoom)), agent.Config[innerDeps, string]{}), narrow)
	_, err = newAgent(t, config).Run(context.Background(), deps{}, "go")
	require.ErrorIs(t, err, errBoom)
}
