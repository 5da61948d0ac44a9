// SPDX-License-Identifier: Apache-2.0

package spend_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/capability/spend"
	"github.com/ponte-go/ponte/agent/capability/subagents"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
	"github.com/ponte-go/ponte/agent/session"
	native "github.com/ponte-go/ponte/internal/engine"
	"github.com/ponte-go/ponte/toolset"
)

// costs returns a model whose responses use 10 tokens each: first the calls, then text.
func costs(said string, calls ...model.Part) model.Model {
	return model.Func(model.Info{Provider: "p", Name: "known"}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		resp := model.Response(model.Text(said))
		if n := len(req.Messages) / 2; n < len(calls) {
			resp = model.Response(calls[n])
		}
		resp.Usage = model.Usage{InputTokens: 10}
		return resp, nil
	})
}

// used runs an agent in a window, and returns how much of it is used afterwards.
func used(t *testing.T, c agent.Config[user, string], opts ...agent.RunOption) int64 {
	t.Helper()
	o := hourly(new(session.Memory), 10_000, 100)
	c.Capabilities = append([]agent.Capability[user]{spend.New(o)}, c.Capabilities...)
	_, err := agent.Must(agent.New(c)).Run(t.Context(), user{"ada"}, "Hello.", opts...)
	require.NoError(t, err)
	o.Windows[0].Reserve = 10_000 // which does not fit beside what is used
	_, err = spender(1, o).Run(t.Context(), user{"ada"}, "Hello.")
	var spent *spend.Error
	if err == nil { // nothing is used
		return 0
	}
	require.ErrorAs(t, err, &spent)
	return int64(spent.Used)
}

func TestWindowHoldsForTheWholeTree(t *testing.T) {
	same := func(u user) user { return u }
	inner := agent.Must(agent.New(agent.Config[user, string]{Model: costs("inner")}))
	guard := func(m model.Model) agent.Capability[user] {
		return guardrails.New(guardrails.Guard[user]{Name: "g", On: guardrails.Output, Check: guardrails.ByModel[user](guardrails.ModelCheck{Policy: "p", Model: m})})
	}
	verdict := costs(`{"verdict":"pass","reason":""}`)
	failing := model.Func(model.Info{Provider: "p", Name: "known"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		return &model.Message{Kind: model.KindResponse, Finish: model.FinishError, Usage: model.Usage{InputTokens: 10}}, nil
	})
	ask := toolset.Func("ask", "Ask.", func(ctx context.Context, run *toolset.RunContext[user], _ struct{}) (string, error) {
		_, err := run.Meter.Generate(ctx, costs("other"), &model.Request{}, nil)
		if err == nil {
			_, err = run.Generate(ctx, &model.Request{})
		}
		return "asked", err
	})
	for name, c := range map[string]struct {
		config agent.Config[user, string]
		want   int64
	}{
		"a run":       {agent.Config[user, string]{Model: costs("done")}, 10},
		"a sub-agent": {agent.Config[user, string]{Model: costs("done", model.ToolCall("1", "inner", `{"prompt":"go"}`)), Tools: []*toolset.Tool[user]{agent.AsTool("inner", "Inner.", inner, same)}}, 30},
		"a hand-over": {agent.Config[user, string]{Model: costs("done", model.ToolCall("1", "over", `{"prompt":"go"}`)), Alternatives: []agent.Alternative[user, string]{agent.HandOver("over", "Over.", inner, same)}}, 20},
		"in the background": {agent.Config[user, string]{
			Model:        costs("done", model.ToolCall("1", "delegate", `{"agent":"inner","task":"go","background":true}`), model.ToolCall("2", "wait_for_agents", `{}`)),
			Capabilities: []agent.Capability[user]{subagents.New(subagents.Options[user]{Agents: []subagents.Agent[user]{subagents.Of("inner", "Inner.", inner, same)}})},
		}, 40},
		"tools that ask models": {agent.Config[user, string]{Model: costs("done", model.ToolCall("1", "ask", `{}`)), Tools: []*toolset.Tool[user]{ask}}, 40},
		"a guard by a model":    {agent.Config[user, string]{Model: costs("done"), Capabilities: []agent.Capability[user]{guard(verdict)}}, 20},
		"a guard by the run's own model": {agent.Config[user, string]{
			Model: costs(`{"verdict":"pass","reason":""}`), Capabilities: []agent.Capability[user]{guard(nil)},
		}, 20},
		"a rejected fallback": {agent.Config[user, string]{
			Model: modelwrap.Fallback([]model.Model{failing, failing, costs("done")}, modelwrap.FallbackPolicy{Check: modelwrap.Usable}),
		}, 30},
		"a hook that sends twice": {agent.Config[user, string]{Model: costs("done"), Hooks: []agent.Hooks[user]{{
			Request: func(ctx context.Context, _ *toolset.RunContext[user], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
				if _, err := next(ctx, req); err != nil {
					return nil, err
				}
				return next(ctx, req)
			},
		}}}, 20},
		"a hook that answers": {agent.Config[user, string]{Model: costs("done"), Hooks: []agent.Hooks[user]{{
			Request: func(context.Context, *toolset.RunContext[user], *model.Request, agent.RequestFunc) (*model.Message, error) {
				return model.Response(model.Text("hook")), nil
			},
		}}}, 0},
		"a judge": {agent.Config[user, string]{
			Model: costs("done", model.ToolCall("1", "guarded", `{}`)), Asker: judged(t, costs(`{"verdict":"allow","reason":"fine"}`)),
			Tools: []*toolset.Tool[user]{toolset.Func("guarded", "Guarded.", func(context.Context, *toolset.RunContext[user], struct{}) (string, error) { return "ok", nil },
				toolset.Approve(func(context.Context, *toolset.RunContext[user], struct{}) (*toolset.Approval, error) {
					return &toolset.Approval{Reason: "guarded"}, nil
				}))},
		}, 30},
		"a summary": {agent.Config[user, string]{
			Model: costs("done", model.ToolCall("1", "note", `{}`), model.ToolCall("2", "note", `{}`), model.ToolCall("3", "note", `{}`)),
			Tools: []*toolset.Tool[user]{toolset.Func("note", "Note.", func(context.Context, *toolset.RunContext[user], struct{}) (string, error) { return "noted", nil })},
			History: []agent.HistoryProcessor[user]{func(ctx context.Context, run *toolset.RunContext[user], messages []*model.Message) ([]*model.Message, error) {
				if len(messages) == 3 {
					_, _, err := history.Compact(ctx, history.Summary{Model: costs("summary"), Threshold: 1000, KeepSteps: 1}, append(messages[:3:3], model.UserText(strings.Repeat("more ", 9))), "", run.Meter)
					return messages, err
				}
				return messages, nil
			}},
		}, 50},
	} {
		require.Equal(t, c.want, used(t, c.config), name)
		if name != "in the background" {
			require.Equal(t, c.want, used(t, c.config, agent.WithJournal(new(journal.Memory)), agent.WithRunID("r")), "%s, with a journal", name)
		}
	}
}

// judged is an asker with a judge before a person who is never asked.
func judged(t *testing.T, m model.Model) toolset.Asker {
	judge, err := approval.Judge{Model: m, Policy: "All is allowed."}.Layer()
	require.NoError(t, err)
	return approval.Layered(toolset.AskerFuncs{}, judge)
}

func TestWindowInstalledTwiceWorksOnce(t *testing.T) {
	store := new(session.Memory)
	window := func() agent.Capability[user] { return spend.New(hourly(store, 1000, 500)) }
	inner := agent.Must(agent.New(agent.Config[user, string]{Model: costs("inner"), Capabilities: []agent.Capability[user]{window()}}))
	a := agent.Must(agent.New(agent.Config[user, string]{
		Model: costs("done", model.ToolCall("1", "inner", `{"prompt":"go"}`)), Capabilities: []agent.Capability[user]{window()},
		Tools: []*toolset.Tool[user]{agent.AsTool("inner", "Inner.", inner, func(u user) user { return u })},
	}))
	_, err := a.Run(t.Context(), user{"ada"}, "Hello.")
	require.NoError(t, err, "two reservations would not fit")
	_, err = spender(1, hourly(store, 1000, 971)).Run(t.Context(), user{"ada"}, "Hello.")
	require.ErrorContains(t, err, "has used 30 of 1000")
}

func TestAnswersOfUnknownCostCountAsTheirReservation(t *testing.T) {
	for name, m := range map[string]model.Model{
		"of an unpriced fallback": modelwrap.Fallback([]model.Model{
			model.Func(model.Info{Provider: "p", Name: "known"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
				return nil, &model.APIError{Status: 503}
			}),
			model.Func(model.Info{Provider: "q", Name: "unknown"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
				return &model.Message{Kind: model.KindResponse, Parts: []model.Part{model.Text("x")}, Usage: model.Usage{OutputTokens: 1}}, nil
			}),
		}, modelwrap.FallbackPolicy{}),
		"without usage": model.Func(model.Info{Provider: "p", Name: "known"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
			return model.Response(model.Text("x")), nil
		}),
		"that timed out": model.Func(model.Info{Provider: "p", Name: "known"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
			return nil, context.DeadlineExceeded
		}),
	} {
		o := spend.Options[user]{Store: new(session.Memory), Prices: table{}, Windows: []spend.Window[user]{{Name: "daily", Length: 24 * time.Hour, Cost: 5, Reserve: 2}}}
		a, made := agentOf(m, o), 0
		var err error
		for made = 0; made < 50; made++ {
			if _, err = a.Run(t.Context(), user{}, "Hello."); err != nil && strings.Contains(err.Error(), "used up") {
				break
			}
		}
		require.ErrorIs(t, err, spend.ErrSpent, name)
		require.Equal(t, 2, made, name)
	}
}

// elsewhere is a worker that knows nothing of the meter of the run, like one in another process.
type elsewhere struct{ engine.Worker }

func (e elsewhere) Do(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done) {
	own, info := *t, *t.Info
	info.Meter = new(toolset.Meter)
	own.Info = &info
	e.Worker.Do(ctx, &own, l, done)
	t.Count(done)
}

func TestWindowHoldsForWorkers(t *testing.T) {
	o := hourly(new(session.Memory), 100, 10)
	inner := agent.Must(agent.New(agent.Config[user, string]{Model: costs("inner")}))
	a := agent.Must(agent.New(agent.Config[user, string]{
		Model: costs("done", model.ToolCall("1", "inner", `{"prompt":"go"}`)), Capabilities: []agent.Capability[user]{spend.New(o)},
		Tools: []*toolset.Tool[user]{agent.AsTool("inner", "Inner.", inner, func(u user) user { return u })},
	}))
	worker := agent.NewWorker(a, user{"ada"})
	on := agent.WithEngine(func(context.Context, engine.Worker) (engine.Engine, error) { return native.New(elsewhere{worker}), nil })
	for range 3 {
		res, err := a.Run(t.Context(), user{"ada"}, "Hello.", on)
		require.NoError(t, err)
		require.Equal(t, 3, res.Usage.Requests)
	}
	_, err := a.Run(t.Context(), user{"ada"}, "Hello.", on)
	require.ErrorContains(t, err, "used 100 of 100", "a window counts what sub-agents use, wherever they run")
}
