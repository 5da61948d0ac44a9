// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/internal/ledgertest"
	"github.com/ponte-go/ponte/toolset"
)

var ledgerRuns = flag.Int("ledger-runs", 40, "how many random trees of agents are compared with the ledger of their provider")

// TestRandomTreesCountWhatTheProviderWasAsked runs random trees of agents as workflows, in half of them with a child workflow for each
// call of an inner agent: what is counted is what the provider's ledger says, and no more requests are sent than the limit allows.
func TestRandomTreesCountWhatTheProviderWasAsked(t *testing.T) {
	happened := map[string]int{}
	for seed := range uint64(*ledgerRuns) {
		l := playLedger(t, seed)
		for what, n := range l.Happened {
			happened[what] += n
		}
		happened["requests"] += l.Requests
	}
	t.Log(happened)
	require.Less(t, happened["abandoned"], *ledgerRuns/10)
	for _, what := range []string{"requests", "limit", "sent twice", "timed out"} {
		require.Positive(t, happened[what], what)
	}
}

// shares is how many calls may have a share of a limit at the same time: a response makes two at most, and so does an agent inside one.
const shares = 4

func playLedger(t *testing.T, seed uint64) ledgertest.Ledger {
	t.Helper()
	tree := ledgertest.New(seed, ledgertest.Options{})
	var limits toolset.Limits
	switch seed % 3 {
	case 0:
		limits.Requests = 3 + int(seed%11)
	case 1:
		limits.TotalTokens = 5000 + int64(seed%20)*1000
	}
	blobs := new(temporalengine.MemoryBlobs)
	config := temporalengine.Config[struct{}, string]{
		Name: "tree", Agent: tree.Agent, Blobs: blobs, Deps: func(context.Context, temporalengine.Input) (struct{}, error) { return struct{}{}, nil },
	}
	suite := new(testsuite.WorkflowTestSuite)
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute})
	env.SetTestTimeout(time.Minute)
	abandoned := false
	env.SetOnActivityCanceledListener(func(*activity.Info) { abandoned = true })
	env.SetDataConverter(temporalengine.ByReferences(blobs))
	if seed%2 == 0 {
		config.Tool = func(name string) temporalengine.Activity {
			return temporalengine.Activity{Child: map[string]string{"inner": "inner"}[name]}
		}
		inner := config
		inner.Name, inner.Agent, inner.Tool = "inner", tree.Inner, nil
		// The policy is found by its name where the child is. It has the prices and the window.
		inner.Options = []agent.RunOption{agent.WithPolicies(tree.Policy())}
		closeRuns, err := temporalengine.Register(env, inner)
		require.NoError(t, err)
		defer closeRuns()
	}
	closeRuns, err := temporalengine.Register(env, config)
	require.NoError(t, err)
	defer closeRuns()
	for i := range 20 {
		env.RegisterDelayedCallback(func() { decide(t, env, seed) }, time.Duration(i+1)*time.Hour)
	}
	env.ExecuteWorkflow("tree", temporalengine.Input{Prompt: "go", Limits: limits})
	require.True(t, env.IsWorkflowCompleted())
	value, err := env.QueryWorkflow("state")
	require.NoError(t, err)
	var state temporalengine.State
	require.NoError(t, value.Get(&state))
	l := tree.Ledger()
	if err := env.GetWorkflowError(); err != nil && strings.Contains(err.Error(), "usage limit reached") {
		l.Happened["limit"]++
	}
	counted := ledgertest.Of(state.Usage)
	require.LessOrEqual(t, counted.Requests, l.Requests, "seed %d: nothing counts twice", seed)
	used, _, _, _ := tree.Book.Used()
	require.Equal(t, l.Usage.TotalTokens(), used, "seed %d: the window counts the same", seed)
	if abandoned { // the environment, unlike a server, does not wait for what a cancelled activity has used
		l.Happened["abandoned"]++
		return l
	}
	require.Equal(t, l.Counted(), counted, "seed %d: %v", seed, env.GetWorkflowError())
	if limits.Requests > 0 {
		require.LessOrEqual(t, l.Requests, limits.Requests, "seed %d", seed)
	}
	if limits.TotalTokens > 0 {
		// Each call that has a share of the limit may exceed it by a request under way, also if the environment executes one after another.
		require.LessOrEqual(t, l.Usage.TotalTokens(), limits.TotalTokens+shares*ledgertest.MaxTokens, "seed %d", seed)
	}
	return l
}

// decide answers what the run waits for.
func decide(t *testing.T, env *testsuite.TestWorkflowEnvironment, seed uint64) {
	value, err := env.QueryWorkflow("state")
	require.NoError(t, err)
	var state temporalengine.State
	require.NoError(t, value.Get(&state))
	if len(state.Pending) == 0 {
		return
	}
	var answers toolset.DeferredResults
	for _, c := range state.Pending {
		if seed%2 == 1 {
			answers.Decide(c.Key(), toolset.Deny("no"))
		} else {
			answers.Decide(c.Key(), toolset.Allow())
		}
	}
	env.UpdateWorkflow("answer", "", &testsuite.TestUpdateCallback{
		OnReject: func(err error) { t.Error(err) }, OnAccept: func() {},
		OnComplete: func(_ any, err error) {
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		},
	}, answers)
}
