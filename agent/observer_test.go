// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

func TestEmitFromManyGoroutinesIsSerialised(t *testing.T) {
	shout := func(name string) *toolset.Tool[deps] {
		return tool(name, func(_ context.Context, run *toolset.RunContext[deps]) (string, error) {
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					for range 50 {
						run.Emit(name)
					}
				})
			}
			all.Wait()
			return "", nil
		})
	}
	summarise := func(_ context.Context, run *toolset.RunContext[deps], messages []*model.Message) ([]*model.Message, error) {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { run.Emit("history") })
		}
		all.Wait()
		return messages, nil
	}
	script := modeltest.Script(modeltest.Say(call("1", "a")), modeltest.Say(call("2", "a"), call("3", "b")), modeltest.SayText("ok"))
	var inside atomic.Int32
	custom := map[any]int{}
	s := newAgent(t, cfg{Model: script, History: []agent.HistoryProcessor[deps]{summarise}}, shout("a"), shout("b")).Stream(context.Background(), deps{}, "go")
	for e := range s.Events() {
		require.EqualValues(t, 1, inside.Add(1), "one event at a time")
		if e.Kind == agent.EventCustom {
			custom[e.Value]++ // the race detector looks on
		}
		inside.Add(-1)
	}
	_, err := s.Result()
	require.NoError(t, err)
	require.Equal(t, map[any]int{"a": 400, "b": 200, "history": 12}, custom)
}

func TestGoexitInAToolIsAnError(t *testing.T) {
	exits := tool("exits", func(context.Context, *toolset.RunContext[deps]) (string, error) {
		runtime.Goexit()
		return "", nil
	})
	waits := tool("waits", func(ctx context.Context, _ *toolset.RunContext[deps]) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	for _, calls := range [][]model.Part{{call("1", "exits"), call("2", "waits")}, {call("1", "waits"), call("2", "exits")}} {
		set := &lifecycle{}
		a := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(calls...)), Toolsets: []toolset.Toolset[deps]{set}}, exits, waits)
		_, err := a.Run(context.Background(), deps{}, "go")
		require.ErrorIs(t, err, agent.ErrGoexit)
		require.Equal(t, "exits", asRunError(t, err).Tool)
		require.Equal(t, 1, set.closed)
	}
	_, err := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(call("1", "exits")))}, exits).Stream(context.Background(), deps{}, "go").Result()
	require.ErrorIs(t, err, agent.ErrGoexit)
}

// TestGoexitOfTheCallersGoroutineClosesToolsets is a failed assertion in a tool that runs on the test's own goroutine.
func TestGoexitOfTheCallersGoroutineClosesToolsets(t *testing.T) {
	set := &lifecycle{}
	exits := tool("exits", func(context.Context, *toolset.RunContext[deps]) (string, error) {
		runtime.Goexit()
		return "", nil
	})
	a := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(call("1", "exits"))), Toolsets: []toolset.Toolset[deps]{set}}, exits)
	var all sync.WaitGroup
	all.Go(func() { _, _ = a.Run(context.Background(), deps{}, "go") })
	all.Wait()
	require.Equal(t, 1, set.opened)
	require.Equal(t, 1, set.closed)
}

// TestPanicOfAnObserverGoesOnWhenTheRunHasEnded has an observer panic at each event of a run in turn.
func TestPanicOfAnObserverGoesOnWhenTheRunHasEnded(t *testing.T) {
	boom := &struct{ at int }{}
	script := []modeltest.Step{
		modeltest.Say(model.Thinking("well"), model.Text("I shall add"), add("1", 1, 2), call("2", "says")),
		modeltest.Say(add("1", 1, 2)), modeltest.SayText("it is 3"),
	}
	for _, how := range []string{"range", "range with hooks", "text", "observer", "observer of a stream"} {
		t.Run(how, func(t *testing.T) {
			for at := 1; ; at++ {
				boom.at = at
				set := &lifecycle{}
				c := cfg{Model: modeltest.Script(script...), Toolsets: []toolset.Toolset[deps]{set}}
				n := 0
				look := func(agent.Event) {
					if n++; n == at {
						panic(boom)
					}
					require.Less(t, n, at, "nobody is told of anything after the panic")
				}
				switch how {
				case "observer", "observer of a stream":
					c.Observer = &agent.Observer{Request: look, Response: look, ToolCall: look, ToolResult: look, End: look}
				case "range with hooks":
					c.Hooks = []agent.Hooks[deps]{
						{Run: func(ctx context.Context, _ *toolset.RunContext[deps], next agent.RunFunc) error {
							_, err := next(ctx)
							return err
						}},
						{Request: func(ctx context.Context, _ *toolset.RunContext[deps], req *model.Request, next agent.RequestFunc) (resp *model.Message, err error) {
							defer func() { require.Nil(t, recover(), "a hook does not see the observer's panic") }()
							return next(ctx, req)
						}},
					}
				}
				a := newAgent(t, c, addTool(), says("says", "hello"))
				s := a.Stream(context.Background(), deps{}, "go")
				var value any
				func() {
					defer func() { value = recover() }()
					switch how {
					case "range", "range with hooks":
						for e := range s.Events() {
							look(e)
						}
					case "text":
						for range s.Text() {
							look(agent.Event{})
						}
					case "observer":
						_, _ = a.Run(context.Background(), deps{}, "go")
					default:
						for range s.Events() {
						}
					}
				}()
				require.Equal(t, set.opened, set.closed)
				if value == nil {
					require.Less(t, n, at)
					require.Greater(t, at, 6)
					return
				}
				require.Same(t, boom, value, "the original value")
				if how != "observer" {
					_, err := s.Result()
					if n < at { // the last event of all
						require.NoError(t, err)
					} else if err != nil {
						require.ErrorIs(t, err, agent.ErrStopped)
						require.NotEmpty(t, asRunError(t, err).Messages, "the history is kept")
					}
				}
			}
		})
	}
}

func TestGoexitInTheRangeClosesEverything(t *testing.T) {
	for _, at := range []agent.EventKind{agent.EventRunStart, agent.EventPartDelta, agent.EventToolCall, agent.EventToolResult, agent.EventCustom} {
		set := &lifecycle{}
		emits := tool("emits", func(ctx context.Context, run *toolset.RunContext[deps]) (string, error) {
			run.Emit("x")
			return "", nil
		})
		s := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(call("1", "emits"), call("2", "emits")), modeltest.SayText("ok")), Toolsets: []toolset.Toolset[deps]{set}}, emits).Stream(context.Background(), deps{}, "go")
		var all sync.WaitGroup
		events := 0
		all.Go(func() {
			for e := range s.Events() {
				if events++; e.Kind == at {
					runtime.Goexit()
				}
			}
		})
		all.Wait()
		require.Equal(t, set.opened, set.closed)
		require.Positive(t, events)
		_, err := s.Result()
		require.ErrorIs(t, err, agent.ErrStopped)
	}
}

func TestResultInsideTheRangeIsAnError(t *testing.T) {
	s := newAgent(t, cfg{Model: modeltest.Script(modeltest.SayText("ok"))}).Stream(context.Background(), deps{}, "go")
	for range s.Events() {
		res, err := s.Result()
		require.Nil(t, res)
		require.ErrorIs(t, err, agent.ErrRunning)
	}
	res, err := s.Result()
	require.NoError(t, err)
	require.Equal(t, "ok", res.Output)
}

func TestRunHookThatCallsNextTwiceIsAnError(t *testing.T) {
	set := &lifecycle{}
	var again error
	hook := agent.Hooks[deps]{Run: func(ctx context.Context, _ *toolset.RunContext[deps], next agent.RunFunc) error {
		first, err := next(ctx)
		require.NoError(t, err)
		second, err := next(ctx)
		require.Same(t, first, second)
		again = err
		return nil
	}}
	script := modeltest.Script(modeltest.SayText("ok"))
	res, err := newAgent(t, cfg{Model: script, Hooks: []agent.Hooks[deps]{hook}, Toolsets: []toolset.Toolset[deps]{set}}).Run(context.Background(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, "ok", res.Output)
	require.ErrorContains(t, again, "a Run hook called next more than once")
	require.Len(t, script.Requests(), 1)
	require.Equal(t, 1, set.opened)
}

type panickyModel struct{ model.Model }

func (panickyModel) Info() model.Info { panic("no info") }

func TestNothingPanicsOutOfARun(t *testing.T) {
	script := func() model.Model { return modeltest.Script(modeltest.SayText("ok")) }
	processor := func(made ...*model.Message) cfg {
		return cfg{Model: script(), History: []agent.HistoryProcessor[deps]{func(context.Context, *toolset.RunContext[deps], []*model.Message) ([]*model.Message, error) {
			return made, nil
		}}}
	}
	for name, c := range map[string]struct {
		config cfg
		opts   []agent.RunOption
		want   string
	}{
		"nil message in the history":           {cfg{Model: script()}, []agent.RunOption{agent.WithHistory([]*model.Message{model.UserText("a"), nil})}, "the history has a nil message at index 1"},
		"unknown message in the history":       {cfg{Model: script()}, []agent.RunOption{agent.WithHistory([]*model.Message{{}})}, `the history has a message of kind "" at index 0, want "request" or "response"`},
		"nil message of a processor":           {processor(nil, model.UserText("a")), nil, "a history processor left a nil message at index 0"},
		"nil message at a processor's end":     {processor(model.UserText("a"), nil), nil, "a history processor left a nil message at index 1"},
		"unknown message of a processor":       {processor(&model.Message{}, model.UserText("a")), nil, `a history processor left a message of kind ""`},
		"model without information":            {cfg{Model: panickyModel{}}, nil, "panic: no info"},
		"model of the run without information": {cfg{Model: script()}, []agent.RunOption{agent.WithModel(panickyModel{})}, "panic: no info"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := agent.New(c.config)
			if err == nil {
				_, err = a.Run(context.Background(), deps{}, "go", c.opts...)
			}
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "agent: ")
		})
	}
	_, err := agent.New(cfg{Model: panickyModel{}, Output: agent.Output{Mode: agent.OutputNative}})
	require.ErrorContains(t, err, "panic: no info")

	res, err := newAgent(t, cfg{Model: script()}).Run(context.Background(), deps{}, "go", nil, agent.WithMetadata(nil), nil)
	require.NoError(t, err, "nil options are left out")
	require.Equal(t, "ok", res.Output)
}

func TestRunThatNeverStartsHasAnEnd(t *testing.T) {
	refusing := agent.Hooks[deps]{Run: func(context.Context, *toolset.RunContext[deps], agent.RunFunc) error {
		return errBoom
	}}
	for name, c := range map[string]cfg{
		"no model":              {},
		"a hook that refuses":   {Model: modeltest.Script(), Hooks: []agent.Hooks[deps]{refusing}},
		"a model that panics":   {Model: panickyModel{}},
		"nothing to ask":        {Model: modeltest.Script()},
		"a toolset that is not": {Model: modeltest.Script(), Toolsets: []toolset.Toolset[deps]{&lifecycle{openErr: errBoom}}},
	} {
		t.Run(name, func(t *testing.T) {
			var ends []agent.Event
			c.Observer = &agent.Observer{End: func(e agent.Event) { ends = append(ends, e) }}
			s := newAgent(t, c).Stream(context.Background(), deps{}, "")
			var kinds []agent.EventKind
			for e := range s.Events() {
				kinds = append(kinds, e.Kind)
			}
			_, err := s.Result()
			require.Error(t, err)
			require.Equal(t, agent.EventRunEnd, kinds[len(kinds)-1])
			require.Len(t, ends, 1)
			require.Equal(t, err, ends[0].Err)
			require.NotNil(t, ends[0].Usage)
		})
	}
}

func TestRunEndTellsWhatResultTells(t *testing.T) {
	hook := agent.Hooks[deps]{Run: func(ctx context.Context, _ *toolset.RunContext[deps], next agent.RunFunc) error {
		_, _ = next(ctx)
		return errBoom
	}}
	var end agent.Event
	s := newAgent(t, cfg{Model: modeltest.Script(modeltest.SayText("ok")), Hooks: []agent.Hooks[deps]{hook}}).Stream(context.Background(), deps{}, "go")
	for e := range s.Events() {
		end = e
	}
	_, err := s.Result()
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, agent.EventRunEnd, end.Kind)
	require.Equal(t, err, end.Err, "a hook's error is the run's")
	require.Equal(t, 1, end.Usage.Requests)
}

func TestResumedCallsBelongToTheFirstStep(t *testing.T) {
	var key string
	look := tool("look", func(_ context.Context, run *toolset.RunContext[deps]) (string, error) {
		key = run.IdempotencyKey()
		require.Equal(t, 1, run.Step)
		return "", nil
	})
	script := modeltest.Script(modeltest.SayText("ok"))
	s := newAgent(t, cfg{Model: script}, look).Stream(context.Background(), deps{}, "", agent.WithRunID("r"), agent.WithHistory([]*model.Message{model.UserText("go"), model.Response(call("1", "look"))}))
	steps := map[agent.EventKind]int{}
	for e := range s.Events() {
		steps[e.Kind] = e.Step
	}
	require.Equal(t, "r/1/1", key)
	require.Equal(t, 1, steps[agent.EventToolResult])
	require.Equal(t, 2, steps[agent.EventRequestStart])
}

// TestCloseGetsAContextThatIsNotCancelled closes toolsets after cancelled runs, and after an Open that fails.
func TestCloseGetsAContextThatIsNotCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), ctxKey{}, "kept"))
	m := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) { cancel(); return nil, ctx.Err() })
	closed := 0
	set := &closing{check: func(ctx context.Context) {
		closed++
		require.NoError(t, ctx.Err())
		require.Equal(t, "kept", ctx.Value(ctxKey{}))
	}}
	_, err := newAgent(t, cfg{Model: m, Toolsets: []toolset.Toolset[deps]{set}}).Run(ctx, deps{}, "go")
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, closed)

	ctx, cancel = context.WithCancel(context.WithValue(context.Background(), ctxKey{}, "kept"))
	failing := &closing{open: func() error { cancel(); return errBoom }}
	_, err = newAgent(t, cfg{Model: m, Toolsets: []toolset.Toolset[deps]{set, failing}}).Run(ctx, deps{}, "go")
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, 2, closed)
}

type ctxKey struct{}

// closing is a toolset without tools that looks at its lifecycle.
type closing struct {
	open  func() error
	check func(ctx context.Context)
}

func (c *closing) Name() string { return "closing" }

func (c *closing) Open(context.Context, *toolset.RunContext[deps]) (toolset.Instance[deps], error) {
	if c.open != nil {
		return nil, c.open()
	}
	return c, nil
}

func (c *closing) Tools(context.Context, *toolset.RunContext[deps]) (toolset.Listing[deps], error) {
	return toolset.Listing[deps]{}, nil
}

func (c *closing) Close(ctx context.Context) error { c.check(ctx); return nil }

func TestToolErrorCannotHideAnError(t *testing.T) {
	var asked []error
	config := func(answer error) cfg {
		return cfg{ToolError: func(_ context.Context, _ *toolset.RunContext[deps], err error) error {
			asked = append(asked, err)
			return answer
		}}
	}
	_, err, _ := run(t, config(nil), []modeltest.Step{modeltest.Say(call("1", "fails"))}, fails("fails", errBoom))
	require.ErrorIs(t, err, errBoom, "nil leaves the error as it is")

	asked = nil
	panics := tool("panics", func(context.Context, *toolset.RunContext[deps]) (string, error) { panic("ouch") })
	res, err, _ := run(t, config(toolset.Failed("it broke")), []modeltest.Step{modeltest.Say(call("1", "panics")), modeltest.SayText("ok")}, panics)
	require.Nil(t, err)
	require.Equal(t, "request\n  tool_return 1 panics failed: it broke\n", dump(res.Messages[2:3]))
	var p *agent.PanicError
	require.ErrorAs(t, asked[0], &p)
	require.Equal(t, "ouch", p.Value)

	asked = nil
	ctx, cancel := context.WithCancelCause(context.Background())
	c := config(toolset.Failed("it broke"))
	c.Model = modeltest.Script(modeltest.Say(call("1", "cancels")))
	_, runErr := newAgent(t, c, tool("cancels", func(ctx context.Context, _ *toolset.RunContext[deps]) (string, error) {
		cancel(errCancelled)
		return "", fmt.Errorf("interrupted: %w", ctx.Err())
	})).Run(ctx, deps{}, "go")
	require.ErrorIs(t, runErr, errCancelled)
	require.Empty(t, asked, "a cancelled call is not a failed one")
	require.Equal(t, "request interrupted\n", last(asRunError(t, runErr).Messages))
	require.False(t, errors.As(runErr, new(*toolset.FailedError)))
}
