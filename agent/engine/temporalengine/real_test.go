// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// start starts a worker for an agent until the test is over, and returns a client for its runs.
func start(t testing.TB, c client.Client, config temporalengine.Config[deps, report]) *temporalengine.Client[report] {
	t.Helper()
	queue := rand.Text()
	w := worker.New(c, queue, worker.Options{})
	closeRuns, err := temporalengine.Register(w, config)
	require.NoError(t, err)
	require.NoError(t, w.Start())
	t.Cleanup(func() {
		w.Stop()
		closeRuns()
	})
	runs, err := temporalengine.NewClient[report](c, temporalengine.ClientOptions{Name: config.Name, TaskQueue: queue})
	require.NoError(t, err)
	return runs
}

func final(text string) model.Part {
	data, _ := json.Marshal(report{text})
	return model.ToolCall("o", "final_result", string(data))
}

func history(t testing.TB, c client.Client, id string) (events []*historypb.HistoryEvent) {
	t.Helper()
	for it := c.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		e, err := it.Next()
		require.NoError(t, err)
		events = append(events, e)
	}
	return events
}

func TestApprovalsAreWaitedFor(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	m := modeltest.Script(
		modeltest.Say(model.ToolCall("a", "work", `{"n":1}`), model.ToolCall("b", "guarded", `{"n":2}`), model.ToolCall("c", "guarded", `{"n":3}`)),
		modeltest.Say(final("done")),
	)
	client := start(t, c, config(newAgent(t, m), blobs))
	run, err := client.Start(t.Context(), temporalengine.Input{Prompt: "Go.", Metadata: map[string]string{"user": "ada"}})
	require.NoError(t, err)
	var state *temporalengine.State
	require.Eventually(t, func() bool {
		state, err = run.State(t.Context())
		require.NoError(t, err)
		return len(state.Pending) > 0
	}, time.Minute, 10*time.Millisecond)
	require.Len(t, state.Pending, 2)
	require.Equal(t, "guarded", state.Pending[0].Approval.Reason)
	require.Equal(t, "worked 1 for ada", state.Messages[2].Parts[0].Text)

	var answers toolset.DeferredResults
	answers.Decide("nobody", toolset.Allow())
	_, err = run.Answer(t.Context(), answers)
	require.ErrorIs(t, err, temporalengine.ErrAnswer)
	require.ErrorContains(t, err, `no call "nobody" waits for an answer`)
	answers = toolset.DeferredResults{}
	answers.Decide("b", toolset.Allow())
	left, err := run.Answer(t.Context(), answers)
	require.NoError(t, err)
	require.Equal(t, 1, left)
	_, err = run.Answer(t.Context(), answers)
	require.ErrorIs(t, err, temporalengine.ErrAnswer, "it has been answered")
	answers = toolset.DeferredResults{}
	answers.Decide("c", toolset.Deny("not today"))
	left, err = run.Answer(t.Context(), answers)
	require.NoError(t, err)
	require.Zero(t, left)

	res, err := run.Result(t.Context())
	require.NoError(t, err)
	require.Equal(t, "done", res.Output.Text)
	require.Equal(t, 2, res.Usage.Requests)
	var texts []string
	for _, m := range res.Messages {
		for _, p := range m.Parts {
			if p.Kind == model.PartToolReturn {
				texts = append(texts, p.Text)
			}
		}
	}
	require.Contains(t, strings.Join(texts, "\n"), "guarded 2 for ada")
	require.Contains(t, strings.Join(texts, "\n"), "not today")
	require.NotContains(t, strings.Join(texts, "\n"), "guarded 3")
}

func TestStepsAreOneActivityEach(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	m := modeltest.Script(modeltest.Say(model.ToolCall("a", "work", `{"n":1}`), model.ToolCall("b", "work", `{"n":2}`)), modeltest.Say(final("done")))
	run, err := start(t, c, config(newAgent(t, m), blobs)).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	_, err = run.Result(t.Context())
	require.NoError(t, err)
	activities := 0
	for _, e := range history(t, c, run.ID()) {
		if e.EventType == enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED {
			activities++
		}
	}
	require.Equal(t, 5, activities, "two steps, two calls and the output")
}

func TestLargeResultsAreNoPartOfEvents(t *testing.T) {
	blobs := temporalengine.DirBlobs{Dir: filepath.Join(t.TempDir(), "blobs")}
	c := dial(t, blobs)
	big := strings.Repeat("0123456789abcdef", 200_000) // 3.2 MB
	a, err := agent.New(agent.Config[deps, report]{
		Model: modeltest.Script(modeltest.Say(model.ToolCall("a", "big", `{}`)), modeltest.Say(model.ToolCall("b", "big", `{}`)), modeltest.Say(final("done"))),
		Tools: []*toolset.Tool[deps]{toolset.Func("big", "Big.", func(context.Context, *toolset.RunContext[deps], struct{}) (string, error) { return big, nil })},
	})
	require.NoError(t, err)
	run, err := start(t, c, config(a, blobs)).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	res, err := run.Result(t.Context())
	require.NoError(t, err)
	require.Equal(t, big, res.Messages[4].Parts[0].Text)
	for _, e := range history(t, c, run.ID()) {
		data, err := json.Marshal(e)
		require.NoError(t, err)
		require.Less(t, len(data), 256<<10, e.EventType)
	}
}

func TestCancelledRunKeepsItsHistory(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	working, ended := make(chan struct{}), make(chan struct{})
	a, err := agent.New(agent.Config[deps, report]{
		Model: modeltest.Script(modeltest.Say(model.ToolCall("a", "wait", `{}`))),
		Tools: []*toolset.Tool[deps]{toolset.Func("wait", "Wait.", func(ctx context.Context, _ *toolset.RunContext[deps], _ struct{}) (string, error) {
			close(working)
			<-ctx.Done()
			close(ended)
			return "", ctx.Err()
		})},
	})
	require.NoError(t, err)
	cfg := config(a, blobs)
	cfg.Tool = func(string) temporalengine.Activity { return temporalengine.Activity{Heartbeat: time.Second} }
	run, err := start(t, c, cfg).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	<-working
	require.NoError(t, run.Cancel(t.Context()))
	_, err = run.Result(t.Context())
	<-ended
	var failed *temporalengine.Error
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, context.Canceled)
	require.GreaterOrEqual(t, len(failed.Messages), 2)
	require.Equal(t, "wait", failed.Messages[1].Parts[0].Tool)
	require.Equal(t, 1, failed.Usage.Requests)
}

func TestFailedRunIsNotTriedAgain(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	asked := 0
	a := newAgent(t, modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		asked++
		return nil, fmt.Errorf("the provider is down")
	}))
	client := start(t, c, config(a, blobs))
	run, err := client.Start(t.Context(), temporalengine.Input{ID: rand.Text(), Prompt: "Go."})
	require.NoError(t, err)
	_, err = run.Result(t.Context())
	require.ErrorContains(t, err, "the provider is down")
	require.Equal(t, 1, asked)
	_, err = client.Start(t.Context(), temporalengine.Input{ID: run.ID(), Prompt: "Go."})
	require.ErrorIs(t, err, temporalengine.ErrRunning)
	_, err = client.Run("nobody").Result(t.Context())
	require.ErrorIs(t, err, temporalengine.ErrNoRun)
}
