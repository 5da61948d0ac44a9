// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// Meter counts the usage of runs and enforces limits. Meters form a tree: what is counted on a meter also counts on the
// meters above it, and the limits of all of them apply. Each run has its own meter with the run's limits, below the meter
// set with agent.WithMeter. A tool that runs another agent passes on [RunInfo.Meter], so the limits of the outer run
// apply to the inner run too.
//
// The zero value is ready to use and has no limits. A Meter is safe for concurrent use. It must not be copied.
type Meter struct {
	_      [0]func() // no code to compare meters
	mu     sync.Mutex
	used   Usage
	limits Limits
	prices model.PriceTable // nil to use the prices of the meter above
	// parent is the meter above; nil at the top.
	parent *Meter
	// tap marks a meter that forwards to its parent: see Sub. shared says that the meter may outlive its runs, and must not keep their
	// contexts.
	tap, shared bool
	// copied marks a meter that was made from the state of another one.
	copied bool
	// costs is set if the meter has prices or a limit on cost, tokens if it has a token limit. Most meters have neither,
	// and checking for that must be cheap.
	costs, tokens atomic.Bool
	// balance is the prepaid usage of the run while it is replayed. See Replay.
	balance *Usage
	// aside is nil on most meters.
	aside *aside
	// door is for requests that follow one another in one context, as in most runs.
	door door
	// budgets are set with SetBudgets.
	budgets atomic.Pointer[budgets]
}

// aside belongs to the runs and tasks below a meter.
type aside struct {
	// prepaid is the Usage that was counted ahead for runs, by their ids. See Prepay.
	prepaid map[string]any // a map[string]Usage would be one more type in every program
	// lent is the sum of all grants. See Grant.
	lent Limits
}

// notes returns aside. The meter is locked.
func (m *Meter) notes() *aside {
	if m.aside == nil {
		m.aside = new(aside)
	}
	return m.aside
}

// payFrom takes a usage out of a balance and returns the rest. Replay sets it: programs without a
// journal do not link it.
var payFrom func(balance *Usage, u Usage) Usage

// NewMeter returns a meter with its own limits. Runs that share it ([agent.WithMeter]) are limited together, for example
// all runs of one user.
//
// [agent.WithMeter]: https://pkg.go.dev/github.com/ponte-go/ponte/agent#WithMeter
func NewMeter(l Limits) *Meter {
	m := &Meter{shared: true}
	m.limit(l)
	return m
}

// Child returns a meter below m with its own limits, for a run that m counts.
func (m *Meter) Child(l Limits) *Meter {
	child := &Meter{parent: m}
	child.limit(l)
	return child
}

// Sub returns a meter that forwards to m: it reports the usage of m and applies its limits. [Meter.Own] returns what was
// counted through it. A tool that runs several agents can measure each with a Sub of [RunInfo.Meter].
func (m *Meter) Sub() *Meter { return &Meter{parent: m, tap: true} }

// Outlive returns a meter for work that continues after the task of m has ended, such as an agent in
// the background. It forwards to the meter of the run. [Meter.Adopt] attributes the work to a later
// task.
func (m *Meter) Outlive() *Meter {
	for m.tap {
		m = m.parent
	}
	return m.Sub()
}

// Adopt makes what was counted through a meter of [Meter.Outlive] a part of the usage of the task of
// m, which engines record. The run has counted it already. Call it once, when the work has ended.
func (m *Meter) Adopt(ended *Meter) {
	for u := ended.Own(); m.tap; m = m.parent {
		m.mu.Lock()
		m.used.add(u)
		m.mu.Unlock()
	}
}

// SetLimits replaces the meter's own limits.
func (m *Meter) SetLimits(l Limits) {
	m.mu.Lock()
	m.limit(l)
	m.mu.Unlock()
}

// limit sets the limits. The caller holds the lock of m, or is its only user.
//
//go:noinline
func (m *Meter) limit(l Limits) {
	m.limits = l
	m.costs.Store(m.prices != nil || l.Cost > 0)
	m.tokens.Store(l.InputTokens > 0 || l.OutputTokens > 0 || l.TotalTokens > 0)
}

// countsCost reports whether m or any meter above it has prices or a limit on cost.
//
//go:noinline
func (m *Meter) countsCost() bool {
	for at := m; at != nil; at = at.parent {
		if at.costs.Load() {
			return true
		}
	}
	return false
}

// limitsTokens reports whether m or any meter above it has a token limit.
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
	used := m.used
	m.mu.Unlock()
	return used
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
		if at.balance != nil {
			u = payFrom(at.balance, u)
		}
		at.mu.Unlock()
	}
	return total
}

func (u *Usage) add(more Usage) {
	u.Requests += more.Requests
	u.ToolCalls += more.ToolCalls
	u.Usage.Add(more.Usage)
	if more.Cost != 0 {
		u.Cost = nano(u.Cost + more.Cost)
	}
	u.Unpriced += more.Unpriced
}

// nano rounds a cost to whole billionths, so that sums do not depend on the order of what is added.
func nano(cost float64) float64 { return math.Round(cost*1e9) / 1e9 }

// CheckRequest returns the error that the next request of a run would have: a [*LimitError] if a limit does not allow it, a
// [*PriceError] if there is a limit on cost and the model has no price. It counts nothing. steps is how many steps the run has made,
// which are limited like requests even if hooks answered them without a request.
func (m *Meter) CheckRequest(asked model.Info, steps int) error {
	if m.countsCost() {
		if err := m.CheckPrice(asked, time.Now()); err != nil {
			return err
		}
	}
	own := true
	return m.check(func(l *Limits, u *Usage) *LimitError {
		n := u.Requests
		if own {
			n, own = max(n, steps), false
		}
		if l.Requests > 0 && n >= l.Requests {
			return &LimitError{Limit: LimitRequests, Value: float64(n), Bound: float64(l.Requests)}
		}
		return l.tokens(u.Usage)
	})
}

// Request counts a request that is about to be made. If a limit does not allow it, Request counts
// nothing and returns a [*LimitError]. Once a token limit is exceeded, further requests are
// refused. Runs that share a limit never make more requests than it allows, even if they call
// Request concurrently.
func (m *Meter) Request() error {
	for at := m; at != nil; at = at.parent { // upwards, in the same order in every goroutine
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

// request implements Request. The meters are locked.
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
		if at.balance != nil {
			break
		}
	}
	n := 1
	for at := m; at != nil && exceeded == nil; at = at.parent {
		at.used.Requests += n
		if at.balance != nil && at.balance.Requests >= n {
			at.balance.Requests -= n
			n = 0
		}
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

// CheckTokens returns a [*LimitError] if the usage so far plus more exceeds a token limit. It counts nothing.
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

// check checks the limits of m and all meters above it. If several are exceeded, it returns the error of the topmost,
// which ends the most runs.
func (m *Meter) check(over func(*Limits, *Usage) *LimitError) error {
	var exceeded *LimitError
	for at := m; at != nil; at = at.parent {
		if at.tap {
			continue
		}
		at.mu.Lock()
		e, covered := over(&at.limits, &at.used), at.balance != nil
		at.mu.Unlock()
		if e != nil {
			e.meter = at
			exceeded = e
		}
		if covered {
			break
		}
	}
	if exceeded == nil {
		return nil
	}
	return exceeded
}
