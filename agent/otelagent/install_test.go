// SPDX-License-Identifier: Apache-2.0

package otelagent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/otelagent"
	"github.com/ponte-go/ponte/toolset"
)

// nested is an agent whose tool runs an agent with other dependencies. Neither knows of otelagent.
func nested(t *testing.T) *agent.Agent[deps, string] {
	inner, err := agent.New(agent.Config[int, city]{
		Name: "inner", Model: answers(modeltest.Say(model.ToolCall("1", "final_result", `{"city":"Oslo","population":1}`))),
	})
	require.NoError(t, err)
	return newAgent(t, agent.Config[deps, string]{
		Name:  "outer",
		Model: answers(modeltest.Say(model.ToolCall("9", "ask", `{"prompt":"look"}`)), modeltest.SayText("done")),
	}, agent.AsTool("ask", "Asks.", inner, func(deps) int { return 1 }))
}

const nestedSpans = `invoke_agent outer
  chat acme-1
  execute_tool ask
    invoke_agent inner
      chat acme-1
  chat acme-1
`

// outline shows the names of spans as a tree.
func outline(r *recorder) string {
	var text strings.Builder
	for line := range strings.Lines(tree(r.spans.GetSpans())) {
		if name, _, ok := strings.Cut(line, " ["); ok && !strings.Contains(line, " = ") {
			text.WriteString(name + "\n")
		}
	}
	return text.String()
}

func TestInstalledOnceRecordsAllAgents(t *testing.T) {
	defer agent.SetInstrumentation()
	r := newRecorder()
	otelagent.Install(r.config())
	_, err := nested(t).Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, nestedSpans, outline(r))

	agent.SetInstrumentation()
	_, err = nested(t).Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Len(t, r.spans.GetSpans(), 6, "nothing is installed any more")
}

func TestContextInstrumentationReplacesGlobal(t *testing.T) {
	defer agent.SetInstrumentation()
	program, own := newRecorder(), newRecorder()
	otelagent.Install(program.config())
	_, err := nested(t).Run(agent.WithInstrumentation(t.Context(), otelagent.New(own.config())), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, nestedSpans, outline(own))
	_, err = nested(t).Run(agent.WithInstrumentation(t.Context()), deps{}, "go")
	require.NoError(t, err)
	require.Empty(t, program.spans.GetSpans())
}

// TestRunIsRecordedOnce: by the program, by the context, and by the agent itself.
func TestRunIsRecordedOnce(t *testing.T) {
	r := newRecorder()
	capability := agent.Adapt(agent.Capability[any]{Name: "otel", Hooks: []agent.Hooks[any]{otelagent.New(r.config())}}, func(d deps) any { return d })
	a := newAgent(t, agent.Config[deps, string]{
		Name: "helper", Model: answers(modeltest.Say(call("1", "look")), modeltest.SayText("done")), Capabilities: []agent.Capability[deps]{capability},
	}, says("look", "x"))
	h := otelagent.New(r.config())
	_, err := a.Run(agent.WithInstrumentation(t.Context(), h, h, otelagent.New(r.config())), deps{}, "go")
	require.NoError(t, err)
	require.Len(t, r.spans.GetSpans(), 4)
}

func TestInstrumentationSeesTheDependencies(t *testing.T) {
	var seen []any
	hooks := agent.Hooks[any]{
		Run: func(ctx context.Context, run *toolset.RunContext[any], next agent.RunFunc) error {
			seen = append(seen, run.Deps)
			_, err := next(ctx)
			return err
		},
		Call: func(ctx context.Context, run *toolset.RunContext[any], args any, next toolset.CallFunc) (toolset.Result, error) {
			seen = append(seen, run.Call.Tool)
			return next(ctx, args)
		},
	}
	_, err := nested(t).Run(agent.WithInstrumentation(t.Context(), hooks), deps{tenant: "blue"}, "go")
	require.NoError(t, err)
	require.Equal(t, []any{deps{tenant: "blue"}, "ask", 1}, seen)
}
