// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// TestRunThatWaitsForItsModelIsSmall holds what 10,000 concurrent runs take in memory, each with its goroutine.
func TestRunThatWaitsForItsModelIsSmall(t *testing.T) {
	const runs = 10000
	waiting, release := make(chan struct{}), make(chan struct{})
	a := newAgent(t, cfg{Model: model.Func(model.Info{}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		waiting <- struct{}{}
		<-release
		return model.Response(model.Text("ok")), nil
	})}, addTool())
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var all sync.WaitGroup
	for range runs {
		all.Go(func() {
			_, err := a.Run(context.Background(), deps{}, "go")
			if err != nil {
				t.Error(err)
			}
		})
	}
	for range runs {
		<-waiting
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	// HeapInuse would also count what is free in the pages that are open, which are more on a machine with more processors.
	heap, stack := (after.HeapAlloc-before.HeapAlloc)/runs, (after.StackInuse-before.StackInuse)/runs
	close(release)
	all.Wait()
	t.Logf("%d bytes a run: %d on the heap, %d of stack", heap+stack, heap, stack)
	if !raceEnabled {
		require.LessOrEqual(t, heap+stack, uint64(7900))
	}
}
