// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// TestRunMayAskMoreThanAnExecution: a server permits a number of updates only, so the run is continued as a new one before.
func TestRunMayAskMoreThanAnExecution(t *testing.T) {
	dial(t, new(temporalengine.MemoryBlobs)) // skips
	s, err := startServer()
	require.NoError(t, err)
	s.close()
	s.more = []string{"--dynamic-config-value", "history.maxTotalUpdates=20"}
	require.NoError(t, s.start())
	defer s.close()
	blobs := new(temporalengine.MemoryBlobs)
	c, err := connect(s.address, blobs)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	const steps = 15
	a := agent.Must(agent.New(agent.Config[deps, report]{
		Name: "asker", Tools: []*toolset.Tool[deps]{asking()},
		Model: modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			if step := len(req.Messages) / 2; step < steps {
				return model.Response(model.ToolCall(fmt.Sprint("q", step), "ask", fmt.Sprintf(`{"n":%d}`, step))), nil
			}
			return model.Response(final("done")), nil
		}),
	}))
	run, err := start(t, c, config(a, blobs)).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	for n := range steps {
		q := questions(t, run)[0]
		require.Equal(t, fmt.Sprintf("Which colour for %d?", n), q.Question.Message)
		require.NoError(t, run.Reply(t.Context(), q.ID, accept(`{"colour":"red"}`)))
		for id := q.ID; n < steps-1 && id == q.ID; { // up to the next one
			id = questions(t, run)[0].ID
		}
	}
	all := returns(t, run)
	require.Equal(t, steps, strings.Count(fmt.Sprint(all), "accept"))
	first := history(t, c, run.ID())[0].GetWorkflowExecutionStartedEventAttributes()
	require.NotEmpty(t, first.ContinuedExecutionRunId)
	require.Equal(t, enumspb.CONTINUE_AS_NEW_INITIATOR_WORKFLOW, first.Initiator)
}
