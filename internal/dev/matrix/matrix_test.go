// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// TestTheTableInTheDocumentation makes sure that the table is made of the results that the tests of the models keep.
func TestTheTableInTheDocumentation(t *testing.T) {
	dir, err := root()
	require.NoError(t, err)
	columns, err := load(filepath.Join(dir, "internal", "dev", "matrix", "testdata"))
	require.NoError(t, err)
	require.NotEmpty(t, columns)

	file := filepath.Join(dir, "docs", "models.md")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	document := strings.ReplaceAll(string(text), "\r\n", "\n")
	want, err := replace(document, render(columns))
	require.NoError(t, err)
	if updating() {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
		return
	}
	if want != document { // which is too long to be shown
		t.Error("the table in docs/models.md is not that of the results: " + howToUpdate)
	}
}

// TestAllResultsAreOfTheSameSuite finds files that were not written again when the suite changed.
func TestAllResultsAreOfTheSameSuite(t *testing.T) {
	dir, err := directory()
	require.NoError(t, err)
	columns, err := load(dir)
	require.NoError(t, err)
	names := func(c column) (all []string) {
		for _, r := range c.results {
			require.Contains(t, []modeltest.Outcome{modeltest.OutcomePassed, modeltest.OutcomeSkipped, modeltest.OutcomeKnown}, r.Outcome, "%s: %v", c.name, r)
			all = append(all, r.Rule+"/"+r.Case)
		}
		return all
	}
	for _, c := range columns[1:] {
		require.Equal(t, names(columns[0]), names(c), "%s and %s", columns[0].name, c.name)
	}
}

func result(rule, name string, outcome modeltest.Outcome, reason string) modeltest.Result {
	return modeltest.Result{Rule: rule, Case: name, Outcome: outcome, Reason: reason}
}

func TestTheTableFoldsCasesThatDoNotDiffer(t *testing.T) {
	passed, skipped, known := modeltest.OutcomePassed, modeltest.OutcomeSkipped, modeltest.OutcomeKnown
	columns := []column{
		{"one", []modeltest.Result{
			result("R", "a", passed, ""), result("R", "b", passed, ""), result("R", "c", passed, ""), result("R", "d", passed, ""),
			result("S", "a", skipped, "there is none"), result("T", "a", passed, ""), result("T", "b", known, "it is lost"),
		}},
		{"two", []modeltest.Result{
			result("R", "a", known, "the | loses it"), result("R", "b", passed, ""), result("R", "c", known, "the | loses it"), result("R", "d", passed, ""),
			result("S", "a", skipped, "there is none"),
		}},
	}
	require.Equal(t, `| Rule | one | two |
|---|:-:|:-:|
| R | ✓ | ✗ (1) |
| … b; d | ✓ | ✓ |
| S | – (2) | – (2) |
| T: a | ✓ | – (3) |
| … b | ✗ (4) | – (3) |

1. the \| loses it
2. there is none
3. not tested
4. it is lost
`, render(columns))
}

func TestColumnsAreInAnOrder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"genkitmodel-x", "anthropicmodel", "mine", "openaimodel-responses", "geminimodel", "openaimodel"} {
		require.NoError(t, check(filepath.Join(dir, name+".json"), nil, true))
	}
	columns, err := load(dir)
	require.NoError(t, err)
	var names []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	require.Equal(t, []string{"openaimodel", "openaimodel-responses", "anthropicmodel", "geminimodel", "mine", "genkitmodel-x"}, names)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.json"), []byte("{"), 0o644))
	_, err = load(dir)
	require.ErrorContains(t, err, "bad.json")
}

func TestAChangeOfResultsIsSeen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "m.json")
	before := []modeltest.Result{
		result("R", "a", modeltest.OutcomePassed, ""), result("R", "b", modeltest.OutcomeSkipped, "<none>"), result("R", "c", modeltest.OutcomePassed, ""),
	}
	require.ErrorContains(t, check(file, before, false), "PONTE_UPDATE")
	require.NoError(t, check(file, before, true))
	require.NoError(t, check(file, before, false))
	after := []modeltest.Result{
		result("R", "a", modeltest.OutcomeKnown, "it is lost"), result("R", "b", modeltest.OutcomeSkipped, "<none>"), result("R", "d", modeltest.OutcomePassed, ""),
	}
	err := check(file, after, false)
	require.ErrorContains(t, err, "R/a was passed, is known (it is lost)\n  R/d is new: passed\n  R/c is gone")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, `[
{"rule":"R","case":"a","outcome":"passed"},
{"rule":"R","case":"b","outcome":"skipped","reason":"<none>"},
{"rule":"R","case":"c","outcome":"passed"}
]
`, string(text))
	require.NoError(t, os.WriteFile(file, []byte("no JSON"), 0o644))
	require.ErrorContains(t, check(file, after, false), "m.json")
}

func TestATableNeedsItsPlace(t *testing.T) {
	document, err := replace("a\n"+beginTable+"old"+endTable+"b\n", "new\n")
	require.NoError(t, err)
	require.Equal(t, "a\n"+beginTable+"\nnew\n\n"+endTable+"b\n", document)
	_, err = replace("a\n", "new\n")
	require.ErrorContains(t, err, "has no line")
	_, err = replace(beginTable, "new\n")
	require.ErrorContains(t, err, "behind the table")
}
