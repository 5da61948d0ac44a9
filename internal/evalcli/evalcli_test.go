// SPDX-License-Identifier: Apache-2.0

package evalcli_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/internal/evalcli"
)

// saved writes the report of 20 cases, of which every n-th is wrong.
func saved(t *testing.T, file string, n int) string {
	d := evals.Dataset[int, int]{Name: "sums", Evaluators: []evals.Evaluator{evals.Equal()}}
	for i := range 20 {
		d.Cases = append(d.Cases, evals.Case[int, int]{Name: fmt.Sprint(i), Input: i, Expected: i})
	}
	report, err := evals.Run(t.Context(), d, func(_ context.Context, i int) (int, error) {
		if n > 0 && i%n == 0 {
			return -1, nil
		}
		return i, nil
	}, evals.Options{})
	require.NoError(t, err)
	file = filepath.Join(t.TempDir(), file)
	require.NoError(t, report.Save(file))
	return file
}

func TestCommand(t *testing.T) {
	good, bad := saved(t, "good.json", 0), saved(t, "bad.json", 2)
	out := filepath.Join(t.TempDir(), "out")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"show", bad}, 0, "equal   0.5"},
		{[]string{"show", "-format", "markdown", bad}, 0, "| equal | 0.5 |"},
		{[]string{"show", "-format", "junit", bad}, 0, "<testsuite"},
		{[]string{"show", "-format", "html", bad}, 0, "<!doctype html>"},
		{[]string{"compare", good, bad}, 0, "worse"},
		{[]string{"compare", good, bad, good}, 0, "no significant difference"},
		{[]string{"compare", "-format", "html", good, bad}, 0, "Cases that got worse"},
		{[]string{"check", "-least", "equal=0.9", good}, 0, ""},
		{[]string{"check", "-least", "equal=0.9", bad}, 1, "equal: 0.5, at least 0.9 is asked for"},
		{[]string{"check", "-least", "none=0.9", bad}, 2, "none: there is no such metric"},
		{[]string{"check", "-base", good, bad}, 1, "in the baseline 1"},
		{[]string{"check", "-base", good, good}, 0, ""},
		{[]string{"-h"}, 0, "Usage:"},
		{[]string{}, 3, "say what to do"},
		{[]string{"sohw", bad}, 3, `unknown command "sohw"`},
		{[]string{"show"}, 3, "show: give one report"},
		{[]string{"show", "-format", "pdf", bad}, 3, `unknown format "pdf"`},
		{[]string{"show", bad + ".none"}, 3, "no such file"},
		{[]string{"compare", bad}, 3, "compare: give a baseline and a report"},
		{[]string{"compare", "-format", "html", good, bad, bad}, 0, "10 scores got worse.<li>"},
		{[]string{"check", good}, 3, "check: give -least or -base"},
		{[]string{"check", "-least", "equal", good}, 3, "is not METRIC=BOUND"},
		{[]string{"show", "-o", out, bad}, 0, ""},
	} {
		var stdout, stderr strings.Builder
		code := evalcli.Run(c.args, &stdout, &stderr)
		require.Equal(t, c.code, code, "%v: %s%s", c.args, stdout.String(), stderr.String())
		require.Contains(t, stdout.String()+stderr.String(), c.want, c.args)
		if c.code == evalcli.ExitMistake {
			require.Empty(t, stdout.String())
		}
	}
	data, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Contains(t, string(data), "equal   0.5")
	left, err := filepath.Glob(filepath.Join(filepath.Dir(out), ".eval-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
