// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// pairs is a tree of agents. Each has two others as tools, left and right, which it asks at once. Those of the last level call a tool in
// every step. A request costs 1 and takes a second.
type pairs struct {
	levels int
	// steps is how many steps the agents of the last level take; 0 is no end.
	steps int
	// late is the tool whose agents begin an hour later.
	late string

	mu   sync.Mutex
	made toolset.Usage
}

var stepUsage = model.Usage{InputTokens: 10, OutputTokens: 5}

func (p *pairs) count(u toolset.Usage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made.Requests += u.Requests
	p.made.ToolCalls += u.ToolCalls
	p.made.Usage.Add(u.Usage)
	p.made.Cost += u.Cost
}

func (p *pairs) agent(t testing.TB, level int, limits agent.Limits) *agent.Agent[none, string] {
	c := config{Name: fmt.Sprint("level ", level), Limits: limits, Prices: model.Prices{"p/*": {Request: 1}}}
	m := model.Func(model.Info{Provider: "p", Name: "m"}, func(ctx context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		p.count(toolset.Usage{Requests: 1, Usage: stepUsage, Cost: 1})
		steps := len(req.Messages) / 2
		resp := model.Response(model.Text("done"))
		switch {
		case level == p.levels && (p.steps == 0 || steps < p.steps):
			resp = model.Response(model.ToolCall("w", "work", "{}"))
		case level < p.levels && steps == 0:
			resp = model.Response(model.ToolCall("l", "left", `{"prompt":"go"}`), model.ToolCall("r", "right", `{"prompt":"go"}`))
		}
		resp.Usage = stepUsage
		return resp, nil
	})
	if level == p.levels {
		return newAgent(t, c, m, toolset.Plain[none]("work", "", func(context.Context, none) (string, error) {
			p.count(toolset.Usage{ToolCalls: 1})
			return "worked", nil
		}))
	}
	inner := p.agent(t, level+1, agent.Limits{Requests: agent.Unlimited})
	ask := func(name string) *toolset.Tool[none] {
		return agent.AsTool(name, "", inner, func(n none) none {
			if name == p.late {
				time.Sleep(time.Hour)
			}
			return n
		})
	}
	return newAgent(t, c, m, ask("left"), ask("right"))
}

func (p *pairs) run(t testing.TB, j journal.Journal, limits agent.Limits, opts ...agent.RunOption) (*agent.Result[string], error) {
	if limits.Requests == 0 {
		limits.Requests = agent.Unlimited
	}
	return p.agent(t, 1, limits).Run(t.Context(), none{}, "go", append(opts, agent.WithJournal(j), agent.WithRunID("r"))...)
}

// known is a journal that knows its runs.
type known struct {
	journal.Journal
	mu   sync.Mutex
	runs []string
}

func (k *known) Open(ctx context.Context, run string) (journal.Log, error) {
	k.mu.Lock()
	k.runs = append(k.runs, run)
	k.mu.Unlock()
	return k.Journal.Open(ctx, run)
}

// used sums up all records of the runs, each once.
func (k *known) used(t testing.TB) (u toolset.Usage) {
	seen := map[string]bool{}
	for _, run := range k.runs {
		if seen[run] {
			continue
		}
		seen[run] = true
		for _, line := range raw(t, k.Journal, run) {
			var r struct {
				Op, Tool string
				Response model.Message
			}
			require.NoError(t, json.Unmarshal([]byte(line), &r))
			switch {
			case r.Op == "model":
				u.Requests++
				u.Usage.Add(r.Response.Usage)
				u.Cost++
			case r.Tool == "work":
				u.ToolCalls++
			}
		}
	}
	return u
}

// everyKill returns how many records there are between two kills, because a race detector takes its time.
func everyKill(levels int) int {
	n := 2*levels - 3
	if raceEnabled {
		n *= 3
	}
	return n
}

// TestResumedRunsKeepOuterLimits kills runs inside runs at every record. When they resume side by side, one of them late, they keep to
// the limits of the outer run: what all of them have recorded counts before any of them goes on.
func TestResumedRunsKeepOuterLimits(t *testing.T) {
	for _, levels := range []int{2, 3} {
		leaves := 1 << (levels - 1)
		bound := 4 * leaves
		for name, c := range map[string]struct {
			limits agent.Limits
			// used is what is limited, inFlight by how much a step of all leaves may exceed it.
			used            func(u toolset.Usage) float64
			bound, inFlight int
		}{
			"requests":   {agent.Limits{Requests: bound}, func(u toolset.Usage) float64 { return float64(u.Requests) }, bound, 0},
			"tokens":     {agent.Limits{TotalTokens: int64(15 * bound)}, func(u toolset.Usage) float64 { return float64(u.TotalTokens()) }, 15 * bound, 15 * leaves},
			"tool calls": {agent.Limits{ToolCalls: bound}, func(u toolset.Usage) float64 { return float64(u.ToolCalls) }, bound, leaves},
			"cost":       {agent.Limits{Cost: float64(bound)}, func(u toolset.Usage) float64 { return u.Cost }, bound, leaves},
		} {
			for _, late := range []string{"left", "right"} {
				t.Run(fmt.Sprint(levels, " levels, ", name, ", ", late, " late"), func(t *testing.T) {
					resumed := 0
					for kill := 1; ; kill += everyKill(levels) {
						over := false
						synctest.Test(t, func(t *testing.T) {
							k := &known{Journal: new(journal.Memory)}
							first := &pairs{levels: levels}
							_, err := first.run(t, &mortal{Journal: k, left: kill}, c.limits)
							if over = !errors.Is(err, errKilled); over {
								return
							}
							recorded := k.used(t)
							second := &pairs{levels: levels, late: late}
							_, err = second.run(t, k, c.limits)
							var limit *agent.LimitError
							require.ErrorAs(t, err, &limit, "kill %d", kill)
							require.EqualValues(t, c.bound, limit.Bound)
							total := c.used(recorded) + c.used(second.made)
							require.LessOrEqual(t, total, float64(c.bound+c.inFlight), "kill %d: recorded %+v, then made %+v", kill, recorded, second.made)
							// The leaf that is refused ends the others, one of which may have counted a request that it has not made.
							require.GreaterOrEqual(t, total, float64(c.bound-max(c.inFlight, leaves)), "kill %d: recorded %+v, then made %+v", kill, recorded, second.made)
							resumed++
						})
						if over {
							break
						}
					}
					require.GreaterOrEqual(t, resumed, 2)
				})
			}
		}
	}
}

// TestLimitsThatARunKeepsNeverEndItsRepetition resumes runs, killed at every record, with limits that they reach exactly. What was counted
// ahead is not counted again: usage and output are those of a run that was never killed, on the caller's meter as well.
func TestLimitsThatARunKeepsNeverEndItsRepetition(t *testing.T) {
	for _, levels := range []int{2, 3} {
		t.Run(fmt.Sprint(levels, " levels"), func(t *testing.T) {
			var want *agent.Result[string]
			synctest.Test(t, func(t *testing.T) {
				whole := &pairs{levels: levels, steps: 2}
				var err error
				want, err = whole.run(t, new(journal.Memory), agent.Limits{})
				require.NoError(t, err)
				require.Equal(t, whole.made.Requests, want.Usage.Requests)
				require.Equal(t, whole.made.Usage, want.Usage.Usage)
				require.InDelta(t, whole.made.Cost, want.Usage.Cost, 0)
			})
			limits := agent.Limits{
				Requests: want.Usage.Requests, ToolCalls: want.Usage.ToolCalls, InputTokens: want.Usage.InputTokens, OutputTokens: want.Usage.OutputTokens,
				TotalTokens: want.Usage.TotalTokens(), Cost: want.Usage.Cost,
			}
			for kill := 1; ; kill += everyKill(levels) {
				over := false
				synctest.Test(t, func(t *testing.T) {
					k := &known{Journal: new(journal.Memory)}
					_, err := (&pairs{levels: levels, steps: 2}).run(t, &mortal{Journal: k, left: kill, written: kill%2 == 0}, limits)
					if over = err == nil; over {
						return
					}
					require.ErrorIs(t, err, errKilled)
					recorded := k.used(t)
					late := []string{"left", "right"}[kill/2%2]
					second := &pairs{levels: levels, steps: 2, late: late}
					meter := toolset.NewMeter(toolset.Limits{})
					res, err := second.run(t, k, limits, agent.WithMeter(meter))
					require.NoError(t, err, "kill %d, %s late", kill, late)
					require.Equal(t, want.Usage, res.Usage, "kill %d, %s late", kill, late)
					require.Equal(t, want.Usage, meter.Usage(), "kill %d, %s late", kill, late)
					require.Equal(t, want.Usage.Requests, recorded.Requests+second.made.Requests)
					// Once more, with nothing to do: a run that has ended is not limited any more.
					third := &pairs{levels: levels, steps: 2}
					res, err = third.run(t, k, limits, agent.WithMeter(toolset.NewMeter(toolset.Limits{Requests: 1})))
					require.NoError(t, err)
					require.Equal(t, want.Usage, res.Usage)
					require.Zero(t, third.made)
				})
				if over {
					break
				}
			}
		})
	}
}

// TestRunsInsideACallThatAreNotResumedAreCounted: what they had recorded has been asked for, and
// belongs to the call when it ends, also in a process that repeats the run.
func TestRunsInsideACallThatAreNotResumedAreCounted(t *testing.T) {
	for name, c := range map[string]struct {
		// second is what the call does in the second process.
		second func(ctx context.Context, run *runContext, inner *agent.Agent[none, string]) error
		// made is how many requests the second process makes of the inner agent. left is how many the first one made that no
		// run continues.
		made, left int
	}{
		"refused":    {nil, 0, 2},
		"not run":    {func(context.Context, *runContext, *agent.Agent[none, string]) error { return nil }, 0, 2},
		"no journal": {again(agent.WithJournal(nil)), 3, 2},
		"another id": {again(agent.WithRunID("other")), 3, 2},
		"resumed":    {again(), 1, 0},
		"as the third": {func(ctx context.Context, run *runContext, inner *agent.Agent[none, string]) error {
			agent.Within(run)
			agent.Within(run)
			_, err := inner.Run(ctx, none{}, "go", agent.Within(run))
			return err
		}, 3, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var j journal.Memory
			made := 0
			var used, atEnd toolset.Usage
			process := func(killed bool, call func(ctx context.Context, run *runContext, inner *agent.Agent[none, string]) error) (*agent.Result[string], error) {
				made = 0
				inner := newAgent(t, config{}, model.Func(model.Info{}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
					if len(req.Messages) == 5 && killed {
						return nil, errKilled
					}
					made++
					resp := model.Response(model.ToolCall("w", "work", "{}"))
					if len(req.Messages) == 5 {
						resp = model.Response(model.Text("done"))
					}
					resp.Usage = stepUsage
					return resp, nil
				}), toolset.Plain[none]("work", "", func(context.Context, none) (string, error) { return "worked", nil }))
				tool := toolset.Func("call", "", func(ctx context.Context, run *runContext, _ none) (string, error) {
					err := call(ctx, run, inner)
					used = run.Meter.Own()
					return "called", err
				})
				script := modeltest.Script(calls("call"), modeltest.SayText("done"))
				if !killed {
					script = modeltest.Script(modeltest.SayText("done"))
				}
				var hooks []agent.Hooks[none]
				if call == nil {
					hooks = []agent.Hooks[none]{{Call: func(context.Context, *runContext, any, toolset.CallFunc) (toolset.Result, error) {
						return toolset.Result{}, toolset.Failed("not any more")
					}}}
				}
				a := newAgent(t, config{Hooks: hooks}, script, tool)
				meter := toolset.NewMeter(toolset.Limits{})
				res, err := a.Run(t.Context(), none{}, "go", agent.WithJournal(&j), agent.WithRunID("r"), agent.WithMeter(meter))
				atEnd = meter.Usage()
				return res, err
			}
			_, err := process(true, again())
			require.ErrorIs(t, err, errKilled)
			require.Equal(t, 2, made)
			res, err := process(false, c.second)
			require.NoError(t, err)
			require.Equal(t, c.made, made)
			inner := 0
			if c.made > 0 {
				inner = 3
				require.Equal(t, inner, used.Requests, "of the call")
			}
			require.Equal(t, inner+c.left+2, res.Usage.Requests)
			require.Equal(t, res.Usage, atEnd)
			again, err := process(false, c.second)
			require.NoError(t, err)
			require.Zero(t, made)
			require.Equal(t, res.Usage, again.Usage)
			require.Equal(t, res.Usage, atEnd)
		})
	}
}

func again(opts ...agent.RunOption) func(ctx context.Context, run *runContext, inner *agent.Agent[none, string]) error {
	return func(ctx context.Context, run *runContext, inner *agent.Agent[none, string]) error {
		_, err := inner.Run(ctx, none{}, "go", append([]agent.RunOption{agent.Within(run)}, opts...)...)
		return err
	}
}
