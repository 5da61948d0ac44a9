// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
)

var engineRuns = flag.Int("engine-runs", 8, "how many random runs are compared on all engines; a fifth of them in child processes")

// TestRandomRunsAreEqualOnAllEngines plays random runs natively, with a journal, with every task taken through JSON, and with every task
// in a process of its own. Their histories, outputs and usage are equal.
func TestRandomRunsAreEqualOnAllEngines(t *testing.T) {
	tasks := map[string]*int{"in JSON": new(int), "in child processes": new(int)}
	runs := *engineRuns
	if testing.Short() {
		runs = min(runs, 10)
	}
	for seed := range uint64(runs) {
		p := program{Name: "story", Seed: seed}
		play := func(opts ...agent.RunOption) *told {
			s := &story{seed: seed}
			res, err := s.agent(t).Run(t.Context(), storyDeps{}, "go", s.options(opts...)...)
			require.NoError(t, err, seed)
			story := tell(res)
			story.marks()
			return story
		}
		want := play()
		others := map[string]*told{
			"with a journal": play(agent.WithJournal(new(journal.Memory))),
			"in JSON":        play(p.inJSON(tasks["in JSON"])),
		}
		if seed%5 == 0 {
			others["in child processes"] = play(p.inChildren(tasks["in child processes"]))
		}
		for name, got := range others {
			require.Equal(t, want.Output, got.Output, "%s: seed %d", name, seed)
			require.Equal(t, want.Requests, got.Requests, "%s: seed %d", name, seed)
			require.Equal(t, want.Tokens, got.Tokens, "%s: seed %d", name, seed)
			require.Equal(t, show(t, want.Messages), show(t, got.Messages), "%s: seed %d", name, seed)
		}
	}
	for name, n := range tasks {
		t.Logf("%s: %d tasks", name, *n)
		require.Positive(t, *n)
	}
}
