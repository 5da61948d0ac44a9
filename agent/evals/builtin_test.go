// SPDX-License-Identifier: Apache-2.0

package evals_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

func TestOutputsAreComparedAsJSON(t *testing.T) {
	type typed struct {
		A float64        `json:"a"`
		B []string       `json:"b"`
		C map[string]any `json:"c,omitempty"`
	}
	value := typed{A: 1, B: []string{"x"}}
	for _, c := range []struct {
		output, expected any
		want             bool
	}{
		{"a", "a", true}, {"a", "A", false}, {1, 1.0, true}, {nil, nil, true}, {nil, false, false},
		{value, typed{A: 1, B: []string{"x"}}, true}, {value, raw(`{"b":["x"],"a":1}`), true},
		{value, raw(`{"b":["x"],"a":1,"c":{}}`), false}, {true, 1, false},
	} {
		require.Equal(t, c.want, scoreOf(t, evals.Equal(), c.output, c.expected).Passed(), "%v %v", c.output, c.expected)
	}
	require.Empty(t, scoreOf(t, evals.Equal(), "a"), "a case without a label has no score")
	require.Equal(t, "it is 2, want 3", scoreOf(t, evals.Equal(), 2, 3).Reason)
	require.Equal(t, evals.KindError, scoreOf(t, evals.Equal(), func() {}, 3).Kind)
}

func TestPartsOfOutputsAreFound(t *testing.T) {
	output := raw(`{"status":"ok","items":[{"id":1,"n":2},{"id":2}]}`)
	for _, c := range []struct {
		e      evals.Evaluator
		output any
		want   bool
	}{
		{evals.Subset(raw(`{"items":[{"id":1},{}]}`)), output, true},
		{evals.Subset(raw(`{"items":[{"id":1}]}`)), output, false},
		{evals.Subset(map[string]any{"status": "ok"}), output, true},
		{evals.Contains("ell"), "hello", true}, {evals.Contains("Ell"), "hello", false},
		{evals.Contains(2), []int{1, 2}, true}, {evals.Contains("2"), []int{1, 2}, false},
		{evals.Contains("status"), output, true}, {evals.Contains("id"), output, false},
		{evals.Contains(raw(`{"status":"ok"}`)), output, true},
		{evals.Contains(raw(`{"items":[{"id":1},{"id":2}]}`)), output, false},
		{evals.Contains(1), 12, false}, {evals.Contains("a"), nil, false},
		{evals.Matches("^h.*o$"), "hello", true}, {evals.Matches("\"status\":\"ok\""), output, true},
		{evals.Matches("^x"), "hello", false},
		{evals.Schema[order](), `{"id":"7","cents":5}`, true}, {evals.Schema[order](), order{ID: "7"}, true},
		{evals.Schema[order](), `{"id":""}`, false}, {evals.Schema[order](), "no", false},
		{evals.Schema[order](), `{"id":"7","other":5}`, false},
		{evals.Schema[[]int](), "[1,2]", true}, {evals.Schema[[]int](), []any{1, "2"}, false},
		{evals.Schema[string](), "text", true}, {evals.Schema[string](), 1, false},
	} {
		s := scoreOf(t, c.e, c.output)
		require.Equal(t, evals.KindPass, s.Kind, "%s: %s", s.Name, s.Reason)
		require.Equal(t, c.want, s.Passed(), "%s: %v", s.Name, c.output)
		require.Equal(t, c.want, s.Reason == "", "a no has a reason")
	}
	require.Equal(t, evals.KindError, scoreOf(t, evals.Matches("("), "a").Kind)
}

func TestDistancesOfNumbersAreScored(t *testing.T) {
	require.True(t, scoreOf(t, evals.Near(0.5), 2.5, 3).Passed())
	require.False(t, scoreOf(t, evals.Near(0.4), 2.5, 3).Passed())
	require.InDelta(t, 0.5, scoreOf(t, evals.Closeness(2), 1, 3).Value, 1e-9)
	require.InDelta(t, 1, scoreOf(t, evals.Closeness(2), 3, 3).Value, 1e-9)
	require.Empty(t, scoreOf(t, evals.Near(1), 2.5))
	require.Equal(t, evals.KindError, scoreOf(t, evals.Near(1), "a", 3).Kind)
	at := evals.AtLeast(evals.Closeness(2), 0.5)
	require.True(t, scoreOf(t, at, 1, 3).Passed())
	require.False(t, scoreOf(t, at, 0.9, 3).Passed())
	require.Empty(t, scoreOf(t, at, 1))
	require.Equal(t, evals.KindError, scoreOf(t, evals.AtLeast(evals.Contains("a"), 1), "a").Kind)
}

func TestCallsAreCompared(t *testing.T) {
	tools := []*toolset.Tool[any]{tool("find", fine), tool("refund", fine), tool("mail", fine), tool("erase", fine)}
	clerk := scripted(tools,
		modeltest.Say(model.ToolCall("1", "find", `{"id":"7"}`), model.ToolCall("2", "find", `{"id":"8"}`)),
		modeltest.Say(model.ToolCall("1", "refund", `{"id":"7","cents":500}`), model.ToolCall("2", "erase", `{}`)),
		modeltest.SayText("done"))
	scores := scoresOf(t, evals.Case[string, string]{Input: "go"}, evals.Agent[any](clerk, nil),
		evals.Called(evals.Exact, "find", "find", "refund").Named("exact"),
		evals.Called(evals.Exact, "find", "refund").Named("exact, one is missing"),
		evals.Called(evals.InOrder, "find", "refund").Named("in order"),
		evals.Called(evals.InOrder, "refund", "find").Named("in order, turned round"),
		evals.Called(evals.AnyOrder, "refund", "find", "find").Named("any order"),
		evals.Called(evals.AnyOrder, "refund", "refund").Named("any order, twice"),
		evals.Called(evals.AnyOrder, "erase").Named("any order, but the call was not valid"),
		evals.Called("other").Named("no such order"),
		evals.NotCalled("mail").Named("never"),
		evals.NotCalled("mail", "erase").Named("never, not even wrongly"),
		evals.CalledWith("refund", raw(`{"cents":500}`)).Named("with"),
		evals.CalledWith("refund", raw(`{"cents":501}`)).Named("with other"),
		evals.CalledWith("mail", raw(`{}`)).Named("with, not called"),
		evals.Trajectory(evals.InOrder, "find", "refund"),
		evals.Trajectory(evals.AnyOrder, "mail", "refund").Named("near, any order"),
		evals.Trajectory(evals.Exact, "find", "find", "refund").Named("near, exact"),
		evals.Trajectory(evals.Exact, "find", "refund").Named("near, exact, one is missing"),
	)
	for name, want := range map[string]float64{
		"trajectory": 0.8, "near, any order": 0.4, "near, exact": 1, "near, exact, one is missing": 0,
	} {
		require.Equal(t, evals.KindNumber, scores[name].Kind, name)
		require.InDelta(t, want, scores[name].Value, 1e-9, name)
	}
	for name, want := range map[string]bool{
		"exact": true, "exact, one is missing": false, "in order": true, "in order, turned round": false,
		"any order": true, "any order, twice": false, "any order, but the call was not valid": false,
		"never": true, "never, not even wrongly": false,
		"with": true, "with other": false, "with, not called": false,
	} {
		require.Equal(t, evals.KindPass, scores[name].Kind, name)
		require.Equal(t, want, scores[name].Passed(), name)
	}
	require.Equal(t, evals.KindError, scores["no such order"].Kind)
	require.Equal(t, `refund was called with {"id":"7","cents":500}, want {"cents":501}`, scores["with other"].Reason)
}

func TestLimitsAreScored(t *testing.T) {
	score := func(e evals.Evaluator) evals.Score {
		clerk := scripted([]*toolset.Tool[any]{tool("find", fine)},
			modeltest.Say(model.ToolCall("1", "find", `{"id":"7"}`)), modeltest.SayText("done"))
		return scoresOf(t, evals.Case[string, string]{Input: "go"}, evals.Agent[any](clerk, nil), e)[e.Name()]
	}
	require.True(t, score(evals.Within(toolset.Limits{Requests: 2, ToolCalls: 1}, time.Hour)).Passed())
	require.False(t, score(evals.Within(toolset.Limits{Requests: 1}, 0)).Passed())
	require.False(t, score(evals.Within(toolset.Limits{ToolCalls: toolset.NoToolCalls}, 0)).Passed())
	require.False(t, score(evals.Within(toolset.Limits{}, 1)).Passed())
}

func TestWorkspacesAreScored(t *testing.T) {
	space := func(context.Context, string) (workspace.Workspace, error) {
		return workspace.NewMemory(workspace.MemoryConfig{Command: func(c workspace.Command) workspace.MemoryScript {
			return func(_ context.Context, sh *workspace.MemoryShell) int {
				data, err := sh.Disk.ReadFile(sh.Dir + "/a.txt")
				_, _ = sh.Write([]byte("looked\n"))
				if err != nil || string(data) != c.Args[1] {
					return 3
				}
				return 0
			}
		}})
	}
	task := func(ctx context.Context, in string) (string, error) {
		_, err := evals.WorkspaceOf(ctx).Write(ctx, "a.txt", []byte(in), workspace.AnyVersion)
		return "", err
	}
	d := evals.Dataset[string, string]{
		Cases: []evals.Case[string, string]{{Input: "new", Files: map[string]string{"a.txt": "old", "d/b.txt": "b"}}},
		Evaluators: []evals.Evaluator{
			evals.File("a.txt", "new"), evals.File("d/b.txt", "b"), evals.File("c.txt", ""),
			evals.Command("check", "new"), evals.Command("check", "old"),
			evals.New("before and after", func(ctx context.Context, t *evals.Trial[string, string]) (evals.Score, error) {
				after, exists, err := t.File(ctx, "a.txt")
				return evals.Pass(exists && t.Case.Files["a.txt"] == "old" && after == "new"), err
			}),
		},
	}
	report, err := evals.Run(t.Context(), d, task, evals.Options{Workspace: space})
	require.NoError(t, err)
	var passed []bool
	for _, s := range report.Cases[0].Trials[0].Scores {
		require.Equal(t, evals.KindPass, s.Kind, "%s: %s", s.Name, s.Reason)
		passed = append(passed, s.Passed())
	}
	require.Equal(t, []bool{true, true, false, true, false, true}, passed)
	require.Equal(t, "exit code 3: looked", report.Cases[0].Trials[0].Scores[4].Reason)

	without := scoreOf(t, evals.File("a.txt", "a"), "")
	require.Equal(t, evals.KindError, without.Kind)
	require.Equal(t, "the case has no workspace: set Case.Files or Options.Workspace", without.Reason)
}

func TestAWorkspaceThatCannotBeMadeSaysNothingAboutTheAgent(t *testing.T) {
	d := evals.Dataset[string, string]{Cases: named(1)}
	report, err := evals.Run(t.Context(), d, evals.Agent[any](saying("ok"), nil), evals.Options{
		Workspace: func(context.Context, string) (workspace.Workspace, error) { return nil, errors.New("full") },
	})
	require.NoError(t, err)
	require.Equal(t, evals.StatusUnavailable, report.Cases[0].Trials[0].Status)
	require.Nil(t, report.Cases[0].Trials[0].Scores)
}
