// SPDX-License-Identifier: Apache-2.0

package evals_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/model"
)

// tried runs a task that returns the errors in turn, and then an output. It returns the trial, and
// how long it took in all.
func tried(t *testing.T, o evals.Options, failures ...error) (result evals.TrialResult, took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		begin, n := time.Now(), 0
		task := func(context.Context, string) (string, error) {
			if n++; n <= len(failures) {
				return "", failures[n-1]
			}
			return "ok", nil
		}
		report, err := evals.Run(t.Context(), evals.Dataset[string, string]{Cases: named(1)}, task, o)
		require.NoError(t, err)
		result, took = report.Cases[0].Trials[0], time.Since(begin)
	})
	return result, took
}

// TestWhoHasFailedDecidesWhetherATrialCounts has errors at both sides of each rule: of the agent, of
// the provider for good, and of the provider for now.
func TestWhoHasFailedDecidesWhetherATrialCounts(t *testing.T) {
	status := func(n int) error { return fmt.Errorf("run: %w", &model.APIError{Status: n}) }
	wrapped := func(err error) error { return fmt.Errorf("run: %w", err) }
	network := &net.OpError{Op: "dial", Err: errors.New("refused")}
	for _, c := range []struct {
		err      error
		status   evals.Status
		attempts int
	}{
		{status(http.StatusBadRequest), evals.StatusFailed, 1},
		{status(http.StatusUnprocessableEntity), evals.StatusFailed, 1},
		{status(499), evals.StatusFailed, 1},
		{status(500), evals.StatusUnavailable, 1},
		{status(http.StatusNotFound), evals.StatusUnavailable, 1},
		{status(http.StatusRequestTimeout), evals.StatusUnavailable, 1},
		{status(0), evals.StatusUnavailable, 1},
		{&model.APIError{Status: 400, Retryable: true}, evals.StatusCompleted, 2},
		{wrapped(model.ErrRateLimited), evals.StatusCompleted, 2},
		{wrapped(model.ErrResponseFailed), evals.StatusCompleted, 2},
		{wrapped(model.ErrAuth), evals.StatusUnavailable, 1},
		{wrapped(model.ErrUnsupported), evals.StatusFailed, 1},
		{wrapped(model.ErrContextLength), evals.StatusFailed, 1},
		{errors.Join(model.ErrUnsupported, status(500)), evals.StatusFailed, 1},
		{wrapped(context.Canceled), evals.StatusFailed, 1},
		{errors.Join(context.Canceled, status(500)), evals.StatusFailed, 1},
		{wrapped(network), evals.StatusCompleted, 2},
		{wrapped(context.DeadlineExceeded), evals.StatusFailed, 1}, // which is a net.Error too
		{errors.New("other"), evals.StatusFailed, 1},
	} {
		result, _ := tried(t, evals.Options{}, c.err)
		require.Equal(t, c.status, result.Status, "%v", c.err)
		require.Equal(t, c.attempts, result.Attempts, "%v", c.err)
		if c.status == evals.StatusCompleted {
			require.Empty(t, result.Error)
		} else {
			require.Equal(t, c.err.Error(), result.Error)
		}
	}
}

func TestWaitsGrowToAMinute(t *testing.T) {
	failures := make([]error, 20)
	for i := range failures {
		failures[i] = busy
	}
	for n, want := range []time.Duration{0, 1, 3, 7, 15, 31, 63, 123, 183} {
		result, took := tried(t, evals.Options{Retries: 30}, failures[:n]...)
		require.Equal(t, evals.StatusCompleted, result.Status)
		require.Equal(t, n+1, result.Attempts)
		require.Equal(t, want*time.Second, took, "%d failures", n)
	}
	_, took := tried(t, evals.Options{Retries: 30}, failures...)
	require.Equal(t, 63*time.Second+14*time.Minute, took)

	result, took := tried(t, evals.Options{Retries: -1}, busy)
	require.Equal(t, []any{evals.StatusUnavailable, 1, time.Duration(0)}, []any{result.Status, result.Attempts, took})
	result, _ = tried(t, evals.Options{Retries: 1}, busy, busy)
	require.Equal(t, []any{evals.StatusUnavailable, 2}, []any{result.Status, result.Attempts})
	result, _ = tried(t, evals.Options{}, busy, busy, busy)
	require.Equal(t, []any{evals.StatusUnavailable, 3}, []any{result.Status, result.Attempts})
}

// TestAWaitEndsWithItsContext cancels a run whose trial waits for a provider.
func TestAWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second/2, func() { cancel(errors.New("enough")) })
		begin := time.Now()
		report, err := evals.Run(ctx, evals.Dataset[string, string]{Cases: named(1)}, func(context.Context, string) (string, error) {
			return "", busy
		}, evals.Options{})
		require.NoError(t, err, "nothing is left to be done")
		require.Equal(t, time.Second/2, time.Since(begin))
		require.Equal(t, []any{evals.StatusUnavailable, 1}, []any{report.Cases[0].Trials[0].Status, report.Cases[0].Trials[0].Attempts})
	})
}

func TestATrialIsBoundByItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		task := func(ctx context.Context, in string) (string, error) {
			if in == "late" {
				<-ctx.Done()
				return "", fmt.Errorf("stopped: %w", context.Cause(ctx))
			}
			time.Sleep(time.Minute - 1)
			return in, ctx.Err()
		}
		report, err := evals.Run(t.Context(), echoCases("early", "late"), task, evals.Options{Timeout: time.Minute, Concurrency: 1})
		require.NoError(t, err)
		early, late := report.Cases[0].Trials[0], report.Cases[1].Trials[0]
		require.Equal(t, []any{evals.StatusCompleted, time.Minute - 1, ""}, []any{early.Status, early.Duration, early.Error})
		require.Equal(t, []any{evals.StatusFailed, time.Minute, 1}, []any{late.Status, late.Duration, late.Attempts})
		require.Equal(t, "stopped: evals: it took longer than 1m0s: context deadline exceeded", late.Error)
		require.Equal(t, 2*time.Minute-1, report.Duration)
	})
}

// TestAnOutputAfterTheTimeoutIsAFailure has tasks that do not look at their context.
func TestAnOutputAfterTheTimeoutIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := echoCases("1m", "59s", "61s")
		d.Evaluators = []evals.Evaluator{evals.Equal()}
		task := func(_ context.Context, in string) (string, error) {
			took, err := time.ParseDuration(in)
			time.Sleep(took)
			return in, err
		}
		report, err := evals.Run(t.Context(), d, task, evals.Options{Timeout: time.Minute + 1, Concurrency: 1})
		require.NoError(t, err)
		for i, passed := range []bool{true, true, false} {
			trial := &report.Cases[i].Trials[0]
			require.Equal(t, passed, trial.Passed())
			if !passed {
				require.Equal(t, []any{evals.StatusFailed, 61 * time.Second, 1}, []any{trial.Status, trial.Duration, trial.Attempts})
				require.Equal(t, "evals: it took longer than 1m0.000000001s: context deadline exceeded", trial.Error)
				require.Empty(t, trial.Output)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		report, err = evals.Run(ctx, echoCases("2m"), task, evals.Options{Timeout: time.Minute})
		require.Error(t, err)
		require.Equal(t, evals.StatusStopped, report.Cases[0].Trials[0].Status, "the whole run has ended")
	})
}

// TestAWaitIsNotLongerThanTenMinutes has providers that ask for a wait on both sides of it.
func TestAWaitIsNotLongerThanTenMinutes(t *testing.T) {
	for wait, attempts := range map[time.Duration]int{10 * time.Minute: 2, 10*time.Minute + 1: 1, 24 * time.Hour: 1} {
		result, took := tried(t, evals.Options{}, &model.APIError{Status: 429, Retryable: true, RetryAfter: wait})
		require.Equal(t, attempts, result.Attempts, wait)
		if attempts == 2 {
			require.Equal(t, []any{evals.StatusCompleted, wait}, []any{result.Status, took})
		} else {
			require.Equal(t, []any{evals.StatusUnavailable, time.Duration(0)}, []any{result.Status, took})
		}
	}
}

func TestMistakesInOptionsAreNamedInOrder(t *testing.T) {
	_, err := evals.Prepare(echoCases("a"), echo, evals.Options{Concurrency: -2, Repeats: -1, Timeout: -time.Second})
	require.EqualError(t, err, "evals: Options.Concurrency is -2: it cannot be negative\n"+
		"evals: Options.Repeats is -1: it cannot be negative\nevals: Options.Timeout is -1s: it cannot be negative")
	noJSON := func(context.Context, any) (any, error) { return nil, nil }
	_, err = evals.Prepare(evals.Dataset[any, any]{Cases: []evals.Case[any, any]{{Input: func() {}}}}, noJSON, evals.Options{})
	require.ErrorContains(t, err, `evals: the input of case "case 1" is not JSON: json: unsupported type: func()`)
	_, err = evals.Prepare(evals.Dataset[any, any]{Cases: []evals.Case[any, any]{{Expected: func() {}}}}, noJSON, evals.Options{})
	require.ErrorContains(t, err, `evals: the expected output of case "case 1" is not JSON: json: unsupported type: func()`)
	_, err = evals.Prepare(evals.Dataset[any, any]{Cases: []evals.Case[any, any]{{Expected: func() {}, Unlabeled: true}}}, noJSON, evals.Options{})
	require.NoError(t, err)
}

// TestEightTrialsRunAtATime counts tasks that all wait.
func TestEightTrialsRunAtATime(t *testing.T) {
	for _, c := range []struct{ cases, concurrency, want int }{{20, 0, 8}, {5, 0, 5}, {20, 1, 1}, {20, 19, 19}} {
		synctest.Test(t, func(t *testing.T) {
			begun, over := make(chan bool, 20), make(chan bool)
			done := make(chan bool)
			go func() {
				defer close(done)
				_, err := evals.Run(t.Context(), evals.Dataset[string, string]{Cases: named(c.cases)}, func(context.Context, string) (string, error) {
					begun <- true
					<-over
					return "", nil
				}, evals.Options{Concurrency: c.concurrency})
				require.NoError(t, err)
			}()
			synctest.Wait()
			require.Len(t, begun, c.want)
			close(over)
			<-done
		})
	}
}

// TestRunnersRunCasesOneByOne uses the cases of a runner in any order.
func TestRunnersRunCasesOneByOne(t *testing.T) {
	d := echoCases("a", "b")
	d.Cases[1].Name, d.Name = "", "letters"
	d.Evaluators = []evals.Evaluator{evals.Equal()}
	ctx, cancel := context.WithCancel(t.Context())
	ran := 0
	task := func(_ context.Context, in string) (string, error) {
		if ran++; ran == 2 {
			cancel()
		}
		return in, nil
	}
	r, err := evals.Prepare(d, task, evals.Options{Repeats: 3, Name: "one"})
	require.NoError(t, err)
	require.Equal(t, "evals.Runner", fmt.Sprint(r))
	require.Equal(t, []string{"a", "case 2"}, r.Cases())
	first := r.Case(ctx, 1)
	require.Equal(t, []evals.Status{evals.StatusCompleted, evals.StatusStopped, evals.StatusNotRun}, statuses(first))
	require.Equal(t, []evals.Score{{Name: "equal", Kind: evals.KindPass, Value: 1, Reason: ""}}, first[0].Scores)
	require.Equal(t, "context canceled", first[1].Error)
	report := r.Report()
	require.Equal(t, []string{"one", "letters"}, []string{report.Name, report.Dataset})
	require.Equal(t, first, report.Cases[1].Trials)
	require.Equal(t, 3, report.Count(evals.StatusNotRun)-1)
	second := r.Case(t.Context(), 0)
	require.Equal(t, 3, len(second))
	require.Equal(t, 4, report.Count(evals.StatusNotRun), "a report does not change any more")
	require.Equal(t, 1, r.Report().Count(evals.StatusNotRun))
	first[0].Status = evals.StatusFailed
	require.Equal(t, evals.StatusCompleted, r.Report().Cases[1].Trials[0].Status, "results are the caller's")
}

func statuses(trials []evals.TrialResult) (all []evals.Status) {
	for i := range trials {
		all = append(all, trials[i].Status)
	}
	return all
}

// TestTrialsThatEndTheirGoroutineAreWhole looks at all that is kept of them, with the evaluators of
// the case.
func TestTrialsThatEndTheirGoroutineAreWhole(t *testing.T) {
	d := echoCases("a")
	d.Evaluators, d.Cases[0].Evaluators = []evals.Evaluator{evals.Equal()}, []evals.Evaluator{evals.Contains("a")}
	report, err := evals.Run(t.Context(), d, func(context.Context, string) (string, error) {
		runtime.Goexit()
		return "", nil
	}, evals.Options{})
	require.NoError(t, err)
	require.Equal(t, evals.TrialResult{
		Status: evals.StatusFailed, Attempts: 1,
		Error: "evals: the task or an evaluator called runtime.Goexit, like a failed assertion of a test",
		Scores: []evals.Score{
			{Name: "equal", Kind: evals.KindFailed, Reason: "the task failed"}, {Name: "contains", Kind: evals.KindFailed, Reason: "the task failed"},
		},
	}, report.Cases[0].Trials[0])
}

// TestScoresSayWhatTheyAre has each kind of score, and what evaluators may not give.
func TestScoresSayWhatTheyAre(t *testing.T) {
	give := func(s evals.Score) evals.Evaluator {
		return evals.New("e", func(context.Context, *evals.Trial[any, any]) (evals.Score, error) { return s, nil })
	}
	inf := 1.0
	for range 2000 {
		inf *= 2
	}
	for _, c := range []struct {
		e    evals.Evaluator
		want evals.Score
	}{
		{give(evals.Pass(true)), evals.Score{Kind: "pass", Value: 1}},
		{give(evals.Pass(false)), evals.Score{Kind: "pass"}},
		{give(evals.Number(-2)), evals.Score{Kind: "number", Value: -2}},
		{give(evals.Label("a").Because("%d", 3)), evals.Score{Kind: "label", Label: "a", Reason: "3"}},
		{give(evals.Number(inf)), evals.Score{Kind: "error", Reason: "the score +Inf is not a finite number"}},
		{give(evals.Number(-inf)), evals.Score{Kind: "error", Reason: "the score -Inf is not a finite number"}},
		{give(evals.Number(inf - inf)), evals.Score{Kind: "error", Reason: "the score NaN is not a finite number"}},
		{give(evals.Score{Kind: "odd"}), evals.Score{Kind: "error", Reason: `an evaluator gives no "odd": use Pass, Number or Label`}},
		{give(evals.Score{Kind: evals.KindFailed}), evals.Score{Kind: "error", Reason: `an evaluator gives no "failed": use Pass, Number or Label`}},
		{give(evals.Score{Kind: evals.KindError}), evals.Score{Kind: "error", Reason: `an evaluator gives no "error": use Pass, Number or Label`}},
		{give(evals.Score{Kind: evals.KindPass, Value: 0.5}), evals.Score{Kind: "error", Reason: "a score of kind pass has the value 0 or 1: use Pass"}},
		{evals.AtLeast(give(evals.Number(2).Because("so")), 2), evals.Score{Kind: "pass", Value: 1, Reason: "2 of at least 2: so"}},
		{evals.AtLeast(give(evals.Number(1.5).Because("so")), 2), evals.Score{Kind: "pass", Reason: "1.5 of at least 2: so"}},
		{evals.AtLeast(give(evals.Pass(true)), 2), evals.Score{Kind: "error", Reason: "AtLeast needs a number, and it gives a pass"}},
		{evals.AtLeast(give(evals.Score{}), 2), evals.Score{}},
		{evals.AtLeast(evals.Matches("("), 2), evals.Score{Kind: "error", Reason: "error parsing regexp: missing closing ): `(`"}},
		{evals.New("e", func(context.Context, *evals.Trial[any, any]) (evals.Score, error) { panic("odd") }), evals.Score{Kind: "error", Reason: "panic: odd"}},
		{evals.Near(0.5), evals.Score{Kind: "pass", Value: 1, Reason: "it is off by 0.5, 0.5 is allowed"}},
		{evals.Near(0.25), evals.Score{Kind: "pass", Reason: "it is off by 0.5, 0.25 is allowed"}},
		{evals.Closeness(0.5), evals.Score{Kind: "number", Value: 0.5, Reason: "it is off by 0.5"}},
		{evals.Contains("a"), evals.Score{Kind: "pass", Reason: `1.5 does not contain "a"`}},
		{evals.Subset("a"), evals.Score{Kind: "pass", Reason: `it is 1.5, without "a"`}},
		{evals.Matches("^2"), evals.Score{Kind: "pass", Reason: "1.5 does not match ^2"}},
		{evals.Called("odd"), evals.Score{Kind: "error", Reason: `there is no order "odd": use Exact, InOrder or AnyOrder`}},
	} {
		if c.want.Kind != "" {
			c.want.Name = c.e.Name()
		}
		require.Equal(t, c.want, scoreOf(t, c.e, 1.5, 2))
	}
	require.Equal(t, "the output is not JSON: json: unsupported type: func()", scoreOf(t, evals.Equal(), func() {}, 2).Reason)
	require.True(t, evals.Pass(true).Passed())
	require.False(t, evals.Pass(false).Passed())
	require.False(t, evals.Number(1).Passed())

	for _, c := range []struct {
		trial          evals.TrialResult
		passed, counts bool
	}{
		{scored("", pass(true, ""), number(0)), true, true},
		{scored("", pass(true, ""), pass(false, "")), false, true},
		{scored("", evals.Score{Kind: evals.KindError}), true, true},
		{scored("", evals.Score{Kind: evals.KindFailed}), false, true},
		{evals.TrialResult{Status: evals.StatusFailed}, false, true},
		{evals.TrialResult{Status: evals.StatusUnavailable}, false, false},
		{evals.TrialResult{Status: evals.StatusStopped}, false, false},
		{evals.TrialResult{Status: evals.StatusNotRun}, false, false},
	} {
		require.Equal(t, []bool{c.passed, c.counts}, []bool{c.trial.Passed(), c.trial.Counts()}, "%+v", c.trial)
	}
}

// TestOutputsThatAreNoJSONAreKeptAsText looks at the output in the report.
func TestOutputsThatAreNoJSONAreKeptAsText(t *testing.T) {
	d := evals.Dataset[string, any]{Cases: []evals.Case[string, any]{{Input: "a", Unlabeled: true}}}
	report, err := evals.Run(t.Context(), d, func(context.Context, string) (any, error) { return func() {}, nil }, evals.Options{})
	require.NoError(t, err)
	require.Equal(t, `"not JSON: json: unsupported type: func()"`, string(report.Cases[0].Trials[0].Output))
	require.Equal(t, evals.StatusCompleted, report.Cases[0].Trials[0].Status)
}
