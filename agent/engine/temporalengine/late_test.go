// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/ponte-go/ponte/agent/engine"
)

// TestLateAttemptAsksNobody: a worker that was stopped for a time does not know that another one has its call, and would take the place of that one's question.
func TestLateAttemptAsksNobody(t *testing.T) {
	s := &state{working: []string{"1/tool/a", "1/tool/b"}, questions: []*asked{{Question: Question{ID: "q"}, task: "1/tool/a", attempt: 2}}}
	for _, id := range []string{"q", "another"} {
		var refused *temporal.ApplicationError
		require.ErrorAs(t, s.mayAsk(askInput{ID: id, Task: "1/tool/a", Attempt: 1}), &refused)
		require.Equal(t, goneType, refused.Type())
		require.NoError(t, s.mayAsk(askInput{ID: id, Task: "1/tool/a", Attempt: 2}))
		require.NoError(t, s.mayAsk(askInput{ID: id, Task: "1/tool/a", Attempt: 3}))
		require.NoError(t, s.mayAsk(askInput{ID: id, Task: "1/tool/b", Attempt: 1}))
	}
}

// TestDependenciesAreThoseOfTheInput: an operator may delete a workflow, and another run may get its id.
func TestDependenciesAreThoseOfTheInput(t *testing.T) {
	var made []string
	a := newActivities(func(_ context.Context, in Input) (engine.Worker, func(context.Context) error, error) {
		made = append(made, in.Metadata["user"])
		return nobody{}, func(context.Context) error { return nil }, nil
	}, new(MemoryBlobs), DefaultIdle)
	defer a.close()
	for _, user := range []string{"ada", "ada", "bob", "ada"} {
		in := Input{ID: "run", Metadata: map[string]string{"user": user}}
		r, err := a.use(t.Context(), in)
		require.NoError(t, err)
		a.leave(r)
	}
	require.Equal(t, []string{"ada", "bob"}, made)
}
