// SPDX-License-Identifier: Apache-2.0

package evals_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/evals"
)

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
