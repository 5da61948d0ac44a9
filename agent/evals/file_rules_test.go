// SPDX-License-Identifier: Apache-2.0

package evals_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// inFile reads the evaluator of a file.
func inFile(spec string, o evals.FileOptions) ([]evals.Evaluator, error) {
	d, err := evals.Parse[any, any]([]byte("cases: []\nevaluators: ["+spec+"]"), o)
	return d.Evaluators, err
}

// TestEvaluatorsOfFilesScoreOutputs has outputs at both sides of each rule.
func TestEvaluatorsOfFilesScoreOutputs(t *testing.T) {
	type named struct{ A int }
	for _, c := range []struct {
		spec   string
		output any
		want   bool
		reason string
	}{
		{"Contains: {value: {a: 1}}", map[string]any{"a": 1, "b": 2}, true, ""},
		{"Contains: {value: {a: 1, c: 2}}", map[string]any{"a": 1}, false, `{"a":1} does not contain {"a":1,"c":2}`},
		{"Contains: {value: {a: 1}}", map[string]any{"a": 2}, false, `{"a":2} does not contain {"a":1}`},
		{"Contains: a", map[string]any{"a": 1}, true, ""},
		{"Contains: b", map[string]any{"a": 1}, false, `{"a":1} does not contain "b"`},
		{"Contains: 1", map[string]any{"1": 1}, false, `{"1":1} does not contain 1`},
		{"Contains: 2", []int{1, 2}, true, ""},
		{"Contains: true", []int{1, 2}, true, ""},
		{"Contains: 3", []int{1, 2}, false, "[1,2] does not contain 3"},
		{"Contains: 3", 3, false, "3 does not contain 3"},
		{"Contains: 3", "123", false, `"123" does not contain 3`},
		{"Contains: {value: 3, as_strings: true}", "123", true, ""},
		{"Contains: WORD", "a word", false, `"a word" does not contain "WORD"`},
		{"Contains: {value: WORD, case_sensitive: true}", "a word", false, `"a word" does not contain "WORD"`},
		{"Contains: {value: WORD, case_sensitive: false}", "a Word", true, ""},
		{"Contains: {value: [true, null], as_strings: true}", []any{[]any{true, nil}, false}, true, ""},
		{"Contains: {value: 'False]', as_strings: true}", []any{true, false}, true, ""},
		{"Contains: {value: \"{'a': 1, 'b': None}\", as_strings: true}", map[string]any{"b": nil, "a": 1}, true, ""},
		{`Contains: {value: "[\"it's\"]", as_strings: true}`, []any{"it's"}, true, ""},
		{`Contains: {value: "\"it's\\\\\"", as_strings: true}`, []any{`it's\`}, true, ""},
		{`Contains: {value: "'\"it\\'s\\n\\t\\\\'", as_strings: true}`, []any{"\"it's\n\t\\"}, true, ""},
		{"IsInstance: named", named{}, true, ""},
		{"IsInstance: named", &named{}, true, ""},
		{"IsInstance: other", named{}, false, "output is of type dict"},
		{"IsInstance: object", nil, true, ""},
		{"IsInstance: NoneType", nil, true, ""},
		{"IsInstance: int", true, true, ""},
		{"IsInstance: bool", true, true, ""},
		{"IsInstance: bool", 1, false, "output is of type int"},
		{"IsInstance: str", "a", true, ""},
		{"IsInstance: list", []int{}, true, ""},
		{"IsInstance: dict", map[string]int{}, true, ""},
		{"IsInstance: float", 1.5, true, ""},
		{"IsInstance: float", raw("1e3"), true, ""},
		{"IsInstance: float", raw("1E3"), true, ""},
		{"IsInstance: int", 15, true, ""},
		{"IsInstance: int", 1.5, false, "output is of type float"},
		{"Equals: 1", true, true, ""},
		{"Equals: [1]", []int{2}, false, "it is [2], want [1]"},
		{"MaxModelRequests: 0", 1, true, ""},
		{"MaxModelRequests: 1", 1, true, ""},
		{"MaxToolCalls: 0", 1, true, ""},
		{"MaxDuration: 3600", 1, true, ""},
		{"MaxDuration: 0", 1, false, "at most 0s is allowed"},
	} {
		made, err := inFile(c.spec, evals.FileOptions{})
		require.NoError(t, err, c.spec)
		require.Len(t, made, 1, c.spec)
		got := scoreOf(t, made[0], c.output)
		require.Equal(t, evals.KindPass, got.Kind, "%s: %v: %s", c.spec, c.output, got.Reason)
		require.Equal(t, c.want, got.Passed(), "%s: %v: %s", c.spec, c.output, got.Reason)
		require.Contains(t, got.Reason, c.reason, c.spec)
	}
	made, err := inFile("EqualsExpected", evals.FileOptions{})
	require.NoError(t, err)
	require.Empty(t, scoreOf(t, made[0], 1), "a case without a label")
	require.True(t, scoreOf(t, made[0], 1, true).Passed())
}

func TestEvaluatorsOfFilesScoreCalls(t *testing.T) {
	for spec, want := range map[string]string{
		"ToolCorrectness: [find, look, erase]":                         "", // what asked for another try does not count
		"ToolCorrectness: [find, look, look]":                          "erase was called 1 times more, look is missing 1 times",
		"ToolCorrectness: {expected_tools: [find], allow_extra: true}": "",
		"ToolCorrectness: {expected_tools: [mail], allow_extra: true}": "mail is missing 1 times",
		"MaxToolCalls: 3":     "",
		"MaxToolCalls: 2":     "3 tool calls, at most 2 are allowed",
		"MaxModelRequests: 3": "",
		"MaxModelRequests: 2": "requests: 3, at most 2 is allowed",
		"MaxModelRequests: 0": "3 requests, none is allowed",
		"MaxDuration: 3":      "",
		"MaxDuration: 2.999":  "it took 3s, at most 2.999s is allowed",
		"ArgumentCorrectness: {tool_name: find, expected_arguments: {id: '7'}}":                    "",
		"ArgumentCorrectness: {tool_name: find, expected_arguments: {}}":                           "",
		"ArgumentCorrectness: {tool_name: find, expected_arguments: {}, match_mode: subset}":       "",
		"ArgumentCorrectness: {tool_name: find, expected_arguments: {}, match_mode: exact}":        `find was called with {"id":"7"}, want {}`,
		"ArgumentCorrectness: {tool_name: find, expected_arguments: {id: '7'}, match_mode: exact}": "",
		"ArgumentCorrectness: {tool_name: find, expected_arguments: {id: '8'}}":                    `find was called with {"id":"7"}, want {"id":"8"}`,
		"ArgumentCorrectness: {tool_name: find, expected_arguments: {}, occurrence: last}":         "",
		"ArgumentCorrectness: {tool_name: find, expected_arguments: {}, occurrence: first}":        "",
		"ArgumentCorrectness: {tool_name: find, expected_arguments: {}, occurrence: 0}":            "",
		"ArgumentCorrectness: {tool_name: find, expected_arguments: {}, occurrence: 1}":            "find was called 1 times",
		"ArgumentCorrectness: {tool_name: find, expected_arguments: {}, occurrence: -1}":           "find was called 1 times",
		"ArgumentCorrectness: {tool_name: mail, expected_arguments: {}, occurrence: last}":         "mail was called 0 times",
		"ArgumentCorrectness: {tool_name: refund, expected_arguments: {}}":                         "refund was called 0 times",
		"ArgumentCorrectness: {tool_name: erase, expected_arguments: {}}":                          "the arguments of erase are not an object",
	} {
		made, err := inFile(spec, evals.FileOptions{})
		require.NoError(t, err, spec)
		scores, err := evals.Evaluate(t.Context(), seen(), made...)
		require.NoError(t, err)
		require.Equal(t, evals.KindPass, scores[0].Kind, "%s: %s", spec, scores[0].Reason)
		require.Equal(t, want == "", scores[0].Passed(), "%s: %s", spec, scores[0].Reason)
		if want != "" {
			require.Equal(t, want, scores[0].Reason, spec)
		}
	}
}

// TestJudgesOfFiles reads judges with all that they may have.
func TestJudgesOfFiles(t *testing.T) {
	var asked []*model.Request
	judge := modeltest.Func(func(ctx context.Context, req *model.Request) (*model.Message, error) {
		asked = append(asked, req)
		return fileJudge.Generate(ctx, req, nil)
	})
	open := func(name string) (model.Model, error) {
		if name == "none" {
			return nil, errors.New("no such model")
		}
		return judge, nil
	}
	settings := "model_settings: {max_tokens: 7, temperature: 0.5, top_p: 0.25, seed: 3}"
	for _, c := range []struct{ spec, want string }{
		{"LLMJudge: It has a number.", "LLMJudge pass 1"},
		{"LLMJudge: {rubric: other, assertion: {evaluation_name: fine}}", "fine pass 0"},
		{"LLMJudge: {rubric: other, score: {}, assertion: false}", "LLMJudge number 0.25"},
		{"LLMJudge: {rubric: other, score: {evaluation_name: part}, assertion: {evaluation_name: all}}", "part number 0.25, all pass 0"},
		{"LLMJudge: {rubric: other, score: {}, model: some, " + settings + "}", "LLMJudge_score number 0.25, LLMJudge_pass pass 0"},
		{"GEval: {criteria: x, evaluation_steps: [read], " + settings + "}", "GEval number 4"},
		{"GEval: {criteria: x, evaluation_steps: [read], score_range: [3, 4], evaluation_name: e}", "e number 4"},
	} {
		asked = nil
		made, err := inFile(c.spec, evals.FileOptions{Judge: judge, Open: open})
		require.NoError(t, err, c.spec)
		scores, err := evals.Evaluate(t.Context(), seen(), made...)
		require.NoError(t, err)
		var got []string
		for _, s := range scores {
			require.Equal(t, "because", s.Reason, c.spec)
			got = append(got, fmt.Sprintf("%s %s %v", s.Name, s.Kind, s.Value))
		}
		require.Equal(t, c.want, strings.Join(got, ", "), c.spec)
		require.Len(t, asked, 1, "two scores take one request: %s", c.spec)
		if strings.Contains(c.spec, settings) {
			s := asked[0].Settings
			require.Equal(t, []any{7, 0.5, 0.25, int64(3)}, []any{s.MaxTokens, *s.Temperature, *s.TopP, *s.Seed})
		}
	}
	for spec, want := range map[string]string{
		"LLMJudge: {rubric: x, model: none}":                                      "no such model",
		"LLMJudge: {rubric: x, extra: 1}":                                         `unknown field "extra"`,
		"LLMJudge: {rubric: ''}":                                                  "a judge needs a rubric",
		"LLMJudge: {rubric: x, assertion: false}":                                 "it gives neither a score nor an assertion",
		"LLMJudge: {rubric: x, assertion: 1}":                                     "cannot unmarshal number",
		"LLMJudge: {rubric: x, score: {a: 1}}":                                    `unknown field "a"`,
		"LLMJudge: {rubric: x, model_settings: {top_k: 1}}":                       `model_settings: json: unknown field "top_k"`,
		"GEval: {criteria: x}":                                                    "it needs evaluation_steps",
		"GEval: {criteria: x, evaluation_steps: [a], score_range: [1]}":           "a score_range of two numbers",
		"GEval: {criteria: x, evaluation_steps: [a], score_range: [2, 2]}":        "the lower one first",
		"GEval: {criteria: x, evaluation_steps: [a], model: none}":                "no such model",
		"GEval: {criteria: x, evaluation_steps: [a], extra: 1}":                   `unknown field "extra"`,
		"GEval: {criteria: '', evaluation_steps: [a]}":                            "a judge needs a rubric",
		"GEval: {criteria: x, evaluation_steps: [a], model_settings: {top_k: 1}}": "model_settings",
	} {
		_, err := inFile(spec, evals.FileOptions{Judge: judge, Open: open})
		require.ErrorContains(t, err, want, spec)
	}
	broken := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) { return nil, errors.New("no such host") })
	made, err := inFile("LLMJudge: {rubric: x, score: {}}", evals.FileOptions{Judge: broken})
	require.NoError(t, err)
	scores, err := evals.Evaluate(t.Context(), seen(), made...)
	require.NoError(t, err)
	for _, s := range scores {
		require.Equal(t, evals.KindError, s.Kind)
		require.Contains(t, s.Reason, "no such host")
	}
}

func TestCasesOfFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "d.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
name: both
cases:
- {name: a, inputs: 1, expected_output: x, metadata: {k: 2}, evaluators: [Equals: 3, Equals: 4]}
- {name: b, inputs: 2, expected_output: null, metadata: [5], evaluators: [Equals: 6]}
- {inputs: 3, metadata: null}
evaluators: [Equals: 1, EqualsExpected, Equals: {value: 2, evaluation_name: own}]
`), 0o600))
	d, err := evals.ReadFile[int, string](file, evals.FileOptions{})
	require.NoError(t, err)
	names := func(list []evals.Evaluator) (all []string) {
		for _, e := range list {
			all = append(all, e.Name())
		}
		return all
	}
	require.Equal(t, "both", d.Name)
	require.Equal(t, []string{"Equals", "EqualsExpected", "own"}, names(d.Evaluators))
	require.Len(t, d.Cases, 3)
	require.Equal(t, []string{"Equals_2", "Equals_3"}, names(d.Cases[0].Evaluators))
	require.Equal(t, []string{"Equals_2"}, names(d.Cases[1].Evaluators))
	require.Equal(t, []any{"a", 1, "x", false}, []any{d.Cases[0].Name, d.Cases[0].Input, d.Cases[0].Expected, d.Cases[0].Unlabeled})
	require.Equal(t, map[string]any{"k": 2.0}, d.Cases[0].Metadata)
	require.Equal(t, map[string]any{"metadata": json.RawMessage("[5]")}, d.Cases[1].Metadata)
	require.True(t, d.Cases[1].Unlabeled)
	require.True(t, d.Cases[2].Unlabeled)
	require.Nil(t, d.Cases[2].Metadata)
	require.NoError(t, os.WriteFile(file, []byte("cases: 1"), 0o600))
	_, err = evals.ReadFile[int, string](file, evals.FileOptions{})
	require.ErrorContains(t, err, ", in "+file)
}

// TestDatesAndKeysOfFilesAreTexts: JSON has no dates, and its keys are texts. Quotes make no
// difference.
func TestDatesAndKeysOfFilesAreTexts(t *testing.T) {
	for _, text := range []string{"2026-05-01", "2026-05-01T10:00:00Z", "2001-12-14 21:59:43.10 -5", "yes", "12:30:45", "<<"} {
		for _, file := range []string{"cases:\n- inputs: %s\n  expected_output: %s", "cases:\n- inputs: &a %s\n  expected_output: *a\n# %s"} {
			d, err := evals.Parse[string, any]([]byte(fmt.Sprintf(file, text, text)), evals.FileOptions{})
			require.NoError(t, err, text)
			require.Equal(t, []any{text, text}, []any{d.Cases[0].Input, d.Cases[0].Expected})
		}
	}
	d, err := evals.Parse[map[string]any, any]([]byte(`cases:
- inputs: &a {2026-05-01: 2026-05-02, 1: one, true: yes, null: [2026-05-03], 1.50: 1.50}
  expected_output: {<<: *a, 1: two}
  metadata: {since: 2026-05-01}
  files: {2026: 2026-05-01}
`), evals.FileOptions{})
	require.NoError(t, err)
	want := map[string]any{"2026-05-01": "2026-05-02", "1": "one", "true": "yes", "null": []any{"2026-05-03"}, "1.50": json.Number("1.5")}
	require.Equal(t, want, d.Cases[0].Input)
	want["1"] = "two"
	require.Equal(t, want, d.Cases[0].Expected)
	require.Equal(t, map[string]any{"since": "2026-05-01"}, d.Cases[0].Metadata)
	require.Equal(t, map[string]string{"2026": "2026-05-01"}, d.Cases[0].Files)

	for number, want := range map[string]string{"18446744073709551615": "18446744073709551615", "-9223372036854775808": "-9223372036854775808", "1_000": "1000", "1e3": "1000"} {
		d, err := evals.Parse[any, any]([]byte("cases: [{inputs: "+number+"}]"), evals.FileOptions{})
		require.NoError(t, err)
		require.Equal(t, json.Number(want), d.Cases[0].Input)
	}
	for _, file := range []string{"", "# nothing\n", "---\n"} {
		d, err := evals.Parse[any, any]([]byte(file), evals.FileOptions{})
		require.NoError(t, err)
		require.Empty(t, d.Cases)
	}
}

// TestJSONFilesAreReadAsJSON has what YAML would read in another way, or not at all.
func TestJSONFilesAreReadAsJSON(t *testing.T) {
	long := strings.Repeat("k", 2000)
	for text, want := range map[string]any{
		`"\ud83d\ude00 \u0000 a\/b"`: "\U0001f600 \x00 a/b", "\"\u0085\u007f\"": "\u0085\u007f", `1e400`: json.Number("1e400"),
		`12345678901234567890123`: json.Number("12345678901234567890123"), `{"` + long + `": null}`: map[string]any{long: nil},
	} {
		d, err := evals.Parse[any, any]([]byte("{\n\t\"cases\": [\n\t\t{\"inputs\": "+text+"}\n\t]\n}\n"), evals.FileOptions{})
		require.NoError(t, err)
		require.Equal(t, want, d.Cases[0].Input)
	}
}
