// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/internal/jsonvalue"
)

// toolNames returns the tools whose functions were called, in order, with those that failed if
// failed is set.
func toolNames(t *trial, failed bool) []string {
	var names []string
	for i := range t.trace.Calls {
		if c := &t.trace.Calls[i]; c.counts(failed) {
			names = append(names, c.Tool)
		}
	}
	return names
}

// counts reports whether a call is one that pydantic-evals counts: its function ran, and did not
// ask for another try unless failed is set.
func (c *Call) counts(failed bool) bool { return c.Ran && (failed || c.Err == "") }

type toolCorrectnessArgs struct {
	evaluationName
	Expected []string `json:"expected_tools"`
	Extra    bool     `json:"allow_extra"`
	Failed   bool     `json:"include_failed"`
}

func toolCorrectness(a toolCorrectnessArgs) (Evaluator, error) {
	return untypedScore(func(t *trial) (Score, error) {
		counts := map[string]int{}
		for _, name := range a.Expected {
			counts[name]++
		}
		for _, name := range toolNames(t, a.Failed) {
			counts[name]--
		}
		var problems []string
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			switch n := counts[name]; {
			case n > 0:
				problems = append(problems, fmt.Sprintf("%s is missing %d times", name, n))
			case n < 0 && !a.Extra:
				problems = append(problems, fmt.Sprintf("%s was called %d times more", name, -n))
			}
		}
		return Pass(len(problems) == 0).Because("%s", strings.Join(problems, ", ")), nil
	}), nil
}

type trajectoryArgs struct {
	evaluationName
	Expected []string `json:"expected_trajectory"`
	Order    string   `json:"order"`
	Failed   bool     `json:"include_failed"`
}

func trajectoryMatch(a trajectoryArgs) (Evaluator, error) {
	orders := map[string]Order{
		"": InOrder, "in_order": InOrder, "exact": Exact, "any_order": AnyOrder,
	}
	order, ok := orders[a.Order]
	if !ok {
		return Evaluator{}, badArgument("order", a.Order, "exact", "in_order", "any_order")
	}
	return trajectory(order, a.Failed, a.Expected), nil
}

// Trajectory gives a number from 0 to 1 for how near the calls are to a list of tools. For Exact it
// is 1 for these calls and 0 for others. Otherwise it is the harmonic mean of two shares: of the
// calls that are expected, and of the list that was called; for InOrder, in the order of the list.
// Only calls whose function ran count, unless it asked for another try.
func Trajectory(order Order, tools ...string) Evaluator {
	e := trajectory(order, false, slices.Clone(tools))
	e.name = "trajectory"
	return e
}

func trajectory(order Order, failed bool, expected []string) Evaluator {
	return untypedScore(func(t *trial) (Score, error) {
		actual := toolNames(t, failed)
		overlap, value := 0, 0.0
		why := fmt.Sprintf("called %s, want %s", listed(actual), listed(expected))
		switch {
		case order == Exact || len(actual)+len(expected) == 0:
			if slices.Equal(actual, expected) {
				value = 1
			}
			return Number(value).Because("%s", why), nil
		case order == InOrder:
			overlap = commonSubsequence(actual, expected)
		default:
			overlap = inBoth(actual, expected)
		}
		if overlap > 0 {
			precision := float64(overlap) / float64(len(actual))
			recall := float64(overlap) / float64(len(expected))
			value = 2 * precision * recall / (precision + recall)
		}
		return Number(value).Because("%s", why), nil
	})
}

// commonSubsequence returns the length of the longest common subsequence.
func commonSubsequence(a, b []string) int {
	row := make([]int, len(b)+1)
	for i := range a {
		diagonal := 0
		for j := range b {
			above := row[j+1]
			if a[i] == b[j] {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return row[len(b)]
}

type argumentArgs struct {
	evaluationName
	Tool       string          `json:"tool_name"`
	Expected   json.RawMessage `json:"expected_arguments"`
	Mode       string          `json:"match_mode"`
	Occurrence json.RawMessage `json:"occurrence"`
	Failed     bool            `json:"include_failed"`
}

func argumentCorrectness(a argumentArgs) (Evaluator, error) {
	expected, err := jsonvalue.Parse(a.Expected)
	want, ok := expected.(map[string]any)
	if err != nil || !ok {
		return Evaluator{}, errors.New("expected_arguments must be an object")
	}
	if a.Mode != "" && a.Mode != "exact" && a.Mode != "subset" {
		return Evaluator{}, badArgument("match_mode", a.Mode, "exact", "subset")
	}
	which := strings.Trim(string(a.Occurrence), `"`)
	index := 0
	if which != "" && which != "first" && which != "last" {
		if json.Unmarshal(a.Occurrence, &index) != nil {
			return Evaluator{}, badArgument("occurrence", which, "first", "last", "a number")
		}
	}
	return untypedScore(func(t *trial) (Score, error) {
		var calls []*Call
		for i := range t.trace.Calls {
			if c := &t.trace.Calls[i]; c.Tool == a.Tool && c.counts(a.Failed) {
				calls = append(calls, c)
			}
		}
		at := index
		if which == "last" {
			at = len(calls) - 1
		}
		if at < 0 || at >= len(calls) {
			return Pass(false).Because("%s was called %d times", a.Tool, len(calls)), nil
		}
		value, err := jsonvalue.Parse(calls[at].arguments())
		got, ok := value.(map[string]any)
		if err != nil || !ok {
			return Pass(false).Because("the arguments of %s are not an object", a.Tool), nil
		}
		if !holds(python, got, want) || a.Mode == "exact" && len(got) != len(want) {
			const why = "%s was called with %s, want %s"
			return Pass(false).Because(why, a.Tool, shown(got), shown(want)), nil
		}
		return Pass(true), nil
	}), nil
}
