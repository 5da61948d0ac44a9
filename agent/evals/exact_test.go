// SPDX-License-Identifier: Apache-2.0

package evals_test

import (
	"context"
	"fmt"
	"math/rand/v2"
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

// TestIntervalsOfKappaStayTheSame holds an interval that a report has shown, whose percentiles lie
// between different values.
func TestIntervalsOfKappaStayTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	rated := func(name string) evals.Score {
		s := evals.Label(fmt.Sprint(random.IntN(3)))
		s.Name = name
		return s
	}
	r := &evals.Report{}
	for i := range 40 {
		c := evals.ReportCase{Name: fmt.Sprint(i)}
		for range 1 + random.IntN(4) {
			one, two := rated("one"), rated("two")
			if random.IntN(2) == 0 {
				two.Label = one.Label
			}
			c.Trials = append(c.Trials, evals.TrialResult{Status: evals.StatusCompleted, Scores: []evals.Score{one, two}})
		}
		r.Cases = append(r.Cases, c)
	}
	a, err := r.Agreement("one", "two")
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{0.40689655172413797, 0.26463168516649854, 0.5482253595461143}, []float64{a.Kappa, a.Low, a.High}, 1e-9)

	one := &evals.Report{Cases: r.Cases[:1]}
	one.Cases[0].Trials = one.Cases[0].Trials[:1]
	one.Cases[0].Trials[0].Scores[1].Label = one.Cases[0].Trials[0].Scores[0].Label
	a, err = one.Agreement("one", "two")
	require.NoError(t, err)
	require.Equal(t, []float64{1, 1, 1}, []float64{a.Kappa, a.Low, a.High}, "a single case agrees with itself")
}

// TestMistakesOfADatasetAreToldOnce has a mistake that belongs to no case.
func TestMistakesOfADatasetAreToldOnce(t *testing.T) {
	d := evals.Dataset[string, string]{Evaluators: []evals.Evaluator{{}}}
	for i := range 3 {
		d.Cases = append(d.Cases, evals.Case[string, string]{Name: fmt.Sprint("c", i), Evaluators: []evals.Evaluator{evals.Equal()}})
	}
	_, err := evals.Run(t.Context(), d, func(_ context.Context, in string) (string, error) { return in, nil }, evals.Options{})
	require.EqualError(t, err, "evals: the dataset has the zero Evaluator: make it with New")
}

// TestBarsOfSmallDifferences has differences that are much smaller than 1: the largest fills its
// half of the scale.
func TestBarsOfSmallDifferences(t *testing.T) {
	report := func(by float64) *evals.Report {
		d := evals.Dataset[int, int]{Evaluators: []evals.Evaluator{evals.New("n", func(_ context.Context, t *evals.Trial[int, int]) (evals.Score, error) {
			return evals.Number(0.5 + by), nil
		})}}
		for i := range 8 {
			d.Cases = append(d.Cases, evals.Case[int, int]{Input: i})
		}
		r, err := evals.Run(t.Context(), d, func(_ context.Context, in int) (int, error) { return in, nil }, evals.Options{})
		require.NoError(t, err)
		return r
	}
	for by, want := range map[float64]string{0.125: `x="200" y="2" width="1"`, -0.125: `x="0" y="2" width="1"`} {
		var out strings.Builder
		require.NoError(t, report(by).WriteHTML(&out, report(0)))
		require.Contains(t, out.String(), want, by)
	}
}

// reasoned is a report of one trial, whose score has a reason.
func reasoned(value float64, reason, failed string, messages ...*model.Message) *evals.Report {
	s := evals.Number(value)
	s.Name, s.Reason = "n", reason
	return &evals.Report{Cases: []evals.ReportCase{{Name: "c", Trials: []evals.TrialResult{{
		Status: evals.StatusCompleted, Scores: []evals.Score{s}, Error: failed, Runs: []evals.AgentRun{{Messages: messages}},
	}}}}}
}

// TestWorseCasesHaveAReason has the reason of the score, or the error if there is none.
func TestWorseCasesHaveAReason(t *testing.T) {
	base := reasoned(1, "it was good", "", model.UserText("a"), model.Response(model.Text("x")))
	for _, c := range []struct {
		next *evals.Report
		want evals.CaseChange
	}{
		{reasoned(0, "it is bad", "it broke", model.UserText("a"), model.Response(model.Text("x"))), evals.CaseChange{Case: "c", Metric: "n", Base: 1, Reason: "it is bad"}},
		{reasoned(0, "", "it broke", model.UserText("a"), model.Response(model.Text("x"))), evals.CaseChange{Case: "c", Metric: "n", Base: 1, Reason: "it broke"}},
		{reasoned(0.5, "", "", model.UserText("b"), model.Response(model.Text("x"))), evals.CaseChange{Case: "c", Metric: "n", Base: 1, Next: 0.5, Parting: &evals.Parting{Step: 1, Base: "user: a", Next: "user: b"}}},
		{reasoned(0, "", "", model.UserText("a"), model.Response(model.Text("y"))), evals.CaseChange{Case: "c", Metric: "n", Base: 1, Parting: &evals.Parting{Step: 1, Base: "text: x", Next: "text: y"}}},
	} {
		require.Equal(t, []evals.CaseChange{c.want}, evals.Compare(base, c.next).Worse)
		if c.want.Parting != nil {
			var out strings.Builder
			require.NoError(t, c.next.WriteHTML(&out, base))
			require.Contains(t, out.String(), " parts\">"+c.want.Parting.Base)
			require.Contains(t, out.String(), " parts\">"+c.want.Parting.Next)
		}
	}
}

// TestShortestTimesCount has a timeout and a wait of a nanosecond.
func TestShortestTimesCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := evals.Dataset[string, string]{Cases: named(1)}
		report, err := evals.Run(t.Context(), d, func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			return "", context.Cause(ctx)
		}, evals.Options{Timeout: 1})
		require.NoError(t, err)
		require.Equal(t, "evals: it took longer than 1ns: context deadline exceeded", report.Cases[0].Trials[0].Error)

		a := scripted(nil, modeltest.Fail(&model.APIError{Status: 429, Retryable: true, RetryAfter: 1}), modeltest.SayText("ok"))
		begin := time.Now()
		_, err = evals.Run(t.Context(), d, evals.Agent[any](a, nil), evals.Options{})
		require.NoError(t, err)
		require.Equal(t, time.Duration(1), time.Since(begin))
	})
}

// TestOneOfAKindCounts has one step of a judge, and one request without a price.
func TestOneOfAKindCounts(t *testing.T) {
	seen := ""
	m := answering(func(prompt string) string {
		seen = prompt
		return `{"reason":"it is","pass":true}`
	})
	d := echoCases("x")
	d.Evaluators = []evals.Evaluator{evals.Judge(m, "It is good.", evals.JudgeOptions{Steps: []string{"Read."}})}
	scores(t, d, echo)
	require.True(t, strings.HasSuffix(seen, "<rubric>\nIt is good.\n</rubric>\n<steps>\nRead.\n</steps>\n"), seen)

	unpriced := agent.Must(agent.New(agent.Config[any, string]{Model: model.Func(model.Info{Provider: "p", Name: "n"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		m := model.Response(model.Text("x"))
		m.Usage = model.Usage{InputTokens: 1, OutputTokens: 1}
		return m, nil
	})}))
	d = evals.Dataset[string, string]{Cases: named(1), Evaluators: []evals.Evaluator{evals.Within(toolset.Limits{Cost: 1}, 0)}}
	report, err := evals.Run(t.Context(), d, evals.Agent[any](unpriced, nil), evals.Options{Prices: model.Prices{}})
	require.NoError(t, err)
	require.Equal(t, []evals.Score{{Name: "within limits", Kind: evals.KindError, Reason: "the cost of 1 requests is not known: set Options.Prices"}}, report.Errors())
}

// TestCallsOfALastResponseHaveNoEnd has a run that fails before its calls are made.
func TestCallsOfALastResponseHaveNoEnd(t *testing.T) {
	a := agent.Must(agent.New(agent.Config[any, string]{
		Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "look", `{"id":"7"}`))), Tools: []*toolset.Tool[any]{tool("look", fine)}, Limits: agent.Limits{Requests: 1, ToolCalls: agent.NoToolCalls},
	}))
	e := evals.New("calls", func(_ context.Context, t *evals.Trial[string, string]) (evals.Score, error) {
		return evals.Label(fmt.Sprintf("%d %v", len(t.Trace.Calls), t.Trace.Calls[0].Ran)), nil
	})
	s := scoresOf(t, evals.Case[string, string]{}, func(ctx context.Context, _ string) (string, error) {
		_, err := a.Run(ctx, nil, "go")
		require.Error(t, err)
		return "", nil
	}, e)["calls"]
	require.Equal(t, "1 false", s.Label, s.Reason)
}
