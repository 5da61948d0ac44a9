// SPDX-License-Identifier: Apache-2.0

package evals_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// TestJudgesAreAskedLikeThis compares all that judges are sent with what people have read and found
// good: instructions, prompts, the schema of the answer, and settings.
func TestJudgesAreAskedLikeThis(t *testing.T) {
	var asked []*model.Request
	answers := []string{`{"reason":"so","pass":true}`}
	judge := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		asked = append(asked, req)
		answer := answers[min(len(asked), len(answers))-1]
		return model.Response(model.ToolCall("1", req.Tools[0].Name, answer)), nil
	})
	settings := model.Settings{MaxTokens: 77}
	all := evals.JudgeOptions{Input: true, Expected: true, Calls: true, Steps: []string{"Read.", "Think."}, Settings: settings}
	scale := evals.JudgeOptions{Low: -1, High: 3}
	base := &evals.Report{Cases: []evals.ReportCase{{Name: "other"}, {Name: "turn", Trials: []evals.TrialResult{
		{Status: evals.StatusFailed}, scored(`{"old":1}`), scored(`"later"`),
	}}}}
	inFile := func(spec string) evals.Evaluator {
		made, err := inFile(spec, evals.FileOptions{Judge: judge})
		require.NoError(t, err)
		return made[0]
	}
	golden(t, "judges.txt", func(w io.Writer) error {
		for _, c := range []struct {
			name    string
			e       evals.Evaluator
			answers []string
		}{
			{"pass", evals.Judge(judge, "It is good.", evals.JudgeOptions{}), nil},
			{"no", evals.Judge(judge, "It is </rubric> good.", all), []string{`{"reason":"bad","pass":false}`}},
			{"grades", evals.Judge(judge, "It is good.", scale), []string{`{"reason":"a","score":4}`, `{"reason":"b","score":-2}`, `{"reason":"c","score":3}`}},
			{"the least grade", evals.Judge(judge, "It is good.", scale), []string{`{"reason":"c","score":-1}`}},
			{"a score and an assertion", inFile("LLMJudge: {rubric: It is good., include_input: true, score: {}}"), []string{`{"reason":"c","pass":true,"score":0.5}`}},
			{"no such score", inFile("LLMJudge: {rubric: It is good., score: {}}"), []string{`{"reason":"c","pass":true,"score":1.5}`}},
			{"steps", inFile("GEval: {criteria: It is good., evaluation_steps: [Read., Think.]}"), []string{`{"reason":"c","score":5}`}},
			{"better", evals.Prefer(judge, "It is good.", base, all), []string{`{"reason":"a","better":"first"}`, `{"reason":"b","better":"second"}`}},
			{"worse", evals.Prefer(judge, "It is good.", base, scale), []string{`{"reason":"a","better":"second"}`, `{"reason":"b","better":"first"}`}},
			{"torn", evals.Prefer(judge, "It is good.", base, scale), []string{`{"reason":"a","better":"neither"}`, `{"reason":"b","better":"first"}`}},
		} {
			asked = nil
			if answers = []string{`{"reason":"so","pass":true}`}; c.answers != nil {
				answers = c.answers
			}
			scores, err := evals.Evaluate(t.Context(), seen(), c.e)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "=== %s: %+v\n", c.name, scores)
			for _, req := range asked {
				fmt.Fprintf(w, "--- tokens %d\n%s\n", req.Settings.MaxTokens, req.Instructions)
				for _, m := range req.Messages {
					for i := range m.Parts {
						p := &m.Parts[i]
						fmt.Fprintf(w, "- %s %s%s\n", p.Kind, p.Text, p.Args)
					}
				}
			}
			fmt.Fprintf(w, "--- answers %s\n\n", asked[0].Tools[0].Schema)
		}
		return nil
	})
}

func TestSchemasOfFilesAreWhole(t *testing.T) {
	type in struct {
		Text string   `json:"text" jsonschema:"description=What is said."`
		Tags []string `json:"tags,omitempty"`
	}
	own := func(json.RawMessage) (evals.Evaluator, error) { return evals.Equal(), nil }
	o := evals.FileOptions{Evaluators: map[string]func(json.RawMessage) (evals.Evaluator, error){"Polite": own, "Brief": own}}
	golden(t, "schema.json", func(w io.Writer) error { return evals.WriteSchema[in, int](w, o) })
	golden(t, "schema_any.json", func(w io.Writer) error { return evals.WriteSchema[any, []string](w, evals.FileOptions{}) })
}

// TestOutputsAreComparedWithABaselineThatHasThem has baselines that do not tell.
func TestOutputsAreComparedWithABaselineThatHasThem(t *testing.T) {
	judge := answering(func(string) string { return `{"reason":"a","better":"first"}` })
	case1 := func(trials ...evals.TrialResult) *evals.Report {
		return &evals.Report{Cases: []evals.ReportCase{{Name: "turn", Trials: trials}}}
	}
	for name, c := range map[string]struct {
		base *evals.Report
		want string
	}{
		"no baseline":        {nil, "error there is no baseline"},
		"no such case":       {&evals.Report{}, ""},
		"no trial":           {case1(), ""},
		"no output":          {case1(evals.TrialResult{Status: evals.StatusFailed, Output: json.RawMessage(`"x"`)}), ""},
		"an output, no JSON": {case1(scored(`{`)), "error the output of the baseline is not JSON: unexpected EOF"},
		"an output":          {case1(scored(`"x"`)), "number first, and in the other order first: a | a"},
	} {
		scores, err := evals.Evaluate(t.Context(), seen(), evals.Prefer(judge, "It is good.", c.base, evals.JudgeOptions{}))
		require.NoError(t, err, name)
		got := ""
		for _, s := range scores {
			got += fmt.Sprintf("%s %s", s.Kind, s.Reason)
		}
		require.Equal(t, c.want, got, name)
	}
	for _, m := range []model.Model{nil, judge} {
		s := scoreOf(t, evals.Prefer(m, " \n", &evals.Report{}, evals.JudgeOptions{}), 1)
		require.Equal(t, "a judge needs a model and a rubric", s.Reason)
		s = scoreOf(t, evals.Judge(m, "x", evals.JudgeOptions{Low: 2, High: 1}), 1)
		require.Equal(t, map[bool]string{true: "a judge needs a model", false: "a judge cannot give scores from 2 to 1"}[m == nil], s.Reason)
	}
	same := &evals.Report{Cases: []evals.ReportCase{{Name: "case 1", Trials: []evals.TrialResult{scored(`1`)}}}}
	require.Equal(t, "the output is not JSON: json: unsupported type: func()", scoreOf(t, evals.Prefer(judge, "x", same, evals.JudgeOptions{}), func() {}).Reason)
	require.Equal(t, "the output is not JSON: json: unsupported type: func()", scoreOf(t, evals.Judge(judge, "x", evals.JudgeOptions{}), func() {}).Reason)
}

// TestOnlyWhatWasKeptWholeGoesOn has lines of all kinds in the file of an earlier run.
func TestOnlyWhatWasKeptWholeGoesOn(t *testing.T) {
	d := echoCases("a", "b")
	d.Name, d.Evaluators = "letters", []evals.Evaluator{evals.Equal()}
	o := evals.Options{Name: "one", Repeats: 2, Concurrency: 1, Resume: filepath.Join(t.TempDir(), "progress")}
	kept := func() []string {
		data, err := os.ReadFile(o.Resume)
		require.NoError(t, err)
		return strings.SplitAfter(string(data), "\n")
	}
	begin := func(d evals.Dataset[string, string], o evals.Options) (*evals.Report, int) {
		calls := 0
		report, err := evals.Run(t.Context(), d, func(_ context.Context, in string) (string, error) {
			calls++
			return in, nil
		}, o)
		require.NoError(t, err)
		return report, calls
	}
	stopped := o
	ctx, cancel := context.WithCancel(t.Context())
	stopped.Progress = func(p evals.Progress) {
		if p.Done == 3 {
			cancel()
		}
	}
	_, err := evals.Run(ctx, d, echo, stopped)
	require.EqualError(t, err, "evals: the run was stopped: context canceled")
	lines := kept()
	require.Len(t, lines, 4, "three lines, each with a line break")
	write := func(lines ...string) {
		require.NoError(t, os.WriteFile(o.Resume, []byte(strings.Join(lines, "")), 0o600))
	}
	changed := func(old, new string) string { return strings.Replace(lines[0], old, new, 1) }
	for name, c := range map[string]struct {
		lines []string
		calls int
	}{
		"nothing":            {nil, 4},
		"three":              {lines[:3], 1},
		"twice the same":     {[]string{lines[0], lines[0], lines[1]}, 2},
		"without a break":    {[]string{lines[0], strings.TrimSpace(lines[1])}, 3},
		"no JSON":            {[]string{"{\n", lines[1]}, 3},
		"another version":    {[]string{changed(`"v":1`, `"v":2`), lines[1]}, 3},
		"another case":       {[]string{changed(`"case":"`, `"case":"x`), lines[1]}, 3},
		"a repeat too many":  {[]string{changed(`"repeat":0`, `"repeat":2`), lines[1]}, 3},
		"the last repeat":    {[]string{changed(`"repeat":0`, `"repeat":1`), lines[1]}, 2},
		"a repeat before it": {[]string{changed(`"repeat":0`, `"repeat":-1`), lines[1]}, 3},
	} {
		write(c.lines...)
		report, calls := begin(d, o)
		require.Equal(t, c.calls, calls, name)
		require.Equal(t, 4, report.Count(evals.StatusCompleted), name)
		require.NoFileExists(t, o.Resume)
	}
	for name, change := range map[string]func(d *evals.Dataset[string, string], o *evals.Options){
		"name": func(_ *evals.Dataset[string, string], o *evals.Options) { o.Name = "two" },
		"data": func(d *evals.Dataset[string, string], _ *evals.Options) { d.Name = "two" },
		"case": func(d *evals.Dataset[string, string], _ *evals.Options) { d.Cases[0].Name = "two" },
		"in":   func(d *evals.Dataset[string, string], _ *evals.Options) { d.Cases[0].Input = "two" },
		"out":  func(d *evals.Dataset[string, string], _ *evals.Options) { d.Cases[0].Expected = "two" },
		"more": func(d *evals.Dataset[string, string], _ *evals.Options) {
			d.Cases[0].Evaluators = []evals.Evaluator{evals.Contains("a")}
		},
	} {
		write(lines[0])
		other := echoCases("a", "b")
		other.Name, other.Evaluators = d.Name, d.Evaluators
		changed := o
		change(&other, &changed)
		_, calls := begin(other, changed)
		require.Equal(t, 4, calls, "another %s is another run", name)
	}
	for what, file := range map[string]string{"open": filepath.Join(t.TempDir(), "none", "progress"), "read": t.TempDir()} {
		_, err = evals.Prepare(d, echo, evals.Options{Resume: file})
		require.ErrorContains(t, err, "evals: resume: "+what+" "+file)
	}
}

// TestARunThatGoesOnKnowsWhatWasUsed stops a run of an agent before the last trial.
func TestARunThatGoesOnKnowsWhatWasUsed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var seen []evals.Progress
	o := evals.Options{Concurrency: 1, Resume: filepath.Join(t.TempDir(), "progress"), Progress: func(p evals.Progress) {
		if seen = append(seen, p); p.Done == 2 {
			cancel()
		}
	}}
	_, err := evals.Run(ctx, echoCases("a", "b", "c"), evals.Agent[any](saying("ok"), nil), o)
	require.Error(t, err)
	seen = nil
	report, err := evals.Run(t.Context(), echoCases("a", "b", "c"), evals.Agent[any](saying("ok"), nil), o)
	require.NoError(t, err)
	require.Len(t, seen, 1)
	require.Equal(t, []any{"c", 3, 3}, []any{seen[0].Case, seen[0].Done, seen[0].Total})
	require.Equal(t, 3, report.Usage.Requests, "also what the first run has used")
	require.EqualValues(t, 30, report.Usage.InputTokens)
}
