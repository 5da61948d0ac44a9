// SPDX-License-Identifier: Apache-2.0

//go:build !race && unix

package evals_test

import (
	"context"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// quick is an agent whose model answers at once.
var quick = agent.Must(agent.New(agent.Config[any, string]{
	Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		return model.Response(model.Text("ok")), nil
	}),
}))

func many(n int) evals.Dataset[string, string] {
	return evals.Dataset[string, string]{Cases: named(n), Evaluators: []evals.Evaluator{evals.Equal(), evals.Called(evals.Exact)}}
}

// work is what something has cost.
type work struct {
	time    time.Duration
	objects uint64
	bytes   uint64
}

// spent returns what fn costs: processor time, and what is allocated.
func spent(t *testing.T, fn func()) work {
	t.Helper()
	var u [2]syscall.Rusage
	var m [2]runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m[0])
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u[0]))
	fn()
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u[1]))
	runtime.ReadMemStats(&m[1])
	took := u[1].Utime.Nano() + u[1].Stime.Nano() - u[0].Utime.Nano() - u[0].Stime.Nano()
	return work{time.Duration(took), m[1].Mallocs - m[0].Mallocs, m[1].TotalAlloc - m[0].TotalAlloc}
}

// TestManyCasesCostLittleMoreThanABareLoop bounds what is allocated, and the processor time, for
// which a busy machine gets more attempts. The bare loop keeps its results, as a report does.
// Twice its time was the bound while a run took twice as long as it does now.
func TestManyCasesCostLittleMoreThanABareLoop(t *testing.T) {
	d := many(10_000)
	bare, run := work{time: time.Hour}, work{time: time.Hour}
	for n := 0; n < 5 || 2*run.time > 5*bare.time && n < 20; n++ {
		results := make([]*agent.Result[string], len(d.Cases))
		cost := spent(t, func() {
			for i := range d.Cases {
				results[i], _ = quick.Run(t.Context(), nil, d.Cases[i].Input)
			}
		})
		require.Equal(t, "ok", results[9_999].Output)
		results = nil
		cost.time = min(cost.time, bare.time)
		bare = cost
		var report *evals.Report
		cost = spent(t, func() {
			o := evals.Options{Concurrency: 1}
			report, _ = evals.Run(t.Context(), d, evals.Agent[any](quick, nil), o)
		})
		require.True(t, report.Cases[9_999].Trials[0].Passed())
		cost.time = min(cost.time, run.time)
		run = cost
	}
	t.Logf("%.2f × the time of a bare loop, %d and %d objects, %d and %d bytes a case",
		float64(run.time)/float64(bare.time), run.objects/10_000, bare.objects/10_000,
		run.bytes/10_000, bare.bytes/10_000)
	require.Less(t, run.objects-bare.objects, uint64(10_000*24))
	require.Less(t, run.bytes, 2*bare.bytes)
	require.LessOrEqual(t, 2*run.time, 5*bare.time)
}

func TestMemoryOfManyCasesIsLinearAndSmall(t *testing.T) {
	perCase := func(n int) float64 {
		d := many(n)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		report, err := evals.Run(t.Context(), d, evals.Agent[any](quick, nil), evals.Options{})
		require.NoError(t, err)
		for i := range report.Cases {
			report.Cases[i].Trials[0].Runs, report.Cases[i].Trials[0].Output = nil, nil
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(report)
		runtime.KeepAlive(d)
		return float64(after.HeapAlloc-before.HeapAlloc) / float64(n)
	}
	small, large := perCase(1_000), perCase(10_000)
	t.Logf("%.0f and %.0f bytes", small, large)
	require.Less(t, large, 1000.0)
	require.Less(t, large, 1.2*small+100)
}
