// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// ways are how a hook can call next: next returns an error or none, and what it gives is kept or not.
var ways = map[string]func(next func() error) error{
	"once":  func(next func() error) error { return next() },
	"never": func(func() error) error { return nil },
	"twice": func(next func() error) error { return errors.Join(next(), next()) },
	"at the same time": func(next func() error) error {
		var all sync.WaitGroup
		errs := make([]error, 3)
		for i := range errs {
			all.Go(func() { errs[i] = next() })
		}
		all.Wait()
		return errors.Join(errs...)
	},
	"swallowing errors": func(next func() error) error {
		_, _ = next(), next()
		return nil
	},
}

// room is a budget of a number of requests. Each must be settled once.
type room struct {
	bound, reserved, settled, unsettled atomic.Int64
}

func (*room) Key() any { return "room" }

func (r *room) Reserve(context.Context, model.Info, *model.Request) (func(toolset.Spent) bool, error) {
	if r.reserved.Add(1) > r.bound.Load() {
		r.reserved.Add(-1)
		return nil, errors.New("the window is used up")
	}
	r.unsettled.Add(1)
	return func(toolset.Spent) bool {
		r.settled.Add(1)
		r.unsettled.Add(-1)
		return true
	}, nil
}

// TestHooksCallNextAsTheyLike: however an agent's hook calls next around a request, what is sent passes
// the doors, the limit and the window, counts once, and is not sent again by a replay.
func TestHooksCallNextAsTheyLike(t *testing.T) {
	for way, calls := range ways {
		for i := range 8 {
			bound, streamed := []int64{0, 1, 2, 100}[i/2], i%2 > 0
			if streamed && way == "at the same time" {
				continue // which is not allowed
			}
			t.Run(fmt.Sprintf("%s, %d, %v", way, bound, streamed), func(t *testing.T) {
				var sent, passed atomic.Int64
				var w room
				w.bound.Store(bound)
				m := model.Func(model.Info{Provider: "p", Name: "cheap"}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
					sent.Add(1)
					resp := model.Response(model.Text("ok"))
					if len(req.Messages) == 1 {
						resp = model.Response(call("1", "add"))
					}
					resp.Usage = model.Usage{OutputTokens: 10}
					return resp, nil
				})
				hook := agent.Hooks[deps]{Request: func(ctx context.Context, _ *toolset.RunContext[deps], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
					var mu sync.Mutex
					got := model.Response(model.Text("from the hook"))
					err := calls(func() error {
						resp, err := next(ctx, req)
						if err == nil {
							mu.Lock()
							defer mu.Unlock()
							got = resp
						}
						return err
					})
					mu.Lock()
					defer mu.Unlock()
					return got, err
				}}
				house := agent.NewPolicy(agent.PolicyConfig[deps]{
					Name: "house", Limits: agent.Limits{Requests: 4},
					Windows: func(*toolset.RunContext[deps]) []toolset.Budget { return []toolset.Budget{&w} },
					Doors: agent.Hooks[deps]{Request: func(ctx context.Context, _ *toolset.RunContext[deps], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
						passed.Add(1)
						return next(ctx, req)
					}},
				})
				a := newAgent(t, cfg{Model: m, Hooks: []agent.Hooks[deps]{hook}}, addTool())
				var j journal.Memory
				meter := toolset.NewMeter(toolset.Limits{})
				play := func() (toolset.Usage, error) {
					opts := []agent.RunOption{agent.WithPolicies(house), agent.WithMeter(meter), agent.WithJournal(&j), agent.WithRunID("r")}
					var res *agent.Result[string]
					var err error
					if streamed {
						res, err = a.Stream(t.Context(), deps{}, "go", opts...).Result()
					} else {
						res, err = a.Run(t.Context(), deps{}, "go", opts...)
					}
					if err != nil {
						return asRunError(t, err).Usage, err
					}
					return res.Usage, nil
				}
				used, err := play()
				require.EqualValues(t, sent.Load(), meter.Usage().Requests)
				require.EqualValues(t, sent.Load(), used.Requests)
				require.Equal(t, 10*sent.Load(), meter.Usage().OutputTokens)
				require.LessOrEqual(t, sent.Load(), min(bound, 4))
				require.LessOrEqual(t, sent.Load(), passed.Load(), "each has passed the door")
				require.Equal(t, sent.Load(), w.settled.Load())
				require.Zero(t, w.unsettled.Load())
				if err != nil {
					require.ErrorAs(t, err, new(*agent.PolicyError))
					return
				}
				before := sent.Load()
				again, err := play()
				require.NoError(t, err)
				require.Equal(t, before, sent.Load(), "a replay sends nothing")
				require.Equal(t, used, again)
			})
		}
	}
}

// TestHooksCallToolsAsTheyLike: however an agent's hook calls next around a call, a call that a policy
// has denied does not run, also if the hook makes a success of it.
func TestHooksCallToolsAsTheyLike(t *testing.T) {
	for way, calls := range ways {
		for _, denies := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, %v", way, denies), func(t *testing.T) {
				var ran, asked atomic.Int64
				hook := agent.Hooks[deps]{Call: func(ctx context.Context, _ *toolset.RunContext[deps], args any, next toolset.CallFunc) (toolset.Result, error) {
					var got toolset.Result
					var mu sync.Mutex
					err := calls(func() error {
						res, err := next(ctx, args)
						mu.Lock()
						defer mu.Unlock()
						got = res
						return err
					})
					mu.Lock()
					defer mu.Unlock()
					return got, err
				}}
				house := agent.NewPolicy(agent.PolicyConfig[deps]{
					Name: "house",
					Doors: agent.Hooks[deps]{Call: func(ctx context.Context, _ *toolset.RunContext[deps], args any, next toolset.CallFunc) (toolset.Result, error) {
						if asked.Add(1); denies {
							return toolset.Result{}, toolset.Denied("no")
						}
						return next(ctx, args)
					}},
				})
				tool := toolset.Func("work", "", func(context.Context, *toolset.RunContext[deps], struct{}) (string, error) {
					ran.Add(1)
					return "done", nil
				})
				said := 0
				m := model.Func(model.Info{Name: "m"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
					if said++; said == 1 {
						return model.Response(model.ToolCall("1", "work", "{}")), nil
					}
					return model.Response(model.Text("ok")), nil
				})
				a := newAgent(t, cfg{Model: m, Hooks: []agent.Hooks[deps]{hook}}, tool)
				res, err := a.Run(t.Context(), deps{}, "go", agent.WithPolicies(house))
				require.NoError(t, err)
				if denies {
					require.Zero(t, ran.Load())
				} else {
					require.Equal(t, asked.Load(), ran.Load())
				}
				part := res.Messages[2].Parts[0]
				if ended := way == "never" || way == "swallowing errors"; denies && !ended {
					require.Equal(t, model.OutcomeDenied, part.Outcome)
					require.Contains(t, part.Decision.By, "house")
					require.Zero(t, res.Usage.ToolCalls)
				}
			})
		}
	}
}
