// SPDX-License-Identifier: Apache-2.0

package evals_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// counted is the usage of each response of costly.
var counted = model.Usage{InputTokens: 70, OutputTokens: 30, CacheReadTokens: 20, CacheWriteTokens: 10, ReasoningTokens: 5}

// costly is an agent that asks another one, whose model is asked as often as the returned function
// says.
func costly(fail error) (a *agent.Agent[any, string], asked func() int) {
	n := 0
	answer := func(parts ...model.Part) *model.Message {
		m := model.Response(parts...)
		m.Usage = counted
		return m
	}
	m := known{modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		n++
		switch {
		case len(req.Tools) > 0 && len(req.Messages) == 1:
			return answer(model.ToolCall("1", "ask", `{"prompt":"of `+req.Messages[0].Parts[0].Text+`"}`)), nil
		case fail != nil:
			return nil, fail
		}
		return answer(model.Text("ok")), nil
	}), "costly"}
	inner := agent.Must(agent.New(agent.Config[any, string]{Name: "inner", Model: m}))
	ask := agent.AsTool[any]("ask", "Ask.", inner, func(d any) any { return d })
	a = agent.Must(agent.New(agent.Config[any, string]{Name: "outer", Model: m, Tools: []*toolset.Tool[any]{ask}}))
	return a, func() int { return n }
}

// TestUsageIsCountedOnceAndKnownAnswersAreFree runs agents inside of agents with and without limits,
// prices and a cache.
func TestUsageIsCountedOnceAndKnownAnswersAreFree(t *testing.T) {
	times := func(n int) model.Usage {
		var u model.Usage
		for range n {
			u.Add(counted)
		}
		return u
	}
	for name, o := range map[string]evals.Options{
		"plain": {}, "limits": {Limits: toolset.Limits{Requests: 99}}, "prices": {Prices: tokenIsOne{}},
		"both": {Prices: tokenIsOne{}, Limits: toolset.Limits{Cost: 99_999}},
	} {
		t.Run(name, func(t *testing.T) {
			o.Cache, o.Concurrency = t.TempDir(), 1
			var usage toolset.Usage
			o.Progress = func(p evals.Progress) { usage = p.Usage }
			for _, asked := range []int{6, 0} {
				a, n := costly(nil)
				report, err := evals.Run(t.Context(), echoCases("a", "b"), evals.Agent(a, nil), o)
				require.NoError(t, err)
				require.Equal(t, asked, n())
				require.Equal(t, asked, report.Usage.Requests)
				require.Equal(t, times(asked), report.Usage.Usage)
				trial := report.Cases[1].Trials[0].Usage
				require.Equal(t, 3, trial.Requests)
				require.Equal(t, times(3), trial.Usage)
				require.Equal(t, report.Usage, usage)
				if o.Prices != nil {
					require.Zero(t, trial.Unpriced)
					require.InDelta(t, 100*asked, report.Usage.Cost, 1e-9)
					require.InDelta(t, 300, trial.Cost, 1e-9)
				} else {
					require.Zero(t, report.Usage.Cost)
				}
			}
			files, err := filepath.Glob(filepath.Join(o.Cache, "*", "*.json"))
			require.NoError(t, err)
			require.Len(t, files, 6)
			for _, file := range files {
				info, err := os.Stat(file)
				require.NoError(t, err)
				require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
				dir, err := os.Stat(filepath.Dir(file))
				require.NoError(t, err)
				require.Equal(t, os.FileMode(0o700), dir.Mode().Perm())
				require.Equal(t, filepath.Base(filepath.Dir(file)), filepath.Base(file)[:2])
			}
		})
	}
}

// TestWhatIsNotWholeIsNotCached asks again for answers that failed or were cut off, and works
// without a place for the cache.
func TestWhatIsNotWholeIsNotCached(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	a, asked := costly(nil)
	for range 2 {
		_, err := evals.Run(t.Context(), echoCases("a"), evals.Agent(a, nil), evals.Options{Cache: file})
		require.NoError(t, err)
	}
	require.Equal(t, 6, asked())

	o := evals.Options{Cache: t.TempDir(), Retries: -1}
	broken, asked := costly(errors.New("no"))
	first := 0
	for range 2 {
		first = asked()
		_, err := evals.Run(t.Context(), echoCases("a"), evals.Agent(broken, nil), o)
		require.NoError(t, err)
	}
	require.Equal(t, 2*first-1, asked(), "the first call is known, and the errors are not")
}

// TestObservedStepsAreFound has requests with the id of the run, and histories of another run.
func TestObservedStepsAreFound(t *testing.T) {
	response := func(run string, step int, parts ...model.Part) *model.Message {
		m := model.Response(parts...)
		m.RunID, m.Step = run, step
		return m
	}
	request := func(run string, parts ...model.Part) *model.Message {
		return &model.Message{Kind: model.KindRequest, RunID: run, Parts: parts}
	}
	for _, id := range []string{"r", ""} {
		o := evals.Observed{Runs: []evals.AgentRun{{RunID: id, Outer: -1, Messages: []*model.Message{
			request(id, model.User("go")),
			response(id, 1, model.ToolCall("1", "a", "{}")), request(id, model.ToolReturn("1", "a", "one")),
			response(id, 2, model.ToolCall("1", "b", "{}")), request(id, model.ToolReturn("1", "b", "two")),
			response(id, 3, model.Text("done")),
		}}}}
		if id != "" {
			old := []*model.Message{response("old", 1, model.ToolCall("9", "z", "{}")), request("old", model.ToolReturn("9", "z", "old"))}
			o.Runs[0].Messages = append(old, o.Runs[0].Messages...)
		}
		var got []string
		see := evals.New("see", func(_ context.Context, t *evals.Trial[string, string]) (evals.Score, error) {
			for _, c := range t.Calls {
				got = append(got, c.Tool+" "+c.Result)
			}
			return evals.Score{}, nil
		})
		scores, err := evals.Evaluate(t.Context(), o, see)
		require.NoError(t, err)
		require.Empty(t, scores)
		require.Equal(t, []string{"a one", "b two"}, got)
	}
}

// TestTrajectoriesAreAsNearAsTheirOverlap compares lists of calls with lists of tools.
func TestTrajectoriesAreAsNearAsTheirOverlap(t *testing.T) {
	observed := func(tools string) evals.Observed {
		m := model.Response()
		m.RunID, m.Step = "r", 1
		results := &model.Message{Kind: model.KindRequest}
		for i, tool := range strings.Fields(tools) {
			id := fmt.Sprint(i)
			m.Parts = append(m.Parts, model.ToolCall(id, tool, "{}"))
			results.Parts = append(results.Parts, model.ToolReturn(id, tool, "x"))
		}
		return evals.Observed{Runs: []evals.AgentRun{{RunID: "r", Outer: -1, Messages: []*model.Message{m, results}}}}
	}
	for _, c := range []struct {
		called, want string
		inOrder, any int // how many overlap
	}{
		{"a b c", "a b c", 3, 3}, {"a b c", "c b a", 1, 3}, {"a a b", "a b", 2, 2}, {"a b", "a a b", 2, 2}, {"b a", "a a", 1, 1},
		{"x a y b z", "a b", 2, 2}, {"a", "b", 0, 0}, {"", "a", 0, 0}, {"a", "", 0, 0}, {"a b a c a", "a a a", 3, 3}, {"a c b", "c a b", 2, 3},
		{"a b c d", "b d a c", 2, 4}, {"a a a", "a", 1, 1}, {"a", "a x", 1, 1}, {"a b", "a x b y", 2, 2},
	} {
		for _, o := range []struct {
			order   evals.Order
			overlap int
		}{{evals.InOrder, c.inOrder}, {evals.AnyOrder, c.any}} {
			scores, err := evals.Evaluate(t.Context(), observed(c.called), evals.Trajectory(o.order, strings.Fields(c.want)...))
			require.NoError(t, err)
			want := 0.0
			if o.overlap > 0 {
				want = 2 * float64(o.overlap) / float64(len(strings.Fields(c.called))+len(strings.Fields(c.want)))
			}
			require.InDelta(t, want, scores[0].Value, 1e-9, "%q %q %s", c.called, c.want, o.order)
		}
		called, want := strings.Fields(c.called), strings.Fields(c.want)
		for order, ok := range map[evals.Order]bool{
			evals.Exact: slices.Equal(called, want), evals.InOrder: c.inOrder == len(want), evals.AnyOrder: c.any == len(want),
		} {
			scores, err := evals.Evaluate(t.Context(), observed(c.called), evals.Called(order, want...))
			require.NoError(t, err)
			require.Equal(t, ok, scores[0].Passed(), "%q %q %s", c.called, c.want, order)
		}
	}
	empty, err := evals.Evaluate(t.Context(), observed(""), evals.Trajectory(evals.InOrder), evals.Trajectory(evals.AnyOrder).Named("any"))
	require.NoError(t, err)
	require.Equal(t, []float64{1, 1}, []float64{empty[0].Value, empty[1].Value}, "nothing was wanted")
	tools := []string{"a"}
	list := []evals.Evaluator{evals.Called(evals.Exact, tools...), evals.NotCalled(tools...), evals.Trajectory(evals.Exact, tools...)}
	tools[0] = "b"
	scores, err := evals.Evaluate(t.Context(), observed("a"), list...)
	require.NoError(t, err)
	require.Equal(t, []float64{1, 0, 1}, []float64{scores[0].Value, scores[1].Value, scores[2].Value}, "the list is copied")
}

// TestValuesOfFilesAreExact has numbers that floats cannot hold, and ratings that differ in a digit.
func TestValuesOfFilesAreExact(t *testing.T) {
	d, err := evals.Parse[any, any]([]byte("cases: [{inputs: 9007199254740993, expected_output: 9007199254740995}]"), evals.FileOptions{})
	require.NoError(t, err)
	require.Equal(t, "9007199254740993 9007199254740995", fmt.Sprint(d.Cases[0].Input, " ", d.Cases[0].Expected))
	r := &evals.Report{}
	for _, pair := range [][2]float64{{0.25, 0.25}, {0.25, 0.26}, {12, 12}, {12, 13}} {
		one, two := evals.Number(pair[0]), evals.Number(pair[1])
		one.Name, two.Name = "one", "two"
		r.Cases = append(r.Cases, evals.ReportCase{Trials: []evals.TrialResult{{Scores: []evals.Score{one, two}}}})
	}
	a, err := r.Agreement("one", "two")
	require.NoError(t, err)
	require.Equal(t, map[[2]string]int{{"0.25", "0.25"}: 1, {"0.25", "0.26"}: 1, {"12", "12"}: 1, {"12", "13"}: 1}, a.Counts)
	file := filepath.Join(t.TempDir(), "a.json")
	require.NoError(t, r.Save(file))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "transcripts are private")

	var failed error = &model.APIError{Status: 400, Message: "no"}
	report, err := evals.Run(t.Context(), echoCases("a"), evals.Stream(scripted(nil, modeltest.Fail(failed)), nil), evals.Options{})
	require.NoError(t, err)
	require.Equal(t, evals.StatusFailed, report.Cases[0].Trials[0].Status)
	require.Contains(t, report.Cases[0].Trials[0].Error, "no")
}
