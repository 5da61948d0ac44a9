// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/journal"
)

var engineRuns = flag.Int("engine-runs", 8, "how many random runs are compared on all engines; a fifth of them in child processes")

// anyOrder is an engine whose tasks are done one after another, in any order.
type anyOrder struct {
	worker engine.Worker
	order  *rand.Rand
}

type anyTime struct {
	ctx  context.Context
	task *engine.Task
	done *engine.Done
}

func (f *anyTime) Done() *engine.Done { return f.done }

func (e *anyOrder) Begin(context.Context) (engine.Beginning, error) {
	return engine.Beginning{At: engine.TimeOf(time.Now()), RunID: "run", ConversationID: "conversation"}, nil
}

func (e *anyOrder) Start(ctx context.Context, t *engine.Task) engine.Future {
	return &anyTime{ctx: ctx, task: t}
}

func (e *anyOrder) WaitAny(futures []engine.Future, l engine.Listener) int {
	i := e.order.IntN(len(futures))
	f := futures[i].(*anyTime)
	f.done = new(engine.Done)
	e.worker.Do(f.ctx, f.task, l, f.done)
	f.done.At = engine.TimeOf(time.Now())
	return i
}

// TestRandomRunsAreEqualOnAllEngines plays random runs natively, with a journal, with every task taken through JSON, with tasks that
// are done in any order, and with every task in a process of its own. Their histories, outputs and usage are equal.
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
			"in any order": play(agent.WithEngine(func(_ context.Context, local engine.Worker) (engine.Engine, error) {
				return &anyOrder{worker: local, order: rand.New(rand.NewPCG(seed, 0))}, nil
			})),
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
