// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/engine/enginetest"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

func TestOptionsOfARunReachTheWorker(t *testing.T) {
	script := modeltest.Script(modeltest.Say(call("1", "flaky")), modeltest.Say(call("2", "flaky")), modeltest.SayText("ok"))
	flaky := tool("flaky", func(_ context.Context, run *toolset.RunContext[deps]) (string, error) {
		if run.Call.Attempt == 0 {
			return "", toolset.Retry("again")
		}
		return fmt.Sprint("of ", run.Call.MaxRetries), nil
	})
	config := cfg{Instructions: "Be kind.", ToolRetries: new(0)}
	here := newAgent(t, config, flaky)
	config.Model = script
	w := agent.NewWorker(newAgent(t, config, flaky), deps{}, agent.WithInstructions("Not this."))
	res, err := here.Run(t.Context(), deps{}, "go", agent.WithModel(model.Func(script.Info(), nil)), agent.WithInstructions("Be brief."), agent.WithToolRetries(3),
		agent.WithSettings(model.Settings{MaxTokens: 7}), agent.WithToolChoice(model.ToolChoice{Mode: model.ToolChoiceRequired}), onJSON(w))
	require.NoError(t, err)
	require.Equal(t, "of 3", res.Messages[4].Parts[0].Text)
	req := script.Requests()[0]
	require.Equal(t, "Be kind.\nBe brief.", req.Instructions)
	require.Equal(t, 7, req.Settings.MaxTokens)
	require.Equal(t, model.ToolChoiceRequired, req.ToolChoice.Mode)
}

// An engine that executes tasks in the process of the run needs no worker of its own: the local one has the run's dependencies.
func TestLocalWorkerHasTheDependenciesOfTheRun(t *testing.T) {
	script := modeltest.Script(modeltest.Say(model.ToolCall("1", "add", `{"x":1,"y":2}`)), modeltest.SayText("ok"))
	var seen []int
	saw := func(run *toolset.RunContext[deps]) { seen = append(seen, run.Deps.base) }
	a := newAgent(t, cfg{
		Model:   script,
		Dynamic: []agent.InstructionFunc[deps]{func(_ context.Context, run *toolset.RunContext[deps]) (string, error) { saw(run); return "", nil }},
		History: []agent.HistoryProcessor[deps]{func(_ context.Context, run *toolset.RunContext[deps], messages []*model.Message) ([]*model.Message, error) {
			saw(run)
			return messages, nil
		}},
		Validators: []agent.Validator[deps, string]{func(_ context.Context, run *toolset.RunContext[deps], out string) (string, error) {
			saw(run)
			return out, nil
		}},
	}, addTool())
	res, err := a.Run(t.Context(), deps{base: 40}, "go", agent.WithEngine(func(_ context.Context, local engine.Worker) (engine.Engine, error) {
		return enginetest.NewRemote(local, func(ctx context.Context, task []byte, report func([]byte) error) ([]byte, error) {
			return engine.Execute(ctx, local, task, report)
		}), nil
	}))
	require.NoError(t, err)
	require.Equal(t, "43", res.Messages[2].Parts[0].Text)
	require.Equal(t, []int{40, 40, 40, 40, 40}, seen)
}

// Each step's offer is made afresh where the run has retries of its own.
func TestToolRetriesOfARunOfferEachToolOnce(t *testing.T) {
	script := modeltest.Script(modeltest.Say(call("1", "hi")), modeltest.Say(call("2", "hi")), modeltest.SayText("ok"))
	_, err := newAgent(t, cfg{Model: script}, says("hi", "hello")).Run(t.Context(), deps{}, "go", agent.WithToolRetries(2))
	require.NoError(t, err)
	for _, req := range script.Requests() {
		require.Len(t, req.Tools, 1)
	}
}

func TestWorkerKeepsToolsetsOpen(t *testing.T) {
	set := &lifecycle{}
	steps := []modeltest.Step{modeltest.Say(call("1", "count")), modeltest.Say(call("2", "count")), modeltest.SayText("ok")}
	a := newAgent(t, cfg{Model: modeltest.Script(steps...), Toolsets: []toolset.Toolset[deps]{set}})
	w := agent.NewWorker(a, deps{})
	res, err := a.Run(t.Context(), deps{}, "go", agent.WithRunID("r"), onJSON(w))
	require.NoError(t, err)
	require.Equal(t, "2", res.Messages[4].Parts[0].Text, "state of the instance lasts")
	require.Equal(t, 1, set.opened)
	require.Zero(t, set.closed)
	require.NoError(t, w.End(t.Context(), "unknown"))
	require.NoError(t, w.End(t.Context(), "r"))
	require.Equal(t, 1, set.closed)
	require.NoError(t, w.Close(t.Context()))
	require.Equal(t, 1, set.closed)

	// A worker that lives for one task opens them each time.
	set = &lifecycle{}
	a = newAgent(t, cfg{Model: modeltest.Script(steps...), Toolsets: []toolset.Toolset[deps]{set}})
	res, err = a.Run(t.Context(), deps{}, "go", agent.WithEngine(func(_ context.Context, local engine.Worker) (engine.Engine, error) {
		return enginetest.NewRemote(local, func(ctx context.Context, task []byte, report func([]byte) error) ([]byte, error) {
			w := agent.NewWorker(a, deps{})
			defer w.Close(ctx)
			return engine.Execute(ctx, w, task, report)
		}), nil
	}))
	require.NoError(t, err)
	require.Equal(t, "1", res.Messages[4].Parts[0].Text)
	require.Equal(t, 7, set.opened, "three to prepare, two to check, two to run")
	require.Equal(t, 7, set.closed)
}

func TestInnerRunElsewhereIsBoundedByOuterLimits(t *testing.T) {
	asks := func(n int) model.Model {
		return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			resp := model.Response(call(fmt.Sprint(len(req.Messages)), "hm"))
			if len(req.Messages) > 2*n {
				resp = model.Response(model.Text("inner"))
			}
			resp.Usage = model.Usage{InputTokens: 10}
			return resp, nil
		})
	}
	for _, c := range []struct {
		limits agent.Limits
		limit  toolset.LimitName
	}{{agent.Limits{Requests: 3}, toolset.LimitRequests}, {agent.Limits{InputTokens: 25}, toolset.LimitInputTokens}, {agent.Limits{Requests: 8}, ""}} {
		inner := newAgent(t, cfg{Model: asks(4)}, says("hm", "hm"))
		outer := func() *agent.Agent[deps, string] {
			return newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "ask", `{"prompt":"x"}`)), modeltest.SayText("ok")), Limits: c.limits},
				agent.AsTool("ask", "", inner, func(d deps) deps { return d }))
		}
		want, wantErr := outer().Run(t.Context(), deps{}, "go")
		a := outer()
		got, err := a.Run(t.Context(), deps{}, "go", onJSON(agent.NewWorker(a, deps{})))
		if c.limit == "" {
			require.NoError(t, err)
			require.Equal(t, want.Usage, got.Usage)
			require.Equal(t, 7, got.Usage.Requests, "five of them elsewhere, in a tool")
			continue
		}
		var limit *agent.LimitError
		require.ErrorAs(t, err, &limit)
		require.Equal(t, c.limit, limit.Limit)
		require.EqualError(t, err, wantErr.Error())
		require.Equal(t, asRunError(t, wantErr).Usage, asRunError(t, err).Usage)
	}
}

func TestInnerRunsElsewhereHaveTheJournalOfTheWorker(t *testing.T) {
	inner := newAgent(t, cfg{Model: modeltest.Script(modeltest.SayText("inner"))})
	a := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "ask", `{"prompt":"x"}`)), modeltest.SayText("ok"))},
		agent.AsTool("ask", "", inner, func(d deps) deps { return d }))
	var runs journal.Memory
	res, err := a.Run(t.Context(), deps{}, "go", agent.WithRunID("job"), onJSON(agent.NewWorker(a, deps{}, agent.WithJournal(&runs))))
	require.NoError(t, err)
	require.Equal(t, 3, res.Usage.Requests)
	log, err := runs.Open(t.Context(), "job/1/1")
	require.NoError(t, err)
	records, err := log.Load(t.Context())
	require.NoError(t, err)
	require.Len(t, records, 3, "the start, the response, the output")
}

func TestErrorsOfRunsKeepTheirIdentity(t *testing.T) {
	a := newAgent(t, cfg{Model: modeltest.Script()})
	agent.NewWorker(a, deps{}) // knows them
	through := func(err error) error {
		task := &engine.Task{Op: engine.OpTool, Info: &toolset.RunInfo{}}
		data, marshalErr := engine.MarshalDone(task, &engine.Done{Err: err})
		require.NoError(t, marshalErr)
		done, marshalErr := engine.UnmarshalDone(task, data)
		require.NoError(t, marshalErr)
		require.EqualError(t, done.Err, err.Error())
		return done.Err
	}
	for _, sentinel := range []error{agent.ErrStopped, agent.ErrResults, agent.ErrTokenLimit, agent.ErrFinished, journal.ErrInUse} {
		require.ErrorIs(t, through(fmt.Errorf("x: %w", sentinel)), sentinel)
	}
	var failed *agent.RunError
	require.ErrorAs(t, through(&agent.RunError{Agent: "a", Stage: agent.StageTool, Tool: "t", CallID: "c", Attempt: 1, Err: &agent.BudgetError{Tool: "t", Retries: 2, Err: context.Canceled}}), &failed)
	require.Equal(t, "t", failed.Tool)
	require.ErrorIs(t, failed, context.Canceled)
	var budget *agent.BudgetError
	require.ErrorAs(t, failed, &budget)
	require.Equal(t, 2, budget.Retries)
	var panicked *agent.PanicError
	require.ErrorAs(t, through(&agent.PanicError{Value: errBoom, Stack: []byte("stack")}), &panicked)
	require.Equal(t, "stack", string(panicked.Stack))
	var broken *journal.Error
	require.ErrorAs(t, through(&journal.Error{RunID: "r", Op: "append", Err: journal.ErrClosed}), &broken)
	require.ErrorIs(t, broken, journal.ErrClosed)
	require.Equal(t, "append", broken.Op)
}

func TestEngineThatDoesNotStart(t *testing.T) {
	a := newAgent(t, cfg{Model: modeltest.Script(modeltest.SayText("ok"))})
	for want, start := range map[string]func(context.Context, engine.Worker) (engine.Engine, error){
		"agent: prepare: start the engine: boom":                                    func(context.Context, engine.Worker) (engine.Engine, error) { return nil, errBoom },
		"agent: prepare: start the engine: there is neither an engine nor an error": func(context.Context, engine.Worker) (engine.Engine, error) { return nil, nil },
	} {
		_, err := a.Run(t.Context(), deps{}, "go", agent.WithEngine(start))
		require.EqualError(t, err, want)
	}
	_, err := a.Run(t.Context(), deps{}, "go", agent.WithEngine(func(context.Context, engine.Worker) (engine.Engine, error) { panic("ouch") }))
	require.ErrorAs(t, err, new(*agent.PanicError))
	res, err := a.Run(t.Context(), deps{}, "go", agent.WithEngine(nil))
	require.NoError(t, err)
	require.Equal(t, "ok", res.Output)
}

func TestWorkerRefusesWhatIsNotForIt(t *testing.T) {
	w := agent.NewWorker(newAgent(t, cfg{}, addTool()), deps{})
	do := func(task *engine.Task) error {
		var done engine.Done
		w.Do(t.Context(), task, nil, &done)
		return done.Err
	}
	info := &toolset.RunInfo{RunID: "r", Meter: new(toolset.Meter)}
	gone := &engine.Call{Call: toolset.Call{ID: "1", Tool: "gone"}}
	require.ErrorContains(t, do(nil), "no run")
	require.ErrorContains(t, do(&engine.Task{Op: engine.OpModel}), "no run")
	require.ErrorContains(t, do(&engine.Task{Op: engine.OpInbox, Info: info}), "local worker")
	require.ErrorIs(t, do(&engine.Task{Op: engine.OpModel, Info: info, Request: &model.Request{}}), agent.ErrNoModel)
	require.ErrorIs(t, do(&engine.Task{Op: engine.OpTool, Info: info, Call: gone}), agent.ErrToolGone)
	require.ErrorIs(t, do(&engine.Task{Op: engine.OpPreview, Info: info, Call: gone}), agent.ErrToolGone)
	changed := &engine.Call{Call: toolset.Call{ID: "1", Tool: "add", Args: model.RawArgs(`{"x":1,"y":2}`)}}
	require.ErrorIs(t, do(&engine.Task{Op: engine.OpPreview, Info: info, Call: changed}), agent.ErrToolGone, "a tool that asks no more is not the one that was offered")
	require.Error(t, do(&engine.Task{Op: engine.OpTool, Info: info}))
	require.ErrorContains(t, do(&engine.Task{Op: engine.OpOutput, Info: info, Call: gone}), "gone")
	require.Error(t, do(&engine.Task{Op: 99, Info: info}))
}

// A worker without anybody to ask says so: an engine that stores decisions must not store an empty one.
func TestWorkerDefersWhereNobodyAnswers(t *testing.T) {
	nobody := toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		return toolset.Decision{}, toolset.ErrNobody
	}}
	w := agent.NewWorker(newAgent(t, cfg{Model: modeltest.Script()}, addTool()), deps{}, agent.WithAsker(nobody))
	var done engine.Done
	w.Do(t.Context(), &engine.Task{
		Op: engine.OpApprove, Info: &toolset.RunInfo{RunID: "r", Meter: new(toolset.Meter)},
		Call: &engine.Call{Call: toolset.Call{ID: "1", Tool: "add", Args: model.RawArgs(`{"x":1,"y":2}`)}}, Approval: &toolset.Approval{},
	}, nil, &done)
	require.NoError(t, done.Err)
	require.Equal(t, toolset.Defer(), *done.Decision)
}

// TestEngineMayFuseSteps: one task prepares a step, asks the model and checks its calls, and the run is the same.
func TestEngineMayFuseSteps(t *testing.T) {
	var attempts []int
	checked := toolset.Func("checked", "", func(_ context.Context, run *toolset.RunContext[deps], in addArgs) (int, error) { return in.X, nil },
		toolset.Check(func(_ context.Context, run *toolset.RunContext[deps], in addArgs) error {
			attempts = append(attempts, run.Call.Attempt)
			if in.X == 0 {
				return toolset.Retry("not zero")
			}
			return nil
		}))
	trim := func(_ context.Context, _ *toolset.RunContext[deps], messages []*model.Message) ([]*model.Message, error) {
		return messages[max(0, len(messages)-3):], nil
	}
	config := cfg{History: []agent.HistoryProcessor[deps]{trim}, ToolRetries: new(2)}
	steps := func() model.Model {
		return modeltest.Script(modeltest.Say(model.ToolCall("1", "checked", `{"x":0,"y":1}`), model.ToolCall("2", "unknown", `{}`)),
			modeltest.Say(model.ToolCall("3", "checked", `{"x":0,"y":1}`)), modeltest.Say(model.ToolCall("4", "checked", `{"x":1,"y":1,}`)), modeltest.SayText("ok"))
	}
	config.Model = steps()
	want, err := newAgent(t, config, checked).Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	wantAttempts := attempts
	attempts = nil

	config.Model = steps()
	a := newAgent(t, config, checked)
	w := agent.NewWorker(a, deps{})
	var ops []string
	fused := func(_ context.Context, local engine.Worker) (engine.Engine, error) {
		eng := enginetest.NewRemote(local, func(ctx context.Context, task []byte, report func([]byte) error) ([]byte, error) {
			read, err := engine.UnmarshalTask(task)
			require.NoError(t, err)
			ops = append(ops, read.Op.String())
			return engine.Execute(ctx, w, task, report)
		})
		eng.Fuse = true
		return eng, nil
	}
	got, err := a.Run(t.Context(), deps{}, "go", agent.WithEngine(fused))
	require.NoError(t, err)
	require.Equal(t, []string{"step", "step", "step", "tool", "step", "output"}, ops)
	require.Equal(t, dump(want.Messages), dump(got.Messages))
	require.Equal(t, want.Usage, got.Usage)
	require.Equal(t, []int{0, 1, 2}, attempts)
	require.Equal(t, wantAttempts, attempts)

	// Somebody who watches is told in between.
	ops, config.Model = nil, modeltest.Script(modeltest.SayText("ok"))
	a = newAgent(t, config)
	w = agent.NewWorker(a, deps{})
	_, err = a.Stream(t.Context(), deps{}, "go", agent.WithEngine(fused)).Result()
	require.NoError(t, err)
	require.Equal(t, []string{"prepare", "model", "output"}, ops)

	// Errors have their stage, and a request that was not made is not counted.
	config.Model, config.Dynamic = modeltest.Script(modeltest.Fail(errBoom)), nil
	a = newAgent(t, config)
	w = agent.NewWorker(a, deps{})
	_, err = a.Run(t.Context(), deps{}, "go", agent.WithEngine(fused))
	require.EqualError(t, err, "agent: model: boom")
	require.Equal(t, 1, asRunError(t, err).Usage.Requests)
	config.Dynamic = []agent.InstructionFunc[deps]{func(context.Context, *toolset.RunContext[deps]) (string, error) { return "", errBoom }}
	a = newAgent(t, config)
	w = agent.NewWorker(a, deps{})
	_, err = a.Run(t.Context(), deps{}, "go", agent.WithEngine(fused))
	require.Equal(t, agent.StagePrepare, asRunError(t, err).Stage)
	require.Zero(t, asRunError(t, err).Usage.Requests)
	_, err = a.Run(t.Context(), deps{}, "go", agent.WithLimits(agent.Limits{Requests: 1}), agent.WithMeter(func() *toolset.Meter {
		m := toolset.NewMeter(toolset.Limits{Requests: 1})
		require.NoError(t, m.Request())
		return m
	}()), agent.WithEngine(fused))
	require.ErrorAs(t, err, new(*agent.LimitError))
}

// notBegun is an engine that cannot begin.
type notBegun struct{ engine.Engine }

func (notBegun) Begin(context.Context) (engine.Beginning, error) {
	return engine.Beginning{}, errors.New("the database is away")
}

func TestEngineThatCannotBegin(t *testing.T) {
	a := agent.Must(agent.New(agent.Config[struct{}, string]{Name: "clerk", Model: modeltest.Script()}))
	before := []*model.Message{{Kind: model.KindRequest, Parts: []model.Part{model.User("Hello.")}}, model.Response(model.Text("Hi."))}
	_, err := a.Run(t.Context(), struct{}{}, "Go.", agent.WithRunID("r"), agent.WithHistory(before),
		agent.WithEngine(func(_ context.Context, local engine.Worker) (engine.Engine, error) { return notBegun{}, nil }))
	var failed *agent.RunError
	require.ErrorAs(t, err, &failed)
	require.EqualError(t, err, "agent clerk: prepare: begin the run: the database is away")
	require.Equal(t, before, failed.Messages, "nothing has been added")
	require.Equal(t, "r", failed.RunID)
}
