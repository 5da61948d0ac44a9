// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// story plays a run in the test environment through all its executions.
type story struct {
	config temporalengine.Config[deps, report]
	// register registers more with each environment.
	register func(env *testsuite.TestWorkflowEnvironment)
	// id is the workflow's id: "story" if empty.
	id string
	// full says that each execution is told to continue as new.
	full bool
	// during is called with each execution before it starts.
	during func(env *testsuite.TestWorkflowEnvironment, execution int)
	// answer is called with what the run waits for. Its answers are given one by one.
	answer func(calls []agent.PendingCall) []toolset.DeferredResults

	executions int
}

const storyID = "story"

// play returns what the run comes to.
func (s *story) play(t *testing.T, in temporalengine.Input) (*agent.Result[report], error) {
	t.Helper()
	var input any = in
	for s.executions = 1; s.executions < 100; s.executions++ {
		env := environment(t, s.config)
		if s.register != nil {
			s.register(env)
		}
		env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: cmp.Or(s.id, storyID)})
		env.SetContinueAsNewSuggested(s.full)
		if s.during != nil {
			s.during(env, s.executions)
		}
		for i := range 20 {
			env.RegisterDelayedCallback(func() { s.answers(t, env) }, time.Duration(i+1)*time.Hour)
		}
		env.ExecuteWorkflow(s.config.Name, input)
		require.True(t, env.IsWorkflowCompleted())
		err := env.GetWorkflowError()
		var again *workflow.ContinueAsNewError
		switch {
		case errors.As(err, &again):
			var next json.RawMessage
			require.NoError(t, temporalengine.ByReferences(s.config.Blobs).FromPayloads(again.Input, &next))
			input = next
			continue
		case err != nil:
			return nil, err
		}
		res := new(agent.Result[report])
		require.NoError(t, env.GetWorkflowResult(res))
		return res, nil
	}
	t.Fatal("the run is continued for ever")
	return nil, nil
}

// answers answers what the run waits for.
func (s *story) answers(t *testing.T, env *testsuite.TestWorkflowEnvironment) {
	value, err := env.QueryWorkflow("state")
	require.NoError(t, err)
	var state temporalengine.State
	require.NoError(t, value.Get(&state))
	if len(state.Pending) == 0 || s.answer == nil {
		return
	}
	if answers := s.answer(state.Pending); len(answers) > 0 {
		env.UpdateWorkflow("answer", "", &testsuite.TestUpdateCallback{
			OnReject:   func(err error) { t.Error(err) },
			OnAccept:   func() {},
			OnComplete: func(_ any, err error) { require.NoError(t, err) },
		}, answers[0])
	}
}

// allow allows the first call that waits.
func allow(calls []agent.PendingCall) []toolset.DeferredResults {
	var r toolset.DeferredResults
	if calls[0].Approval != nil {
		r.Decide(calls[0].Key(), toolset.Allow())
	} else {
		r.Supply(calls[0].Key(), toolset.Result{Text: "supplied"})
	}
	return []toolset.DeferredResults{r}
}

// plain returns messages as JSON, without what differs from run to run.
func plain(t *testing.T, messages []*model.Message) string {
	t.Helper()
	var all []*model.Message
	for _, m := range messages {
		own := *m
		own.Time, own.ConversationID, own.RunID, own.Step, own.Metadata = time.Time{}, "", "", 0, nil
		all = append(all, &own)
	}
	data, err := json.MarshalIndent(all, "", " ")
	require.NoError(t, err)
	return string(data)
}

// resultSoon returns what a run comes to unless it waits for an answer.
func resultSoon(t *testing.T, run *temporalengine.Run[report]) (*agent.Result[report], error) {
	t.Helper()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		res, err := run.Result(ctx)
		cancel()
		if err == nil || ctx.Err() == nil {
			return res, err
		}
		if state, err := run.State(t.Context()); err == nil && len(state.Pending) > 0 {
			return nil, errors.New("it waits")
		}
	}
}
