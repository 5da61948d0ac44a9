// SPDX-License-Identifier: Apache-2.0

package evals_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// counting returns an agent that calls a tool, and how often its model was asked.
func counting(instructions string) (*agent.Agent[any, string], *atomic.Int64) {
	return countingAs("counting", instructions)
}

// countingAs has an identity for the model; empty for none.
func countingAs(id, instructions string) (*agent.Agent[any, string], *atomic.Int64) {
	asked := new(atomic.Int64)
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		n := asked.Add(1)
		if len(req.Messages) == 1 {
			return model.Response(model.ToolCall("1", "look", "{}")), nil
		}
		resp := model.Response(model.Text(fmt.Sprint("answer ", n)))
		resp.Usage = model.Usage{InputTokens: 7, OutputTokens: 3}
		return resp, nil
	})
	look := toolset.Func("look", "Look.", func(context.Context, *toolset.RunContext[any], struct{}) (string, error) { return "seen", nil })
	return agent.Must(agent.New(agent.Config[any, string]{Model: known{m, id}, Instructions: instructions, Tools: []*toolset.Tool[any]{look}})), asked
}

func TestAnswersAreCached(t *testing.T) {
	dir := t.TempDir()
	d := echoCases("a", "b", "c")
	d.Evaluators = []evals.Evaluator{evals.Within(toolset.Limits{Requests: 2, TotalTokens: 10}, 0), evals.Called(evals.Exact, "look")}
	run := func(instructions string, o evals.Options) (*evals.Report, int64) {
		a, asked := counting(instructions)
		o.Cache, o.Repeats, o.Concurrency = dir, 2, 1
		report, err := evals.Run(t.Context(), d, evals.Agent(a, nil), o)
		require.NoError(t, err)
		require.Equal(t, 1.0, report.Metrics()[0].Mean)
		require.Equal(t, 1.0, report.Metrics()[1].Mean)
		return report, asked.Load()
	}
	first, asked := run("x", evals.Options{})
	require.EqualValues(t, 12, asked)
	require.Equal(t, 12, first.Usage.Requests)
	require.NotEqual(t, first.Cases[0].Trials[0].Output, first.Cases[0].Trials[1].Output, "repeats are apart")
	again, asked := run("x", evals.Options{Limits: toolset.Limits{Requests: 1}})
	require.Zero(t, asked)
	require.Zero(t, again.Usage.Requests, "answers that are known do not count on the budget")
	again2, _ := run("x", evals.Options{})
	require.Zero(t, again2.Usage.Requests)
	for i := range first.Cases {
		for j := range first.Cases[i].Trials {
			require.Equal(t, first.Cases[i].Trials[j].Output, again.Cases[i].Trials[j].Output)
			require.Equal(t, first.Cases[i].Trials[j].Usage, again.Cases[i].Trials[j].Usage)
		}
	}
	_, asked = run("y", evals.Options{})
	require.EqualValues(t, 12, asked, "other instructions are another request")
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	}
	_, asked = run("x", evals.Options{})
	require.EqualValues(t, 12, asked, "damaged files are none")
}

// Models that are told apart by their identity only, as by a default setting or an address, do not
// share answers. One that has none is asked each time.
func TestAnswersBelongToOneModel(t *testing.T) {
	o := evals.Options{Cache: t.TempDir(), Concurrency: 1}
	for _, c := range []struct {
		id   string
		asks int64
	}{{"low", 2}, {"high", 2}, {"low", 0}, {"high", 0}, {"", 2}, {"", 2}} {
		a, asked := countingAs(c.id, "x")
		report, err := evals.Run(t.Context(), echoCases("a"), evals.Agent(a, nil), o)
		require.NoError(t, err)
		require.Equal(t, c.asks, asked.Load(), c.id)
		require.EqualValues(t, c.asks, report.Usage.Requests)
		require.Equal(t, 2, report.Cases[0].Trials[0].Usage.Requests)
	}
}

// What a tool asks the model of its run is known as well.
func TestAnswersThatToolsAskForAreCached(t *testing.T) {
	o := evals.Options{Cache: t.TempDir()}
	for i, id := range []string{"low", "low", "high"} {
		asked := 0
		m := known{modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			if asked++; len(req.Tools) > 0 && len(req.Messages) == 1 {
				return model.Response(model.ToolCall("1", "ask", "{}")), nil
			}
			return model.Response(model.Text("ok")), nil
		}), id}
		ask := toolset.Func("ask", "Ask.", func(ctx context.Context, run *toolset.RunContext[any], _ struct{}) (string, error) {
			resp, err := run.Generate(ctx, &model.Request{Messages: []*model.Message{model.UserText("x")}})
			if err != nil {
				return "", err
			}
			return resp.Text(), nil
		})
		a := agent.Must(agent.New(agent.Config[any, string]{Model: m, Tools: []*toolset.Tool[any]{ask}}))
		report, err := evals.Run(t.Context(), echoCases("a"), evals.Agent(a, nil), o)
		require.NoError(t, err)
		require.Equal(t, []int{3, 0, 3}[i], asked)
		require.Equal(t, 3, report.Cases[0].Trials[0].Usage.Requests)
	}
}

// Answers are kept without what belongs to one run. Errors and answers that were cut off are not kept.
func TestWhatIsKeptOfAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		say  func() (*model.Message, error)
		kept bool
	}{
		"answer":  {func() (*model.Message, error) { return model.Response(model.Text("x")), nil }, true},
		"failure": {func() (*model.Message, error) { return nil, errors.New("away") }, false},
		"cut off": {func() (*model.Message, error) {
			m := model.Response(model.Text("x"))
			m.Interrupted = true
			return m, nil
		}, false},
	} {
		dir, asked := filepath.Join(t.TempDir(), "cache"), 0
		m := known{modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) { asked++; return c.say() }), "m"}
		a := agent.Must(agent.New(agent.Config[any, string]{Model: m}))
		for range 2 {
			_, err := evals.Run(t.Context(), echoCases("a"), evals.Agent(a, nil), evals.Options{Cache: dir, Concurrency: 1})
			require.NoError(t, err, name)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*", "*.json"))
		require.NoError(t, err)
		if !c.kept {
			require.Empty(t, files, name)
			require.GreaterOrEqual(t, asked, 2, name)
			continue
		}
		require.Len(t, files, 1, name)
		require.Equal(t, 1, asked, name)
		require.Equal(t, filepath.Base(filepath.Dir(files[0])), filepath.Base(files[0])[:2])
		data, err := os.ReadFile(files[0])
		require.NoError(t, err)
		var kept model.Message
		require.NoError(t, json.Unmarshal(data, &kept))
		require.Equal(t, []any{"", "", 0, time.Time{}}, []any{kept.RunID, kept.ConversationID, kept.Step, kept.Time})
		require.Equal(t, "x", kept.Text())
		if runtime.GOOS == "windows" {
			continue // which has no such permissions
		}
		info, err := os.Stat(files[0])
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		info, err = os.Stat(filepath.Dir(files[0]))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	}
}

// TestRunsGoOn stops a run after each number of trials.
func TestRunsGoOn(t *testing.T) {
	d := echoCases("a", "b", "c", "d")
	d.Evaluators = []evals.Evaluator{evals.Equal()}
	for stop := range 9 {
		file := filepath.Join(t.TempDir(), "progress")
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		task := func(_ context.Context, in string) (string, error) {
			calls++
			if in == "d" {
				return "", errors.New("no d")
			}
			return in, nil
		}
		o := evals.Options{Resume: file, Repeats: 2, Concurrency: 1}
		o.Progress = func(p evals.Progress) {
			if p.Done == stop {
				cancel()
			}
		}
		if stop == 0 {
			cancel()
		}
		_, err := evals.Run(ctx, d, task, o)
		require.Equal(t, stop != 8, err != nil, stop)
		if stop > 0 && stop < 8 { // killed while it wrote
			f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = f.WriteString(`{"v":1,"case":"`)
			require.NoError(t, err)
			require.NoError(t, f.Close())
		}
		o.Progress = nil
		report, err := evals.Run(t.Context(), d, task, o)
		require.NoError(t, err)
		want := 8
		if stop == 8 { // the file of a run that is complete is gone
			want = 16
		}
		require.Equal(t, want, calls, "stopped after %d", stop)
		require.Equal(t, 6, report.Count(evals.StatusCompleted))
		require.Equal(t, 2, report.Count(evals.StatusFailed))
		require.Equal(t, 0.75, report.Metrics()[0].Mean)
		require.NoFileExists(t, file)
		cancel()
	}
}

func TestOtherRunsDoNotGoOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "progress")
	ctx, cancel := context.WithCancel(t.Context())
	var calls atomic.Int64
	task := func(_ context.Context, in string) (string, error) {
		if calls.Add(1) == 1 {
			defer cancel()
		}
		return in, nil
	}
	d := echoCases("a", "b")
	_, err := evals.Run(ctx, d, task, evals.Options{Resume: file, Concurrency: 1})
	require.Error(t, err)
	kept, err := os.Stat(file)
	require.NoError(t, err)
	require.Zero(t, kept.Mode().Perm()&0o077, "nobody else reads what agents have answered")
	d.Evaluators = []evals.Evaluator{evals.Equal()}
	_, err = evals.Run(t.Context(), d, task, evals.Options{Resume: file})
	require.NoError(t, err)
	require.EqualValues(t, 3, calls.Load(), "with other evaluators, all cases run again")
	_, err = evals.Run(t.Context(), d, task, evals.Options{Resume: t.TempDir()})
	require.ErrorContains(t, err, "resume")
}
