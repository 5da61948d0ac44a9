// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// SetPrices sets the price table for runs on m, and on meters below m without a table. Without a
// table, cost is not counted.
func (m *Meter) SetPrices(t model.PriceTable) {
	m.mu.Lock()
	m.prices = t
	m.limit(m.limits)
	m.mu.Unlock()
}

// PriceError reports that a request was not made because there is a limit on cost and the price of the model is unknown.
type PriceError struct {
	// Provider and Model identify the model that would have been asked.
	Provider, Model string
	// Err is [model.ErrNoPrice].
	Err error

	meter *Meter
}

// Error implements error.
func (e *PriceError) Error() string {
	text := fmt.Sprintf("limit on cost: %s %s: %v", e.Provider, e.Model, e.Err)
	if e.Err == model.ErrNoPrice {
		text += ": add the model to Config.Prices"
	}
	return text
}

// Unwrap returns the cause.
func (e *PriceError) Unwrap() error { return e.Err }

// Applies reports whether the limit on cost belongs to m or to a meter above m. See [LimitError.Applies].
func (e *PriceError) Applies(m *Meter) bool { return e.meter.bounds(m) }

// bounds reports whether m is a meter or an ancestor of it. The limit of a nil meter bounds nothing.
func (m *Meter) bounds(at *Meter) bool {
	for ; at != nil; at = at.parent {
		if at == m {
			return true
		}
	}
	return false
}

// CheckPrice checks a request to a model against the limit on cost. It returns a [*PriceError] if
// the price is unknown, and a [*LimitError] if the limit is used up. It returns nil without a limit
// on cost.
func (m *Meter) CheckPrice(asked model.Info, at time.Time) error {
	if !m.countsCost() {
		return nil
	}
	limit := m.costLimit()
	if limit == nil {
		return nil
	}
	if _, ok := m.price(asked, "", "", at); !ok {
		return &PriceError{Provider: asked.Provider, Model: asked.Name, Err: model.ErrNoPrice, meter: limit}
	}
	return m.spent()
}

// spent returns a [*LimitError] if a limit on cost is used up.
func (m *Meter) spent() error {
	if !m.countsCost() {
		return nil
	}
	return m.check(func(l *Limits, u *Usage) *LimitError {
		if l.Cost > 0 && u.Cost >= l.Cost {
			return &LimitError{Limit: LimitCost, Value: u.Cost, Bound: l.Cost}
		}
		return nil
	})
}

// Cost returns the cost of a response, at the price of the model that answered or, if that is unknown, of the model that was asked. It
// returns 0 if there is no price, and counts nothing.
func (m *Meter) Cost(asked model.Info, resp *model.Message) float64 {
	if !m.countsCost() {
		return 0
	}
	price, _ := m.price(asked, resp.Provider, resp.Model, resp.Time)
	return price.Of(resp.Usage)
}

// CheckCost returns a [*LimitError] if the cost so far plus more exceeds a limit on cost. It counts nothing.
func (m *Meter) CheckCost(more float64) error {
	if !m.countsCost() {
		return nil
	}
	return m.check(func(l *Limits, u *Usage) *LimitError {
		if l.Cost > 0 && u.Cost+more > l.Cost {
			return &LimitError{Limit: LimitCost, Value: u.Cost + more, Bound: l.Cost}
		}
		return nil
	})
}

// price looks up a model in the nearest table: the model that answered or, if its own provider answered, the model that
// was asked.
func (m *Meter) price(asked model.Info, provider, name string, at time.Time) (model.Price, bool) {
	table := m.table()
	if table == nil {
		return model.Price{}, false
	}
	if provider == "" {
		provider = asked.Provider
	}
	if name != "" {
		if price, ok := table.Price(provider, name, at); ok {
			return price, true
		}
	}
	if provider != asked.Provider {
		return model.Price{}, false
	}
	return table.Price(asked.Provider, asked.Name, at)
}

func (m *Meter) hasPrices() bool { return m.table() != nil }

// table returns the prices of m, or of the nearest meter above it that has prices.
func (m *Meter) table() model.PriceTable {
	for at := m; at != nil; at = at.parent {
		at.mu.Lock()
		t := at.prices
		at.mu.Unlock()
		if t != nil {
			return t
		}
	}
	return nil
}

// costLimit returns the topmost meter that has a limit on cost, or nil.
func (m *Meter) costLimit() (limit *Meter) {
	for at := m; at != nil; at = at.parent {
		at.mu.Lock()
		if at.limits.Cost > 0 {
			limit = at
		}
		at.mu.Unlock()
	}
	return limit
}

// amount formats a number for people: whole numbers without a fraction, others with at most six decimal places.
func amount(v float64) string {
	s := strconv.FormatFloat(v, 'f', 6, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
