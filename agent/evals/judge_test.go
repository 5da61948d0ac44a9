// SPDX-License-Identifier: Apache-2.0

package evals_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// answering is a judge that calls its output tool with what fn says of the prompt.
func answering(fn func(prompt string) string) model.Model {
	return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		args := fn(req.Messages[len(req.Messages)-1].Parts[0].Text)
		return model.Response(model.ToolCall("1", req.Tools[0].Name, args)), nil
	})
}

func echoCases(inputs ...string) evals.Dataset[string, string] {
	d := evals.Dataset[string, string]{}
	for _, in := range inputs {
		d.Cases = append(d.Cases, evals.Case[string, string]{Name: in, Input: in, Expected: in})
	}
	return d
}

func echo(_ context.Context, in string) (string, error) { return in, nil }

func scores(t *testing.T, d evals.Dataset[string, string], task evals.Task[string, string]) map[string]evals.Score {
	report, err := evals.Run(t.Context(), d, task, evals.Options{})
	require.NoError(t, err)
	all := map[string]evals.Score{}
	for _, c := range report.Cases {
		all[c.Name] = c.Trials[0].Scores[0]
	}
	return all
}

func TestJudgeSeesWhatItIsAskedAbout(t *testing.T) {
	var seen string
	m := answering(func(prompt string) string {
		seen = prompt
		return fmt.Sprintf(`{"reason":"it is %v","pass":%v}`, strings.Contains(prompt, "good"), strings.Contains(prompt, "good"))
	})
	d := echoCases("good </output> bad")
	d.Evaluators = []evals.Evaluator{evals.Judge(m, "It is good.", evals.JudgeOptions{Input: true, Expected: true, Calls: true, Steps: []string{"Read.", "Think."}})}
	s := scores(t, d, echo)["good </output> bad"]
	require.Equal(t, evals.Score{Name: "judge", Kind: evals.KindPass, Value: 1, Reason: "it is true"}, s)
	require.Equal(t, "<input>\ngood </output> bad\n</input>\n<calls>\n\n</calls>\n<output>\ngood < /output> bad\n</output>\n"+
		"<expected>\ngood </output> bad\n</expected>\n<rubric>\nIt is good.\n</rubric>\n<steps>\nRead.\nThink.\n</steps>\n", seen)
	d.Evaluators = []evals.Evaluator{evals.Judge(m, "It is good.", evals.JudgeOptions{})}
	scores(t, d, echo)
	require.NotContains(t, seen, "<input>")
	require.NotContains(t, seen, "<expected>")
}

func TestJudgeWithAScaleKeepsToIt(t *testing.T) {
	asked := 0
	m := answering(func(string) string {
		asked++
		return fmt.Sprintf(`{"reason":"so","score":%d}`, 12/asked)
	})
	d := echoCases("x")
	d.Evaluators = []evals.Evaluator{evals.Judge(m, "It is good.", evals.JudgeOptions{Low: 1, High: 6})}
	require.Equal(t, 6.0, scores(t, d, echo)["x"].Value)
	require.Equal(t, 2, asked)
}

func TestMistakesOfJudgesAreErrorsOfTheirScores(t *testing.T) {
	m := answering(func(string) string { return `{}` })
	for want, e := range map[string]evals.Evaluator{
		"a judge needs a model":                  evals.Judge(nil, "x", evals.JudgeOptions{}),
		"a judge needs a rubric":                 evals.Judge(m, " ", evals.JudgeOptions{}),
		"a judge cannot give scores from 3 to 1": evals.Judge(m, "x", evals.JudgeOptions{Low: 3, High: 1}),
		"no valid answer":                        evals.Judge(m, "x", evals.JudgeOptions{}),
		"a judge needs a model and a rubric":     evals.Prefer(nil, "x", &evals.Report{}, evals.JudgeOptions{}),
		"there is no baseline":                   evals.Prefer(m, "x", nil, evals.JudgeOptions{}),
	} {
		d := echoCases("x")
		d.Evaluators = []evals.Evaluator{e}
		s := scores(t, d, echo)["x"]
		require.Equal(t, evals.KindError, s.Kind)
		require.Contains(t, s.Reason, want)
	}
}

func TestJudgesCountOnTheBudget(t *testing.T) {
	m := answering(func(string) string { return `{"reason":"so","pass":true}` })
	d := echoCases("a", "b", "c")
	d.Evaluators = []evals.Evaluator{evals.Judge(m, "x", evals.JudgeOptions{})}
	report, err := evals.Run(t.Context(), d, echo, evals.Options{Concurrency: 1, Limits: toolset.Limits{Requests: 2}})
	require.Error(t, err)
	require.Equal(t, 2, report.Usage.Requests)
}

// TestPreferenceIsAskedInBothOrders has judges that prefer a text, a place, or nothing.
func TestPreferenceIsAskedInBothOrders(t *testing.T) {
	base, err := evals.Run(t.Context(), echoCases("long", "short", "same"), func(context.Context, string) (string, error) {
		return "medium", nil
	}, evals.Options{})
	require.NoError(t, err)
	next := func(_ context.Context, in string) (string, error) {
		return map[string]string{"long": "very very long", "short": "tiny", "same": "medium", "new": "x"}[in], nil
	}
	longer := answering(func(prompt string) string {
		_, first, _ := strings.Cut(prompt, "<first>\n")
		first, second, _ := strings.Cut(first, "\n</first>\n<second>\n")
		second, _, _ = strings.Cut(second, "\n</second>")
		better := "neither"
		if len(first) > len(second) {
			better = "first"
		} else if len(second) > len(first) {
			better = "second"
		}
		return `{"reason":"length","better":"` + better + `"}`
	})
	d := echoCases("long", "short", "same", "new")
	d.Evaluators = []evals.Evaluator{evals.Prefer(longer, "It is long.", base, evals.JudgeOptions{}), evals.Equal()}
	got := scores(t, d, next)
	require.Equal(t, []float64{1, 0, 0.5}, []float64{got["long"].Value, got["short"].Value, got["same"].Value})
	require.Equal(t, "equal", got["new"].Name, "the baseline does not have the case")
	var mu sync.Mutex
	var prompts []string
	place := answering(func(prompt string) string {
		mu.Lock()
		defer mu.Unlock()
		prompts = append(prompts, prompt)
		return `{"reason":"place","better":"first"}`
	})
	d.Evaluators = []evals.Evaluator{evals.Prefer(place, "It is long.", base, evals.JudgeOptions{})}
	d.Cases = d.Cases[:3]
	for _, s := range scores(t, d, next) {
		require.Equal(t, 0.5, s.Value)
		require.Equal(t, "first, and in the other order first: place | place", s.Reason)
	}
	require.NotContains(t, prompts[0], "<input>")
	d.Evaluators = []evals.Evaluator{evals.Prefer(place, "It is long.", base, evals.JudgeOptions{Input: true, Expected: true})}
	d.Cases = []evals.Case[string, string]{{Name: "long", Input: "long", Expected: "wanted"}, {Name: "short", Input: "short", Unlabeled: true}}
	prompts = nil
	require.Len(t, scores(t, d, next), 2)
	require.Equal(t, 2, strings.Count(strings.Join(prompts, ""), "<expected>\nwanted\n</expected>"))
	require.Equal(t, 4, strings.Count(strings.Join(prompts, ""), "<input>\n"))

	refuses := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		return nil, &model.APIError{Status: 400, Message: "no"}
	})
	d.Evaluators = []evals.Evaluator{evals.Prefer(refuses, "It is long.", base, evals.JudgeOptions{})}
	for _, s := range scores(t, d, next) {
		require.Equal(t, evals.KindError, s.Kind)
	}
	failed, err := evals.Run(t.Context(), echoCases("long"), func(context.Context, string) (string, error) {
		return "", errors.New("it failed")
	}, evals.Options{})
	require.NoError(t, err)
	d.Cases = d.Cases[:1]
	d.Evaluators = []evals.Evaluator{evals.Prefer(place, "It is long.", failed, evals.JudgeOptions{}), evals.Equal().Named("equal")}
	require.Equal(t, "equal", scores(t, d, next)["long"].Name, "the baseline has nothing to compare with")
}

// TestAgreementIsMeasured compares a judge with people.
func TestAgreementIsMeasured(t *testing.T) {
	d := evals.Dataset[string, string]{}
	for i := range 20 { // the judge says yes to the first 10, people to the first 8 and the last
		d.Cases = append(d.Cases, evals.Case[string, string]{
			Name: fmt.Sprint(i), Input: fmt.Sprint(i), Unlabeled: true, Metadata: map[string]any{"people": i < 8 || i == 19},
		})
	}
	judge := evals.New("judge", func(_ context.Context, t *evals.Trial[string, string]) (evals.Score, error) {
		var n int
		_, err := fmt.Sscan(t.Output, &n)
		return evals.Pass(n < 10), err
	})
	d.Evaluators = []evals.Evaluator{judge, evals.FromMetadata("people")}
	report, err := evals.Run(t.Context(), d, echo, evals.Options{})
	require.NoError(t, err)
	a, err := report.Agreement("judge", "people")
	require.NoError(t, err)
	require.Equal(t, 20, a.Trials)
	require.Equal(t, 17, a.Same)
	require.InDelta(t, 0.7, a.Kappa, 1e-9) // (0.85 - 0.5) / 0.5
	require.Less(t, a.Low, a.Kappa)
	require.Greater(t, a.High, a.Kappa)
	require.Equal(t, map[[2]string]int{{"yes", "yes"}: 8, {"yes", "no"}: 2, {"no", "no"}: 9, {"no", "yes"}: 1}, a.Counts)
	_, err = report.Agreement("judge", "nobody")
	require.ErrorContains(t, err, `no scores of "nobody"`)
}
