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

	"github.com/ponte-go/ponte/agent/engine/temporalengine"
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
