// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/toolset"
)

// dawdling is a journal whose runs start late, and whose records take their time.
type dawdling struct {
	journal.Journal
	mu  sync.Mutex
	rnd *rand.Rand
}

func (d *dawdling) pause() {
	d.mu.Lock()
	n := d.rnd.IntN(50)
	d.mu.Unlock()
	time.Sleep(time.Duration(n*n) * time.Millisecond)
}

func (d *dawdling) Open(ctx context.Context, run string) (journal.Log, error) {
	d.pause()
	l, err := d.Journal.Open(ctx, run)
	return dawdlingLog{l, d}, err
}

type dawdlingLog struct {
	journal.Log
	d *dawdling
}

func (l dawdlingLog) Append(ctx context.Context, record []byte) error {
	l.d.pause()
	return l.Log.Append(ctx, record)
}

// TestRandomTreesKeepLimitsWhenKilled kills runs of random trees of agents at random records, again and again, and resumes them with a
// limit on requests. In no life is the limit exceeded by what was recorded before and what is done then, and a run that ends has counted
// each of its requests once.
func TestRandomTreesKeepLimitsWhenKilled(t *testing.T) {
	counts := map[string]int{}
	runs := *treeRuns
	if raceEnabled {
		runs = (runs + 3) / 4
	}
	for seed := range uint64(runs) {
		plain := &tree{seed: seed, log: new(treeLog)}
		needed := (&leg{Prompt: "turn 1"}).run(t, plain).Requests
		rnd := rand.New(rand.NewPCG(seed, 1))
		limit := max(1, needed-2+rnd.IntN(4))
		synctest.Test(t, func(t *testing.T) {
			k := &known{Journal: new(journal.Memory)}
			w := &tree{seed: seed, log: new(treeLog)}
			for life := 1; ; life++ {
				recorded, before := k.used(t).Requests, w.models()
				left := 1 + rnd.IntN(12)
				if life > 4 {
					left = 1 << 30
				}
				res, err := w.agent(t).Run(t.Context(), treeDeps{}, "turn 1", agent.WithRunID("r"), agent.WithConversationID("talk"), agent.WithAsker(w.asker(0)),
					agent.WithLimits(agent.Limits{Requests: limit}), agent.WithJournal(&dawdling{
						Journal: &mortal{Journal: k, left: left, written: rnd.IntN(2) == 0}, rnd: rand.New(rand.NewPCG(seed, uint64(life))),
					}))
				made := w.models() - before
				require.LessOrEqual(t, recorded+made, limit, "seed %d, life %d: recorded %d, then made %d", seed, life, recorded, made)
				var used toolset.Usage
				var failed *agent.RunError
				var over *agent.LimitError
				switch {
				case errors.Is(err, errKilled):
					counts["killed"]++
					continue
				case err == nil:
					counts["done"]++
					used = res.Usage
				case errors.As(err, &over):
					counts["limit reached"]++
					return
				default:
					require.ErrorAs(t, err, new(*agent.PendingError), "seed %d", seed)
					require.ErrorAs(t, err, &failed)
					counts["pending"]++
					used = failed.Usage
				}
				require.Equal(t, k.used(t).Requests, used.Requests, "seed %d", seed)
				return
			}
		})
	}
	t.Log(counts)
}

// models returns how many requests the models have answered.
func (w *tree) models() (n int) {
	for _, e := range w.log.all() {
		if e.Said == saidModel {
			n++
		}
	}
	return n
}
