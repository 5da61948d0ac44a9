// SPDX-License-Identifier: Apache-2.0

package evals_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a text with a file of testdata/rendered.
func golden(t *testing.T, name string, write func(w io.Writer) error) {
	t.Helper()
	var b strings.Builder
	require.NoError(t, write(&b))
	file := filepath.Join("testdata", "rendered", name)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), name)
}

// scored is a trial that has ended.
func scored(output string, scores ...evals.Score) evals.TrialResult {
	return evals.TrialResult{
		Status: evals.StatusCompleted, Output: json.RawMessage(output), Scores: scores, Attempts: 1, Duration: 1500 * time.Millisecond,
	}
}

func pass(ok bool, reason string) evals.Score {
	s := evals.Pass(ok).Because("%s", reason)
	s.Name = "equal"
	return s
}

func number(v float64) evals.Score {
	return evals.Score{Name: "length", Kind: evals.KindNumber, Value: v}
}

// shopping is a transcript of two runs, the second inside of a call of the first. Amount is what is
// refunded in step 2, and more are parts of the last response.
func shopping(amount int, more ...model.Part) []evals.AgentRun {
	denied := model.ToolReturn("3", "erase", "not allowed")
	denied.Outcome = model.OutcomeDenied
	last := model.Response(append([]model.Part{model.Thinking("hm"), model.Text("done")}, more...)...)
	return []evals.AgentRun{{
		Agent: "clerk", Outer: -1, Messages: []*model.Message{
			{Kind: model.KindRequest, Parts: []model.Part{model.System("Be kind."), model.User("<go>")}},
			model.Response(model.ToolCall("1", "look", "{ \"id\": 7,\n\"a\": 1 }")),
			{Kind: model.KindRequest, Parts: []model.Part{model.ToolReturn("1", "look", "a \x1b[31mbook")}},
			model.Response(model.ToolCall("2", "refund", fmt.Sprintf(`{"cents":%d}`, amount)), model.ToolCall("3", "erase", `{no json`)),
			{Kind: model.KindRequest, Parts: []model.Part{model.Retry("2", "refund", "again"), denied}},
			last,
		},
	}, {
		Outer: 0, Call: "1", Error: "no \x1b[1mpower", Messages: []*model.Message{model.Response(model.Text("inner"))},
	}}
}

// reports are a baseline and a report, whose cases have everything that a report can have.
func reports() (base, next *evals.Report) {
	label := func(text string) evals.Score { return evals.Score{Name: "mood", Kind: evals.KindLabel, Label: text} }
	failed := evals.TrialResult{Status: evals.StatusFailed, Error: "it | *broke*\x1b[0m", Attempts: 3, Scores: []evals.Score{
		{Name: "equal", Kind: evals.KindFailed, Reason: "the task failed"}, {Name: "length", Kind: evals.KindFailed, Reason: "the task failed"},
	}}
	broken := evals.Score{Name: "judge", Kind: evals.KindError, Reason: "no such\nhost"}
	down := evals.TrialResult{Status: evals.StatusUnavailable, Error: "503 \x1b[0m"}
	over := evals.TrialResult{Status: evals.StatusStopped, Error: "the budget"}
	later := evals.TrialResult{Status: evals.StatusNotRun}
	with := func(t evals.TrialResult, runs []evals.AgentRun) evals.TrialResult {
		t.Runs = runs
		return t
	}
	one := func(name string, trials ...evals.TrialResult) evals.ReportCase {
		return evals.ReportCase{Name: name, Input: json.RawMessage(`"in"`), Expected: json.RawMessage(`"out"`), Trials: trials}
	}
	blank := evals.ReportCase{Name: "new", Input: json.RawMessage("1"), Trials: []evals.TrialResult{scored("1", number(-3))}}
	base = &evals.Report{Name: "old", Dataset: "shop", Cases: []evals.ReportCase{
		one("same", with(scored(`"x"`, pass(true, ""), number(4), label("good")), shopping(5)), scored(`"x"`, pass(true, ""), number(2), label("good"))),
		one("worse", with(scored(`"x"`, pass(false, "odd"), number(4)), shopping(9)), with(scored(`"x"`, pass(true, ""), number(4)), shopping(5))),
		one("fails", with(scored(`"x"`, pass(true, ""), number(1)), shopping(5, model.Text("more")))),
		one("gone", scored(`"x"`, pass(true, ""), number(1))),
		one("unlike", scored(`"x"`, pass(true, ""))),
		{Name: "judged", Trials: []evals.TrialResult{scored(`"x"`, broken, evals.Score{Name: "taste", Kind: evals.KindLabel, Label: "sweet"})}},
	}}
	next = &evals.Report{
		Name: "new", Dataset: "shop", Duration: 2500 * time.Millisecond, Stopped: "the budget",
		Usage: toolset.Usage{Requests: 12, Usage: model.Usage{InputTokens: 30, OutputTokens: 4}, Cost: 0.125},
		Cases: []evals.ReportCase{
			one("same", with(scored(`"x"`, pass(true, ""), number(4), label("good")), shopping(5)), scored(`"x"`, pass(true, ""), number(2), label("bad"))),
			one("worse", with(scored(`"x"`, pass(true, "")), shopping(5)),
				with(scored(`"y"`, pass(false, "a|b *c* <d> &_[e]`f`@g#h~\\ "+strings.Repeat("long ", 50)), number(2.5)), shopping(500, model.Text("and more")))),
			one("fails", with(failed, shopping(5)[:1])), blank,
			one("unlike", down, over, later),
			one("judged", scored(`"x"`, broken, evals.Score{Name: "taste", Kind: evals.KindNumber, Value: 2})),
		},
	}
	return base, next
}

// TestReportsAreRenderedWhole compares all that a report is written as with what people have read
// and found good.
func TestReportsAreRenderedWhole(t *testing.T) {
	base, next := reports()
	for name, form := range map[string]evals.Format{"txt": evals.Text, "md": evals.Markdown} {
		golden(t, "report."+name, func(w io.Writer) error { return next.Write(w, form) })
		golden(t, "compared."+name, func(w io.Writer) error { return evals.Compare(base, next).Write(w, form) })
	}
	golden(t, "report.xml", next.WriteJUnit)
	golden(t, "report.html", func(w io.Writer) error { return next.WriteHTML(w, nil) })
	golden(t, "compared.html", func(w io.Writer) error { return evals.CompareHTML(w, base, next, base, &evals.Report{}) })
	golden(t, "figures.json", func(w io.Writer) error {
		compared := evals.Compare(base, next)
		agreement, err := next.Agreement("equal", "mood")
		if err != nil {
			return err
		}
		var counts []string
		for pair, n := range agreement.Counts {
			counts = append(counts, fmt.Sprintf("%s %d", pair, n))
		}
		gate := func(g evals.Gate) string {
			code, reasons := g.Check(next)
			return fmt.Sprintf("%d: %s", code, strings.Join(reasons, "; "))
		}
		require.Len(t, counts, 2)
		agreement.Counts = nil
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(map[string]any{
			"metrics": next.Metrics(), "changes": compared.Changes, "worse": compared.Worse, "agreement": fmt.Sprintf("%+v", agreement),
			"errors": next.Errors(), "gates": []string{
				gate(evals.Gate{}), gate(evals.Gate{Base: base}), gate(evals.Gate{Least: map[string]float64{"equal": 0.75, "length": 4, "mood": 1, "none": 1}}),
			},
		})
	})
}

// brokenWriter fails.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestAReportThatCannotBeWrittenIsAnError(t *testing.T) {
	base, next := reports()
	for name, err := range map[string]error{
		"text": next.Write(brokenWriter{}, evals.Text), "comparison": evals.Compare(base, next).Write(brokenWriter{}, evals.Markdown),
		"JUnit": next.WriteJUnit(brokenWriter{}), "HTML": next.WriteHTML(brokenWriter{}, nil), "several": evals.CompareHTML(brokenWriter{}, base, next),
		"schema": evals.WriteSchema[string, string](brokenWriter{}, evals.FileOptions{}),
	} {
		require.ErrorIs(t, err, os.ErrClosed, name)
	}
	require.ErrorContains(t, next.WriteHTML(brokenWriter{}, nil), "evals: HTML: ")
	next.Cases[0].Metadata = map[string]any{"f": func() {}}
	file := filepath.Join(t.TempDir(), "a.json")
	require.ErrorContains(t, next.Save(file), "evals: save "+file+": json: ")
	require.NoFileExists(t, file)
}

// TestKappaHasAnInterval compares raters who agree in part, whose cases have repeats.
func TestKappaHasAnInterval(t *testing.T) {
	r := &evals.Report{}
	for i := range 30 {
		c := evals.ReportCase{Name: fmt.Sprint(i)}
		for j := range 2 {
			one, two := evals.Pass(i%2 == 0), evals.Pass(i%2 == 0 != (i%5 == 0 && j == 0))
			one.Name, two.Name = "one", "two"
			c.Trials = append(c.Trials, evals.TrialResult{Status: evals.StatusCompleted, Scores: []evals.Score{two, one, {Name: "other", Kind: evals.KindLabel}}})
		}
		r.Cases = append(r.Cases, c)
	}
	a, err := r.Agreement("one", "two")
	require.NoError(t, err)
	require.Equal(t, evals.Agreement{
		Trials: 60, Same: 54, Kappa: a.Kappa, Low: a.Low, High: a.High,
		Counts: map[[2]string]int{{"yes", "yes"}: 27, {"no", "no"}: 27, {"yes", "no"}: 3, {"no", "yes"}: 3},
	}, a)
	require.InDeltaSlice(t, []float64{0.8, 0.63087, 0.93274}, []float64{a.Kappa, a.Low, a.High}, 0.001)
	_, err = r.Agreement("none", "two")
	require.EqualError(t, err, `evals: the report has no scores of "none"`)
	_, err = r.Agreement("one", "none")
	require.EqualError(t, err, `evals: the report has no scores of "none"`)
}

func TestReportsWithLittleInThem(t *testing.T) {
	for _, form := range []evals.Format{evals.Text, evals.Markdown} {
		var b strings.Builder
		require.NoError(t, (&evals.Report{}).Write(&b, form))
		require.Equal(t, ": 0 cases, 0 trials, 0 failed, 0 unavailable, 0 stopped or not run; 0 requests, 0 tokens\n", b.String())
		b.Reset()
		require.NoError(t, evals.Compare(&evals.Report{}, &evals.Report{}).Write(&b, form))
		require.Equal(t, 1, strings.Count(b.String(), "\n"), "tables of a head alone are left out")
	}
	one := func(passed bool, runs []evals.AgentRun) *evals.Report {
		trial := scored(`1`, pass(passed, ""))
		trial.Runs = runs
		return &evals.Report{Cases: []evals.ReportCase{{Name: "a", Trials: []evals.TrialResult{trial}}}}
	}
	for _, c := range []struct {
		base, next []evals.AgentRun
		want       *evals.Parting
	}{
		{shopping(5), shopping(5)[:1], &evals.Parting{Run: 1, Step: 1, Base: "text: inner"}},
		{shopping(5)[:1], shopping(5), &evals.Parting{Run: 1, Step: 1, Next: "text: inner"}},
		{shopping(5), shopping(5), nil},
		{nil, shopping(5)[1:], &evals.Parting{Step: 1, Next: "text: inner"}},
		{shopping(5), shopping(5, model.Text("x")), &evals.Parting{Step: 3, Next: "text: x"}},
	} {
		require.Equal(t, c.want, evals.Compare(one(true, c.base), one(false, c.next)).Worse[0].Parting)
	}
}
