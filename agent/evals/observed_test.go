// SPDX-License-Identifier: Apache-2.0

package evals_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// seen is a run with two steps: find returned, refund asked for another try, erase failed, list was
// denied, and mail has no result. Inside of find another agent called look.
func seen() evals.Observed {
	response := func(step int, parts ...model.Part) *model.Message {
		m := model.Response(parts...)
		m.RunID, m.Step = "r", step
		return m
	}
	answer := func(p model.Part, outcome model.Outcome) model.Part {
		p.Outcome = outcome
		return p
	}
	return evals.Observed{
		Name: "turn", Input: "go", Output: "done",
		Runs: []evals.AgentRun{{
			Agent: "clerk", RunID: "r", Outer: -1, Duration: 2 * time.Second,
			Usage: toolset.Usage{Requests: 3, ToolCalls: 4, Usage: model.Usage{InputTokens: 7, OutputTokens: 5}, Cost: 0.5},
			Messages: []*model.Message{
				model.UserText("go"),
				response(1, model.ToolCall("1", "find", `{"id":"7"}`), model.ToolCall("2", "refund", `{"cents":5}`)),
				{Kind: model.KindRequest, Parts: []model.Part{model.ToolReturn("1", "find", "a book"), model.Retry("2", "refund", "not 5 cents")}},
				response(2, model.ToolCall("4", "erase", `[1]`), model.ToolCall("2", "list", `{}`), model.ToolCall("3", "mail", `{}`)),
				{Kind: model.KindRequest, Parts: []model.Part{
					answer(model.ToolReturn("4", "erase", "no disk"), model.OutcomeFailed),
					answer(model.ToolReturn("2", "list", "not allowed"), model.OutcomeDenied),
				}},
				response(3, model.Text("done")),
			},
		}, {
			Agent: "helper", RunID: "h", Outer: 0, Call: "1", Duration: time.Second, Usage: toolset.Usage{Requests: 90},
			Messages: []*model.Message{
				{Kind: model.KindResponse, RunID: "h", Step: 1, Parts: []model.Part{model.ToolCall("9", "look", `{}`)}},
				{Kind: model.KindRequest, Parts: []model.Part{model.ToolReturn("9", "look", "there")}},
			},
		}},
	}
}

func TestObservedRunsAreScored(t *testing.T) {
	o := seen()
	o.Metadata = map[string]any{
		"yes": true, "word": "good", "part": 0.25, "n": 3, "number": json.Number("1.5"), "bad": json.Number("x"), "list": []int{},
	}
	pass := func(ok bool) evals.Score {
		s := evals.Pass(ok)
		s.Reason = "*"
		return s
	}
	within := func(l toolset.Limits, d time.Duration) evals.Evaluator { return evals.Within(l, d) }
	for name, c := range map[string]struct {
		e      evals.Evaluator
		want   evals.Score
		reason string
	}{
		"every call that returned":     {evals.Called(evals.Exact, "find", "look"), evals.Pass(true), ""},
		"not what failed":              {evals.Called(evals.Exact, "find", "look", "erase"), pass(false), "called find, look, want find, look, erase, exact"},
		"none":                         {evals.Called(evals.Exact), pass(false), "called find, look, want no tool, exact"},
		"in order":                     {evals.Called(evals.InOrder, "look"), evals.Pass(true), ""},
		"a retry is a call":            {evals.NotCalled("refund"), pass(false), `it called refund with {"cents":5}`},
		"a call without an end":        {evals.NotCalled("mail"), pass(false), "it called mail with {}"},
		"never":                        {evals.NotCalled("other"), evals.Pass(true), ""},
		"with":                         {evals.CalledWith("find", map[string]any{"id": "7"}), evals.Pass(true), ""},
		"with, failed":                 {evals.CalledWith("erase", []int{1}), pass(false), "erase was not called"},
		"with, denied":                 {evals.CalledWith("list", map[string]any{}), pass(false), "list was not called"},
		"with what is no JSON":         {evals.CalledWith("find", func() {}), evals.Score{Kind: evals.KindError}, "the expected arguments are not JSON"},
		"near":                         {evals.Trajectory(evals.Exact, "find", "look", "erase"), evals.Number(1), "called find, look, erase, want find, look, erase"},
		"requests":                     {within(toolset.Limits{Requests: 3}, 0), evals.Pass(true), ""},
		"too many requests":            {within(toolset.Limits{Requests: 2}, 0), pass(false), "requests: 3, at most 2 is allowed"},
		"tool calls":                   {within(toolset.Limits{ToolCalls: 4}, 0), evals.Pass(true), ""},
		"too many tool calls":          {within(toolset.Limits{ToolCalls: 3}, 0), pass(false), "tool calls: 4, at most 3 is allowed"},
		"no tool calls":                {within(toolset.Limits{ToolCalls: toolset.NoToolCalls}, 0), pass(false), "tool calls: 4, none is allowed"},
		"input":                        {within(toolset.Limits{InputTokens: 7}, 0), evals.Pass(true), ""},
		"too much input":               {within(toolset.Limits{InputTokens: 6}, 0), pass(false), "input tokens: 7, at most 6 is allowed"},
		"output":                       {within(toolset.Limits{OutputTokens: 5}, 0), evals.Pass(true), ""},
		"too much output":              {within(toolset.Limits{OutputTokens: 4}, 0), pass(false), "output tokens: 5, at most 4 is allowed"},
		"tokens":                       {within(toolset.Limits{TotalTokens: 12}, 0), evals.Pass(true), ""},
		"too many tokens":              {within(toolset.Limits{TotalTokens: 11}, 0), pass(false), "tokens: 12, at most 11 is allowed"},
		"cost":                         {within(toolset.Limits{Cost: 0.5}, 0), evals.Pass(true), ""},
		"too much":                     {within(toolset.Limits{Cost: 0.4}, 0), pass(false), "cost: 0.5, at most 0.4 is allowed"},
		"time of all runs":             {within(toolset.Limits{}, 3*time.Second), evals.Pass(true), ""},
		"too long":                     {within(toolset.Limits{}, 3*time.Second-1), pass(false), "it took 3s, at most 2.999999999s is allowed"},
		"nothing to compare with":      {evals.Equal(), evals.Score{}, ""},
		"no number to compare with":    {evals.Near(1), evals.Score{}, ""},
		"no workspace":                 {evals.File("a", ""), evals.Score{Kind: evals.KindError}, "the case has no workspace: set Case.Files or Options.Workspace"},
		"no place to run":              {evals.Command("a"), evals.Score{Kind: evals.KindError}, "the case has no workspace: set Case.Files or Options.Workspace"},
		"said yes":                     {evals.FromMetadata("yes"), evals.Pass(true), ""},
		"said a word":                  {evals.FromMetadata("word"), evals.Label("good"), ""},
		"said a share":                 {evals.FromMetadata("part"), evals.Number(0.25), ""},
		"said a count":                 {evals.FromMetadata("n"), evals.Number(3), ""},
		"said a number of a file":      {evals.FromMetadata("number"), evals.Number(1.5), ""},
		"said what is no number":       {evals.FromMetadata("bad"), evals.Score{Kind: evals.KindError}, "invalid syntax"},
		"said a list":                  {evals.FromMetadata("list"), evals.Score{Kind: evals.KindError}, `the metadata "list" is a []int, must be a bool, a number or a string`},
		"said nothing":                 {evals.FromMetadata("nothing"), evals.Score{}, ""},
		"looked for what is no JSON":   {evals.Contains(func() {}), evals.Score{Kind: evals.KindError}, "the value that is looked for is not JSON"},
		"a subset of what is no JSON":  {evals.Subset(func() {}), evals.Score{Kind: evals.KindError}, "the value that is looked for is not JSON"},
		"a pattern that does not end":  {evals.Matches("("), evals.Score{Kind: evals.KindError}, "missing closing )"},
		"a type that has no schema":    {evals.Schema[chan int](), evals.Score{Kind: evals.KindError}, "chan int"},
		"text that is no JSON of ints": {evals.Schema[[]int](), pass(false), ""},
		"a text":                       {evals.Schema[string](), evals.Pass(true), ""},
	} {
		scores, err := evals.Evaluate(t.Context(), o, c.e.Named(name))
		require.NoError(t, err, name)
		if c.want.Kind == "" {
			require.Empty(t, scores, name)
			continue
		}
		require.Len(t, scores, 1, name)
		got := scores[0]
		require.Equal(t, name, got.Name)
		require.Contains(t, got.Reason, c.reason, name)
		if c.want.Reason == "" && c.want.Kind == evals.KindPass {
			require.Empty(t, got.Reason, name)
		}
		require.Equal(t, []any{c.want.Kind, c.want.Value, c.want.Label}, []any{got.Kind, got.Value, got.Label}, name)
	}

	o.Runs[0].Usage.Unpriced = 2
	scores, err := evals.Evaluate(t.Context(), o, within(toolset.Limits{Cost: 1}, 0), within(toolset.Limits{}, 0).Named("no limit"))
	require.NoError(t, err)
	require.Equal(t, evals.KindError, scores[0].Kind)
	require.Equal(t, "the cost of 2 requests is not known: set Options.Prices", scores[0].Reason)
	require.True(t, scores[1].Passed())

	_, err = evals.Evaluate(t.Context(), o, evals.New("typed", func(context.Context, *evals.Trial[int, int]) (evals.Score, error) {
		return evals.Score{}, nil
	}))
	require.ErrorContains(t, err, "evals: ")
}

// TestTranscriptsOfObservedRunsAreWhole looks at all that an evaluator may know of a run.
func TestTranscriptsOfObservedRunsAreWhole(t *testing.T) {
	o := seen()
	o.Err = errors.New("broken")
	var lines []string
	look := evals.OnFailure(evals.New("look", func(_ context.Context, t *evals.Trial[string, string]) (evals.Score, error) {
		for _, c := range t.Calls {
			lines = append(lines, fmt.Sprintf("%d %s %s %s ran=%v outcome=%q result=%q err=%q", c.Run, c.ID, c.Tool, c.Args, c.Ran, c.Outcome, c.Result, c.Err))
		}
		lines = append(lines, fmt.Sprintf("%s %s %v %v", t.Case.Name, t.Case.Input, t.Duration, t.Usage.Requests), t.Err.Error())
		return evals.Pass(true), nil
	}))
	_, err := evals.Evaluate(t.Context(), o, look)
	require.NoError(t, err)
	require.Equal(t, []string{
		`0 1 find {"id":"7"} ran=true outcome="" result="a book" err=""`,
		`1 9 look {} ran=true outcome="" result="there" err=""`,
		`0 2 refund {"cents":5} ran=false outcome="" result="" err="not 5 cents"`,
		`0 4 erase [1] ran=true outcome="failed" result="no disk" err=""`,
		`0 2 list {} ran=false outcome="denied" result="not allowed" err=""`,
		`0 3 mail {} ran=false outcome="" result="" err=""`,
		"turn go 3s 3", "broken",
	}, lines)
}

func TestJudgesSeeTheCalls(t *testing.T) {
	var prompt string
	m := answering(func(text string) string {
		prompt = text
		return `{"reason":"so","pass":false}`
	})
	scores, err := evals.Evaluate(t.Context(), seen(), evals.Judge(m, "fine", evals.JudgeOptions{Calls: true, Expected: true}))
	require.NoError(t, err)
	require.Equal(t, []evals.Score{{Name: "judge", Kind: evals.KindPass, Reason: "so"}}, scores)
	require.Contains(t, prompt, "<calls>\nfind {\"id\":\"7\"}: a book\nlook {}: there\nrefund {\"cents\":5}: not 5 cents\n"+
		"erase [1]: failed no disk\nlist {}: denied not allowed\nmail {}: \n</calls>\n<output>\ndone\n</output>\n<rubric>")
	broken := modeltest.Script(modeltest.Fail(errors.New("no such host")))
	for _, o := range []evals.JudgeOptions{{}, {High: 5}} {
		scores, err = evals.Evaluate(t.Context(), seen(), evals.Judge(broken, "fine", o))
		require.NoError(t, err)
		require.Equal(t, evals.KindError, scores[0].Kind)
		require.NotEmpty(t, scores[0].Reason)
	}
}

// TestValuesInReasonsAreShort has texts at the bound, whose last rune the bound cuts.
func TestValuesInReasonsAreShort(t *testing.T) {
	whole, long, cut := strings.Repeat("a", 198), strings.Repeat("a", 199), strings.Repeat("a", 198)+"ä"
	for output, want := range map[string]string{
		whole: `it is "` + whole + `", want 1`,
		long:  `it is "` + long + `…, want 1`,
		cut:   `it is "` + whole + `…, want 1`,
	} {
		require.Equal(t, want, scoreOf(t, evals.Equal(), output, 1).Reason)
	}
	for _, c := range []struct{ args, want string }{
		{`{"a":"` + strings.Repeat("a", 192) + `"}`, `{"a":"` + strings.Repeat("a", 192) + `"}`},
		{`{"a":"` + strings.Repeat("a", 193) + `"}`, `{"a":"` + strings.Repeat("a", 193) + `"…`},
		{`{"a":"` + strings.Repeat("a", 193) + `ä"}`, `{"a":"` + strings.Repeat("a", 193) + `…`},
	} {
		o := seen()
		o.Runs[0].Messages[1].Parts[0].Args = model.RawArgs(c.args)
		scores, err := evals.Evaluate(t.Context(), o, evals.NotCalled("find"))
		require.NoError(t, err)
		require.Equal(t, "it called find with "+c.want, scores[0].Reason)
	}
	for _, e := range []evals.Evaluator{evals.Near(1), evals.Closeness(1)} {
		require.Equal(t, evals.KindError, scoreOf(t, e, raw("1e999"), 1).Kind)
		require.Equal(t, evals.KindError, scoreOf(t, e, 1, raw("1e999")).Kind)
		require.Contains(t, scoreOf(t, e, "x", 1).Reason, `"x" and 1 are not both numbers`)
		require.Contains(t, scoreOf(t, e, 1, "x").Reason, `1 and "x" are not both numbers`)
	}
}

// TestAgreementOfOtherScores compares labels and numbers, and repeats without one of the two.
func TestAgreementOfOtherScores(t *testing.T) {
	report := &evals.Report{}
	for _, trials := range [][][2]evals.Score{
		{{evals.Label("a"), evals.Label("a")}, {evals.Number(0.5), evals.Number(0.5)}},
		{{evals.Label("a"), evals.Label("b")}, {evals.Pass(false), {Kind: evals.KindError}}},
		{{evals.Pass(true), {Kind: evals.KindFailed}}, {evals.Number(1), evals.Pass(true)}},
	} {
		c := evals.ReportCase{}
		for _, pair := range trials {
			pair[0].Name, pair[1].Name = "one", "two"
			c.Trials = append(c.Trials, evals.TrialResult{Scores: pair[:]})
		}
		report.Cases = append(report.Cases, c)
	}
	a, err := report.Agreement("one", "two")
	require.NoError(t, err)
	require.Equal(t, map[[2]string]int{
		{"label a", "label a"}: 1, {"0.5", "0.5"}: 1, {"label a", "label b"}: 1, {"1", "yes"}: 1,
	}, a.Counts)
	require.Equal(t, []int{4, 2}, []int{a.Trials, a.Same})

	apart := &evals.Report{Cases: []evals.ReportCase{
		{Trials: []evals.TrialResult{{Scores: []evals.Score{{Name: "one", Kind: evals.KindPass}}}}},
		{Trials: []evals.TrialResult{{Scores: []evals.Score{{Name: "two", Kind: evals.KindPass}}}}},
	}}
	a, err = apart.Agreement("one", "two")
	require.NoError(t, err)
	require.Equal(t, []any{0, 0, 0.0, 0.0}, []any{a.Trials, a.Same, a.Low, a.High})
}
