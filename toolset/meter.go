// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"sync"
	"sync/atomic"

	"github.com/ponte-go/ponte/agent/model"
)

// Meter counts what runs use and bounds it. Meters form a tree: what is counted on a meter also counts on the meters above
// it, and a limit of any of them applies. Each run has a meter of its own, with the run's limits, below the meter that it
// was given (agent.WithMeter). A tool that runs another agent passes on [RunInfo.Meter], so that the limits of the outer run
// bound both.
//
// The zero value is ready and has no limits. A Meter is safe for concurrent use and must not be copied.
type Meter struct {
	mu     sync.Mutex
	used   Usage
	limits Limits
	prices model.PriceTable // nil to use those of the meter above
	// parent is the meter above; nil at the top.
	parent *Meter
	// tap marks a meter that stands in for its parent: see Sub.
	tap bool
	// costs says that the meter has prices or a limit on cost, tokens that it has a limit on tokens. Most have none, which
	// must cost next to nothing to find out.
	costs, tokens atomic.Bool
}

// NewMeter returns a meter with limits of its own. Runs that share it ([agent.WithMeter]) are bounded together, for example
// all runs of one user.
//
// [agent.WithMeter]: https://pkg.go.dev/github.com/ponte-go/ponte/agent#WithMeter
func NewMeter(l Limits) *Meter {
	m := new(Meter)
	m.limit(l)
	return m
}

// Child returns a meter below m, with limits of its own, for a run within what m counts.
func (m *Meter) Child(l Limits) *Meter {
	child := &Meter{parent: m}
	child.limit(l)
	return child
}

// Sub returns a meter that stands in for m: it reports the usage and keeps the limits of m. [Meter.Own] returns what was
// counted through it.
func (m *Meter) Sub() *Meter { return &Meter{parent: m, tap: true} }

// SetLimits replaces the meter's own limits.
func (m *Meter) SetLimits(l Limits) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.limit(l)
}

// limit sets the limits; nobody else uses m, or it is locked.
func (m *Meter) limit(l Limits) {
	m.limits = l
	m.costs.Store(m.prices != nil || l.Cost > 0)
	m.tokens.Store(l.InputTokens > 0 || l.OutputTokens > 0 || l.TotalTokens > 0)
}

// countsCost reports whether there are prices or a limit on cost from m to the top.
func (m *Meter) countsCost() bool {
	for at := m; at != nil; at = at.parent {
		if at.costs.Load() {
			return true
		}
	}
	return false
}

// limitsTokens reports whether there is a limit on tokens from m to the top.
func (m *Meter) limitsTokens() bool {
	for at := m; at != nil; at = at.parent {
		if at.tokens.Load() {
			return true
		}
	}
	return false
}

// Own returns what has been counted through this meter. It differs from [Meter.Usage] for a meter made by [Meter.Sub].
func (m *Meter) Own() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// Usage returns what has been counted so far.
func (m *Meter) Usage() Usage {
	if m.tap {
		return m.parent.Usage()
	}
	return m.Own()
}

// Add counts u and returns the new total of the meter. It checks no limit.
func (m *Meter) Add(u Usage) Usage {
	var total Usage
	counting := true
	for at := m; at != nil; at = at.parent {
		at.mu.Lock()
		at.used.add(u)
		if counting && !at.tap {
			total, counting = at.used, false
		}
		at.mu.Unlock()
	}
	return total
}

func (u *Usage) add(more Usage) {
	u.Requests += more.Requests
	u.ToolCalls += more.ToolCalls
	u.Usage.Add(more.Usage)
	u.Cost += more.Cost
	u.Unpriced += more.Unpriced
}

// Request counts a request that is about to be made. If a limit does not allow the request, it counts nothing and returns a
// [*LimitError]; a limit on tokens allows none once it has been exceeded. Of several runs that share a limit, no more make a
// request than it allows.
func (m *Meter) Request() error {
	for at := m; at != nil; at = at.parent { // upwards, as all goroutines do
		at.mu.Lock()
	}
	exceeded := m.request()
	for at := m; at != nil; at = at.parent {
		at.mu.Unlock()
	}
	if exceeded == nil {
		return nil
	}
	return exceeded
}

// request is Request; the meters are locked.
func (m *Meter) request() *LimitError {
	var exceeded *LimitError
	for at := m; at != nil; at = at.parent {
		e := at.limits.tokens(at.used.Usage)
		if at.limits.Requests > 0 && at.used.Requests >= at.limits.Requests {
			e = &LimitError{Limit: LimitRequests, Value: float64(at.used.Requests), Bound: float64(at.limits.Requests)}
		}
		if e != nil {
			e.meter = at
			exceeded = e
		}
	}
	for at := m; at != nil && exceeded == nil; at = at.parent {
		at.used.Requests++
	}
	return exceeded
}

// CheckCalls returns a [*LimitError] if n more tool calls would exceed a limit. It counts nothing.
func (m *Meter) CheckCalls(n int) error {
	if n == 0 {
		return nil
	}
	return m.check(func(l *Limits, u *Usage) *LimitError {
		if bound := max(l.ToolCalls, 0); (bound > 0 || l.ToolCalls == NoToolCalls) && u.ToolCalls+n > bound {
			return &LimitError{Limit: LimitToolCalls, Value: float64(u.ToolCalls + n), Bound: float64(bound)}
		}
		return nil
	})
}

// CheckTokens returns a [*LimitError] if what has been used, with more on top, exceeds a limit on tokens. It counts nothing.
func (m *Meter) CheckTokens(more model.Usage) error {
	if !m.limitsTokens() {
		return nil
	}
	return m.check(func(l *Limits, u *Usage) *LimitError {
		total := u.Usage
		total.Add(more)
		return l.tokens(total)
	})
}

// check looks at the limits from m to the top. If several are exceeded the uppermost counts, because it ends most.
func (m *Meter) check(over func(*Limits, *Usage) *LimitError) error {
	var exceeded *LimitError
	for at := m; at != nil; at = at.parent {
		if at.tap {
			continue
		}
		at.mu.Lock()
		e := over(&at.limits, &at.used)
		at.mu.Unlock()
		if e != nil {
			e.meter = at
			exceeded = e
		}
	}
	if exceeded == nil {
		return nil
	}
	return exceeded
}
