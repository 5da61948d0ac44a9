// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// conformOf tests a single rule and returns what was reported and the results of its cases.
func conformOf(t *testing.T, rule string, known map[string]string, change func(testing.TB, *provider) model.Model) (*fakeT, map[string]modeltest.Result) {
	t.Helper()
	var w wires
	found := conform(t, w.watch(modeltest.Harness{
		Provider:  true,
		Citations: true,
		Known:     known,
		New: func(t testing.TB, s modeltest.Scenario) model.Model {
			if s.Rule != rule {
				t.Skipf("another rule:\n%s", s.Rule)
			}
			return change(t, w.new(t, s))
		},
	}))
	require.Empty(t, found.inside, "problems are told at the line of a rule")
	results := map[string]modeltest.Result{}
	for _, r := range found.results {
		if r.Rule == rule {
			results[r.Case] = r
		} else {
			require.Equal(t, modeltest.OutcomeSkipped, r.Outcome)
			require.Equal(t, "another rule: "+r.Rule, r.Reason)
		}
	}
	return found, results
}

const usageRule = "Usage is what the provider counted"

// forgetful drops some usage.
func forgetful(_ testing.TB, p *provider) model.Model {
	return answered(func(m *model.Message) { m.Usage.CacheReadTokens = 0 })(p)
}

func TestResults(t *testing.T) {
	found, results := conformOf(t, usageRule, nil, forgetful)
	require.Len(t, found.problems, 2)
	require.Equal(t, map[string]modeltest.Result{
		"input and output":   {Rule: usageRule, Case: "input and output", Outcome: modeltest.OutcomePassed},
		"read from a cache":  {Rule: usageRule, Case: "read from a cache", Outcome: modeltest.OutcomeFailed},
		"written to a cache": {Rule: usageRule, Case: "written to a cache", Outcome: modeltest.OutcomePassed},
		"reasoning":          {Rule: usageRule, Case: "reasoning", Outcome: modeltest.OutcomePassed},
	}, results)
}

func TestKnownFailureIsSkipped(t *testing.T) {
	name := usageRule + "/read from a cache"
	found, results := conformOf(t, usageRule, map[string]string{name: "the SDK\nhides it"}, forgetful)
	require.Empty(t, found.problems)
	require.Contains(t, found.logs, "known to fail: the SDK\nhides it")
	require.Contains(t, found.logs, "usage of a response is", "the log shows the failure")
	require.Equal(t, modeltest.Result{Rule: usageRule, Case: "read from a cache", Outcome: modeltest.OutcomeKnown, Reason: "the SDK hides it"},
		results["read from a cache"])
	require.Equal(t, modeltest.OutcomePassed, results["reasoning"].Outcome)
}

func TestPassingKnownFailureIsAFailure(t *testing.T) {
	found, results := conformOf(t, usageRule, map[string]string{usageRule: "the SDK hides it"}, forgetful)
	require.Len(t, found.problems, 3, "the rule is known to fail in every case")
	require.Contains(t, found.problems[0], "but it passes; remove it from Harness.Known")
	require.Equal(t, modeltest.OutcomeKnown, results["read from a cache"].Outcome)
	require.Equal(t, modeltest.OutcomeFailed, results["reasoning"].Outcome)
}

func TestUntestableKnownFailureIsSkipped(t *testing.T) {
	found, results := conformOf(t, usageRule, map[string]string{usageRule: "the SDK hides it"}, func(t testing.TB, _ *provider) model.Model {
		t.Skip("not today")
		return nil
	})
	require.Empty(t, found.problems)
	require.Equal(t, modeltest.Result{Rule: usageRule, Case: "reasoning", Outcome: modeltest.OutcomeSkipped, Reason: "not today"}, results["reasoning"])
}

func TestKnownFailureOfAnyKind(t *testing.T) {
	const rule = "Generate ends with its context while it waits" // has subtests
	for name, fail := range map[string]func(testing.TB, *provider) model.Model{
		"no model": func(testing.TB, *provider) model.Model { return nil },
		"a panic": func(testing.TB, *provider) model.Model {
			return model.Func(model.Info{}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) { panic("boom") })
		},
		"in clean-up": func(t testing.TB, p *provider) model.Model {
			t.Cleanup(func() { t.Error("it is still there") })
			return p
		},
		"by require": func(t testing.TB, p *provider) model.Model {
			require.NoError(t, errWire)
			return p
		},
		"by Fail": func(t testing.TB, p *provider) model.Model {
			t.Fail()
			return p
		},
		"in the end": func(t testing.TB, p *provider) model.Model {
			return around(p, func(context.Context, *model.Request, model.Sink, generateFunc) (*model.Message, error) {
				return nil, errWire
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			found, results := conformOf(t, rule, map[string]string{rule: "so it is"}, fail)
			require.Empty(t, found.problems)
			require.Len(t, results, 2)
			for _, r := range results {
				require.Equal(t, modeltest.OutcomeKnown, r.Outcome, r.Case)
			}
		})
	}
}

// A trial behaves like any other test for the code that builds the model.
func TestTrialCleansUp(t *testing.T) {
	var order []string
	var ctx context.Context
	var dir string
	name := usageRule + "/reasoning"
	modeltest.Conformance(t, modeltest.Harness{
		Known: map[string]string{name: "to try it"},
		New: func(t testing.TB, s modeltest.Scenario) model.Model {
			if s.Rule+"/"+s.Case != name {
				t.Skip("another case")
			}
			t.Helper()
			t.Logf("this is %s", t.Name())
			t.Log("nobody sees it")
			require.True(t, strings.HasSuffix(t.Name(), "/reasoning"), t.Name())
			ctx, dir = t.Context(), t.TempDir()
			require.DirExists(t, dir)
			require.NoError(t, ctx.Err())
			t.Cleanup(func() { order = append(order, "first") })
			t.Cleanup(func() {
				require.ErrorIs(t, ctx.Err(), context.Canceled)
				order = append(order, "second")
				t.Cleanup(func() { order = append(order, "third") })
			})
			require.False(t, t.Failed() || t.Skipped())
			t.Fatalf("so it %s", "fails")
			return nil
		},
	})
	require.Equal(t, []string{"second", "third", "first"}, order)
	_, err := os.Stat(dir)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestKnownNeedsARuleAndAReason(t *testing.T) {
	for known, problem := range map[string]string{"Usage is": "names no rule", usageRule + "/": "names no rule", usageRule: "has no reason"} {
		found, _ := conformOf(t, "none", map[string]string{known: " "}, nil)
		require.Len(t, found.problems, 1)
		require.Contains(t, found.problems[0], problem)
	}
}

func TestArgsAsJSONComparesValues(t *testing.T) {
	for name, test := range map[string]struct {
		args    func(string) string
		problem string
	}{
		"white space": {func(args string) string { return strings.ReplaceAll(args, " ", "") }, ""},
		"order": {func(args string) string {
			return strings.ReplaceAll(args, "{ \"city\" : \"Bergen\",\n \"id\": 7,", `{"id": 7, "city":"Bergen",`)
		}, ""},
		"spelling of a number": {func(args string) string { return strings.ReplaceAll(args, "1.0", "1") }, ""},
		"last digit": {func(args string) string {
			return strings.ReplaceAll(args, "9223372036854775807", "9223372036854775808")
		}, "parts of kind tool_call"},
		"no JSON": {func(args string) string { return strings.TrimSuffix(args, "}") }, "parts of kind tool_call"},
	} {
		t.Run(name, func(t *testing.T) {
			var w wires
			found := conform(t, w.watch(modeltest.Harness{
				Provider: true, ArgsAsJSON: true,
				New: func(t testing.TB, s modeltest.Scenario) model.Model {
					if s.Rule != "A response is what the provider sent" {
						t.Skip("another rule")
					}
					return eachPart(func(p *model.Part) { p.Args = model.RawArgs(test.args(string(p.Args))) })(w.new(t, s))
				},
			}))
			if test.problem == "" {
				require.Empty(t, found.problems)
			} else {
				require.Contains(t, strings.Join(found.problems, "\n"), test.problem)
			}
		})
	}
}
