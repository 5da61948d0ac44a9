// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// TestTaskOfAWorkerThatLostTouchIsDoneAgain: the context of an activity ends when no heartbeat reaches the server, with an error of the network
// as its cause. That is not the task's failure.
func TestTaskOfAWorkerThatLostTouchIsDoneAgain(t *testing.T) {
	ended := func(cause error) context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		return ctx
	}
	call := &engine.Task{Op: engine.OpTool}
	late := errors.New("context deadline exceeded")
	failed := &engine.Done{Err: late}
	retry := &engine.Done{Return: engine.Return{Retry: true}}
	told := &engine.Done{Return: engine.Return{Result: toolset.Result{Text: "interrupted", Outcome: model.OutcomeFailed}}}
	for _, done := range []*engine.Done{failed, retry, told} {
		require.NoError(t, interrupted(t.Context(), call, done), "the context has not ended")
		require.ErrorIs(t, interrupted(ended(late), call, done), late)
		require.ErrorContains(t, interrupted(ended(late), call, done), "lost touch with the server")
		require.Equal(t, context.Canceled, interrupted(ended(temporal.NewCanceledError()), call, done))
	}
	require.NoError(t, interrupted(ended(late), call, new(engine.Done)), "what was done well counts")
}

// TestCancelledActivitiesSayWhatTheyHaveUsed: the workflow counts requests that were sent before an activity was cancelled.
func TestCancelledActivitiesSayWhatTheyHaveUsed(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(temporal.NewCanceledError())
	used := toolset.Usage{Requests: 3, Usage: model.Usage{InputTokens: 7}, Cost: 0.5, Unpriced: 1}
	err := interrupted(ctx, &engine.Task{Op: engine.OpTool}, &engine.Done{Err: errors.New("late"), Used: &used})
	require.True(t, temporal.IsCanceledError(err))
	require.Equal(t, &used, usedBefore(err))
	require.Nil(t, usedBefore(temporal.NewCanceledError()))

	meter := toolset.NewMeter(toolset.Limits{})
	f := &future{task: &engine.Task{Op: engine.OpTool, Call: new(engine.Call), Info: &toolset.RunInfo{Meter: meter}}, ctx: t.Context()}
	require.Equal(t, &used, failedChild(f, err).Used)
	f.ctx = ctx
	require.Equal(t, &used, failedChild(f, err).Used)
}
