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
