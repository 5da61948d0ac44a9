// SPDX-License-Identifier: Apache-2.0

package work

import (
	"context"
	"runtime"
	"sync"
	"testing"
)

// waitingRuns is how many runs wait at a time.
const waitingRuns = 10_000

// benchmarkWaiting reports the memory of a run that waits for its model: the heap and the stacks, after a collection, divided by
// the runs.
func benchmarkWaiting(b *testing.B, prepare func(wait func()) Run) {
	var total float64
	for b.Loop() {
		total += waiting(b, prepare)
	}
	b.ReportMetric(total/float64(b.N), "B/run")
}

func waiting(b *testing.B, prepare func(wait func()) Run) float64 {
	var arrived, ended sync.WaitGroup
	release := make(chan struct{})
	warm := false
	run := prepare(func() {
		if warm {
			arrived.Done()
			<-release
		}
	})
	// The first run fills caches, and shows whether a run reaches its model at all.
	if answer, err := run(context.Background()); err != nil || answer != Answer {
		b.Fatalf("answer %q, error %v", answer, err)
	}
	warm = true
	arrived.Add(waitingRuns)
	before := inUse()
	for range waitingRuns {
		ended.Go(func() {
			if answer, err := run(context.Background()); err != nil || answer != Answer {
				b.Errorf("answer %q, error %v", answer, err)
			}
		})
	}
	arrived.Wait()
	after := inUse()
	close(release)
	ended.Wait()
	return (after - before) / waitingRuns
}

// inUse returns the bytes that are reachable or are stacks. Collecting twice empties pools and shrinks stacks.
func inUse() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}
