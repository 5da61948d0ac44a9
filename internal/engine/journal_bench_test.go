// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
)

// steps is an agent that calls a tool n times, one call a step, and then answers.
func steps(tb testing.TB, n int) *agent.Agent[none, string] {
	call := model.ToolCall("c", "one", `{}`)
	m := model.Func(model.Info{}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		if len(req.Messages) > 2*n {
			return model.Response(model.Text("ok")), nil
		}
		return model.Response(call), nil
	})
	return newAgent(tb, config{Limits: agent.Limits{Requests: -1}}, m, counted("one", new(int), says("what a tool may say in a line or two")))
}

// BenchmarkStep reports what a step costs, a request and a tool call, without a journal and with one.
func BenchmarkStep(b *testing.B) {
	const n = 50
	a := steps(b, n)
	for _, c := range []struct {
		name    string
		journal journal.Journal
	}{{"none", nil}, {"memory", new(journal.Memory)}, {"dir", newDir(b)}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a.Run(context.Background(), none{}, "go", agent.WithJournal(c.journal)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/n, "µs/step")
		})
	}
}

// BenchmarkReplay reports what a step costs that is not repeated.
func BenchmarkReplay(b *testing.B) {
	for _, n := range []int{50, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			a, j := steps(b, n), newDir(b)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a.Run(context.Background(), none{}, "go", agent.WithJournal(j), agent.WithRunID("r")); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/step")
		})
	}
}

func costOf(t *testing.T, n int, run func(a *agent.Agent[none, string])) (allocs, bytes float64) {
	t.Helper()
	a := steps(t, n)
	run(a)
	const runs = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		run(a)
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / runs, float64(after.TotalAlloc-before.TotalAlloc) / runs
}

func TestCostOfAJournalGrowsWithTheStepsOnly(t *testing.T) {
	replayed := new(journal.Memory)
	for name, run := range map[string]func(n int) func(a *agent.Agent[none, string]){
		"recording": func(int) func(a *agent.Agent[none, string]) {
			return func(a *agent.Agent[none, string]) {
				_, err := a.Run(context.Background(), none{}, "go", agent.WithJournal(new(journal.Memory)))
				require.NoError(t, err)
			}
		},
		"replaying": func(n int) func(a *agent.Agent[none, string]) {
			return func(a *agent.Agent[none, string]) {
				_, err := a.Run(context.Background(), none{}, "go", agent.WithJournal(replayed), agent.WithRunID(fmt.Sprint(n)))
				require.NoError(t, err)
			}
		},
	} {
		allocs50, bytes50 := costOf(t, 50, run(50))
		allocs200, bytes200 := costOf(t, 200, run(200))
		t.Logf("%s: %.0f allocations a step; 200 steps against 50: %.2f times the allocations, %.2f times the bytes", name, allocs200/200, allocs200/allocs50, bytes200/bytes50)
		require.LessOrEqual(t, allocs200/allocs50, 4.3, name)
		require.LessOrEqual(t, bytes200/bytes50, 4.3, name)
	}
}

// TestRunWithoutAJournalPaysNothingForIt: what a step costs on the native engine has not changed by there being another.
func TestRunWithoutAJournalPaysNothingForIt(t *testing.T) {
	without := func(a *agent.Agent[none, string]) {
		_, err := a.Run(context.Background(), none{}, "go")
		require.NoError(t, err)
	}
	allocs50, _ := costOf(t, 50, without)
	allocs200, _ := costOf(t, 200, without)
	perStep := (allocs200 - allocs50) / 150
	t.Logf("%.1f allocations a step", perStep)
	require.LessOrEqual(t, perStep, 17.0)
}
