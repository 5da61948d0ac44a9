// SPDX-License-Identifier: Apache-2.0

package subagents_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/subagents"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type task struct {
	Prompt string `json:"prompt" validate:"max=9"`
}

// A task is checked as a call of the agent's tool is: nobody is asked about one that cannot be done, and nothing is done.
func TestTasksAreCheckedLikeCalls(t *testing.T) {
	for _, background := range []bool{false, true} {
		ran, asked := 0, 0
		tool := toolset.Func("writer", "Writes.", func(context.Context, *toolset.RunContext[none], task) (string, error) {
			ran++
			return "written", nil
		}, toolset.Check(func(_ context.Context, _ *toolset.RunContext[none], in task) error {
			if in.Prompt == "bad" {
				return toolset.Failed("not %s", in.Prompt)
			}
			return nil
		}), toolset.Approve(func(_ context.Context, _ *toolset.RunContext[none], in task) (*toolset.Approval, error) {
			asked++
			return &toolset.Approval{Title: "Write " + in.Prompt}, nil
		}))
		var seen []toolset.ApprovalRequest
		a := newAgent(t, []sub{subagents.FromTool(tool)}, modeltest.Say(delegate("1", "writer", "bad", background)), modeltest.Say(delegate("2", "writer", "far too long", background)),
			modeltest.Say(delegate("3", "writer", "good", background)), modeltest.Say(wait("")))
		res, err := a.Run(t.Context(), none{}, "go", agent.WithAsker(allow(&seen)))
		require.NoError(t, err)
		texts := told(res.Messages)
		require.Equal(t, "not bad", texts[0])
		require.Contains(t, texts[1], "The agent writer does not take this task: prompt: must have at most 9 characters, not 12")
		require.Contains(t, texts[len(texts)-1], map[bool]string{false: "No background agents.", true: "# writer-1 (writer)\nwritten"}[background])
		require.Equal(t, 1, ran)
		require.Len(t, seen, 1)
		require.Equal(t, "Write good", seen[0].Approval.Title)
		require.GreaterOrEqual(t, asked, 1)
	}
}

// The same holds where nothing can be in the background.
func TestTasksAreCheckedWithoutBackground(t *testing.T) {
	ran := 0
	tool := toolset.Func("writer", "Writes.", func(context.Context, *toolset.RunContext[none], task) (string, error) {
		ran++
		return "written", nil
	}, toolset.Check(func(_ context.Context, _ *toolset.RunContext[none], in task) error {
		if in.Prompt == "bad" {
			return toolset.Failed("not %s", in.Prompt)
		}
		return nil
	}), toolset.Approve(func(_ context.Context, _ *toolset.RunContext[none], in task) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Write " + in.Prompt}, nil
	}))
	var seen []toolset.ApprovalRequest
	call := func(task string) modeltest.Step {
		return modeltest.Say(model.ToolCall("1", subagents.ToolDelegate, `{"agent":"writer","task":"`+task+`"}`))
	}
	a := agent.Must(agent.New(agent.Config[none, string]{
		Model:        modeltest.Script(call("bad"), call("good"), modeltest.SayText("done")),
		Capabilities: []agent.Capability[none]{subagents.New(subagents.Options[none]{Agents: []sub{subagents.FromTool(tool)}, NoBackground: true})},
	}))
	res, err := a.Run(t.Context(), none{}, "go", agent.WithAsker(allow(&seen)))
	require.NoError(t, err)
	require.Equal(t, []string{"not bad", "written"}, told(res.Messages))
	require.Equal(t, 1, ran)
	require.Len(t, seen, 1)
	require.Equal(t, "Write good", seen[0].Approval.Title)
}

// What an agent in the background was given ends with it, and it has no model of the run around.
func TestContextOfTheBackgroundEndsWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var within context.Context
		var asked error
		tool := toolset.Func("worker", "Works.", func(ctx context.Context, run *toolset.RunContext[none], _ task) (string, error) {
			within = ctx
			_, asked = run.Generate(ctx, &model.Request{Messages: []*model.Message{model.UserText("x")}})
			return "worked", ctx.Err()
		})
		var after error
		m := modeltest.Script(modeltest.Say(delegate("1", "worker", "x", true)), modeltest.Say(wait("")), func(context.Context, *model.Request) (*model.Message, error) {
			after = context.Cause(within)
			return model.Response(model.Text("done")), nil
		})
		res, err := agentOn(t, m, []sub{subagents.FromTool(tool)}).Run(t.Context(), none{}, "go")
		require.NoError(t, err)
		require.Equal(t, "# worker-1 (worker)\nworked", told(res.Messages)[1])
		require.ErrorIs(t, after, context.Canceled, "while the run goes on")
		require.ErrorIs(t, asked, toolset.ErrNobody)
	})
}

// A wait that is broken off has no result.
func TestBrokenOffWaitHasNoResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forever := toolset.Plain[none]("forever", "", func(ctx context.Context, _ none) (string, error) {
			<-ctx.Done()
			return "", context.Cause(ctx)
		})
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(gone) })
		_, err := newAgent(t, []sub{working("one", forever)}, modeltest.Say(delegate("1", "one", "x", true)), modeltest.Say(wait(""))).Run(ctx, none{}, "go")
		require.ErrorIs(t, err, gone)
		var failed *agent.RunError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, []string{"one works in the background. Its handle is one-1: get the result with wait_for_agents."}, told(failed.Messages))
	})
}
