// SPDX-License-Identifier: Apache-2.0

package evals_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
	"github.com/ponte-go/ponte/toolset"
)

func TestDatasetsAreCheckedBeforeAnythingRuns(t *testing.T) {
	task := func(context.Context, string) (string, error) { t.Error("it has run"); return "", nil }
	typed := func(name string) evals.Evaluator {
		return evals.New(name, func(context.Context, *evals.Trial[int, string]) (evals.Score, error) {
			return evals.Score{}, nil
		})
	}
	d := evals.Dataset[string, string]{
		Cases: []evals.Case[string, string]{
			{Name: "a"}, {Name: "a"}, {Name: "case 4", Evaluators: []evals.Evaluator{evals.Equal()}}, {},
		},
		Evaluators: []evals.Evaluator{evals.Equal(), evals.Equal(), {}, typed("ints")},
	}
	_, err := evals.Run(t.Context(), d, task, evals.Options{})
	for _, want := range []string{
		`two cases are called "a": name them apart`, `two cases are called "case 4"`,
		`the dataset has two evaluators called "equal": rename one with Named`,
		`case "case 4" has two evaluators called "equal"`,
		"the dataset has the zero Evaluator: make it with New",
		`evaluator "ints" is for int and string, not for string and string`,
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = evals.Run(t.Context(), evals.Dataset[string, string]{}, nil, evals.Options{})
	require.EqualError(t, err, "evals: there is no task\nthe dataset has no cases")
	d = evals.Dataset[string, string]{Cases: named(1)}
	_, err = evals.Run(t.Context(), d, task, evals.Options{Repeats: -1, Timeout: -1})
	require.ErrorContains(t, err, "evals: Options.Repeats is -1: it cannot be negative")
	require.ErrorContains(t, err, "evals: Options.Timeout is -1ns: it cannot be negative")
}

// A model may repeat the ids of its calls, or leave them out. Each call still has its own result, and the calls inside it.
func TestCallsOfOneIDAreToldApart(t *testing.T) {
	for _, id := range []string{"x", ""} {
		inner := scripted([]*toolset.Tool[any]{tool("look", fine)},
			modeltest.Say(model.ToolCall(id, "look", `{"id":"1"}`)), modeltest.SayText("first"),
			modeltest.Say(model.ToolCall(id, "look", `{"id":"2"}`)), modeltest.SayText("second"))
		ask := func() modeltest.Step { return modeltest.Say(model.ToolCall(id, "ask", `{"prompt":"q"}`)) }
		outer := scripted([]*toolset.Tool[any]{agent.AsTool[any]("ask", "Ask.", inner, func(d any) any { return d })}, ask(), ask(), modeltest.SayText("done"))
		see := evals.New("see", func(_ context.Context, tr *evals.Trial[string, string]) (evals.Score, error) {
			var calls []string
			for _, c := range tr.Calls {
				require.NotEmpty(t, c.ID)
				calls = append(calls, fmt.Sprintf("%d %s %s %v", c.Run, c.Tool, c.Args, c.Ran))
			}
			require.Equal(t, []string{
				`0 ask {"prompt":"q"} true`, `1 look {"id":"1"} true`, `0 ask {"prompt":"q"} true`, `2 look {"id":"2"} true`,
			}, calls)
			require.Equal(t, "second", tr.Calls[2].Result)
			return evals.Pass(true), nil
		})
		scores := scoresOf(t, evals.Case[string, string]{Input: "go"}, evals.Agent[any](outer, nil), see)
		require.True(t, scores["see"].Passed())
	}
}

func TestEvaluatorsSeeTheWholeRun(t *testing.T) {
	inner := scripted([]*toolset.Tool[any]{tool("look", fine)},
		modeltest.Say(model.ToolCall("1", "look", `{"id":"9"}`)), modeltest.SayText("found"))
	outer := scripted([]*toolset.Tool[any]{
		agent.AsTool[any]("ask", "Ask.", inner, func(d any) any { return d }),
		tool("refund", func(o order) (string, error) {
			if o.Cents > 100 {
				return "", toolset.Failed("too much")
			}
			return "", toolset.Retry("again")
		}),
	},
		modeltest.Say(model.ToolCall("1", "ask", `{"prompt":"q"}`), model.ToolCall("2", "refund", `{"id":"7","cents":500,}`),
			model.ToolCall("3", "refund", `{"cents":5}`), model.ToolCall("4", "refund", `{"id":"1"}`)),
		modeltest.SayText("done"))
	seen := 0
	see := evals.New("see", func(_ context.Context, tr *evals.Trial[string, string]) (evals.Score, error) {
		seen++
		require.Equal(t, "go", tr.Case.Input)
		require.Equal(t, "done", tr.Output)
		require.Len(t, tr.Runs, 2)
		require.Equal(t, -1, tr.Runs[0].Outer)
		require.Equal(t, 0, tr.Runs[1].Outer)
		require.Equal(t, "1", tr.Runs[1].Call)
		require.Len(t, tr.Runs[0].Messages, 4)
		require.Equal(t, 4, tr.Usage.Requests, "the runs inside tools count once")
		require.Positive(t, tr.Duration)
		var calls []string
		for _, c := range tr.Calls {
			calls = append(calls, fmt.Sprintf("%d %s %v %v %s", c.Run, c.Tool, c.Ran, c.Succeeded(), c.Outcome))
		}
		require.Equal(t, []string{
			"0 ask true true ", "1 look true true ", "0 refund true false failed", "0 refund false false ",
			"0 refund true false ",
		}, calls)
		require.Equal(t, "found", tr.Calls[0].Result)
		require.Equal(t, "too much", tr.Calls[2].Result)
		require.JSONEq(t, `{"id":"7","cents":500}`, string(tr.Calls[2].Repaired))
		require.Contains(t, tr.Calls[3].Err, "id")
		require.Contains(t, tr.Calls[4].Err, "again")
		return evals.Pass(true), nil
	})
	scores := scoresOf(t, evals.Case[string, string]{Input: "go"}, evals.Agent[any](outer, nil), see)
	require.True(t, scores["see"].Passed())
	require.Equal(t, 1, seen)
}

func TestCallsThatGiveTheOutputAreNoCalls(t *testing.T) {
	type answer struct {
		Text string `json:"text" validate:"min=2"`
	}
	a := agent.Must(agent.New(agent.Config[any, answer]{Model: modeltest.Script(
		modeltest.Say(model.ToolCall("1", "final_result", `{"text":"a"}`)),
		modeltest.Say(model.ToolCall("1", "final_result", `{"text":"aa"}`)))}))
	scores := scoresOf(t, evals.Case[string, answer]{Input: "go", Expected: answer{"aa"}}, evals.Agent[any](a, nil),
		evals.Equal(), evals.Called(evals.Exact))
	require.True(t, scores["equal"].Passed())
	require.True(t, scores["calls"].Passed())
}

func TestInstrumentationOfTheProgramStays(t *testing.T) {
	runs := 0
	ctx := agent.WithInstrumentation(t.Context(), agent.Hooks[any]{
		Run: func(ctx context.Context, _ *toolset.RunContext[any], next agent.RunFunc) error {
			runs++
			_, err := next(ctx)
			return err
		},
	})
	_, err := evals.Run(ctx, evals.Dataset[string, string]{Cases: named(3)}, evals.Agent[any](saying("ok"), nil),
		evals.Options{Concurrency: 1})
	require.NoError(t, err)
	require.Equal(t, 3, runs)
}

func TestATaskThatFailsFailsEveryMetric(t *testing.T) {
	number := evals.New("number", func(context.Context, *evals.Trial[string, string]) (evals.Score, error) {
		return evals.Number(0.5), nil
	})
	sees := evals.OnFailure(evals.New("sees", func(_ context.Context, t *evals.Trial[string, string]) (evals.Score, error) {
		return evals.Pass(t.Err != nil && t.Output == ""), nil
	}))
	for name, task := range map[string]evals.Task[string, string]{
		"error": func(context.Context, string) (string, error) { return "x", errors.New("broken") },
		"panic": func(context.Context, string) (string, error) { panic("broken") },
		"limit": func(ctx context.Context, in string) (string, error) {
			res, err := saying("ok").Run(ctx, nil, in, agent.WithLimits(agent.Limits{TotalTokens: 1}))
			if err != nil {
				return "", err
			}
			return res.Output, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := evals.Dataset[string, string]{Cases: named(1), Evaluators: []evals.Evaluator{evals.Equal(), number, sees}}
			report, err := evals.Run(t.Context(), d, task, evals.Options{})
			require.NoError(t, err)
			trial := report.Cases[0].Trials[0]
			require.Equal(t, evals.StatusFailed, trial.Status)
			require.Equal(t, 1, trial.Attempts, "the agent gets no second try")
			require.NotEmpty(t, trial.Error)
			require.Equal(t, evals.KindFailed, trial.Scores[0].Kind)
			require.Equal(t, evals.KindFailed, trial.Scores[1].Kind)
			require.True(t, trial.Scores[2].Passed())
			require.False(t, trial.Passed())
		})
	}
}

func TestATaskThatEndsItsGoroutineHasFailed(t *testing.T) {
	d := evals.Dataset[string, string]{Cases: named(9), Evaluators: []evals.Evaluator{evals.Equal()}}
	n := 0
	task := func(context.Context, string) (string, error) {
		if n++; n%2 == 0 {
			runtime.Goexit()
		}
		return "ok", nil
	}
	report, err := evals.Run(t.Context(), d, task, evals.Options{Concurrency: 1})
	require.NoError(t, err)
	require.Equal(t, 5, report.Count(evals.StatusCompleted))
	require.Equal(t, 4, report.Count(evals.StatusFailed))
	require.Equal(t, evals.KindFailed, report.Cases[1].Trials[0].Scores[0].Kind)
	require.Contains(t, report.Cases[1].Trials[0].Error, "runtime.Goexit")
}

func TestAnEvaluatorThatFailsCountsNowhere(t *testing.T) {
	bad := func(name string, fn func() (evals.Score, error)) evals.Evaluator {
		return evals.New(name, func(context.Context, *evals.Trial[string, string]) (evals.Score, error) { return fn() })
	}
	zero := 0.0
	d := evals.Dataset[string, string]{Cases: named(1), Evaluators: []evals.Evaluator{
		bad("error", func() (evals.Score, error) { return evals.Pass(true), errors.New("broken") }),
		bad("panic", func() (evals.Score, error) { panic("broken") }),
		bad("nan", func() (evals.Score, error) { return evals.Number(zero / zero), nil }),
		bad("kind", func() (evals.Score, error) { return evals.Score{Kind: "other"}, nil }),
		bad("two", func() (evals.Score, error) { return evals.Score{Kind: evals.KindPass, Value: 2}, nil }),
		bad("none", func() (evals.Score, error) { return evals.Score{}, nil }),
	}}
	report, err := evals.Run(t.Context(), d, evals.Agent[any](saying("ok"), nil), evals.Options{})
	require.NoError(t, err)
	require.Len(t, report.Cases[0].Trials[0].Scores, 5)
	require.Len(t, report.Errors(), 5)
	require.True(t, report.Cases[0].Trials[0].Passed())
}

var busy = &model.APIError{Provider: "p", Status: 503, Retryable: true}

func TestFailuresOfTheProviderAreTriedAgainAndNeverScored(t *testing.T) {
	wrong := func(status int) error { return &model.APIError{Provider: "p", Status: status} }
	for name, c := range map[string]struct {
		failures []error
		status   evals.Status
		attempts int
	}{
		"once":         {[]error{busy}, evals.StatusCompleted, 2},
		"twice":        {[]error{busy, busy}, evals.StatusCompleted, 3},
		"too often":    {[]error{busy, busy, busy}, evals.StatusUnavailable, 3},
		"cut off":      {[]error{model.ErrResponseFailed}, evals.StatusCompleted, 2},
		"the key":      {[]error{fmt.Errorf("no: %w", model.ErrAuth)}, evals.StatusUnavailable, 1},
		"no model":     {[]error{wrong(404)}, evals.StatusUnavailable, 1},
		"bad request":  {[]error{wrong(400)}, evals.StatusFailed, 1},
		"too long":     {[]error{fmt.Errorf("no: %w", model.ErrContextLength)}, evals.StatusFailed, 1},
		"refused":      {[]error{model.ErrRefused}, evals.StatusFailed, 1},
		"other errors": {[]error{errors.New("bug")}, evals.StatusFailed, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var steps []modeltest.Step
				for _, err := range c.failures {
					steps = append(steps, modeltest.Fail(err))
				}
				a := agent.Must(agent.New(agent.Config[any, string]{
					Model: modeltest.Script(append(steps, modeltest.SayText("ok"))...)}))
				d := evals.Dataset[string, string]{Cases: named(1), Evaluators: []evals.Evaluator{evals.Equal()}}
				report, err := evals.Run(t.Context(), d, evals.Agent[any](a, nil), evals.Options{})
				require.NoError(t, err)
				trial := report.Cases[0].Trials[0]
				require.Equal(t, c.status, trial.Status)
				require.Equal(t, c.attempts, trial.Attempts)
				require.Equal(t, trial.Counts(), trial.Scores != nil)
				require.Equal(t, c.attempts, report.Usage.Requests, "all attempts are paid for")
			})
		})
	}
}

func TestAProviderThatFailsInsideAToolIsNoFailureOfTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := scripted(nil, modeltest.Fail(busy), modeltest.SayText("found"))
		outer := scripted([]*toolset.Tool[any]{agent.AsTool[any]("ask", "Ask.", inner, func(d any) any { return d })},
			modeltest.Say(model.ToolCall("1", "ask", `{"prompt":"q"}`)), modeltest.SayText("sorry"),
			modeltest.Say(model.ToolCall("1", "ask", `{"prompt":"q"}`)), modeltest.SayText("ok"))
		d := evals.Dataset[string, string]{Cases: named(1), Evaluators: []evals.Evaluator{evals.Equal()}}
		report, err := evals.Run(t.Context(), d, evals.Agent[any](outer, nil), evals.Options{})
		require.NoError(t, err)
		require.Equal(t, 2, report.Cases[0].Trials[0].Attempts)
		require.True(t, report.Cases[0].Trials[0].Passed())
	})
}

func TestRetriesWaitAsLongAsTheProviderAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := &model.APIError{Status: 429, Retryable: true, RetryAfter: 90 * time.Second}
		a := scripted(nil, modeltest.Fail(wait), modeltest.Fail(busy), modeltest.SayText("ok"))
		begin := time.Now()
		_, err := evals.Run(t.Context(), evals.Dataset[string, string]{Cases: named(1)}, evals.Agent[any](a, nil), evals.Options{})
		require.NoError(t, err)
		require.Equal(t, 92*time.Second, time.Since(begin))
	})
}

func TestATrialThatTakesTooLongIsAFailureOfTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := agent.Must(agent.New(agent.Config[any, string]{
			Model: modeltest.Func(func(ctx context.Context, _ *model.Request) (*model.Message, error) {
				<-ctx.Done()
				return nil, &model.APIError{Provider: "p", Retryable: true, Err: ctx.Err()}
			})}))
		report, err := evals.Run(t.Context(), evals.Dataset[string, string]{Cases: named(1)}, evals.Agent[any](a, nil),
			evals.Options{Timeout: time.Minute})
		require.NoError(t, err)
		require.Equal(t, evals.StatusFailed, report.Cases[0].Trials[0].Status)
		require.Equal(t, 1, report.Cases[0].Trials[0].Attempts)
	})
}

func TestTrialsRunAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		task := func(context.Context, string) (string, error) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return "", nil
		}
		var progress []evals.Progress
		begin := time.Now()
		report, err := evals.Run(t.Context(), evals.Dataset[string, string]{Cases: named(10)}, task, evals.Options{
			Concurrency: 4, Repeats: 2, Progress: func(p evals.Progress) { progress = append(progress, p) },
		})
		require.NoError(t, err)
		require.EqualValues(t, 4, most.Load())
		require.Equal(t, 5*time.Second, time.Since(begin))
		require.Equal(t, 20, report.Count(evals.StatusCompleted))
		require.Len(t, progress, 20)
		require.Equal(t, 20, progress[19].Done)
		require.Equal(t, 20, progress[19].Total)
		require.Zero(t, progress[19].Left)
		require.Equal(t, time.Second, progress[9].Elapsed/3)
		require.Equal(t, 3*time.Second, progress[9].Left)
		require.Equal(t, 1, progress[7].Repeat, "no case is repeated before all have run once")
		require.Equal(t, 2, progress[12].Repeat)
	})
}

// tokenIsOne is a table in which each token costs 1.
type tokenIsOne struct{}

func (tokenIsOne) Price(string, string, time.Time) (model.Price, bool) {
	return model.Price{Input: 1e6, Output: 1e6}, true
}

func TestOneBudgetBoundsAllTrials(t *testing.T) {
	prices := tokenIsOne{}
	for name, c := range map[string]struct {
		limits toolset.Limits
		done   int
	}{
		"requests": {toolset.Limits{Requests: 7}, 7},
		"tokens":   {toolset.Limits{TotalTokens: 46}, 4},
		"cost":     {toolset.Limits{Cost: 31}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			d := evals.Dataset[string, string]{Cases: named(20), Evaluators: []evals.Evaluator{evals.Equal()}}
			report, err := evals.Run(t.Context(), d, evals.Agent[any](saying("ok"), nil),
				evals.Options{Limits: c.limits, Concurrency: 1, Prices: prices})
			var limit *toolset.LimitError
			require.ErrorAs(t, err, &limit)
			require.ErrorContains(t, err, "evals: the budget for all cases is used up")
			require.Equal(t, err.Error(), report.Stopped)
			require.Equal(t, c.done, report.Count(evals.StatusCompleted))
			require.Equal(t, 1, report.Count(evals.StatusStopped))
			require.Equal(t, 20-c.done-1, report.Count(evals.StatusNotRun))
			require.Nil(t, report.Cases[c.done].Trials[0].Scores)
		})
	}
}

// TestBudgetCountsEachRequestOnce, whatever wraps the model.
func TestBudgetCountsEachRequestOnce(t *testing.T) {
	leaf := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		return model.Response(model.Text("ok")), nil
	})
	wrapped := modelwrap.Retry(modelwrap.Fallback([]model.Model{leaf, leaf}, modelwrap.FallbackPolicy{}), model.RetryPolicy{})
	a := agent.Must(agent.New(agent.Config[any, string]{Model: wrapped}))
	report, err := evals.Run(t.Context(), evals.Dataset[string, string]{Cases: named(9)}, evals.Agent[any](a, nil),
		evals.Options{Limits: toolset.Limits{Requests: 7}, Concurrency: 1})
	require.Error(t, err)
	require.Equal(t, 7, report.Count(evals.StatusCompleted))
}

func TestTrialsAtTheSameTimeNeverMakeMoreRequestsThanTheBudget(t *testing.T) {
	var asked atomic.Int64
	a := agent.Must(agent.New(agent.Config[any, string]{
		Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			asked.Add(1)
			runtime.Gosched()
			return model.Response(model.Text("ok")), nil
		})}))
	for range 50 {
		asked.Store(0)
		report, err := evals.Run(t.Context(), evals.Dataset[string, string]{Cases: named(40)}, evals.Agent[any](a, nil),
			evals.Options{Limits: toolset.Limits{Requests: 13}, Concurrency: 8})
		require.Error(t, err)
		require.EqualValues(t, 13, asked.Load())
		require.Equal(t, 13, report.Count(evals.StatusCompleted))
		require.Equal(t, 13, report.Usage.Requests)
	}
}

func TestTheBudgetIsUsedUpAlsoForATaskThatHidesIt(t *testing.T) {
	a := saying("ok")
	task := func(ctx context.Context, in string) (string, error) {
		if _, err := a.Run(ctx, nil, in); err != nil {
			return "a guess", nil
		}
		return "ok", nil
	}
	report, err := evals.Run(t.Context(), evals.Dataset[string, string]{Cases: named(3)}, task,
		evals.Options{Limits: toolset.Limits{Requests: 1}, Concurrency: 1})
	require.Error(t, err)
	require.Equal(t, evals.StatusStopped, report.Cases[1].Trials[0].Status)
}

func TestARunWhoseContextEndsHasWhatWasDone(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	n := 0
	task := func(ctx context.Context, _ string) (string, error) {
		if n++; n == 3 {
			cancel(errors.New("enough"))
			return "", ctx.Err()
		}
		return "", nil
	}
	report, err := evals.Run(ctx, evals.Dataset[string, string]{Cases: named(5)}, task, evals.Options{Concurrency: 1})
	require.EqualError(t, err, "evals: the run was stopped: enough")
	require.Equal(t, 2, report.Count(evals.StatusCompleted))
	require.Equal(t, 1, report.Count(evals.StatusStopped))
	require.Equal(t, 2, report.Count(evals.StatusNotRun))
}

func TestAJudgeIsPaidByTheBudgetAndIsNoPartOfTheTrial(t *testing.T) {
	judge := saying("good")
	judging := evals.New("judge", func(ctx context.Context, t *evals.Trial[string, string]) (evals.Score, error) {
		res, err := judge.Run(ctx, nil, t.Output)
		if err != nil {
			return evals.Score{}, err
		}
		return evals.Pass(res.Output == "good"), nil
	})
	d := evals.Dataset[string, string]{Cases: named(1), Evaluators: []evals.Evaluator{judging}}
	report, err := evals.Run(t.Context(), d, evals.Agent[any](saying("ok"), nil), evals.Options{})
	require.NoError(t, err)
	require.True(t, report.Cases[0].Trials[0].Passed())
	require.Len(t, report.Cases[0].Trials[0].Runs, 1)
	require.Equal(t, 1, report.Cases[0].Trials[0].Usage.Requests)
	require.Equal(t, 2, report.Usage.Requests)
}

func TestAJudgeWhoseProviderFailsIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		judging := evals.New("judge", func(context.Context, *evals.Trial[string, string]) (evals.Score, error) {
			if n++; n < 3 {
				return evals.Score{}, busy
			}
			return evals.Pass(true), nil
		})
		d := evals.Dataset[string, string]{Cases: named(1), Evaluators: []evals.Evaluator{judging}}
		report, err := evals.Run(t.Context(), d, evals.Agent[any](saying("ok"), nil), evals.Options{})
		require.NoError(t, err)
		require.Empty(t, report.Errors())
		require.Equal(t, 3, n)
		require.True(t, report.Cases[0].Trials[0].Passed())
	})
}

// TestStreamedRunsHaveEvents has an evaluator look at the events of a run.
func TestStreamedRunsHaveEvents(t *testing.T) {
	type trial = evals.Trial[string, string]
	a, _ := counting("one")
	d := echoCases("x")
	var events []agent.Event
	d.Evaluators = []evals.Evaluator{evals.New("all", func(_ context.Context, t *trial) (evals.Score, error) {
		events = t.Events
		return evals.Pass(true), nil
	})}
	report, err := evals.Run(t.Context(), d, evals.Stream(a, nil), evals.Options{})
	require.NoError(t, err)
	text, results := "", 0
	for _, e := range events {
		switch {
		case e.Kind == agent.EventPartDelta && e.PartKind == model.PartText:
			text += e.Text
		case e.Kind == agent.EventToolResult:
			results++
		}
	}
	require.Equal(t, agent.EventRunEnd, events[len(events)-1].Kind)
	require.Equal(t, 1, results)
	require.JSONEq(t, string(report.Cases[0].Trials[0].Output), strconv.Quote(text))

	_, err = evals.Run(t.Context(), d, evals.Agent(a, nil), evals.Options{})
	require.NoError(t, err)
	require.Empty(t, events)
}
