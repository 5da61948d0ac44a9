// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// A harness without models is told so at the line of each rule, and one that skips all skips there.
func TestHarnessesAreToldAtTheLineOfARule(t *testing.T) {
	var w wires
	none := conform(t, w.watch(modeltest.Harness{Provider: true, Citations: true, New: func(testing.TB, modeltest.Scenario) model.Model { return nil }}))
	require.Empty(t, none.inside)
	for _, r := range none.results {
		require.Equal(t, modeltest.OutcomeFailed, r.Outcome, r)
	}
	for _, p := range none.problems {
		require.True(t, strings.HasSuffix(p, ": Harness.New returned nil"), p)
	}
	blind := conform(t, modeltest.Harness{Provider: true, New: func(t testing.TB, s modeltest.Scenario) model.Model {
		if s.Rule == longRule {
			t.Skip("another rule")
		}
		return w.new(t, s)
	}})
	require.Empty(t, blind.inside)
	require.Empty(t, blind.problems)
}

// Media may be the first thing of a request, and so may words.
func TestRequestsMayBeginWithAnything(t *testing.T) {
	for _, rule := range []string{"Media is sent unchanged, or is an error", "Media by URL is sent as a URL, or is an error", "A response without words is not sent as an empty message"} {
		found, results := conformOf(t, rule, nil, func(_ testing.TB, p *provider) model.Model {
			return sending(func(req *model.Request) string {
				var b strings.Builder
				for _, m := range req.Messages {
					for _, part := range m.Parts {
						if m.Kind == model.KindRequest {
							b.WriteString(part.Text + string(part.Data) + part.URL)
						}
					}
				}
				return b.String()
			})(p)
		})
		require.Empty(t, found.problems, rule)
		require.NotEmpty(t, results)
	}
}

// What ends a test ends a trial of it: nothing behind it is run, and nothing else is ended.
func TestTrialsEndWhereTestsEnd(t *testing.T) {
	for name, end := range map[string]func(t testing.TB){
		"Fatal": func(t testing.TB) { t.Fatal("so it", 1) }, "Fatalf": func(t testing.TB) { t.Fatalf("so it %d", 1) }, "FailNow": func(t testing.TB) { t.FailNow() },
		"Skip": func(t testing.TB) { t.Skip("so it", 1) }, "Skipf": func(t testing.TB) { t.Skipf("so it %d", 1) }, "SkipNow": func(t testing.TB) { t.SkipNow() },
	} {
		skips := strings.HasPrefix(name, "Skip")
		var behind, within, skipped, failed bool
		var called string
		found, results := conformOf(t, usageRule, map[string]string{usageRule: "so it is"}, func(t testing.TB, p *provider) model.Model {
			called = t.Name()
			require.False(t, t.Skipped())
			require.False(t, t.Failed())
			t.Cleanup(func() { within, skipped, failed = true, t.Skipped(), t.Failed() })
			end(t)
			behind = true
			return p
		})
		require.False(t, behind, name)
		require.True(t, within, name)
		require.Equal(t, skips, skipped, name)
		require.Equal(t, !skips, failed, name)
		require.True(t, strings.HasSuffix(called, usageRule+"/reasoning"), called)
		require.Empty(t, found.problems, name)
		for _, r := range results {
			want := modeltest.Result{Rule: usageRule, Case: r.Case, Outcome: modeltest.OutcomeKnown, Reason: "so it is"}
			switch {
			case name == "SkipNow":
				want.Outcome, want.Reason = modeltest.OutcomeSkipped, ""
			case skips:
				want.Outcome, want.Reason = modeltest.OutcomeSkipped, "so it1"
				if name == "Skipf" {
					want.Reason = "so it 1"
				}
			}
			require.Equal(t, want, r, name)
		}
		switch name {
		case "Fatal":
			require.Contains(t, found.logs, "known to fail: so it is\nso it1", name)
		case "Fatalf":
			require.Contains(t, found.logs, "known to fail: so it is\nso it 1", name)
		}
	}
	var after bool
	found, _ := conformOf(t, usageRule, map[string]string{usageRule: "so it is"}, func(t testing.TB, p *provider) model.Model {
		t.Error("one", "two")
		t.Errorf("%s", "three")
		t.Fail()
		after = t.Failed()
		return p
	})
	require.True(t, after, "these go on")
	require.Contains(t, found.logs, "known to fail: so it is\nonetwo\nthree")
}

// What is wrong with a recording is told at the line of the test, and so is a harness without New.
func TestMistakesAreToldAtTheLineOfTheTest(t *testing.T) {
	t.Setenv("PONTE_RECORD", "")
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.json")
	require.NoError(t, os.WriteFile(broken, []byte("{"), 0o644))
	told := func(f func(t testing.TB)) []string {
		fake := &fakeT{ctx: t.Context()}
		fake.run(fake, "a test", f)
		require.Empty(t, fake.inside)
		return fake.problems
	}
	require.Len(t, told(func(t testing.TB) { modeltest.Recorded(t, filepath.Join(dir, "none.json"), nil) }), 1)
	require.Len(t, told(func(t testing.TB) { modeltest.Recorded(t, broken, nil) }), 1)
	t.Setenv("PONTE_RECORD", "(")
	require.Len(t, told(func(t testing.TB) { modeltest.Recorded(t, broken, nil) }), 1)
	t.Setenv("PONTE_RECORD", "1")
	require.Equal(t, []string{"a test: modeltest: record " + broken + ": boom"}, told(func(t testing.TB) { modeltest.Recorded(t, broken, opens(nil, errRecBoom)) }))
	require.Len(t, told(func(t testing.TB) { modeltest.Recorded(t, filepath.Join(broken, "x"), opens(modeltest.Auto(), nil)) }), 1)
	require.Equal(t, []string{"a test: modeltest: Harness.New is nil"}, told(func(t testing.TB) { modeltest.Conform(t, modeltest.Harness{}, nil) }))
}
