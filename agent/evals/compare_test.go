// SPDX-License-Identifier: Apache-2.0

package evals_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// graded returns a report whose case i passes if right(i) says so, with a number beside it.
func graded(t *testing.T, n, repeats int, right func(i, repeat int) bool) *evals.Report {
	t.Helper()
	cases := make([]evals.Case[int, bool], n)
	for i := range cases {
		cases[i] = evals.Case[int, bool]{Name: fmt.Sprintf("c%03d", i), Input: i, Expected: true}
	}
	seen := map[int]int{}
	task := func(_ context.Context, i int) (bool, error) {
		seen[i]++
		return right(i, seen[i]), nil
	}
	number := evals.New("number", func(_ context.Context, t *evals.Trial[int, bool]) (evals.Score, error) {
		if t.Output {
			return evals.Number(2), nil
		}
		return evals.Number(1), nil
	})
	label := evals.New("label", func(_ context.Context, t *evals.Trial[int, bool]) (evals.Score, error) {
		return evals.Label(fmt.Sprint(t.Output)), nil
	})
	d := evals.Dataset[int, bool]{Name: "d", Cases: cases, Evaluators: []evals.Evaluator{evals.Equal(), number, label}}
	report, err := evals.Run(t.Context(), d, task, evals.Options{Concurrency: 1, Repeats: repeats})
	require.NoError(t, err)
	return report
}

func TestMetricsHaveIntervals(t *testing.T) {
	metrics := graded(t, 10, 1, func(i, _ int) bool { return i < 8 }).Metrics()
	require.Len(t, metrics, 3)
	equal := metrics[0]
	require.Equal(t, "equal", equal.Name)
	require.InDelta(t, 0.8, equal.Mean, 1e-9)
	require.InDelta(t, 0.4901624715, equal.Low, 1e-9)
	require.InDelta(t, 0.9433178485, equal.High, 1e-9)
	require.InDelta(t, 1.8, metrics[1].Mean, 1e-9)
	require.Less(t, metrics[1].Low, 1.8)
	require.Equal(t, map[string]int{"true": 8, "false": 2}, metrics[2].Labels)

	repeated := graded(t, 10, 4, func(i, _ int) bool { return i < 8 }).Metrics()[0]
	require.Equal(t, 40, repeated.Trials)
	require.InDelta(t, equal.Low, repeated.Low, 0.03, "repeats that agree make nothing more certain")
}

func TestFailuresCountInMeansAndProviderFailuresDoNot(t *testing.T) {
	d := evals.Dataset[string, float64]{
		Cases: []evals.Case[string, float64]{{Name: "good"}, {Name: "broken"}, {Name: "down"}},
		Evaluators: []evals.Evaluator{evals.New("number",
			func(context.Context, *evals.Trial[string, float64]) (evals.Score, error) { return evals.Number(4), nil })},
	}
	n := 0
	task := func(context.Context, string) (float64, error) {
		n++
		return 0, []error{nil, errors.New("broken"), &model.APIError{Status: 500}}[n-1]
	}
	report, err := evals.Run(t.Context(), d, task, evals.Options{Concurrency: 1})
	require.NoError(t, err)
	m := report.Metrics()[0]
	require.Equal(t, evals.KindNumber, m.Kind)
	require.Equal(t, 2, m.Trials)
	require.InDelta(t, 2, m.Mean, 1e-9)
}

func TestComparisonsFindWhatIsThereAndNothingElse(t *testing.T) {
	base := graded(t, 30, 3, func(i, _ int) bool { return i%3 > 0 })
	require.Empty(t, evals.Compare(base, base).Worse)
	for _, c := range evals.Compare(base, base).Changes {
		require.Equal(t, evals.NoDifference, c.Verdict)
		require.InDelta(t, 1, c.P, 1e-9)
	}
	worse := evals.Compare(base, graded(t, 30, 3, func(i, _ int) bool { return i%3 > 1 }))
	require.Len(t, worse.Changes, 2, "labels are not compared")
	require.Equal(t, evals.Worse, worse.Changes[0].Verdict)
	require.InDelta(t, -1.0/3, worse.Changes[0].Difference, 1e-9)
	require.InDelta(t, 2*0.001953125, worse.Changes[0].Corrected, 1e-9, "two metrics")
	require.Len(t, worse.Worse, 20)
	better := evals.Compare(graded(t, 30, 3, func(i, _ int) bool { return i%3 > 1 }), base)
	require.Equal(t, evals.Better, better.Changes[0].Verdict)
	require.Empty(t, better.Worse)
	few := evals.Compare(base, graded(t, 30, 3, func(i, repeat int) bool { return i%3 > 0 && (i > 4 || repeat < 3) }))
	require.Equal(t, evals.NoDifference, few.Changes[0].Verdict)
	require.Equal(t, "c001", few.Worse[0].Case)
}

func TestCasesAreComparedByName(t *testing.T) {
	base := graded(t, 5, 1, func(i, _ int) bool { return i < 4 })
	next := graded(t, 3, 1, func(i, _ int) bool { return i > 0 })
	c := evals.Compare(base, next)
	require.Equal(t, 3, c.Changes[0].Cases)
	require.InDelta(t, 1, c.Changes[0].Base, 1e-9)
	require.Len(t, c.Worse, 2)
	require.Equal(t, "number", c.Worse[1].Metric)
	require.Equal(t, "c000", c.Worse[0].Case)
	require.Equal(t, "it is false, want true", c.Worse[0].Reason)
}

// orders returns a report of an agent that refunds an amount after looking an order up.
func orders(t *testing.T, amount int, looks bool) *evals.Report {
	t.Helper()
	steps := []modeltest.Step{
		modeltest.Say(model.ToolCall("1", "refund", fmt.Sprintf(`{"id":"7", "cents":%d}`, amount))),
		modeltest.SayText(fmt.Sprint(amount)),
	}
	if looks {
		look := modeltest.Say(model.ToolCall("1", "look", `{"id":"7"}`))
		steps = append([]modeltest.Step{look}, steps...)
	}
	a := scripted([]*toolset.Tool[any]{tool("look", fine), tool("refund", fine)}, steps...)
	d := evals.Dataset[string, string]{
		Cases:      []evals.Case[string, string]{{Name: "refund", Input: "go", Expected: "5"}},
		Evaluators: []evals.Evaluator{evals.Equal()},
	}
	report, err := evals.Run(t.Context(), d, evals.Agent[any](a, nil), evals.Options{})
	require.NoError(t, err)
	return report
}

func TestTranscriptsPartWhereTheyDiffer(t *testing.T) {
	c := evals.Compare(orders(t, 5, true), orders(t, 500, true))
	require.Equal(t, &evals.Parting{
		Step: 2, Base: `call refund {"cents":5,"id":"7"}`, Next: `call refund {"cents":500,"id":"7"}`,
	}, c.Worse[0].Parting)
	c = evals.Compare(orders(t, 5, true), orders(t, 500, false))
	require.Equal(t, 1, c.Worse[0].Parting.Step)
	require.Equal(t, `call look {"id":"7"}`, c.Worse[0].Parting.Base)
}

func TestReportsAreStoredWhole(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.json")
	report := orders(t, 5, true)
	require.NoError(t, report.Save(file))
	loaded, err := evals.Load(file)
	require.NoError(t, err)
	want, err := json.Marshal(report)
	require.NoError(t, err)
	got, err := json.Marshal(loaded)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(got))
	require.Len(t, loaded.Cases[0].Trials[0].Runs[0].Messages, 6)
	require.Nil(t, evals.Compare(report, loaded).Worse)
	require.NoError(t, loaded.Save(file), "an existing file is replaced")
	left, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	require.Len(t, left, 1)

	require.NoError(t, os.WriteFile(file, []byte(`{"version":2}`), 0o600))
	_, err = evals.Load(file)
	require.ErrorContains(t, err, "it has version 2, and this program reads 1 to 1")
	require.NoError(t, os.WriteFile(file, []byte(`{}`), 0o600))
	_, err = evals.Load(file)
	require.ErrorContains(t, err, "it has version 0")
	require.NoError(t, os.WriteFile(file, []byte(`{"version":1`), 0o600))
	_, err = evals.Load(file)
	require.ErrorContains(t, err, "evals: load "+file)
	_, err = evals.Load(file + "x")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, report.Save(filepath.Join(file, "x")), "evals: save")
}

func TestGatesTellGoodFromWorseFromUnknown(t *testing.T) {
	good := graded(t, 30, 1, func(i, _ int) bool { return i > 0 })
	bad := graded(t, 30, 1, func(i, _ int) bool { return i > 9 })
	check := func(g evals.Gate, r *evals.Report) int {
		code, reasons := g.Check(r)
		require.Equal(t, code == evals.ExitGood, len(reasons) == 0)
		return code
	}
	require.Equal(t, evals.ExitGood, check(evals.Gate{}, bad))
	require.Equal(t, evals.ExitGood, check(evals.Gate{Least: map[string]float64{"equal": 0.9, "number": 1.9}, Base: good}, good))
	require.Equal(t, evals.ExitWorse, check(evals.Gate{Least: map[string]float64{"equal": 0.9}}, bad))
	require.Equal(t, evals.ExitWorse, check(evals.Gate{Least: map[string]float64{"equal": math.NaN()}}, good))
	require.Equal(t, evals.ExitWorse, check(evals.Gate{Base: good}, bad))
	require.Equal(t, evals.ExitGood, check(evals.Gate{Base: bad}, good))
	require.Equal(t, evals.ExitUnknown, check(evals.Gate{Least: map[string]float64{"other": 0}}, good))
	require.Equal(t, evals.ExitUnknown, check(evals.Gate{Least: map[string]float64{"label": 0}}, good))
	require.Equal(t, evals.ExitUnknown, check(evals.Gate{Base: good}, orders(t, 5, true)), "metrics are missing")

	cut := graded(t, 3, 1, func(int, int) bool { return true })
	cut.Cases[2].Trials[0] = evals.TrialResult{Status: evals.StatusNotRun}
	require.Equal(t, evals.ExitUnknown, check(evals.Gate{}, cut))
	cut.Cases[1].Trials[0].Scores[0] = evals.Score{Name: "equal", Kind: evals.KindError, Reason: "broken"}
	code, reasons := evals.Gate{Least: map[string]float64{"number": 3}}.Check(cut)
	require.Equal(t, evals.ExitWorse, code)
	require.Equal(t, []string{
		"1 trials: not run", `evaluator "equal" failed: broken`, "number: 2, at least 3 is asked for",
	}, reasons)
}

func TestTablesShowWhatMatters(t *testing.T) {
	report := graded(t, 4, 1, func(i, _ int) bool { return i > 0 })
	report.Cases[0].Name = "a|b*c\x1b[31m\nd"
	var text, markdown strings.Builder
	require.NoError(t, report.Write(&text, evals.Text))
	require.Contains(t, text.String(), "d: 4 cases, 4 trials, 0 failed, 0 unavailable, 0 stopped or not run")
	require.Contains(t, text.String(), "metric  mean               95 % interval     trials  cases\n"+
		"equal   0.75               0.3006 to 0.9544  4       4")
	require.Contains(t, text.String(), "equal       it is false, want true")
	require.NotContains(t, text.String(), "\x1b")
	require.NoError(t, report.Write(&markdown, evals.Markdown))
	require.Contains(t, markdown.String(), "| metric | mean | 95 % interval | trials | cases |\n|---|---|---|---|---|\n")
	require.Contains(t, markdown.String(), `| a\|b\*c`)

	var comparison strings.Builder
	c := evals.Compare(orders(t, 5, true), orders(t, 500, true))
	require.NoError(t, c.Write(&comparison, evals.Text))
	require.Contains(t, comparison.String(), "no significant difference")
	require.Contains(t, comparison.String(), `in step 2: call refund {"cents":5,"id":"7"} | call refund {"cents":500,"id":"7"}`)
}

func TestJUnitSaysHowEachTrialEnded(t *testing.T) {
	report := graded(t, 5, 1, func(i, _ int) bool { return i > 0 })
	report.Cases[1].Trials[0] = evals.TrialResult{Status: evals.StatusUnavailable, Error: "down\x00"}
	report.Cases[2].Trials[0] = evals.TrialResult{Status: evals.StatusNotRun}
	report.Cases[3].Trials[0] = evals.TrialResult{Status: evals.StatusFailed, Error: "<broken>"}
	var b strings.Builder
	require.NoError(t, report.WriteJUnit(&b))
	var suite struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Cases    []struct {
			Name    string `xml:"name,attr"`
			Failure *struct {
				Message string `xml:"message,attr"`
			} `xml:"failure"`
		} `xml:"testcase"`
	}
	require.NoError(t, xml.Unmarshal([]byte(b.String()), &suite))
	require.Equal(t, []int{5, 2, 1, 1}, []int{suite.Tests, suite.Failures, suite.Errors, suite.Skipped})
	require.Equal(t, "equal: it is false, want true", suite.Cases[0].Failure.Message)
	require.Equal(t, "the task failed: <broken>", suite.Cases[3].Failure.Message)
	require.Nil(t, suite.Cases[4].Failure)
	require.Equal(t, report.Cases[4].Name, suite.Cases[4].Name)

	report = graded(t, 1, 2, func(int, int) bool { return true })
	report.Name, report.Dataset = "", ""
	b.Reset()
	require.NoError(t, report.WriteJUnit(&b))
	suite.Cases = nil
	require.NoError(t, xml.Unmarshal([]byte(b.String()), &suite))
	require.Equal(t, "evals", suite.Name, "readers refuse a suite without a name")
	require.Equal(t, []string{report.Cases[0].Name + " [1]", report.Cases[0].Name + " [2]"}, []string{suite.Cases[0].Name, suite.Cases[1].Name})
}
