// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

var (
	treeRuns = flag.Int("tree-runs", 8, "how many random conversations of trees of agents are played on each engine")
	treeSeed = flag.Int("tree-seed", -1, "the only conversation of trees of agents that is played")
)

// TestRandomTreesOfAgents plays conversations with random trees of agents: tools, approvals, questions in mid-call, barriers, agents as
// tools, hand-overs that stay or not, pass on the history or not, and hand back, at every depth. Turns are left pending and go on from
// JSON. Each call is asked about at its place, answered once, and runs only as it was approved; the user is told everything once; the
// right agent answers. All of it is the same natively, with a journal, with every task taken through JSON, and in child processes: every
// 20th conversation has each run in a process of its own, every 200th each task.
func TestRandomTreesOfAgents(t *testing.T) {
	runs := *treeRuns
	if raceEnabled {
		runs = (runs + 3) / 4
	}
	var mu sync.Mutex
	counts, next := map[string]int{}, 0
	if *treeSeed >= 0 {
		next, runs = *treeSeed, *treeSeed+1
	}
	t.Run("play", func(t *testing.T) {
		for n := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				for !t.Failed() {
					mu.Lock()
					seed := next
					next++
					mu.Unlock()
					if seed >= runs {
						return
					}
					if seed%500 == 0 {
						t.Logf("seed %d", seed)
					}
					happened := playEverywhere(t, seed)
					mu.Lock()
					for what, n := range happened {
						counts[what] += n
					}
					mu.Unlock()
				}
			})
		}
	})
	t.Log(counts)
	if *treeSeed >= 0 || raceEnabled {
		return
	}
	for _, what := range []string{
		"approved", "denied", "changed", "question", "pending at depth 1", "pending at depth 2", "pending at depth 3", "pending at depth 4", "a prompt in place of answers",
		"denied with the call around it", "hand-over at level 1", "hand-over at level 2", "hand-over at level 3", "handed back", "stays",
	} {
		require.Positive(t, counts[what], what)
	}
}

// playEverywhere plays a conversation in every way, and compares.
func playEverywhere(t *testing.T, seed int) map[string]int {
	counts := map[string]int{}
	play := func(way string) *conversation {
		counts[way]++
		return (&tree{seed: uint64(seed)}).play(t, way)
	}
	want := play(natively)
	want.count(counts)
	ways := []string{journaled, inJSON}
	if seed%20 == 0 {
		ways = append(ways, inProcesses)
	}
	if seed%200 == 0 {
		ways = append(ways, inTasks)
	}
	for _, way := range ways {
		got := play(way)
		require.Equal(t, want.happened(t), got.happened(t), "seed %d %s", seed, way)
		require.Len(t, got.legs, len(want.legs))
		for i, e := range got.legs {
			w := want.legs[i]
			require.Equal(t, comparable(t, w.Messages), comparable(t, e.Messages), "seed %d %s: leg %d", seed, way, i)
			require.Equal(t, []any{w.Output, w.Agent, w.Requests, w.Pending}, []any{e.Output, e.Agent, e.Requests, e.Pending}, "seed %d %s: leg %d", seed, way, i)
		}
	}
	return counts
}

// count counts what has happened.
func (c *conversation) count(counts map[string]int) {
	for what, n := range c.counts {
		counts[what] += n
	}
	root := c.w.nodes()
	for _, e := range c.w.log.all() {
		switch e.Said {
		case saidQuestion:
			counts["question"]++
		case saidDecide:
			counts[map[string]string{"allow": "approved", "deny": "denied", "defer": "deferred"}[e.Verdict]]++
			if strings.Contains(e.Args, `"n":5`) || strings.Contains(e.Args, `"n":7`) {
				counts["changed"]++
			}
		case saidModel:
			for _, call := range e.Calls {
				if call.Tool == "hand_back" {
					counts["handed back"]++
				}
				if n := root.find(call.Tool); n != nil && n.handsOver() {
					counts[fmt.Sprint("hand-over at level ", 1+strings.Count(e.Agent, "-"))]++
				}
			}
		}
	}
	for _, e := range c.legs {
		if m := e.Messages[len(e.Messages)-1]; m.HandOver != nil && m.HandOver.Stays {
			counts["stays"]++
		}
	}
}

// comparable writes messages without what differs from way to way: times, and the ids of runs and conversations inside others.
func comparable(t *testing.T, messages []*model.Message) string {
	data, err := json.Marshal(messages)
	require.NoError(t, err)
	var v any
	require.NoError(t, json.Unmarshal(data, &v))
	data, err = json.Marshal(without(v))
	require.NoError(t, err)
	return strings.ReplaceAll(string(data), `{"kind"`, "\n{\"kind\"")
}

func without(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range []string{"time", "run_id", "conversation_id"} {
			delete(v, name)
		}
		for name := range v {
			v[name] = without(v[name])
		}
	case []any:
		for i := range v {
			v[i] = without(v[i])
		}
	}
	return v
}

// happened are the entries of a log in an order of their own: runs side by side take turns as they like.
func (c *conversation) happened(t *testing.T) []string {
	var all []string
	for _, e := range c.w.log.all() {
		data, err := json.Marshal(e)
		require.NoError(t, err)
		all = append(all, string(data))
	}
	slices.Sort(all)
	return all
}
