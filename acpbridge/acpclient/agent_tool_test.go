// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

type noDeps struct{}

// outer is an agent that calls the tool once.
func outer(t testing.TB, c *acpclient.Client, config agent.Config[noDeps, string]) *agent.Agent[noDeps, string] {
	t.Helper()
	config.Model = modeltest.Script(modeltest.Say(model.ToolCall("1", "review", `{"prompt":"Review it."}`)), modeltest.SayText("reviewed"))
	config.Tools = []*toolset.Tool[noDeps]{acpclient.Tool[noDeps]("review", "Review the code.", acpclient.Agent{
		Name: "reviewer", Client: c, Session: acpclient.SessionConfig{Cwd: "/repo"},
	})}
	a, err := agent.New(config)
	require.NoError(t, err)
	return a
}

// shown is the result of the tool as the model was shown it.
func shownEvents(messages []*model.Message) string { return messages[2].Parts[0].Text }

func reviewing(ctx context.Context, a *turn) (*acp.PromptResponse, error) {
	a.update(ctx, acp.SessionUpdate{Plan: &acp.Plan{Entries: []acp.PlanEntry{{Content: "look"}}}})
	a.call(ctx, "c", "go vet", acp.ToolCallStatusPending, "")
	answer := a.ask(ctx, "c", "go vet")
	a.call(ctx, "c", "go vet", acp.ToolCallStatusInProgress, "")
	a.call(ctx, "c", "go vet", acp.ToolCallStatusCompleted, "fine")
	a.call(ctx, "open", "left open", acp.ToolCallStatusInProgress, "")
	a.update(ctx, acp.SessionUpdate{UsageUpdate: &acp.UsageUpdate{Used: 5, Size: 10, Cost: &acp.Cost{Amount: 0.25, Currency: "USD"}}})
	a.say(ctx, "asked "+a.prompt+" allowed: "+string(answer))
	return endAgentTurn, nil
}

func TestToolNestsWhatTheAgentDoes(t *testing.T) {
	agentSide := &scriptedAgent{turns: []func(context.Context, *turn) (*acp.PromptResponse, error){reviewing}}
	var asked []toolset.ApprovalRequest
	a := outer(t, start(t, agentSide, acpclient.Config{}), agent.Config[noDeps, string]{
		Asker: toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
			asked = append(asked, r)
			return toolset.Allow(), nil
		}},
	})
	var events []string
	plan := false
	s := a.Stream(t.Context(), noDeps{}, "go")
	for e := range s.Events() {
		n, ok := e.Value.(agent.Nested)
		if !ok {
			continue
		}
		require.Equal(t, "1", e.CallID)
		require.Equal(t, "reviewer", n.Agent)
		if c, ok := n.Event.Value.(view.Change); ok {
			plan = plan || c.Entity.Kind == view.Plan && c.Entity.Steps[0].Text == "look"
			continue
		}
		text := ""
		if n.Event.Result != nil {
			text = fmt.Sprintf(" %s%s", n.Event.Result.Outcome, n.Event.Result.Text)
		}
		events = append(events, fmt.Sprintf("%s %s%s", n.Event.Kind, n.Event.CallID, text))
	}
	res, err := s.Result()
	require.NoError(t, err)
	require.Equal(t, "asked Review it. allowed: yes", shownEvents(res.Messages))
	require.True(t, plan)
	require.Subset(t, events, []string{
		"run_start ", "response ", "tool_call call:c", "tool_start call:c", "tool_result call:c fine", "tool_call call:open", "tool_start call:open",
		"tool_result call:open interruptedThe agent ended its turn without the result of this call.", "run_end ",
	})
	require.Len(t, asked, 1)
	require.Equal(t, []string{"1", "s1", "call:c"}, asked[0].Path)
	require.Equal(t, "go vet", asked[0].Approval.Title)
	require.Equal(t, 0.25, res.Usage.Cost)
	require.Equal(t, []acp.SessionID{"s1"}, agentSide.closed)
}

func TestToolWithNobodyToAsk(t *testing.T) {
	for want, asker := range map[string]toolset.Asker{
		"no": nil,
		"": toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
			return toolset.Defer(), nil
		}},
	} {
		c := start(t, &scriptedAgent{turns: []func(context.Context, *turn) (*acp.PromptResponse, error){reviewing}}, acpclient.Config{})
		res, err := outer(t, c, agent.Config[noDeps, string]{Asker: asker}).Run(t.Context(), noDeps{}, "go")
		require.NoError(t, err)
		require.Equal(t, "asked Review it. allowed: "+want, shownEvents(res.Messages))
		require.Empty(t, c.Problems())
	}
}

func TestToolCountsTokens(t *testing.T) {
	s := &scriptedAgent{turns: []func(context.Context, *turn) (*acp.PromptResponse, error){says("ok")}}
	c := start(t, s, acpclient.Config{})
	res, err := outer(t, c, agent.Config[noDeps, string]{}).Run(t.Context(), noDeps{}, "go")
	require.NoError(t, err)
	require.Equal(t, "ok", shownEvents(res.Messages))
	require.Equal(t, 2, res.Usage.Requests, "those of the agent are not known")
}

func TestToolTellsTheModelOfFailures(t *testing.T) {
	for name, c := range map[string]struct {
		turn func(context.Context, *turn) (*acp.PromptResponse, error)
		want string
	}{
		"error": {func(context.Context, *turn) (*acp.PromptResponse, error) {
			return nil, acp.Errorf(acp.CodeInternal, "overloaded")
		}, "review failed: acpclient: session/prompt: overloaded (-32603)"},
		"refusal": {func(context.Context, *turn) (*acp.PromptResponse, error) {
			return &acp.PromptResponse{StopReason: acp.StopReasonRefusal}, nil
		}, "review refused to do this."},
		"limit": {func(ctx context.Context, a *turn) (*acp.PromptResponse, error) {
			a.say(ctx, "half")
			return &acp.PromptResponse{StopReason: acp.StopReasonMaxTokens}, nil
		}, "half\n\n[The agent stopped early: max_tokens.]"},
		"nothing": {func(context.Context, *turn) (*acp.PromptResponse, error) { return endAgentTurn, nil }, "The agent ended without a message."},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scriptedAgent{turns: []func(context.Context, *turn) (*acp.PromptResponse, error){c.turn}}
			res, err := outer(t, start(t, s, acpclient.Config{}), agent.Config[noDeps, string]{}).Run(t.Context(), noDeps{}, "go")
			require.NoError(t, err)
			require.Equal(t, c.want, shownEvents(res.Messages))
		})
	}
	a, err := agent.New(agent.Config[noDeps, string]{
		Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "review", `{"prompt":"x"}`)), modeltest.SayText("no")),
		Tools: []*toolset.Tool[noDeps]{acpclient.Tool[noDeps]("review", "", acpclient.Agent{Command: acpclient.Command{Path: "no-such-agent-here"}})},
	})
	require.NoError(t, err)
	res, err := a.Run(t.Context(), noDeps{}, "go")
	require.NoError(t, err)
	require.Contains(t, shownEvents(res.Messages), `agent "no-such-agent-here"`)
}

// free knows that every model costs nothing.
type free struct{}

func (free) Price(string, string, time.Time) (model.Price, bool) { return model.Price{}, true }

func TestCostLimitEndsTheAgent(t *testing.T) {
	cancelled := make(chan struct{})
	s := &scriptedAgent{turns: []func(context.Context, *turn) (*acp.PromptResponse, error){func(ctx context.Context, a *turn) (*acp.PromptResponse, error) {
		a.update(ctx, acp.SessionUpdate{UsageUpdate: &acp.UsageUpdate{Cost: &acp.Cost{Amount: 2, Currency: "USD"}}})
		<-ctx.Done()
		close(cancelled)
		return &acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
	}}}
	_, err := outer(t, start(t, s, acpclient.Config{}), agent.Config[noDeps, string]{Prices: free{}, Limits: agent.Limits{Cost: 1}}).Run(t.Context(), noDeps{}, "go")
	var limit *agent.LimitError
	require.ErrorAs(t, err, &limit)
	require.Equal(t, toolset.LimitCost, limit.Limit)
	require.EqualValues(t, 2, limit.Value)
	<-cancelled
}

func TestEndOfTheRunEndsTheAgent(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why, ended := errors.New("enough"), make(chan struct{})
	s := &scriptedAgent{turns: []func(context.Context, *turn) (*acp.PromptResponse, error){func(ctx context.Context, _ *turn) (*acp.PromptResponse, error) {
		cancel(why)
		<-ctx.Done()
		close(ended)
		return endAgentTurn, nil
	}}}
	_, err := outer(t, start(t, s, acpclient.Config{}), agent.Config[noDeps, string]{}).Run(ctx, noDeps{}, "go")
	require.ErrorIs(t, err, why)
	<-ended
}

// bare does by hand what the tool does.
func bare(t testing.TB, c *acpclient.Client) {
	s, err := c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: "/repo", Permission: acpclient.AllowAll})
	require.NoError(t, err)
	turn, err := s.Say(t.Context(), "Review it.")
	require.NoError(t, err)
	_ = turn.Text()
	require.NoError(t, s.Close(t.Context()))
}

func TestToolSendsWhatABareClientSends(t *testing.T) {
	var tool, hand wire
	turns := []func(context.Context, *turn) (*acp.PromptResponse, error){reviewing}
	allow := toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) { return toolset.Allow(), nil }}
	a := outer(t, start(t, &scriptedAgent{turns: turns}, acpclient.Config{Conn: tool.options()}), agent.Config[noDeps, string]{Asker: allow})
	_, err := a.Run(t.Context(), noDeps{}, "go")
	require.NoError(t, err)
	bare(t, start(t, &scriptedAgent{turns: turns}, acpclient.Config{Conn: hand.options()}))
	require.Equal(t, hand.String(), tool.String())
	require.Contains(t, tool.String(), `"optionId":"yes"`)
}

// What a turn of 200 chunks allocates beyond what a bare client does is a handful for each look at it.
func TestToolAllocatesLittle(t *testing.T) {
	const chunks = 200
	many := func(ctx context.Context, a *turn) (*acp.PromptResponse, error) {
		for range chunks {
			a.say(ctx, "a few words ")
		}
		return endAgentTurn, nil
	}
	var turns []func(context.Context, *turn) (*acp.PromptResponse, error)
	for range 100 {
		turns = append(turns, many)
	}
	c := start(t, &scriptedAgent{turns: turns}, acpclient.Config{})
	run := func(tool *toolset.Tool[noDeps]) func() {
		return func() {
			a, err := agent.New(agent.Config[noDeps, string]{
				Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "review", `{"prompt":"Review it."}`)), modeltest.SayText("reviewed")),
				Tools: []*toolset.Tool[noDeps]{tool},
			})
			require.NoError(t, err)
			_, err = a.Run(t.Context(), noDeps{}, "go")
			require.NoError(t, err)
		}
	}
	tool := acpclient.Tool[noDeps]("review", "", acpclient.Agent{Client: c, Session: acpclient.SessionConfig{Cwd: "/repo"}})
	nothing := toolset.Func("review", "", func(context.Context, *toolset.RunContext[noDeps], struct {
		Prompt string `json:"prompt"`
	}) (string, error) {
		return "x", nil
	})
	byHand := testing.AllocsPerRun(20, func() { bare(t, c) }) + testing.AllocsPerRun(20, run(nothing))
	byTool := testing.AllocsPerRun(20, run(tool))
	t.Logf("%.0f allocations by hand, %.0f by the tool", byHand, byTool)
	require.LessOrEqual(t, byTool-byHand, 100+12.0*chunks)
}

// An agent says what its session has cost so far, not what was added.
func TestToolCountsCostOnce(t *testing.T) {
	next := make(chan struct{})
	s := &scriptedAgent{turns: []func(context.Context, *turn) (*acp.PromptResponse, error){func(ctx context.Context, a *turn) (*acp.PromptResponse, error) {
		for _, cost := range []float64{0.25, 0.5, 0.5, 0.4} {
			a.update(ctx, acp.SessionUpdate{UsageUpdate: &acp.UsageUpdate{Cost: &acp.Cost{Amount: cost, Currency: "USD"}}})
			<-next
		}
		a.update(ctx, acp.SessionUpdate{UsageUpdate: &acp.UsageUpdate{Cost: &acp.Cost{Amount: 100, Currency: "EUR"}}})
		return endAgentTurn, nil
	}}}
	run := outer(t, start(t, s, acpclient.Config{}), agent.Config[noDeps, string]{}).Stream(t.Context(), noDeps{}, "go")
	seen := 0
	for e := range run.Events() {
		n, ok := e.Value.(agent.Nested)
		if !ok {
			continue
		}
		if c, ok := n.Event.Value.(view.Change); ok && c.Entity.Usage != nil && seen < 4 {
			seen++
			next <- struct{}{}
		}
	}
	res, err := run.Result()
	require.NoError(t, err)
	require.Equal(t, 0.5, res.Usage.Cost)
}
