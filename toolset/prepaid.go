// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"sync"

	"github.com/ponte-go/ponte/agent/model"
)

// Prepay counts on m, before a recorded run inside it resumes, what the run's records say it has used. Without that, runs that resume
// side by side could together use more than the limits of m allow, because each would count its own records only as it replays them.
// [Replay] passes the amount on to the run. The returned function settles what no run has asked for, and returns it: it is taken back,
// or stays counted if keep is set, because the run is not resumed any more.
//
// Package agent does this for runs with a journal. Engines that record runs in another way can do the same.
func Prepay(m *Meter, runID string, recorded Usage) (settle func(keep bool) (left Usage)) {
	m.Add(recorded)
	m.mu.Lock()
	defer m.mu.Unlock()
	notes := m.notes()
	if notes.prepaid == nil {
		notes.prepaid = map[string]any{}
	}
	notes.prepaid[runID] = recorded
	return func(keep bool) Usage {
		left, _ := m.claim(runID)
		if !keep {
			m.Add(left.negative())
		}
		return left
	}
}

// Replay starts the replay of a recorded run on its own meter m. Until the returned function ends the replay, what m counts does not
// count again on the meters above it as far as it was prepaid, and their limits are not checked: they were checked when the run did
// what it now replays. The limits of m itself, and of meters below it, are checked as always.
//
// If nothing was prepaid for the run, Replay counts what recorded returns. The end of the replay takes back what was not used.
func Replay(m *Meter, runID string, recorded func() Usage) (end func()) {
	if m.parent == nil {
		return func() {}
	}
	replays.Do(func() { payFrom = (*Usage).pay })
	left, holder := m.parent.claimAbove(runID)
	if holder == nil {
		left = recorded()
	}
	for at := m.parent; at != holder; at = at.parent {
		at.mu.Lock()
		at.used.add(left)
		at.mu.Unlock()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.balance = &left
	return func() {
		m.mu.Lock()
		m.balance = nil
		m.mu.Unlock()
		m.parent.Add(left.negative())
		left = Usage{}
	}
}

var replays sync.Once

// claim removes and returns what was prepaid on m for a run.
func (m *Meter) claim(runID string) (Usage, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.aside == nil {
		return Usage{}, false
	}
	u, ok := m.aside.prepaid[runID].(Usage)
	delete(m.aside.prepaid, runID)
	return u, ok
}

// claimAbove is claim for m or the nearest meter above it on which something was prepaid. It also returns that meter, or nil.
func (m *Meter) claimAbove(runID string) (Usage, *Meter) {
	for at := m; at != nil; at = at.parent {
		if u, ok := at.claim(runID); ok {
			return u, at
		}
	}
	return Usage{}, nil
}

// pay takes u out of a balance, down to zero, and returns the rest. Negative counts are added to
// the balance.
func (b *Usage) pay(u Usage) Usage {
	return Usage{
		Requests:  pay(&b.Requests, u.Requests),
		ToolCalls: pay(&b.ToolCalls, u.ToolCalls),
		Usage: model.Usage{
			InputTokens:      pay(&b.InputTokens, u.InputTokens),
			OutputTokens:     pay(&b.OutputTokens, u.OutputTokens),
			CacheReadTokens:  pay(&b.CacheReadTokens, u.CacheReadTokens),
			CacheWriteTokens: pay(&b.CacheWriteTokens, u.CacheWriteTokens),
			ReasoningTokens:  pay(&b.ReasoningTokens, u.ReasoningTokens),
		},
		Cost:     pay(&b.Cost, u.Cost),
		Unpriced: pay(&b.Unpriced, u.Unpriced),
	}
}

func pay[N int | int64 | float64](balance *N, n N) N {
	paid := min(*balance, n)
	*balance -= paid
	return n - paid
}

// negative returns the usage that takes u back.
func (u Usage) negative() Usage {
	return Usage{
		Requests: -u.Requests, ToolCalls: -u.ToolCalls, Cost: -u.Cost, Unpriced: -u.Unpriced,
		Usage: model.Usage{
			InputTokens: -u.InputTokens, OutputTokens: -u.OutputTokens,
			CacheReadTokens: -u.CacheReadTokens, CacheWriteTokens: -u.CacheWriteTokens, ReasoningTokens: -u.ReasoningTokens,
		},
	}
}
