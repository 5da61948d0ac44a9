// SPDX-License-Identifier: Apache-2.0

package ledgertest_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/engine/enginetest"
	"github.com/ponte-go/ponte/internal/ledgertest"
	"github.com/ponte-go/ponte/toolset"
)

// TestRunsOnWorkersShareAMeter has two random trees run at the same time, each by a worker of its
// own that has nothing but JSON, on one meter with a limit: it counts what both providers were
// asked, and they exceed the limit at most by a task of one that was under way when the other began.
func TestRunsOnWorkersShareAMeter(t *testing.T) {
	reached := 0
	for seed := range uint64(*ledgerRuns) {
		limits := toolset.Limits{Requests: 4 + int(seed%15)}
		meter := toolset.NewMeter(limits)
		trees := [2]*ledgertest.Tree{
			ledgertest.New(seed, ledgertest.Options{Parallel: 1}),
			ledgertest.New(seed+1e6, ledgertest.Options{Parallel: 1}),
		}
		var running sync.WaitGroup
		var most [2]int // the requests of one task
		for i, tree := range trees {
			w := agent.NewWorker(tree.Agent, struct{}{})
			elsewhere := func(ctx context.Context, task []byte, report func([]byte) error) ([]byte, error) {
				before := tree.Ledger().Requests
				defer func() { most[i] = max(most[i], tree.Ledger().Requests-before) }()
				return engine.Execute(ctx, w, task, report)
			}
			start := func(_ context.Context, local engine.Worker) (engine.Engine, error) {
				remote := enginetest.NewRemote(local, elsewhere)
				remote.Fuse = i == 1
				return remote, nil
			}
			running.Go(func() {
				defer func() { _ = w.Close(context.Background()) }()
				_, _ = tree.Agent.Run(t.Context(), struct{}{}, "go", agent.WithMeter(meter), agent.WithEngine(start))
			})
		}
		running.Wait()
		a, b := trees[0].Ledger().Counted(), trees[1].Ledger().Counted()
		sum := less(a, less(ledgertest.Ledger{}, b))
		require.Equal(t, sum, ledgertest.Of(meter.Usage()), "seed %d", seed)
		require.LessOrEqual(t, sum.Requests, limits.Requests+max(most[0], most[1]), "seed %d", seed)
		if sum.Requests >= limits.Requests {
			reached++
		}
	}
	t.Log(reached, "have reached the limit")
	require.Positive(t, reached)
}
