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

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// caller is an agent that calls the tools that its prompt names.
func caller() *agent.Agent[any, string] {
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		var wanted []string
		for _, name := range strings.Split(req.Messages[0].Parts[0].Text, ",") {
			if name != "" {
				wanted = append(wanted, strings.TrimRight(name, "!"))
			}
		}
		done := 0
		for _, m := range req.Messages {
			for i := range m.Parts {
				if k := m.Parts[i].Kind; k == model.PartToolReturn || k == model.PartRetry {
					done++
				}
			}
		}
		if done < len(wanted) {
			return model.Response(model.ToolCall(fmt.Sprint(done), wanted[done], fmt.Sprintf(`{"n":%d}`, done))), nil
		}
		return model.Response(model.Text("done")), nil
	})
	c := agent.Config[any, string]{Model: m}
	type args struct {
		N int `json:"n"`
	}
	for _, name := range []string{"find", "price", "stock", "refund"} {
		c.Tools = append(c.Tools, toolset.Func(name, name, func(context.Context, *toolset.RunContext[any], args) (string, error) {
			if name == "refund" {
				return "", toolset.Retry("no")
			}
			return name, nil
		}))
	}
	return agent.Must(agent.New(c))
}

// fileJudge says what the judge in the script of the peer says.
var fileJudge = modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
	text, _ := json.Marshal(req.Messages)
	args := map[string]any{"reason": "because"}
	var form struct {
		Properties map[string]any
	}
	if err := json.Unmarshal(req.Tools[0].Schema, &form); err != nil {
		return nil, err
	}
	if form.Properties["pass"] != nil {
		args["pass"] = strings.Contains(string(text), "It has a number.")
	}
	switch {
	case form.Properties["pass"] == nil:
		args["score"] = 4
	case form.Properties["score"] != nil:
		args["score"] = 0.25
	}
	data, _ := json.Marshal(args)
	return model.Response(model.ToolCall("1", req.Tools[0].Name, string(data))), nil
})

var fileOutputs = map[string]any{
	"text": "The answer is 42.", "number": 42, "yes": true, "list": []any{1, "two", []any{3}, nil},
	"object": map[string]any{"a": 1, "b": map[string]any{"c": []bool{true, false}}}, "nothing": nil,
}

// TestFilesOfPydanticEvalsHaveEqualScores compares the scores of a file with those that
// pydantic-evals gives. A test with that peer keeps them what it says: see internal/interop.
func TestFilesOfPydanticEvalsHaveEqualScores(t *testing.T) {
	d, err := evals.ReadFile[string, any]("testdata/pydantic.yaml", evals.FileOptions{Judge: fileJudge})
	require.NoError(t, err)
	shop := caller()
	report, err := evals.Run(t.Context(), d, func(ctx context.Context, in string) (any, error) {
		if out, ok := fileOutputs[in]; ok {
			return out, nil
		}
		res, err := shop.Run(ctx, nil, in+",")
		if err != nil {
			return nil, err
		}
		return res.Output, nil
	}, evals.Options{})
	require.NoError(t, err)
	data, err := os.ReadFile("testdata/pydantic.json")
	require.NoError(t, err)
	var want map[string]map[string]any
	require.NoError(t, json.Unmarshal(data, &want))
	got := map[string]map[string]any{}
	for _, c := range report.Cases {
		got[c.Name] = map[string]any{}
		for _, s := range c.Trials[0].Scores {
			require.NotEqual(t, evals.KindError, s.Kind, "%s: %s: %s", c.Name, s.Name, s.Reason)
			if got[c.Name][s.Name] = s.Value; s.Kind == evals.KindPass {
				got[c.Name][s.Name] = s.Passed()
			}
		}
	}
	require.Equal(t, want, got)
}

// TestMistakesInFilesAreExplained compares whole errors, up to what is said by other packages.
func TestMistakesInFilesAreExplained(t *testing.T) {
	type in struct {
		Text string `json:"text"`
	}
	o := evals.FileOptions{
		Evaluators: map[string]func(json.RawMessage) (evals.Evaluator, error){
			"Own": func(args json.RawMessage) (evals.Evaluator, error) {
				return evals.Equal(), fmt.Errorf("it has %s", args)
			},
		},
		Open: func(name string) (model.Model, error) { return nil, errors.New("no " + name) },
	}
	for _, c := range []struct{ text, want string }{
		{"a: [", "evals: the dataset cannot be read: yaml: "},
		{"a: .nan", "evals: the dataset cannot be read: line 1: .nan cannot be kept as a number: put it in quotes to have a text"},
		{"cases:\n- inputs: -.inf", "evals: the dataset cannot be read: line 2: -.inf cannot be kept as a number: put it in quotes to have a text"},
		{"cases:\n- inputs: 12345678901234567890123", "evals: the dataset cannot be read: line 2: 12345678901234567890123 cannot be kept as a number: put it in quotes to have a text"},
		{"name: a\nname: b", "evals: the dataset cannot be read: yaml: unmarshal errors:\n  line 2: mapping key \"name\" already defined at line 1"},
		{`{"name": "a", "name": "b"}`, `evals: the dataset cannot be read: "name" is there twice`},
		{"name: a\n---\nname: b", "evals: the dataset cannot be read: there is more than one document"},
		{"name: a\n---\nname: [", "evals: the dataset cannot be read: there is more than one document"},
		{"cases: []\nextra: 1", `evals: the dataset: json: unknown field "extra"`},
		{"cases: 1", "evals: the dataset: json: cannot unmarshal number"},
		{"[1]", "evals: the dataset: json: cannot unmarshal array"},
		{"cases: [{name: a}]", "evals: case 1 of the dataset: there are no inputs"},
		{"cases: [{inputs: {txt: a}}]", `evals: case 1 of the dataset: inputs: json: unknown field "txt"`},
		{"cases: [{inputs: {}, expected_output: 1}]", "evals: case 1 of the dataset: expected_output: json: cannot unmarshal number"},
		{"cases: [{inputs: {}, other: 1}]", `evals: the dataset: json: unknown field "other"`},
		{"cases: [{inputs: {}}, {}]", "evals: case 2 of the dataset: there are no inputs"},
		{"cases: [{inputs: {}}, {inputs: {}, evaluators: [Equals: {}]}]", "evals: case 2 of the dataset: evaluator 1, Equals: there is no value"},
		{"1: 2\n? [a]\n: b", "evals: the dataset cannot be read: yaml: "},
		{"report_evaluators: [ROCAUCEvaluator]", "evals: the dataset has report_evaluators, which are not known here: Report.Metrics and Report.Agreement tell what they do"},
		{"cases: [{inputs: {}, files: {a: 1}}]", "evals: the dataset: json: cannot unmarshal number"},
		{"cases: [{inputs: {}, evaluators: [EqualsExpected, Nope]}]", "evals: case 1 of the dataset: evaluator 2, Nope: there is no such evaluator: name it in FileOptions.Evaluators"},
		{"evaluators: [Nope]", "evals: the dataset: evaluator 1, Nope: there is no such evaluator: name it in FileOptions.Evaluators"},
		{"evaluators: [EqualsExpected, {A: 1, B: 2}]", `evals: the dataset: evaluator 2: {"A":1,"B":2} is neither a name nor an object with one name`},
		{"evaluators: [1]", "evals: the dataset: evaluator 1: 1 is neither a name nor an object with one name"},
		{"evaluators: [{}]", "evals: the dataset: evaluator 1: {} is neither a name nor an object with one name"},
		{"evaluators: [EqualsExpected: 3]", "evals: the dataset: evaluator 1, EqualsExpected: it takes no argument 3"},
		{"evaluators: [EqualsExpected: {a: 1}]", `evals: the dataset: evaluator 1, EqualsExpected: json: unknown field "a"`},
		{"evaluators: [Contains: {val: 3}]", `evals: the dataset: evaluator 1, Contains: json: unknown field "val"`},
		{"evaluators: [Contains: {value: 3, evaluation_name: 1}]", "evals: the dataset: evaluator 1, Contains: json: cannot unmarshal number"},
		{"evaluators: [Contains]", "evals: the dataset: evaluator 1, Contains: there is no value"},
		{"evaluators: [Contains: {}]", "evals: the dataset: evaluator 1, Contains: there is no value"},
		{"evaluators: [Equals: {}]", "evals: the dataset: evaluator 1, Equals: there is no value"},
		{"evaluators: [IsInstance]", "evals: the dataset: evaluator 1, IsInstance: there is no type_name"},
		{"evaluators: [IsInstance: {type_name: 1}]", "evals: the dataset: evaluator 1, IsInstance: json: cannot unmarshal number"},
		{"evaluators: [MaxDuration: x]", "evals: the dataset: evaluator 1, MaxDuration: json: cannot unmarshal string"},
		{"evaluators: [MaxToolCalls: 1.5]", "evals: the dataset: evaluator 1, MaxToolCalls: json: cannot unmarshal number"},
		{"evaluators: [MaxModelRequests: x]", "evals: the dataset: evaluator 1, MaxModelRequests: json: cannot unmarshal string"},
		{"evaluators: [ToolCorrectness: 1]", "evals: the dataset: evaluator 1, ToolCorrectness: json: cannot unmarshal number"},
		{"evaluators: [Own]", "evals: the dataset: evaluator 1, Own: it has "},
		{"evaluators: [Own: [1]]", "evals: the dataset: evaluator 1, Own: it has [1]"},
		{"evaluators: [LLMJudge: x]", "evals: the dataset: evaluator 1, LLMJudge: there is no model: set FileOptions.Judge"},
		{"evaluators: [LLMJudge: {rubric: x, model: 'a:b'}]", "evals: the dataset: evaluator 1, LLMJudge: no a:b"},
		{"evaluators: [GEval: x]", "evals: the dataset: evaluator 1, GEval: there is no model: set FileOptions.Judge"},
		{"evaluators: [GEval: {criteria: x, model: 'a:b'}]", "evals: the dataset: evaluator 1, GEval: no a:b"},
		{"evaluators: [HasMatchingSpan: {query: {}}]", "evals: the dataset: evaluator 1, HasMatchingSpan: spans of OpenTelemetry are not recorded here: use ToolCorrectness, TrajectoryMatch or ArgumentCorrectness"},
		{"evaluators: [TrajectoryMatch: {order: up}]", "evals: the dataset: evaluator 1, TrajectoryMatch: order is up, must be exact or in_order or any_order"},
		{"evaluators: [ArgumentCorrectness: find]", "evals: the dataset: evaluator 1, ArgumentCorrectness: expected_arguments must be an object"},
		{"evaluators: [ArgumentCorrectness: {tool_name: a, expected_arguments: [1]}]", "evals: the dataset: evaluator 1, ArgumentCorrectness: expected_arguments must be an object"},
		{"evaluators: [ArgumentCorrectness: {expected_arguments: {}, match_mode: some}]", "evals: the dataset: evaluator 1, ArgumentCorrectness: match_mode is some, must be exact or subset"},
		{"evaluators: [ArgumentCorrectness: {expected_arguments: {}, occurrence: second}]", "evals: the dataset: evaluator 1, ArgumentCorrectness: occurrence is second, must be first or last or a number"},
		{"evaluators: [ArgumentCorrectness: {expected_arguments: {}, occurrence: 1.5}]", "evals: the dataset: evaluator 1, ArgumentCorrectness: occurrence is 1.5, must be first or last or a number"},
	} {
		_, err := evals.Parse[in, string]([]byte(c.text), o)
		require.Error(t, err, c.text)
		if strings.HasSuffix(c.want, "yaml: ") || strings.Contains(c.want, "cannot unmarshal") {
			require.True(t, strings.HasPrefix(err.Error(), c.want), "%s: %v", c.text, err)
		} else {
			require.EqualError(t, err, c.want, c.text)
		}
	}
	_, err := evals.Parse[in, string]([]byte("evaluators: [LLMJudge: {rubric: x, model: 'a:b'}]"), evals.FileOptions{})
	require.EqualError(t, err, `evals: the dataset: evaluator 1, LLMJudge: model "a:b" cannot be opened: set FileOptions.Open`)
	file := filepath.Join(t.TempDir(), "none.yaml")
	_, err = evals.ReadFile[in, string](file, evals.FileOptions{})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "evals: open "+file)
	require.NoError(t, os.WriteFile(file, []byte("cases: [{}]"), 0o600))
	_, err = evals.ReadFile[in, string](file, evals.FileOptions{})
	require.EqualError(t, err, "evals: case 1 of the dataset: there are no inputs, in "+file)
}

func TestFilesHaveOwnEvaluatorsAndFiles(t *testing.T) {
	polite := func(args json.RawMessage) (evals.Evaluator, error) {
		var word string
		if err := json.Unmarshal(args, &word); err != nil {
			return evals.Evaluator{}, errors.New("it takes a word")
		}
		return evals.Contains(word).Named("polite"), nil
	}
	o := evals.FileOptions{Evaluators: map[string]func(json.RawMessage) (evals.Evaluator, error){"Polite": polite}}
	d, err := evals.Parse[string, string]([]byte(`{"cases": [{"inputs": "x", "metadata": {"k": 1}, "files": {"a": "b"}}], "evaluators": [{"Polite": "please"}]}`), o)
	require.NoError(t, err)
	require.Equal(t, "polite", d.Evaluators[0].Name())
	require.Equal(t, map[string]string{"a": "b"}, d.Cases[0].Files)
	require.Equal(t, map[string]any{"k": 1.0}, d.Cases[0].Metadata)
	require.True(t, d.Cases[0].Unlabeled)
	_, err = evals.Parse[string, string]([]byte(`{"cases": [], "evaluators": ["Polite"]}`), o)
	require.ErrorContains(t, err, "evaluator 1, Polite: it takes a word")
}

func TestSchemaOfFiles(t *testing.T) {
	type out struct {
		Mood string `json:"mood" validate:"oneof=good bad"`
	}
	var b strings.Builder
	own := map[string]func(json.RawMessage) (evals.Evaluator, error){"Polite": nil}
	require.NoError(t, evals.WriteSchema[string, out](&b, evals.FileOptions{Evaluators: own}))
	require.True(t, json.Valid([]byte(b.String())))
	for _, part := range []string{`"enum": [`, `"const": "Polite"`, `"const": "EqualsExpected"`, `"expected_trajectory"`, `"evaluation_name"`, `"LLMJudge"`} {
		require.Contains(t, b.String(), part)
	}
	require.ErrorContains(t, evals.WriteSchema[func(), out](&b, evals.FileOptions{}), "the schema of inputs")
	require.ErrorContains(t, evals.WriteSchema[string, chan int](&b, evals.FileOptions{}), "the schema of outputs")
}
