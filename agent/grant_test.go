// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// crowd is an agent that asks several inner agents at once, and then answers. Each inner agent makes as many requests as it can, at 10
// tokens and a cost of 0.00001 each. It returns how many requests it has sent.
func crowd(t *testing.T, c cfg, inner int) (a *agent.Agent[deps, string], requests *atomic.Int64) {
	requests = new(atomic.Int64)
	busy := model.Func(model.Info{Provider: "p", Name: "m"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		requests.Add(1)
		time.Sleep(time.Second) // all take turns
		resp := model.Response(call("i", "whoami"))
		resp.Usage = model.Usage{InputTokens: 6, OutputTokens: 4}
		return resp, nil
	})
	var calls []model.Part
	for i := range inner {
		calls = append(calls, model.ToolCall(fmt.Sprint(i), "ask", `{"prompt":"go"}`))
	}
	c.Model = modeltest.Script(modeltest.Say(calls...), modeltest.SayText("done"))
	expert := expert(t, busy, agent.Config[innerDeps, string]{Limits: agent.Limits{Requests: agent.Unlimited}, ToolRetries: new(1000)})
	return newAgent(t, c, agent.AsTool("ask", "", expert, narrow)), requests
}

// elsewhere runs an agent with all tasks executed by a worker that has nothing but their JSON.
func elsewhere(t *testing.T, a *agent.Agent[deps, string]) (*agent.Result[string], error) {
	t.Helper()
	w := agent.NewWorker(a, deps{})
	res, err := a.Run(t.Context(), deps{}, "go", onJSON(w))
	require.NoError(t, w.Close(t.Context()))
	return res, err
}

// TestWorkElsewhereGetsAShareOfTheLimits: calls that run elsewhere at the same time do not know of one another. Together they use no
// more than the limits of the run around them allow, and the outer model is told which share was too small.
func TestWorkElsewhereGetsAShareOfTheLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limits   agent.Limits
		parallel int
		sent     int64 // by the inner agents
		ends     toolset.LimitName
	}{
		"requests":          {agent.Limits{Requests: 12}, 0, 11, "requests"},
		"fewer than calls":  {agent.Limits{Requests: 3}, 0, 2, "requests"},
		"two at a time":     {agent.Limits{Requests: 12}, 2, 11, "requests"},
		"one after another": {agent.Limits{Requests: 12}, 1, 11, "requests"},
		"tool calls":        {agent.Limits{ToolCalls: 9, Requests: agent.Unlimited}, 0, 9 + 3, ""},
		"input tokens":      {agent.Limits{InputTokens: 72}, 0, 12, "input tokens"},
		"output tokens":     {agent.Limits{OutputTokens: 48}, 0, 12, "output tokens"},
		"total tokens":      {agent.Limits{TotalTokens: 120}, 0, 12, "total tokens"},
		"cost":              {agent.Limits{Cost: 120e-6}, 0, 12, "cost"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, requests := crowd(t, cfg{Limits: c.limits, MaxParallelCalls: c.parallel, Prices: flat(1)}, 3)
				res, err := elsewhere(t, a)
				require.Equal(t, c.sent, requests.Load())
				if c.ends != "" { // nothing is left for the outer model
					var limit *agent.LimitError
					require.ErrorAs(t, err, &limit)
					require.Equal(t, c.ends, limit.Limit)
					require.EqualValues(t, c.sent+1, asRunError(t, err).Usage.Requests)
					return
				}
				require.NoError(t, err)
				require.EqualValues(t, c.sent+2, res.Usage.Requests)
				for _, p := range res.Messages[2].Parts {
					require.Equal(t, model.OutcomeFailed, p.Outcome)
					require.Equal(t, "ask failed: its share of the limit on tool calls is used up. Calls of one response that run at the same time share what is left.", p.Text)
				}
			})
		})
	}
}

// TestSharesAreGivenBack: what a call has not used is there for those that begin after it has ended.
func TestSharesAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := func(times int) *agent.Agent[innerDeps, string] {
			steps := make([]modeltest.Step, 0, times)
			for range times - 1 {
				steps = append(steps, modeltest.Say(call("i", "whoami")))
			}
			return expert(t, modeltest.Script(append(steps, modeltest.SayText("done"))...), agent.Config[innerDeps, string]{})
		}
		ask := func(name string) model.Part { return model.ToolCall(name, name, `{"prompt":"go"}`) }
		a := newAgent(t, cfg{
			Model:  modeltest.Script(modeltest.Say(ask("short"), ask("brief"), ask("long")), modeltest.Say(ask("longer"), ask("last")), modeltest.SayText("done")),
			Limits: agent.Limits{Requests: 20}, MaxParallelCalls: 2,
		}, agent.AsTool("short", "", inner(1), narrow), agent.AsTool("brief", "", inner(1), narrow), agent.AsTool("long", "", inner(7), narrow),
			agent.AsTool("longer", "", inner(4), narrow), agent.AsTool("last", "", inner(3), narrow))
		res, err := elsewhere(t, a)
		require.NoError(t, err)
		require.NotContains(t, dump(res.Messages), "failed")
		require.Equal(t, 19, res.Usage.Requests)
	})
}

// TestSharesOfRandomCrowdsHoldTheLimits: however many calls there are, and however they are nested, requests are never more than the
// limit, and tokens and cost exceed theirs by no more than the requests under way.
func TestSharesOfRandomCrowdsHoldTheLimits(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 24))
			inner, at := 1+rnd.IntN(6), 1+rnd.IntN(3)
			limits := agent.Limits{Requests: 1 + rnd.IntN(40)}
			switch rnd.IntN(4) {
			case 0:
				limits.TotalTokens = int64(1 + rnd.IntN(400))
			case 1:
				limits.OutputTokens = int64(1 + rnd.IntN(160))
			case 2:
				limits.Cost = float64(1+rnd.IntN(400)) / 1e6
			}
			a, requests := crowd(t, cfg{Limits: limits, MaxParallelCalls: at, Prices: flat(1)}, inner)
			_, err := elsewhere(t, a)
			usage := asRunError(t, err).Usage
			require.EqualValues(t, requests.Load()+1, usage.Requests)
			require.LessOrEqual(t, usage.Requests, limits.Requests)
			if l := limits.TotalTokens; l > 0 {
				require.Less(t, usage.TotalTokens(), l+int64(at)*10+1)
			}
			if l := limits.Cost; l > 0 {
				require.Less(t, usage.Cost, l+float64(at)*10e-6+1e-9)
			}
		})
	}
}

// TestSharesAreGivenBackHoweverACallEnds: a call that panics, fails, is denied, times out or wants another try gives back its share, and
// what it has used stays counted.
func TestSharesAreGivenBackHoweverACallEnds(t *testing.T) {
	for name, end := range map[string]func(ctx context.Context) error{
		"it panics":     func(context.Context) error { panic("ouch") },
		"it fails":      func(context.Context) error { return toolset.Failed("no") },
		"an error":      func(context.Context) error { return errBoom },
		"it is denied":  func(context.Context) error { return toolset.Denied("no") },
		"it tries anew": func(context.Context) error { return toolset.Retry("again") },
		"it times out":  func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
					resp := model.Response(model.Text("x"))
					resp.Usage = model.Usage{InputTokens: 6, OutputTokens: 4}
					return resp, nil
				})
				short := func(i int) *toolset.Tool[deps] {
					return tool(fmt.Sprint("short", i), func(ctx context.Context, run *toolset.RunContext[deps]) (string, error) {
						_, err := run.Meter.Generate(ctx, one, &model.Request{}, nil)
						require.NoError(t, err)
						return "", end(ctx)
					})
				}
				long := tool("long", func(ctx context.Context, run *toolset.RunContext[deps]) (string, error) {
					for range 12 {
						if _, err := run.Meter.Generate(ctx, one, &model.Request{}, nil); err != nil {
							return "", err
						}
					}
					return "done", nil
				})
				limits := agent.Limits{Requests: 18, TotalTokens: 1000, Cost: 1, ToolCalls: 9}
				a := newAgent(t, cfg{
					Model:  modeltest.Script(modeltest.Say(call("1", "short1"), call("2", "short2"), call("3", "short3")), modeltest.Say(call("4", "long")), modeltest.SayText("end")),
					Limits: limits, Prices: flat(1), ToolTimeout: time.Minute, ToolRetries: new(3),
					ToolError: func(_ context.Context, _ *toolset.RunContext[deps], err error) error {
						return toolset.Failed("%v", err)
					},
				}, short(1), short(2), short(3), long)
				res, err := elsewhere(t, a)
				require.NoError(t, err)
				require.Equal(t, "end", res.Output)
				require.Equal(t, 3+3+12, res.Usage.Requests, "all that the limit allows")
				require.Contains(t, dump(res.Messages), "long: done")
			})
		})
	}
}

// TestSharesOfAMeterAreGivenBackWhenARunEnds: a meter that outlives the run has its whole room again, also if the run was cancelled or one
// of its calls has ended it while others were under way.
func TestSharesOfAMeterAreGivenBackWhenARunEnds(t *testing.T) {
	for _, how := range []string{"cancelled", "an error", "a panic", "left"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shared := toolset.NewMeter(agent.Limits{Requests: 40, TotalTokens: 1000})
				waits := tool("waits", func(ctx context.Context, run *toolset.RunContext[deps]) (string, error) {
					_, err := run.Meter.Generate(ctx, modeltest.Script(modeltest.SayText("x")), &model.Request{}, nil)
					require.NoError(t, err)
					<-ctx.Done()
					return "", context.Cause(ctx)
				})
				ends := tool("ends", func(ctx context.Context, _ *toolset.RunContext[deps]) (string, error) {
					time.Sleep(time.Second)
					switch how {
					case "an error":
						return "", errBoom
					case "a panic":
						panic("ouch")
					}
					<-ctx.Done()
					return "", context.Cause(ctx)
				})
				a := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(call("1", "waits"), call("2", "ends"), call("3", "waits")))}, waits, ends)
				w := agent.NewWorker(a, deps{}, agent.WithMeter(shared))
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if how == "cancelled" {
					go func() {
						time.Sleep(time.Second)
						cancel(errCancelled)
					}()
				}
				s := a.Stream(ctx, deps{}, "go", agent.WithMeter(shared), onJSON(w))
				for e := range s.Events() {
					if how == "left" && e.Kind == agent.EventToolStart {
						break
					}
				}
				_, err := s.Result()
				require.Error(t, err)
				require.NoError(t, w.Close(context.Background()))
				used, state := shared.Usage(), shared.Grant(1).State()
				require.Equal(t, agent.Limits{Requests: 40, TotalTokens: 1000}, state[0].Limits, "one task alone gets all of the room")
				require.Equal(t, used, state[0].Used)
				require.LessOrEqual(t, used.Requests, 3)
			})
		})
	}
}
