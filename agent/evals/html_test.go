// SPDX-License-Identifier: Apache-2.0

package evals_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/evals"
)

// TestBarsHaveTheirScale compares bars, of 200 points: passes have a scale to 1, numbers one to the
// largest end of an interval. What is outside of a scale is at its end.
func TestBarsHaveTheirScale(t *testing.T) {
	d := evals.Dataset[int, int]{Evaluators: []evals.Evaluator{evals.Equal()}}
	for i := range 4 {
		d.Cases = append(d.Cases, evals.Case[int, int]{Input: i, Expected: 3, Unlabeled: i == 0})
	}
	number := func(name string, by float64) evals.Evaluator {
		return evals.New(name, func(_ context.Context, t *evals.Trial[int, int]) (evals.Score, error) {
			return evals.Number(float64(t.Output) * by), nil
		})
	}
	d.Evaluators = append(d.Evaluators, number("large", 10), number("small", 0.1), number("negative", -1))
	r, err := evals.Run(t.Context(), d, func(_ context.Context, in int) (int, error) { return in, nil }, evals.Options{Repeats: 2})
	require.NoError(t, err)
	require.Nil(t, r.Cases[0].Expected, "it has no label")
	require.Equal(t, "3", string(r.Cases[1].Expected))
	var out strings.Builder
	require.NoError(t, r.WriteHTML(&out, nil))
	for _, m := range r.Metrics() {
		most := 1.0
		if m.Kind == evals.KindNumber {
			most = max(1, m.High, m.Mean)
		}
		at := func(v float64) float64 { return min(200, max(0, 200*v/most)) }
		require.Contains(t, out.String(), fmt.Sprintf(`class="range" x="%v" y="2" width="%v"`, at(m.Low), max(1, at(m.High)-at(m.Low))), m.Name)
		require.Contains(t, out.String(), fmt.Sprintf(`class="mean" x="%v"`, at(m.Mean)), m.Name)
	}
}

// TestHTMLIsOneFileThatNeedsNothing looks for addresses and scripts, and for what has to be shown.
func TestHTMLIsOneFileThatNeedsNothing(t *testing.T) {
	a, _ := counting("one")
	b, _ := counting("two <script>alert(1)</script>")
	d := echoCases("plain", "<script>alert(2)</script>")
	d.Evaluators = []evals.Evaluator{evals.Contains("answer 2").Named("second"), evals.Closeness(1).Named("n<b>")}
	base, err := evals.Run(t.Context(), d, evals.Agent(a, nil), evals.Options{Name: "base", Concurrency: 1})
	require.NoError(t, err)
	_, err = evals.Run(t.Context(), d, evals.Agent(b, nil), evals.Options{Concurrency: 1})
	require.NoError(t, err)
	next, err := evals.Run(t.Context(), d, evals.Agent(b, nil), evals.Options{Name: "next", Concurrency: 1})
	require.NoError(t, err)
	for _, compared := range []*evals.Report{nil, base} {
		var out strings.Builder
		require.NoError(t, next.WriteHTML(&out, compared))
		html := out.String()
		for _, bad := range []string{"<script", "http:", "https:", "src=", "url(", "@import", "<link"} {
			require.NotContains(t, html, bad)
		}
		require.Contains(t, html, "&lt;script&gt;alert(2)&lt;/script&gt;")
		require.Contains(t, html, "<svg")
		require.Contains(t, html, "call look {}")
		require.Equal(t, compared != nil, strings.Contains(html, "Cases that got worse"))
		require.Equal(t, compared != nil, strings.Contains(html, " parts\">text: answer"), "the step where they part is marked")
	}
}
