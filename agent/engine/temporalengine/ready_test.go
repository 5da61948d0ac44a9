// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// failing is a client of a server on which a workflow fails for a time.
type failing struct {
	client.Client
	until time.Time
	ids   map[string]bool // of the updates
}

func (f *failing) UpdateWorkflow(_ context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	f.ids[o.UpdateID] = true
	if time.Now().Before(f.until) {
		return nil, serviceerror.NewWorkflowNotReady("Workflow Task in failed state")
	}
	return accepted{}, nil
}

type accepted struct{ client.WorkflowUpdateHandle }

func (accepted) Get(context.Context, any) error { return nil }

// TestAnswersWaitWhileTheWorkflowFails: a worker that cannot go on with a run may be replaced by one that can.
func TestAnswersWaitWhileTheWorkflowFails(t *testing.T) {
	for _, c := range []struct {
		fails, bound time.Duration
		ok           bool
	}{{0, 0, true}, {8 * time.Second, 0, true}, {time.Hour, 0, false}, {time.Hour, time.Second, false}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.bound > 0 {
				ctx, cancel = context.WithTimeout(ctx, c.bound)
				defer cancel()
			}
			f := &failing{until: time.Now().Add(c.fails), ids: map[string]bool{}}
			runs, err := temporalengine.NewClient[report](f, temporalengine.ClientOptions{Name: "n", TaskQueue: "q"})
			require.NoError(t, err)
			_, err = runs.Run("r").Answer(ctx, toolset.DeferredResults{})
			switch {
			case c.ok:
				require.NoError(t, err)
			case c.bound > 0:
				require.ErrorIs(t, err, context.DeadlineExceeded)
			default:
				require.ErrorAs(t, err, new(*serviceerror.WorkflowNotReady))
			}
			require.Len(t, f.ids, 1, "the server takes it once")
		})
	}
}

// TestAnswersThatAreSentAgainCountOnce sends an answer again to the execution after the one that has taken it, as a server does.
func TestAnswersThatAreSentAgainCountOnce(t *testing.T) {
	k := new(keys)
	s := storyOf(t, true, false, k, nil)
	s.answer = nil
	s.config.Agent = storyteller(said(model.Response(model.ToolCall("g", "guarded", `{"n":1}`), model.ToolCall("h", "guarded", `{"n":2}`)), model.Response(final("done"))),
		researcher(insideModel(), k), k, nil)
	again, other := 0, 0
	send := func(env *testsuite.TestWorkflowEnvironment, id string, call agent.PendingCall, taken func(left int), refused func(error)) {
		env.UpdateWorkflow("answer", id, &testsuite.TestUpdateCallback{OnAccept: func() {}, OnReject: refused, OnComplete: func(left any, err error) {
			require.NoError(t, err)
			taken(left.(int))
		}}, both([]agent.PendingCall{call}))
	}
	unwanted := func(err error) { t.Error(err) }
	s.during = func(env *testsuite.TestWorkflowEnvironment, _ int) {
		env.RegisterDelayedCallback(func() {
			switch pending := stateOf(t, env).Pending; len(pending) {
			case 2:
				send(env, "one", agent.PendingCall{ID: "g"}, func(left int) { require.Equal(t, 1, left) }, unwanted)
			case 1:
				send(env, "one", agent.PendingCall{ID: "g"}, func(left int) { require.Equal(t, 1, left); again++ }, unwanted)
				send(env, "two", agent.PendingCall{ID: "g"}, func(int) { t.Error("somebody else was first") }, func(error) { other++ })
				send(env, "three", agent.PendingCall{ID: "h"}, func(left int) { require.Zero(t, left) }, unwanted)
			}
		}, time.Minute)
	}
	res, err := s.play(t, temporalengine.Input{Prompt: "Go.", Metadata: ada})
	require.NoError(t, err)
	require.Equal(t, "done", res.Output.Text)
	require.Equal(t, []int{1, 1}, []int{again, other})
	require.Len(t, k.all, 2)
}
