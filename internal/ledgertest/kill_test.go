// SPDX-License-Identifier: Apache-2.0

package ledgertest_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/internal/ledgertest"
	"github.com/ponte-go/ponte/toolset"
)

var errKilled = errors.New("the process was killed")

// life is a journal in one life of a process, which ends when it has written some records.
type life struct {
	*journal.Memory
	left int
	// writes means that the last record is written before the process dies.
	writes bool

	mu sync.Mutex
	// at is the run whose record was the last one, op what it is about, and refused what it has
	// used if it was not written.
	at, op  string
	dead    bool
	refused toolset.Usage
	// requests have records of the outermost run.
	requests int
}

func (l *life) Open(ctx context.Context, run string) (journal.Log, error) {
	log, err := l.Memory.Open(ctx, run)
	return &lifeLog{log, l, run}, err
}

type lifeLog struct {
	journal.Log
	life *life
	run  string
}

func (l *lifeLog) Append(ctx context.Context, record []byte) error {
	l.life.mu.Lock()
	defer l.life.mu.Unlock()
	var r struct {
		Op   string
		Used toolset.Usage
	}
	if err := json.Unmarshal(record, &r); err != nil {
		return err
	}
	l.life.left--
	if l.life.left <= 0 && (l.life.dead || !l.life.writes) {
		if !l.life.dead {
			l.life.at, l.life.op, l.life.dead, l.life.refused = l.run, r.Op, true, r.Used
		}
		return errKilled
	}
	if r.Op == "model" && l.run == "r" {
		l.life.requests += r.Used.Requests
	}
	if err := l.Log.Append(ctx, record); err != nil || l.life.left > 0 {
		return err
	}
	l.life.at, l.life.op, l.life.dead = l.run, r.Op, true
	return errKilled
}

// TestKilledTreesCountWhatTheProviderWasAsked kills random trees of agents at random records, with
// agents in the background in half of them, and resumes them in a process with a meter of its own,
// again and again. The life that comes to the end counts what was asked in it, and what was recorded
// before: nothing twice, all of it if one call ran at a time and none was under way, and otherwise
// no less than the requests of the outermost run. A window, which no process takes along, counts each request once.
func TestKilledTreesCountWhatTheProviderWasAsked(t *testing.T) {
	counts := map[string]int{}
	for seed := range uint64(*ledgerRuns) {
		killed(t, seed, counts)
	}
	t.Log(counts)
	for _, what := range []string{"killed", "done", "exact", "background", "inside", "check"} {
		require.Positive(t, counts[what], what)
	}
}

func killed(t *testing.T, seed uint64, counts map[string]int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 7))
	o := ledgertest.Options{Parallel: int(seed % 2)}
	if seed%4 >= 2 {
		o.Background = background
	}
	tree := ledgertest.New(seed, o)
	records := new(journal.Memory)
	var before, recorded ledgertest.Ledger // what was asked, and what was recorded of it
	exact, requests := o.Parallel == 1 && o.Background == nil, 0
	for n := 1; ; n++ {
		l := &life{Memory: records, left: 1 + rnd.IntN(12), writes: rnd.IntN(2) == 0}
		if n > 6 {
			l.left = 1 << 30
		}
		meter := new(toolset.Meter)
		_, err := tree.Agent.Run(t.Context(), struct{}{}, "go",
			agent.WithMeter(meter), agent.WithJournal(l), agent.WithRunID("r"))
		where := []any{"seed %d, life %d: %v", seed, n, err}
		sent := tree.Ledger().Counted()
		done := less(sent, before)
		used, _, _, _ := tree.Book.Used()
		require.Equal(t, sent.Usage.TotalTokens(), used, where...)
		if errors.Is(err, errKilled) {
			counts["killed"]++
			if l.at != "r" {
				counts["inside"]++
			}
			if o.Background != nil {
				counts["background"]++
			}
			// Of a call, the runs inside have records of their own.
			exact = exact && l.at == "r" && (l.writes || l.op == "model" || l.op == "check")
			counts[l.op]++
			recorded = less(recorded, less(ledgertest.Of(l.refused), done))
			before, requests = sent, requests+l.requests
			continue
		}
		if err == nil {
			counts["done"]++
		}
		recovered := less(ledgertest.Of(meter.Usage()), done)
		require.LessOrEqual(t, recovered.Requests, before.Requests, where...)
		require.LessOrEqual(t, recovered.Usage.TotalTokens(), before.Usage.TotalTokens(), where...)
		require.GreaterOrEqual(t, recovered.Requests, requests, where...)
		if exact {
			counts["exact"]++
			require.Equal(t, recorded, recovered, where...)
		}
		return
	}
}

// less subtracts what two ledgers count.
func less(a, b ledgertest.Ledger) ledgertest.Ledger {
	a.Requests -= b.Requests
	a.Usage.InputTokens -= b.Usage.InputTokens
	a.Usage.OutputTokens -= b.Usage.OutputTokens
	a.Nano -= b.Nano
	a.Unknown -= b.Unknown
	return a
}
