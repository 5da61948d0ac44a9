// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// paid is a model that answers with text, each time for 10 tokens.
func paid(asked *int) model.Model {
	return modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		*asked++
		resp := model.Response(model.Text("ok"))
		resp.Usage = model.Usage{InputTokens: 10}
		return resp, nil
	})
}

// ask sends a request in a call, which belongs to it.
func ask(ctx context.Context, run *runContext, m model.Model) error {
	_, err := run.Meter.Generate(ctx, m, &model.Request{Messages: []*model.Message{model.UserText("?")}}, nil)
	return err
}

// TestUsageOfTasksWithoutAResultIsRecorded: what a task used before it failed counts in every life of
// the run, once, with the runs inside it, which have records of their own.
func TestUsageOfTasksWithoutAResultIsRecorded(t *testing.T) {
	ends := map[string]func(ctx context.Context) error{
		"an error":     func(context.Context) error { return errBoom },
		"a panic":      func(context.Context) error { panic(errBoom) },
		"no goroutine": func(context.Context) error { runtime.Goexit(); return nil },
	}
	places := map[string]func(c *config, asked *int, end func(context.Context) error) []*toolset.Tool[none]{
		"a tool": func(_ *config, asked *int, end func(context.Context) error) []*toolset.Tool[none] {
			return []*toolset.Tool[none]{counted("work", new(int), func(ctx context.Context, run *runContext) (string, error) {
				return "", errors.Join(ask(ctx, run, paid(asked)), end(ctx))
			})}
		},
		"a tool with an agent": func(_ *config, asked *int, end func(context.Context) error) []*toolset.Tool[none] {
			return []*toolset.Tool[none]{counted("work", new(int), func(ctx context.Context, run *runContext) (string, error) {
				inner := agent.Must(agent.New(config{Name: "inner", Model: paid(asked)}))
				_, err := inner.Run(ctx, none{}, "go", agent.Within(run))
				return "", errors.Join(err, ask(ctx, run, paid(asked)), end(ctx))
			})}
		},
		"a check": func(_ *config, asked *int, end func(context.Context) error) []*toolset.Tool[none] {
			return []*toolset.Tool[none]{counted("work", new(int), says("ok"), toolset.Check(func(ctx context.Context, run *runContext, _ none) error {
				return errors.Join(ask(ctx, run, paid(asked)), end(ctx))
			}))}
		},
		"a preview": func(_ *config, asked *int, end func(context.Context) error) []*toolset.Tool[none] {
			return []*toolset.Tool[none]{counted("work", new(int), says("ok"), toolset.Approve(func(ctx context.Context, run *runContext, _ none) (*toolset.Approval, error) {
				return nil, errors.Join(ask(ctx, run, paid(asked)), end(ctx))
			}))}
		},
		"a hook of a request": func(c *config, _ *int, end func(context.Context) error) []*toolset.Tool[none] {
			c.Hooks = []agent.Hooks[none]{{Request: func(ctx context.Context, run *runContext, req *model.Request, next agent.RequestFunc) (*model.Message, error) {
				resp, err := next(ctx, req)
				if run.Step == 2 {
					err = errors.Join(err, end(ctx))
				}
				return resp, err
			}}}
			return []*toolset.Tool[none]{counted("work", new(int), says("ok"))}
		},
		"a processor": func(c *config, asked *int, end func(context.Context) error) []*toolset.Tool[none] {
			c.History = []agent.HistoryProcessor[none]{func(ctx context.Context, run *runContext, messages []*model.Message) ([]*model.Message, error) {
				if run.Step < 2 {
					return messages, nil
				}
				return messages, errors.Join(ask(ctx, run, paid(asked)), end(ctx))
			}}
			return []*toolset.Tool[none]{counted("work", new(int), says("ok"))}
		},
	}
	for where, place := range places {
		for how, end := range ends {
			t.Run(where+"/"+how, func(t *testing.T) {
				var j journal.Memory
				sent := 0 // by the run's own model
				play := func(end func(context.Context) error, asked *int) (toolset.Usage, error) {
					c := config{}
					tools := place(&c, asked, end)
					m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
						sent++
						resp := model.Response(model.Text("done"))
						if len(req.Messages) == 1 {
							resp = model.Response(model.ToolCall("c", "work", "{}"))
						}
						resp.Usage = model.Usage{InputTokens: 10}
						return resp, nil
					})
					var res *agent.Result[string]
					err := agent.ErrStopped
					ended := make(chan struct{})
					go func() { // which may end here
						defer close(ended)
						res, err = newAgent(t, c, m, tools...).Run(context.Background(), none{}, "go", agent.WithJournal(&j), agent.WithRunID("r"))
					}()
					<-ended
					if failed, ok := errors.AsType[*agent.RunError](err); ok {
						return failed.Usage, err
					}
					if err != nil {
						return toolset.Usage{}, err
					}
					return res.Usage, nil
				}
				asked := 0
				for range 3 {
					used, err := play(end, &asked)
					require.Error(t, err)
					if !errors.Is(err, agent.ErrStopped) {
						require.Equal(t, int64(10*(sent+asked)), used.InputTokens, "of all lives so far")
					}
				}
				used, err := play(func(context.Context) error { return nil }, &asked)
				require.NoError(t, err)
				require.Equal(t, sent+asked, used.Requests)
				require.Equal(t, int64(10*(sent+asked)), used.InputTokens)
				again, err := play(nil, nil)
				require.NoError(t, err)
				require.Equal(t, used, again, "a replay counts the same")
			})
		}
	}
}

// TestRequestsThatUsedNothingDoNotCountAgain: a provider that is down does not use up the limits of a
// run that is resumed again and again.
func TestRequestsThatUsedNothingDoNotCountAgain(t *testing.T) {
	var j journal.Memory
	for range 60 { // more than the limit of requests
		_, err := run(t, &j, config{}, []modeltest.Step{modeltest.Fail(errBoom)})
		require.ErrorIs(t, err, errBoom)
	}
	res, err := run(t, &j, config{}, []modeltest.Step{modeltest.SayText("ok")})
	require.NoError(t, err)
	require.Equal(t, 1, res.Usage.Requests)
}

// TestAgentThatIsCancelledCountsOnceInEveryLife: a sibling fails while an agent works, which has asked
// and waits. What it used is in its own records.
func TestAgentThatIsCancelledCountsOnceInEveryLife(t *testing.T) {
	var j journal.Memory
	sent := 0
	answers := func(parts ...model.Part) *model.Message {
		sent++
		resp := model.Response(parts...)
		resp.Usage = model.Usage{InputTokens: 10}
		return resp
	}
	var mu sync.Mutex
	script := func(first, last model.Part) model.Model {
		return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			mu.Lock()
			defer mu.Unlock()
			if len(req.Messages) == 1 {
				return answers(first), nil
			}
			return answers(last), nil
		})
	}
	play := func(fails bool) (*agent.Result[string], error) {
		waits := make(chan struct{})
		wait := counted("wait", new(int), func(ctx context.Context, run *runContext) (string, error) {
			if !fails {
				return "waited", nil
			}
			if err := ask(ctx, run, script(model.Text("ok"), model.Text("ok"))); err != nil {
				return "", err
			}
			close(waits)
			<-ctx.Done()
			return "", context.Cause(ctx)
		})
		inner := newAgent(t, config{Name: "inner"}, script(model.ToolCall("w", "wait", "{}"), model.Text("found")), wait)
		delegate := agent.AsTool("delegate", "Delegate.", inner, func(d none) none { return d })
		fail := counted("fail", new(int), func(context.Context, *runContext) (string, error) {
			if fails {
				<-waits
				return "", errBoom
			}
			return "well", nil
		})
		m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			mu.Lock()
			defer mu.Unlock()
			if len(req.Messages) == 1 {
				return answers(model.ToolCall("1", "delegate", `{"prompt":"go"}`), model.ToolCall("2", "fail", "{}")), nil
			}
			return answers(model.Text("done")), nil
		})
		return newAgent(t, config{}, m, delegate, fail).Run(t.Context(), none{}, "go", agent.WithJournal(&j), agent.WithRunID("r"))
	}
	for range 2 {
		_, err := play(true)
		failed, ok := errors.AsType[*agent.RunError](err)
		require.True(t, ok, err)
		require.ErrorIs(t, err, errBoom)
		require.Equal(t, sent, failed.Usage.Requests)
		require.Equal(t, int64(10*sent), failed.Usage.InputTokens)
	}
	res, err := play(false)
	require.NoError(t, err)
	require.Equal(t, 1+1+2+1+1, sent, "the outer and the inner request, one of each life that failed, and the last ones")
	require.Equal(t, sent, res.Usage.Requests)
	require.Equal(t, int64(10*sent), res.Usage.InputTokens)
	again, err := play(false)
	require.NoError(t, err)
	require.Equal(t, res.Usage, again.Usage)
}

// TestReservationsOfLostRequestsAreRecorded: a request that timed out counts as its reservation also
// when the run is resumed.
func TestReservationsOfLostRequestsAreRecorded(t *testing.T) {
	var j journal.Memory
	c := config{
		Limits: agent.Limits{Cost: 20}, Prices: model.Prices{"script": {Input: 1e6, Output: 1e6}},
		Settings: &model.Settings{MaxTokens: 3},
	}
	for life := range 2 {
		_, err := run(t, &j, c, []modeltest.Step{modeltest.Fail(context.DeadlineExceeded)})
		failed, ok := errors.AsType[*agent.RunError](err)
		require.True(t, ok, err)
		require.InDelta(t, float64(3*(life+1)), failed.Usage.Cost, 1e-9)
		require.Equal(t, life+1, failed.Usage.Unpriced)
	}
	res, err := run(t, &j, c, []modeltest.Step{func(context.Context, *model.Request) (*model.Message, error) {
		resp := model.Response(model.Text("ok"))
		resp.Usage = model.Usage{InputTokens: 1}
		return resp, nil
	}})
	require.NoError(t, err)
	require.InDelta(t, 7, res.Usage.Cost, 1e-9)
	require.Equal(t, 3, res.Usage.Requests)
}
