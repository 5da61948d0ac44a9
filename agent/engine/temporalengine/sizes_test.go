// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

var messages = flag.Int("messages", 60, "how many messages of 60 KiB are sent into one step, and how many calls with such results a step has")

// historySize returns how many bytes the history of a run has, and that of its largest event.
func historySize(t testing.TB, c client.Client, id string) (all, largest int) {
	t.Helper()
	for _, e := range history(t, c, id) {
		data, err := json.Marshal(e)
		require.NoError(t, err)
		all, largest = all+len(data), max(largest, len(data))
	}
	return all, largest
}

// TestMessagesWithinAStepDoNotFillTheHistory: a workflow is terminated at 50 MiB, and a step in which a tool takes long cannot be continued as a new
// one. Repeat the proof with -messages 1000.
func TestMessagesWithinAStepDoNotFillTheHistory(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	working, goOn := make(chan struct{}), make(chan struct{})
	text := strings.Repeat("0123456789abcde ", 60<<6)
	heard := 0
	a := agent.Must(agent.New(agent.Config[deps, report]{
		Model: modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			heard = 0
			for _, m := range req.Messages {
				for _, p := range m.Parts {
					if p.Kind == model.PartUser && strings.HasSuffix(p.Text, text) {
						heard++
					}
				}
			}
			if len(req.Messages) > 1 {
				return model.Response(final("done")), nil
			}
			return model.Response(model.ToolCall("a", "long", `{}`)), nil
		}),
		Tools: []*toolset.Tool[deps]{toolset.Func("long", "Long.", func(context.Context, *toolset.RunContext[deps], struct{}) (string, error) {
			close(working)
			<-goOn
			return "at last", nil
		})},
	}))
	run, err := start(t, c, config(a, blobs)).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	<-working
	var people sync.WaitGroup
	limit := make(chan struct{}, 16)
	for i := range *messages {
		people.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			if err := run.Send(t.Context(), model.User(fmt.Sprint(i, " ", text))); err != nil {
				t.Error(err)
			}
		})
	}
	people.Wait()
	size, _ := historySize(t, c, run.ID())
	t.Logf("%d messages: %d bytes", *messages, size)
	require.Less(t, size, *messages*(4<<10)+(100<<10))
	close(goOn)
	_, err = run.Result(t.Context())
	require.NoError(t, err)
	require.Equal(t, *messages, heard)
}

// TestResultsOfManyCallsDoNotFillTheHistory of one step.
func TestResultsOfManyCallsDoNotFillTheHistory(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	var parts []model.Part
	for i := range *messages {
		parts = append(parts, model.ToolCall(fmt.Sprint("c", i), "work", `{"n":1}`))
	}
	result := strings.Repeat("0123456789abcde ", 60<<6)
	a := agent.Must(agent.New(agent.Config[deps, report]{
		Model: said(model.Response(parts...), model.Response(final("done"))), Limits: agent.Limits{ToolCalls: 2**messages + 1},
		Tools: []*toolset.Tool[deps]{toolset.Func("work", "Work.", func(context.Context, *toolset.RunContext[deps], args) (string, error) { return result, nil })},
	}))
	run, err := start(t, c, config(a, blobs)).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	res, err := run.Result(t.Context())
	require.NoError(t, err)
	require.Len(t, res.Messages[2].Parts, *messages)
	for _, p := range res.Messages[2].Parts {
		require.Equal(t, result, p.Text)
	}
	size, _ := historySize(t, c, run.ID())
	t.Logf("%d calls: %d bytes", *messages, size)
	require.Less(t, size, 16*(70<<10)+*messages*(8<<10)+(200<<10))
}

// TestWhateverIsPassedEventsStaySmall: metadata, prompts, ids of conversations, messages and answers of any size.
func TestWhateverIsPassedEventsStaySmall(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	long := strings.Repeat("0123456789abcde ", 300<<6)
	k := new(keys)
	m := said(nil, model.Response(model.ToolCall("a", "work", `{"n":1}`)), model.Response(model.ToolCall("g", "guarded", `{"n":2}`), model.ToolCall("e", "elsewhere", `{"n":3}`)),
		model.Response(final("done")))
	run, err := start(t, c, config(storyteller(m, researcher(insideModel(), k), k, nil), blobs)).Start(t.Context(), temporalengine.Input{
		Prompt: long, Parts: []model.Part{model.User(long)}, ConversationID: long, Metadata: map[string]string{"user": "ada", "more": long},
		History: []*model.Message{{Kind: model.KindRequest, Parts: []model.Part{model.User(long)}}, {Kind: model.KindResponse, Parts: []model.Part{model.Text(long)}}},
	})
	require.NoError(t, err)
	require.NoError(t, run.Send(t.Context(), model.User(long)))
	require.Equal(t, "g", waiting(t, run)[0].ID)
	var denied, supplied toolset.DeferredResults
	denied.Decide("g", toolset.Deny(long))
	supplied.Supply("e", toolset.Result{Text: long})
	for _, answers := range []toolset.DeferredResults{denied, supplied} {
		waiting(t, run)
		_, err = run.Answer(t.Context(), answers)
		require.NoError(t, err)
	}
	res, err := run.Result(t.Context())
	require.NoError(t, err)
	require.Len(t, res.Messages[2].Metadata["more"], len(long))
	smallEvents(t, c, run.ID())
}

// TestLargeHistoryIsNoDeadlock: Temporal calls a workflow stuck that takes more than a second, and tries its task again and again. The worker of this
// test allows less.
func TestLargeHistoryIsNoDeadlock(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	queue := rand.Text()
	work(t, c, queue, worker.Options{DeadlockDetectionTimeout: 60 * time.Millisecond}, config(newAgent(t, said(nil, model.Response(model.ToolCall("a", "work", `{"n":1}`)), model.Response(final("done")))), blobs))
	text := strings.Repeat("0123456789abcde ", 1<<20)
	run, err := clientOf(t, c, queue).Start(t.Context(), temporalengine.Input{
		Prompt: "Go.", History: []*model.Message{{Kind: model.KindRequest, Parts: []model.Part{model.User(text)}}, {Kind: model.KindResponse, Parts: []model.Part{model.Text("Well.")}}},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	res, err := run.Result(ctx)
	require.NoError(t, err)
	require.Len(t, res.Messages, 7)
}
