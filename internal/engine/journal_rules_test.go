// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type config = agent.Config[none, string]

type runContext = toolset.RunContext[none]

var errBoom = errors.New("boom")

var counting sync.Mutex

// counted is a tool without arguments that counts its calls.
func counted(name string, calls *int, fn func(ctx context.Context, run *runContext) (string, error), opts ...toolset.Option) *toolset.Tool[none] {
	return toolset.Func(name, "", func(ctx context.Context, run *runContext, _ none) (string, error) {
		counting.Lock()
		*calls++
		counting.Unlock()
		return fn(ctx, run)
	}, opts...)
}

func says(text string) func(context.Context, *runContext) (string, error) {
	return func(context.Context, *runContext) (string, error) { return text, nil }
}

func calls(names ...string) modeltest.Step {
	var parts []model.Part
	for i, name := range names {
		parts = append(parts, model.ToolCall(fmt.Sprint(i), name, "{}"))
	}
	return modeltest.Say(parts...)
}

func newAgent[O any](t testing.TB, c agent.Config[none, O], m model.Model, tools ...*toolset.Tool[none]) *agent.Agent[none, O] {
	t.Helper()
	c.Model = m
	if len(tools) > 0 {
		c.Toolsets = append(c.Toolsets, toolset.Of(tools...))
	}
	a, err := agent.New(c)
	require.NoError(t, err)
	return a
}

// run runs a fresh agent on the run "r" of a journal. The model takes the steps and no others.
func run[O any](t testing.TB, j journal.Journal, c agent.Config[none, O], steps []modeltest.Step, tools ...*toolset.Tool[none]) (*agent.Result[O], error) {
	t.Helper()
	script := modeltest.Script(steps...)
	res, err := newAgent(t, c, script, tools...).Run(context.Background(), none{}, "go", agent.WithJournal(j), agent.WithRunID("r"))
	if err == nil {
		require.Zero(t, script.Left(), "the model was asked less often than expected")
	}
	return res, err
}

func journalError(t testing.TB, err error, op string) *journal.Error {
	t.Helper()
	var failed *journal.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, op, failed.Op)
	return failed
}

func TestRunThatWasStartedWithSomethingElseIsRefused(t *testing.T) {
	var j journal.Memory
	history := []*model.Message{model.UserText("before"), model.Response(model.Text("yes"))}
	a := newAgent(t, config{Name: "a"}, modeltest.Script(modeltest.SayText("ok")))
	opts := func(more ...agent.RunOption) []agent.RunOption {
		return append([]agent.RunOption{agent.WithJournal(&j), agent.WithRunID("r"), agent.WithHistory(history), agent.WithConversationID("c")}, more...)
	}
	_, err := a.Run(context.Background(), none{}, "go", opts()...)
	require.NoError(t, err)
	before := raw(t, &j, "r")
	for name, c := range map[string]struct {
		agent, prompt string
		more          []agent.RunOption
	}{
		"agent":                             {"b", "go", nil},
		"prompt":                            {"a", "stop", nil},
		"number of messages in the history": {"a", "go", []agent.RunOption{agent.WithHistory(nil)}},
		"last message of the history":       {"a", "go", []agent.RunOption{agent.WithHistory([]*model.Message{history[0], model.Response(model.Text("no"))})}},
		"conversation":                      {"a", "go", []agent.RunOption{agent.WithConversationID("d")}},
		"results":                           {"a", "go", []agent.RunOption{agent.WithResults(agent.DeferredResults{})}},
		"prompt: pass what":                 {"a", "", nil},
	} {
		script := modeltest.Script()
		res, err := newAgent(t, config{Name: c.agent}, script).Run(context.Background(), none{}, c.prompt, opts(c.more...)...)
		require.Nil(t, res)
		require.ErrorIs(t, err, journal.ErrMismatch, name)
		require.ErrorContains(t, err, name)
		require.NotRegexp(t, "[0-9a-f]{16}", err.Error(), "a digest tells nobody anything")
		journalError(t, err, "load")
		require.Empty(t, script.Requests(), "nothing has been run")
	}
	require.Equal(t, before, raw(t, &j, "r"))
	// What may change: the model, the limits, the tools, the instructions.
	res, err := newAgent(t, config{Name: "a", Instructions: "New."}, modeltest.Script()).Run(context.Background(), none{}, "go", opts(agent.WithLimits(agent.Limits{Requests: 1}))...)
	require.NoError(t, err)
	require.Equal(t, "ok", res.Output)
}

func TestRunIsInUseWhileItRuns(t *testing.T) {
	var j journal.Memory
	n := 0
	_, err := run(t, &j, config{}, []modeltest.Step{calls("again"), modeltest.SayText("ok")}, counted("again", &n, func(context.Context, *runContext) (string, error) {
		_, err := run(t, &j, config{}, nil)
		require.ErrorIs(t, err, journal.ErrInUse)
		journalError(t, err, "open")
		require.EqualError(t, err, `agent: prepare: journal: run r: open: the run is in use: "r"`)
		return "", nil
	}))
	require.NoError(t, err)
}

func TestRunWithoutAnIDIsANewOne(t *testing.T) {
	d := newDir(t)
	a := newAgent(t, config{}, modeltest.Script(modeltest.SayText("one"), modeltest.SayText("two")))
	for _, want := range []string{"one", "two"} {
		res, err := a.Run(context.Background(), none{}, "go", agent.WithJournal(d))
		require.NoError(t, err)
		require.Equal(t, want, res.Output)
		runs, err := d.Runs()
		require.NoError(t, err)
		require.Contains(t, runs, res.RunID)
	}
}

func TestErrorsAreNotResults(t *testing.T) {
	var j journal.Memory
	one, two := 0, 0
	tools := []*toolset.Tool[none]{
		counted("one", &one, says("1"), toolset.Sequential()),
		counted("two", &two, func(context.Context, *runContext) (string, error) {
			if two == 1 {
				return "", errBoom
			}
			return "2", nil
		}),
	}
	_, err := run(t, &j, config{}, []modeltest.Step{modeltest.Fail(errBoom)}, tools...)
	require.ErrorIs(t, err, errBoom)
	_, err = run(t, &j, config{}, []modeltest.Step{calls("one", "two")}, tools...)
	require.ErrorIs(t, err, errBoom)
	_, err = run(t, &j, config{}, []modeltest.Step{modeltest.Fail(errBoom)}, tools...)
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, []int{1, 2}, []int{one, two}, "what was done is not done again, what failed is")
	res, err := run(t, &j, config{}, []modeltest.Step{modeltest.SayText("ok")}, tools...)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, []int{one, two})
	require.Len(t, res.Messages, 4)
	require.False(t, res.Messages[2].Interrupted)
}

func TestCauseOfARetryIsKeptAsText(t *testing.T) {
	var j journal.Memory
	retries := 1
	again := counted("again", new(int), func(context.Context, *runContext) (string, error) {
		return "", fmt.Errorf("%w: %w", errBoom, toolset.Retry("once more"))
	})
	plain := counted("plain", new(int), func(context.Context, *runContext) (string, error) { return "", toolset.Retry("once more") })
	steps := []modeltest.Step{calls("again"), calls("again")}
	_, err := run(t, &j, config{ToolRetries: &retries}, steps, again)
	require.ErrorIs(t, err, errBoom)
	_, replayed := run(t, &j, config{ToolRetries: &retries}, nil, again)
	require.EqualError(t, replayed, err.Error())
	require.NotErrorIs(t, replayed, errBoom)

	var j2 journal.Memory
	none := 0
	for _, steps := range [][]modeltest.Step{{calls("plain")}, nil} {
		_, err = run(t, &j2, config{ToolRetries: &none}, steps, plain)
		var retry *toolset.RetryError
		require.ErrorAs(t, err, &retry)
		require.Equal(t, "once more", retry.Message)
	}
}

// TestWhatACallMakesOfItsCancellationIsNoResult: only a success is one then.
func TestWhatACallMakesOfItsCancellationIsNoResult(t *testing.T) {
	var j journal.Memory
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	good, bad := 0, 0
	tools := []*toolset.Tool[none]{
		counted("good", &good, func(ctx context.Context, _ *runContext) (string, error) {
			<-ctx.Done()
			return "done all the same", nil
		}),
		counted("bad", &bad, func(ctx context.Context, _ *runContext) (string, error) {
			if bad == 1 {
				cancel()
				<-ctx.Done()
				return "", toolset.Failed("cancelled")
			}
			return "fine", nil
		}),
	}
	script := modeltest.Script(calls("good", "bad"))
	_, err := newAgent(t, config{}, script, tools...).Run(ctx, none{}, "go", agent.WithJournal(&j), agent.WithRunID("r"))
	require.ErrorIs(t, err, context.Canceled)
	res, err := run(t, &j, config{}, []modeltest.Step{modeltest.SayText("ok")}, tools...)
	require.NoError(t, err)
	require.Equal(t, "done all the same", res.Messages[2].Parts[0].Text)
	require.Equal(t, "fine", res.Messages[2].Parts[1].Text)
	require.Equal(t, []int{1, 2}, []int{good, bad})
}

func TestResponseThatWasCutOffIsNoResult(t *testing.T) {
	var j journal.Memory
	ctx, cancel := context.WithCancel(context.Background())
	cut := func(context.Context, *model.Request) (*model.Message, error) {
		cancel()
		return &model.Message{Kind: model.KindResponse, Parts: []model.Part{model.Text("to be c")}, Interrupted: true}, nil
	}
	_, _ = newAgent(t, config{}, modeltest.Script(cut)).Run(ctx, none{}, "go", agent.WithJournal(&j), agent.WithRunID("r"))
	res, err := run(t, &j, config{}, []modeltest.Step{modeltest.SayText("whole")})
	require.NoError(t, err)
	require.Equal(t, "whole", res.Output)
}

func TestRunResumesAfterItsObserverLeft(t *testing.T) {
	var j journal.Memory
	n := 0
	s := newAgent(t, config{}, modeltest.Script(calls("one")), counted("one", &n, says("1"))).
		Stream(context.Background(), none{}, "go", agent.WithJournal(&j), agent.WithRunID("r"))
	for e := range s.Events() {
		if e.Kind == agent.EventToolResult {
			break
		}
	}
	_, err := s.Result()
	require.ErrorIs(t, err, agent.ErrStopped)
	_, err = run(t, &j, config{}, []modeltest.Step{modeltest.SayText("ok")}, counted("one", &n, says("1")))
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestPendingRunIsPendingAgainAndGoesOnWithResults(t *testing.T) {
	var j journal.Memory
	n, later := 0, 0
	tools := func() []*toolset.Tool[none] {
		return []*toolset.Tool[none]{
			counted("one", &n, says("1")),
			counted("later", &later, func(_ context.Context, run *runContext) (string, error) {
				if !run.Call.Approved {
					return "", toolset.ApprovalRequired(toolset.Approval{Reason: "sure?"})
				}
				return run.IdempotencyKey(), nil
			}),
			counted("elsewhere", &n, func(context.Context, *runContext) (string, error) {
				return "", toolset.Deferred(json.RawMessage(`{"ticket":7}`))
			}),
		}
	}
	_, first := run(t, &j, config{}, []modeltest.Step{calls("one", "later", "elsewhere")}, tools()...)
	var pending *agent.PendingError
	require.ErrorAs(t, first, &pending)
	_, second := run(t, &j, config{}, nil, tools()...)
	var again *agent.PendingError
	require.ErrorAs(t, second, &again)
	require.Equal(t, pending, again)
	require.Equal(t, []int{2, 1}, []int{n, later}, "nothing is done again")
	var failed *agent.RunError
	require.ErrorAs(t, second, &failed)

	resume := func(m model.Model) (*agent.Result[string], error) {
		return newAgent(t, config{}, m, tools()...).Run(context.Background(), none{}, "", agent.WithJournal(&j), agent.WithRunID("r2"), agent.WithHistory(failed.Messages),
			agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{"1": toolset.Allow()}, Results: map[string]toolset.Result{"2": {Text: "from elsewhere"}}}))
	}
	_, err := resume(modeltest.Script(modeltest.Fail(errBoom)))
	require.ErrorIs(t, err, errBoom)
	res, err := resume(modeltest.Script(modeltest.SayText("ok")))
	require.NoError(t, err)
	require.Equal(t, []int{2, 2}, []int{n, later})
	require.Equal(t, "r/1/1", res.Messages[2].Parts[1].Text, "the key is that of the response that made the call")
}

func TestAppendThatPanicsEndsTheRun(t *testing.T) {
	j := journal.Func(func(context.Context, string) (journal.Log, error) { return nilLog{}, nil })
	_, err := run(t, j, config{}, nil)
	journalError(t, err, "append")
	require.ErrorContains(t, err, "panic: no log")
}

type nilLog struct{ journal.Log }

func (nilLog) Load(context.Context) ([][]byte, error)     { return nil, nil }
func (nilLog) Append(ctx context.Context, _ []byte) error { panic("no log") }
func (nilLog) Close() error                               { return nil }

func TestResultThatIsNotJSONEndsTheRun(t *testing.T) {
	var j journal.Memory
	bad := toolset.Func("bad", "", func(context.Context, *runContext, none) (toolset.Result, error) {
		return toolset.Result{Text: "ok", Meta: json.RawMessage(`{`)}, nil
	})
	_, err := run(t, &j, config{}, []modeltest.Step{calls("bad")}, bad)
	require.ErrorContains(t, err, "the Meta that the tool returned is not valid JSON")

	_, err = run(t, &j, config{}, nil, counted("bad", new(int), says("mended")))
	require.ErrorContains(t, err, "the script has 0 steps", "the call is made again")

	_, err = newAgent(t, config{}, modeltest.Script()).Run(context.Background(), none{}, "", agent.WithJournal(new(journal.Memory)), agent.WithHistory([]*model.Message{{Kind: model.KindRequest, Parts: []model.Part{{}}}}))
	journalError(t, err, "encode")
	require.ErrorContains(t, err, "history: ")
}

func TestMessagesThatCouldNotBeRecordedStayInTheInbox(t *testing.T) {
	for _, end := range []bool{false, true} {
		var inbox agent.Inbox
		n := 1
		if inbox.Send(model.User("first")); end {
			inbox.Left()
			inbox.SendAtEnd(model.User("first"))
			n = 3
		}
		a := newAgent(t, config{}, modeltest.Script(modeltest.SayText("ok")))
		_, err := a.Run(context.Background(), none{}, "go", agent.WithInbox(&inbox), agent.WithJournal(&mortal{Journal: new(journal.Memory), left: n}))
		require.ErrorIs(t, err, errKilled)
		inbox.Send(model.User("second"))
		left := inbox.Left()
		require.Len(t, left, 2)
		require.ElementsMatch(t, []string{"first", "second"}, []string{left[0][0].Text, left[1][0].Text})
	}
}

func TestJournalGrowsWithTheNewMessagesOnly(t *testing.T) {
	size := func(steps int) int {
		var j journal.Memory
		script := make([]modeltest.Step, steps, steps+1)
		for i := range script {
			script[i] = calls("one")
		}
		a := newAgent(t, config{Instructions: strings.Repeat("rule ", 1000), Limits: agent.Limits{Requests: -1}}, modeltest.Script(append(script, modeltest.SayText("ok"))...), counted("one", new(int), says(strings.Repeat("1", 100))))
		_, err := a.Run(context.Background(), none{}, strings.Repeat("prompt", 1000), agent.WithJournal(&j), agent.WithRunID("r"))
		require.NoError(t, err)
		return len(strings.Join(raw(t, &j, "r"), "\n"))
	}
	require.Less(t, size(50), 50*1200)
	require.LessOrEqual(t, float64(size(200))/float64(size(50)), 4.0)
}

func TestIdempotencyKeysAreUniquePerCallAndStable(t *testing.T) {
	var keys []string
	var fail error
	record := toolset.Func("key", "", func(_ context.Context, run *runContext, _ none) (string, error) {
		keys = append(keys, run.IdempotencyKey())
		return "", fail
	}, toolset.Sequential())
	steps := []modeltest.Step{calls("key", "key"), calls("key", "key"), modeltest.SayText("ok")}
	var j journal.Memory
	_, err := run(t, &j, config{}, steps, record)
	require.NoError(t, err)
	require.Len(t, keys, 4)
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(keys))), 4, "every call has a key of its own")

	first := keys
	keys, fail = nil, errBoom
	var again journal.Memory
	for range 2 {
		_, err = run(t, &again, config{}, steps[:1-min(1, len(keys))], record)
		require.ErrorIs(t, err, errBoom)
	}
	require.Equal(t, []string{first[0], first[0]}, keys, "a call that is made again has the same key")
}

func withRun(j journal.Journal) []agent.RunOption {
	return []agent.RunOption{agent.WithJournal(j), agent.WithRunID("r")}
}
