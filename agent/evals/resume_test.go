// SPDX-License-Identifier: Apache-2.0

package evals_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// TestCasesThatHaveAllEndedBeginAgain runs the cases one by one, as go test does.
func TestCasesThatHaveAllEndedBeginAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "progress")
	ran := 0
	task := func(_ context.Context, in string) (string, error) { ran++; return in, nil }
	prepare := func() *evals.Runner {
		r, err := evals.Prepare(echoCases("a", "b"), task, evals.Options{Resume: file, Repeats: 2})
		require.NoError(t, err)
		return r
	}
	for i := range 2 {
		r := prepare()
		require.FileExists(t, file)
		r.Case(t.Context(), 1)
		require.FileExists(t, file, "a case is left")
		r = prepare() // the process was killed
		require.Len(t, r.Case(t.Context(), 1), 2)
		require.Equal(t, 4*i+2, ran)
		r.Case(t.Context(), 0)
		require.Equal(t, 4*i+4, ran)
		require.NoFileExists(t, file)
		require.Equal(t, 4, r.Report().Count(evals.StatusCompleted))
	}
	r := prepare()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.Case(ctx, 0)
	r.Case(t.Context(), 0)
	r.Case(t.Context(), 0)
	require.FileExists(t, file, "a case that is run again is not another one")
}

// TestARunWhoseLastTrialIsStoppedContinues stops a run when no other trial is left.
func TestARunWhoseLastTrialIsStoppedContinues(t *testing.T) {
	o := evals.Options{Resume: filepath.Join(t.TempDir(), "progress"), Concurrency: 1}
	ctx, cancel := context.WithCancelCause(t.Context())
	var ran []string
	task := func(ctx context.Context, in string) (string, error) {
		if ran = append(ran, in); len(ran) == 2 {
			cancel(errors.New("enough"))
		}
		return in, ctx.Err()
	}
	report, err := evals.Run(ctx, echoCases("a", "b"), task, o)
	require.EqualError(t, err, "evals: the run was stopped: enough")
	require.Equal(t, err.Error(), report.Stopped)
	require.Equal(t, []int{1, 1}, []int{report.Count(evals.StatusCompleted), report.Count(evals.StatusStopped)})
	report, err = evals.Run(t.Context(), echoCases("a", "b"), task, o)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "b"}, ran)
	require.Equal(t, 2, report.Count(evals.StatusCompleted))
	require.NoFileExists(t, o.Resume)
}

// TestARunThatHasNothingLeftIsComplete asks for fewer repeats than there are already.
func TestARunThatHasNothingLeftIsComplete(t *testing.T) {
	o := evals.Options{Resume: filepath.Join(t.TempDir(), "progress"), Concurrency: 1, Repeats: 2}
	ctx, cancel := context.WithCancel(t.Context())
	ran := 0
	task := func(_ context.Context, in string) (string, error) { ran++; return in, nil }
	o.Progress = func(p evals.Progress) {
		if p.Done == 2 {
			cancel()
		}
	}
	_, err := evals.Run(ctx, echoCases("a", "b"), task, o)
	require.Error(t, err)
	o.Repeats = 1
	report, err := evals.Run(t.Context(), echoCases("a", "b"), task, o)
	require.NoError(t, err)
	require.Equal(t, 2, ran)
	require.Equal(t, 2, report.Count(evals.StatusCompleted))
	require.NoFileExists(t, o.Resume)
}

// TestResumedRunsCountWhatWasSpent has a judge, a trial that is tried twice, one whose provider is
// away, and answers that are known.
func TestResumedRunsCountWhatWasSpent(t *testing.T) {
	away := &model.APIError{Status: 500, Message: "away"}
	for name, o := range map[string]evals.Options{
		"plain": {}, "limited": {Limits: toolset.Limits{Requests: 12}}, "priced": {Prices: tokenIsOne{}},
	} {
		t.Run(name, func(t *testing.T) {
			asked := map[string]int{}
			answers := func(id string, text func(prompt string) (string, error)) model.Model {
				return known{modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
					asked[id]++
					answer, err := text(req.Messages[0].Parts[0].Text)
					if err != nil {
						return nil, err
					}
					m := model.Response(model.Text(answer))
					m.Usage = model.Usage{InputTokens: 1}
					return m, nil
				}), id}
			}
			first := agent.Must(agent.New(agent.Config[any, string]{Model: answers("first", func(string) (string, error) { return "ok", nil })}))
			second := agent.Must(agent.New(agent.Config[any, string]{Model: answers("second", func(prompt string) (string, error) {
				switch {
				case prompt == "b": // for good
					return "", away
				case prompt == "a" && asked["second"] == 1:
					return "", &model.APIError{Status: 429, Retryable: true, RetryAfter: 1}
				}
				return prompt, nil
			})}))
			judge := agent.Must(agent.New(agent.Config[any, string]{Model: answers("judge", func(string) (string, error) { return "yes", nil })}))
			task := func(ctx context.Context, in string) (string, error) {
				if _, err := first.Run(ctx, nil, in); err != nil {
					return "", err
				}
				res, err := second.Run(ctx, nil, in)
				if err != nil {
					return "", err
				}
				return res.Output, nil
			}
			d := echoCases("a", "b", "c")
			d.Evaluators = []evals.Evaluator{evals.New("judge", func(ctx context.Context, t *evals.Trial[string, string]) (evals.Score, error) {
				_, err := judge.Run(ctx, nil, t.Output)
				return evals.Pass(err == nil), err
			})}
			o.Resume, o.Concurrency = filepath.Join(t.TempDir(), "progress"), 1
			ctx, cancel := context.WithCancel(t.Context())
			o.Progress = func(p evals.Progress) {
				if p.Done == 2 {
					cancel()
				}
			}
			one, err := evals.Run(ctx, d, task, o)
			require.Error(t, err)
			require.Equal(t, 5+2, one.Usage.Requests, "two attempts and a judge; one attempt")
			kept, err := os.ReadFile(o.Resume)
			require.NoError(t, err)
			o.Progress = nil

			two, err := evals.Run(t.Context(), d, task, o)
			require.NoError(t, err)
			require.Equal(t, 7+2+3, two.Usage.Requests)
			require.Equal(t, 12, asked["first"]+asked["second"]+asked["judge"])
			require.EqualValues(t, 12-3, two.Usage.InputTokens, "three have failed")
			require.InDelta(t, one.Usage.Cost/5*9, two.Usage.Cost, 1e-9)
			require.Equal(t, 2, two.Count(evals.StatusCompleted))
			require.Equal(t, 1, two.Count(evals.StatusUnavailable))

			// Without what counted, as in the files of earlier versions, it is what the trial used.
			var old []string
			for line := range strings.Lines(string(kept)) {
				var fields map[string]json.RawMessage
				require.NoError(t, json.Unmarshal([]byte(line), &fields))
				delete(fields, "used")
				data, err := json.Marshal(fields)
				require.NoError(t, err)
				old = append(old, string(data)+"\n")
			}
			require.NoError(t, os.WriteFile(o.Resume, []byte(strings.Join(old, "")), 0o600))
			three, err := evals.Run(t.Context(), d, task, o)
			require.NoError(t, err)
			require.Equal(t, 2+2+3, three.Usage.Requests)
			require.Equal(t, 2, three.Count(evals.StatusCompleted))
		})
	}
}

// TestKnownAnswersStayFree stops a run of which all answers are known, and continues it.
func TestKnownAnswersStayFree(t *testing.T) {
	for name, limits := range map[string]toolset.Limits{"plain": {}, "limited": {Requests: 2}} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			a := agent.Must(agent.New(agent.Config[any, string]{Model: known{modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
				asked++
				return model.Response(model.Text("ok")), nil
			}), "m"}}))
			o := evals.Options{Cache: t.TempDir(), Concurrency: 1, Limits: limits}
			_, err := evals.Run(t.Context(), echoCases("a", "b"), evals.Agent(a, nil), o)
			require.NoError(t, err)
			o.Resume = filepath.Join(t.TempDir(), "progress")
			ctx, cancel := context.WithCancel(t.Context())
			o.Progress = func(evals.Progress) { cancel() }
			_, err = evals.Run(ctx, echoCases("a", "b"), evals.Agent(a, nil), o)
			require.Error(t, err)
			report, err := evals.Run(t.Context(), echoCases("a", "b"), evals.Agent(a, nil), o)
			require.NoError(t, err)
			require.Equal(t, 2, asked)
			require.Zero(t, report.Usage.Requests)
			require.Equal(t, 1, report.Cases[0].Trials[0].Usage.Requests)
		})
	}
}

// TestTimeLeftIsThatOfThisProcess continues a run of trials that take a second.
func TestTimeLeftIsThatOfThisProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "progress")
	synctest.Test(t, func(t *testing.T) {
		var left []time.Duration
		ctx, cancel := context.WithCancel(t.Context())
		o := evals.Options{Resume: file, Concurrency: 1, Progress: func(p evals.Progress) {
			if left = append(left, p.Left); len(left) == 4 {
				cancel()
			}
		}}
		task := func(_ context.Context, in string) (string, error) { time.Sleep(time.Second); return in, nil }
		_, err := evals.Run(ctx, echoCases("a", "b", "c", "d", "e", "f"), task, o)
		require.Error(t, err)
		_, err = evals.Run(t.Context(), echoCases("a", "b", "c", "d", "e", "f"), task, o)
		require.NoError(t, err)
		const s = time.Second
		require.Equal(t, []time.Duration{5 * s, 4 * s, 3 * s, 2 * s, s, 0}, left)
	})
}

// TestTrialsBeginInRounds ends a run early: no more is missing before the last trial that was
// completed than what ran at the same time.
func TestTrialsBeginInRounds(t *testing.T) {
	for requests := 1; requests < 12; requests++ {
		o := evals.Options{Repeats: 4, Concurrency: 3, Limits: toolset.Limits{Requests: requests}}
		report, err := evals.Run(t.Context(), echoCases("a", "b", "c"), evals.Agent[any](saying("ok"), nil), o)
		require.Error(t, err)
		require.Equal(t, requests, report.Count(evals.StatusCompleted))
		missing := 0
		for repeat := range o.Repeats {
			for i := range report.Cases {
				if report.Cases[i].Trials[repeat].Status != evals.StatusCompleted {
					missing++
					continue
				}
				require.LessOrEqual(t, missing, o.Concurrency, "before case %d, repeat %d", i, repeat)
			}
		}
	}
}
