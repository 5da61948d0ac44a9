// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryModuleIsMeasured(t *testing.T) {
	files, err := filepath.Glob("../../*/go.mod")
	require.NoError(t, err)
	for _, file := range files {
		dir := filepath.Base(filepath.Dir(file))
		if dir == "work" { // what the others share
			continue
		}
		require.True(t, slices.ContainsFunc(peers, func(p *peer) bool { return p.dir == dir }), dir)
	}
	require.Len(t, files, len(peers)+1)
}

func TestModulesPinWhatTheyMeasure(t *testing.T) {
	for _, p := range peers {
		text, err := os.ReadFile(filepath.Join("../..", p.dir, "go.mod"))
		require.NoError(t, err)
		require.Contains(t, string(text), "module github.com/ponte-go/ponte/internal/bench/"+p.dir+"\n")
		if p.module != "" {
			v, err := p.version("../..")
			require.NoError(t, err)
			require.Regexp(t, `^v\d+\.\d+\.\d+$`, v)
		}
	}
}

func TestChoosingAddsTheFloor(t *testing.T) {
	chosen, err := choose("ponte")
	require.NoError(t, err)
	require.Equal(t, []*peer{peers[0], peers[1]}, chosen)
	_, err = choose("pontoon")
	require.EqualError(t, err, `there is no module "pontoon"`)
}

func TestLinesOfBenchmarksAreRead(t *testing.T) {
	s, ok := parse("BenchmarkAgent/OneTool-2    22000    4939 ns/op    2760 B/op    63 allocs/op\n")
	require.True(t, ok)
	require.Equal(t, sample{value: 4939, allocs: 63}, s)

	s, ok = parse("BenchmarkAgent/Waiting-2    1    70976686 ns/op    2656 B/run\n")
	require.True(t, ok)
	require.Equal(t, sample{value: 2656, inBytes: true}, s)

	for _, line := range []string{"", "PASS", "goos: linux", "BenchmarkAgent/OneTool-2", "BenchmarkAgent/OneTool-2 1 x ns/op"} {
		_, ok := parse(line)
		require.False(t, ok, line)
	}
}

func TestRatiosAreMadeWithinARound(t *testing.T) {
	// The machine was ten times as slow in the second round: that changes no ratio.
	r := results{
		{floor, "OneTool"}:    {{value: 100, allocs: 5}, {round: 1, value: 1000, allocs: 5}, {round: 2, value: 100, allocs: 5}},
		{own, "OneTool"}:      {{value: 80, allocs: 3}, {round: 1, value: 800, allocs: 3}, {round: 2, value: 90, allocs: 3}},
		{"genkit", "OneTool"}: {{round: 1, value: 600, allocs: 12e3}, {round: 2, value: 60, allocs: 12e3}},
		{floor, "Waiting"}:    {{value: 2000, inBytes: true}},
		{own, "Waiting"}:      {{value: 3000, inBytes: true}},
	}
	var out strings.Builder
	groups[0].write(&out, r, map[cell][]string{{"genkit", "OneTool"}: {"exit status 1: wrong"}})
	require.Equal(t, `### Agents: times the floor (allocations)

| | floor | ponte | genkit |
|---|---:|---:|---:|
| OneTool | 1.00× (5) | 0.80× (3) | 0.60× (12k) |
| Waiting | 1.00× | 1.50× | – |

### Agents: medians

| | floor | ponte | genkit |
|---|---:|---:|---:|
| OneTool | 100 ns | 90.0 ns | 330 ns |
| Waiting | 2000 B | 3000 B | – |

As good as Ponte or better: genkit in OneTool (0.75 of ours).

Failed in 1 of 3 rounds: genkit in OneTool (exit status 1: wrong).

`, out.String())
}

func TestTheReasonOfAFailureIsFound(t *testing.T) {
	const out = "some log\n--- FAIL: BenchmarkAgent/Parallel16\n    agent.go:168: answer \"\", error 7 results\n--- FAIL: BenchmarkAgent\nFAIL\n"
	require.Equal(t, `answer "", error 7 results`, complaint(out))
	require.Equal(t, "panic: no", complaint(" panic: no\n"))
}

func TestGrowthIsShown(t *testing.T) {
	r := results{
		{floor, "Seq50"}:       {{value: 100}},
		{floor, "Seq200"}:      {{value: 410}},
		{floor, "Stream1000"}:  {{value: 100}},
		{floor, "Stream10000"}: {{value: 1100}},
	}
	var out strings.Builder
	for _, d := range groups[0].growths {
		d.write(&out, r, []column{{name: floor}, {name: own}})
	}
	require.Equal(t, `200 steps against 50, where 4 is linear: floor 4.10.

A delta of 10,000 against one of 1,000, where 1 is linear: floor 1.10.

`, out.String())
}
