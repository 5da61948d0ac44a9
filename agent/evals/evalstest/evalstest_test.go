// SPDX-License-Identifier: Apache-2.0

package evalstest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/evals/evalstest"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// inside is the variable that makes TestInside run in a child process.
const inside = "PONTE_EVALSTEST"

// progress is the variable with the file of Options.Resume.
const progress = "PONTE_EVALSTEST_PROGRESS"

// TestInside is what the other tests run in a child process: three cases, of which one is wrong and one fails.
func TestInside(t *testing.T) {
	mode := os.Getenv(inside)
	if mode == "" {
		t.Skip("the other tests run it in a child process")
	}
	o := evalstest.Options{}
	o.Repeats = 2
	switch mode {
	case "rate":
		o.PassRate = 0.3
	case "high rate":
		o.PassRate = 0.5
	case "wrong rate":
		o.PassRate = 2
	case "budget":
		o.Limits = toolset.Limits{Requests: 1}
	case "serial":
		o.Serial = true
	case "resume", "resume budget":
		o.Resume = os.Getenv(progress)
		if mode == "resume budget" {
			o.Limits = toolset.Limits{Requests: 1}
		}
	}
	o.Done = func(r *evals.Report) {
		t.Logf("REPORT %d %d", r.Count(evals.StatusCompleted), r.Count(evals.StatusFailed))
	}
	evalstest.Test(t, dataset(mode), task, o)
}

func dataset(mode string) evals.Dataset[string, string] {
	d := evals.Dataset[string, string]{
		Cases: []evals.Case[string, string]{
			{Name: "right", Input: "ok", Expected: "ok"},
			{Name: "wrong", Input: "bad", Expected: "ok"},
			{Name: "fails", Input: "", Expected: "ok"},
		},
		Evaluators: []evals.Evaluator{evals.Equal()},
	}
	if mode == "evaluator" {
		d.Evaluators = []evals.Evaluator{evals.Matches("(")}
	}
	return d
}

func task(ctx context.Context, in string) (string, error) {
	fmt.Println("RAN " + in + ".")
	if in == "" {
		return "", errors.New("broken")
	}
	a := agent.Must(agent.New(agent.Config[any, string]{
		Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			return model.Response(model.Text(in)), nil
		})}))
	return evals.Agent[any](a, nil)(ctx, in)
}

// run runs TestInside in a child process and returns how each test ended, and the output.
func run(t *testing.T, mode string, flags ...string) (map[string]string, string) {
	t.Helper()
	args := append([]string{"tool", "test2json", os.Args[0], "-test.v=test2json", "-test.run=^TestInside$"}, flags...)
	c := exec.CommandContext(t.Context(), "go", args...)
	c.Env = append(os.Environ(), inside+"="+mode)
	out, _ := c.Output()
	ended, text := map[string]string{}, &strings.Builder{}
	for line := range bytes.Lines(out) {
		var e struct{ Action, Test, Output string }
		require.NoError(t, json.Unmarshal(line, &e))
		text.WriteString(e.Output)
		if e.Action == "pass" || e.Action == "fail" {
			ended[strings.TrimPrefix(e.Test, "TestInside/")] = e.Action
		}
	}
	delete(ended, "")
	return ended, text.String()
}

func TestEachCaseIsASubtest(t *testing.T) {
	for _, mode := range []string{"plain", "serial"} {
		ended, out := run(t, mode)
		require.Equal(t, map[string]string{
			"TestInside": "fail", "right": "pass", "wrong": "fail", "fails": "fail",
		}, ended, out)
		require.Contains(t, out, "repeat 2 of 2: equal: no: it is \"bad\", want \"ok\"")
		require.Contains(t, out, "repeat 1 of 2: the task failed: broken")
		require.Contains(t, out, "REPORT 4 2")
	}
}

func TestFlagsOfGoTestWork(t *testing.T) {
	ended, out := run(t, "plain", "-test.run=^TestInside$/^right$")
	require.Equal(t, map[string]string{"TestInside": "pass", "right": "pass"}, ended)
	require.Contains(t, out, "REPORT 2 0", "other cases do not run")
	_, out = run(t, "plain", "-test.short")
	require.Contains(t, out, "REPORT 2 1", "nothing is repeated")
	_, out = run(t, "plain", "-test.count=2")
	require.Equal(t, 2, strings.Count(out, "REPORT 4 2"))
}

func TestAPassRateLetsSomeCasesFail(t *testing.T) {
	ended, _ := run(t, "rate")
	require.Equal(t, map[string]string{
		"TestInside": "pass", "right": "pass", "wrong": "pass", "fails": "pass",
	}, ended)
	ended, out := run(t, "high rate")
	require.Equal(t, "fail", ended["TestInside"])
	require.Equal(t, "pass", ended["wrong"])
	require.Contains(t, out, "2 of 6 trials passed: fewer than 0.5")
	_, out = run(t, "wrong rate")
	require.Contains(t, out, "evalstest: Options.PassRate is 2: it is a share from 0 to 1")
}

func TestACaseThatSaysNothingFails(t *testing.T) {
	_, out := run(t, "budget", "-test.parallel=1")
	require.Contains(t, out, "repeat 2 of 2: not run")
	require.Contains(t, out, "stopped: evals: the budget for all cases is used up")
	ended, out := run(t, "evaluator")
	require.Equal(t, "fail", ended["right"])
	require.Contains(t, out, `evaluator "matches" failed: error parsing regexp`)
}

func TestProgramsDoNotLinkTesting(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "github.com/ponte-go/ponte/agent/evals").Output()
	require.NoError(t, err)
	require.NotContains(t, strings.Fields(string(out)), "testing")
}

var moods = evals.Dataset[string, string]{
	Cases: []evals.Case[string, string]{
		{Name: "praise", Input: "I love it.", Expected: "good"},
		{Name: "defect", Input: "It broke on the first day.", Expected: "bad"},
	},
	Evaluators: []evals.Evaluator{evals.Equal()},
}

func mood(_ context.Context, text string) (string, error) {
	if strings.Contains(text, "love") {
		return "good", nil
	}
	return "bad", nil
}

func TestMoods(t *testing.T) {
	evalstest.Test(t, moods, mood, evalstest.Options{})
}

// TestTestsThatHaveEndedRunAgain: only a test that was stopped continues, and no other test passes
// because an earlier one has.
func TestTestsThatHaveEndedRunAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "progress")
	t.Setenv(progress, file)
	_, out := run(t, "resume", "-test.count=2")
	require.Equal(t, 12, strings.Count(out, "RAN "), out)
	require.Equal(t, 2, strings.Count(out, "REPORT 4 2"))
	require.NoFileExists(t, file)
	_, out = run(t, "resume", "-test.count=2", "-test.run=^TestInside$/^right$")
	require.Equal(t, 4, strings.Count(out, "RAN ok."), "a part of the cases, twice")
	require.NoFileExists(t, file)

	_, out = run(t, "resume budget", "-test.parallel=1")
	require.Contains(t, out, "REPORT 1 ")
	require.FileExists(t, file, "the budget was used up")
	_, again := run(t, "resume")
	require.Contains(t, again, "REPORT 4 2")
	require.Less(t, strings.Count(again, "RAN "), 6, "what had ended is known")
	require.NoFileExists(t, file)
}
