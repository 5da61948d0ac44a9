// SPDX-License-Identifier: Apache-2.0

package subagents_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/subagents"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/toolset"
)

// A turn of a session that was cut off continues its agents in the background, unless one of them was in the middle of a call.
func TestTurnsContinueTheirBackground(t *testing.T) {
	for name, inCall := range map[string]bool{"between calls": false, "in a call": true} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			store := new(session.Memory)
			_, err := store.Create(ctx, session.New{ID: "s"})
			require.NoError(t, err)
			open := func() *transcript.Conversation {
				w, err := session.Open(ctx, store, "s", session.Claim{Holder: "test", Force: true})
				require.NoError(t, err)
				c, err := transcript.Open(ctx, w, transcript.Options{})
				require.NoError(t, err)
				return c
			}
			ready, dug := make(chan struct{}), 0
			newAgent := func(inner, outer model.Model) *agent.Agent[none, string] {
				scout := agent.Must(agent.New(agent.Config[none, string]{Name: "scout", Model: inner, Tools: []*toolset.Tool[none]{
					toolset.Func("dig", "Dig.", func(ctx context.Context, _ *toolset.RunContext[none], _ none) (string, error) {
						if dug++; inCall {
							close(ready)
							<-ctx.Done()
							return "", context.Cause(ctx)
						}
						return "dug", nil
					}),
				}}))
				return agent.Must(agent.New(agent.Config[none, string]{Model: outer, Capabilities: []agent.Capability[none]{
					subagents.New(subagents.Options[none]{Agents: []sub{subagents.Of("scout", "Scouts.", scout, func(n none) none { return n })}}),
				}}))
			}
			turn, err := open().Begin(ctx, model.User("go"))
			require.NoError(t, err)
			inner := modeltest.Func(func(ctx context.Context, req *model.Request) (*model.Message, error) {
				if len(req.Messages) == 1 {
					return model.Response(model.ToolCall("x", "dig", `{}`)), nil
				}
				close(ready)
				<-ctx.Done()
				return nil, context.Cause(ctx)
			})
			_, err = newAgent(inner, dies("scout", ready)).Run(ctx, none{}, "go", turn.Options()...)
			require.ErrorContains(t, err, "the process died")

			c := cutOff(t, store)
			tools, whole := c.Unknown()
			require.Empty(t, tools)
			require.Equal(t, !inCall, whole)
			if inCall {
				return // a host does not go on with it
			}
			c = open()
			turn, err = c.Resume(ctx)
			require.NoError(t, err)
			res, err := newAgent(modeltest.Script(modeltest.SayText("found")), modeltest.Script(
				modeltest.Say(model.ToolCall("2", "wait_for_agents", `{}`)), modeltest.SayText("done"),
			)).Run(ctx, none{}, "go", turn.Options()...)
			require.NoError(t, transcript.End(ctx, turn, res, err))
			texts := told(res.Messages)
			require.Equal(t, "# scout-1 (scout)\nfound", texts[len(texts)-1])
			require.Equal(t, 1, dug)
			require.Equal(t, 3+3, res.Usage.Requests, "one of the scout was cut off")
		})
	}
}

// A turn whose last response was recorded when the process ended says nothing of agents in the background.
func TestBackgroundIsNotTakenForAHandOver(t *testing.T) {
	ctx := t.Context()
	store, turn := begun(t)
	asked, ready := 0, make(chan struct{})
	outer := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		switch asked++; asked {
		case 1:
			return model.Response(model.ToolCall("1", "delegate", `{"agent":"scout","task":"look","background":true}`)), nil
		case 2:
			<-ready
		}
		return model.Response(model.Text("done")), nil
	})
	scout := agent.Must(agent.New(agent.Config[none, string]{Name: "scout", Tools: []*toolset.Tool[none]{
		toolset.Func("dig", "Dig.", func(ctx context.Context, _ *toolset.RunContext[none], _ none) (string, error) {
			close(ready)
			<-ctx.Done()
			return "", errors.New("ended")
		}),
	}, Model: modeltest.Script(modeltest.Say(model.ToolCall("x", "dig", `{}`)))}))
	a := agent.Must(agent.New(agent.Config[none, string]{Model: outer, Capabilities: []agent.Capability[none]{
		subagents.New(subagents.Options[none]{Agents: []sub{subagents.Of("scout", "Scouts.", scout, func(n none) none { return n })}}),
	}}))
	_, err := a.Run(ctx, none{}, "go", turn.Options()...)
	require.NoError(t, err)
	// the turn is not ended: the process dies
	c := cutOff(t, store)
	messages := c.Messages()
	require.Equal(t, "done", messages[len(messages)-1].Text())
}

// begun returns a new session whose first turn has begun.
func begun(t *testing.T) (*session.Memory, *transcript.Turn) {
	t.Helper()
	ctx, store := t.Context(), new(session.Memory)
	_, err := store.Create(ctx, session.New{ID: "s"})
	require.NoError(t, err)
	w, err := session.Open(ctx, store, "s", session.Claim{Holder: "test"})
	require.NoError(t, err)
	c, err := transcript.Open(ctx, w, transcript.Options{})
	require.NoError(t, err)
	turn, err := c.Begin(ctx, model.User("go"))
	require.NoError(t, err)
	return store, turn
}

// cutOff returns the conversation of a process that takes up what another one has left.
func cutOff(t *testing.T, store session.Store) *transcript.Conversation {
	t.Helper()
	c, err := transcript.Follow(t.Context(), store, "s", transcript.Options{})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), store, "s", session.Claim{Holder: "test", Force: true})
	require.NoError(t, err)
	c.Hold(w)
	require.NotEmpty(t, c.Interrupted())
	return c
}

// TestAskedBackgroundGoesOn: an agent in the background that was asked about when the process ended asks again. With a
// decision to allow, the call may have run.
func TestAskedBackgroundGoesOn(t *testing.T) {
	ctx := t.Context()
	store, disk := new(session.Memory), new(session.Memory)
	_, err := store.Create(ctx, session.New{ID: "s"})
	require.NoError(t, err)
	w, err := session.Open(ctx, store, "s", session.Claim{Holder: "test"})
	require.NoError(t, err)
	c, err := transcript.Open(ctx, w, transcript.Options{})
	require.NoError(t, err)
	turn, err := c.Begin(ctx, model.User("go"))
	require.NoError(t, err)
	var decided session.Store // what is there when the call runs
	keep := func(to *session.Memory) {
		var file bytes.Buffer
		require.NoError(t, session.Export(ctx, store, &file))
		_, err := session.Import(ctx, to, &file, session.ImportOptions{})
		require.NoError(t, err)
	}
	dug := 0
	dig := toolset.Func("dig", "Dig.", func(context.Context, *toolset.RunContext[none], none) (string, error) {
		if dug++; decided == nil {
			memory := new(session.Memory)
			keep(memory)
			decided = memory
		}
		return "dug", nil
	}, toolset.Approve(func(context.Context, *toolset.RunContext[none], none) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Dig"}, nil
	}))
	newAgent := func(outer ...modeltest.Step) *agent.Agent[none, string] {
		scout := agent.Must(agent.New(agent.Config[none, string]{
			Name: "scout", Tools: []*toolset.Tool[none]{dig},
			Model: modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
				if len(req.Messages) == 1 {
					return model.Response(model.ToolCall("x", "dig", `{}`)), nil
				}
				return model.Response(model.Text("found")), nil
			}),
		}))
		return agent.Must(agent.New(agent.Config[none, string]{Model: modeltest.Script(outer...), Capabilities: []agent.Capability[none]{
			subagents.New(subagents.Options[none]{Agents: []sub{subagents.Of("scout", "Scouts.", scout, func(n none) none { return n })}}),
		}}))
	}
	wait := modeltest.Say(model.ToolCall("2", "wait_for_agents", `{}`))
	allow := func(before func()) agent.RunOption {
		return agent.WithAsker(toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
			before()
			return toolset.Allow(), nil
		}})
	}
	outer := newAgent(modeltest.Say(model.ToolCall("1", "delegate", `{"agent":"scout","task":"look","background":true}`)), wait, modeltest.SayText("done"))
	_, err = outer.Run(ctx, none{}, "go", append(turn.Options(), allow(func() { keep(disk) }))...)
	require.NoError(t, err)

	_, whole := cutOff(t, decided).Unknown()
	require.False(t, whole, "it may have run")
	_, whole = cutOff(t, disk).Unknown()
	require.True(t, whole)
	w, err = session.Open(ctx, disk, "s", session.Claim{Holder: "test", Force: true})
	require.NoError(t, err)
	c, err = transcript.Open(ctx, w, transcript.Options{})
	require.NoError(t, err)
	turn, err = c.Resume(ctx)
	require.NoError(t, err)
	asked := 0
	res, err := newAgent(modeltest.SayText("done")).Run(ctx, none{}, "go", append(turn.Options(), allow(func() { asked++ }))...)
	require.NoError(t, transcript.End(ctx, turn, res, err))
	texts := told(res.Messages)
	require.Equal(t, "# scout-1 (scout)\nfound", texts[len(texts)-1])
	require.Equal(t, 1, asked)
	require.Equal(t, 2, dug, "once by each process")
}
