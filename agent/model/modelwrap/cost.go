// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// Charge is the cost of one response.
type Charge struct {
	// Provider and Model identify the model that answered. If the response does not name them, they
	// are those of the wrapped model.
	Provider, Model string
	// Usage is the usage of the response. Price is the price applied to it.
	Usage model.Usage
	Price model.Price
	// Amount is the cost, in the currency of the prices. It is meaningless if Err is set.
	Amount float64
	// Err is [model.ErrNoPrice] or [model.ErrNoUsage] if the cost is unknown, otherwise nil.
	Err error
}

// CostTotal is the total cost of the responses of a [Costed] model.
type CostTotal struct {
	// Amount is the cost of all responses whose cost is known. Priced is their number.
	Amount float64
	Priced int64
	// Usage is the usage of all responses, priced or not.
	Usage model.Usage
	// Unpriced holds the usage of each "provider/model" without a price. It is nil if there is
	// none.
	Unpriced map[string]model.Usage
	// Unreported is the number of responses without usage.
	Unreported int64
}

// Known reports whether Amount is the cost of all responses.
func (t CostTotal) Known() bool { return len(t.Unpriced) == 0 && t.Unreported == 0 }

// Costed is a model that calculates the cost of its responses. [Cost] makes one.
type Costed struct {
	model.Model

	info    model.Info
	prices  model.PriceTable
	observe func(context.Context, Charge)

	mu    sync.Mutex
	total CostTotal
}

var _ model.Model = (*Costed)(nil)

// Cost returns a model that calculates the cost of each response and adds it to [Costed.Total]. If
// observe is not nil, it is called with the charge before Generate returns. It gets the context of
// the request, so it can tell whom to bill. If the cost is unknown, [Charge.Err] and the total say
// so. A free model must have a price of zero in the table.
//
// The price is that of the model that answered, so Cost can wrap a [Fallback]. Failed requests are
// not counted, even if the provider charges for them. Cost panics if m or prices is nil.
func Cost(m model.Model, prices model.PriceTable, observe func(context.Context, Charge)) *Costed {
	mustWrap("Cost", m)
	if prices == nil {
		panic("modelwrap: Cost: price table is nil")
	}
	return &Costed{Model: m, info: m.Info(), prices: prices, observe: observe}
}

// Generate implements [model.Model].
func (c *Costed) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	resp, err := model.Ask(ctx, c.Model, req, sink)
	if err == nil {
		charge := c.charge(resp)
		c.add(&charge)
		if c.observe != nil {
			c.observe(ctx, charge)
		}
	}
	return resp, err
}

func (c *Costed) charge(resp *model.Message) Charge {
	at := resp.Time
	if at.IsZero() {
		at = time.Now()
	}
	charge := Charge{Provider: resp.Provider, Model: resp.Model, Usage: resp.Usage}
	if charge.Provider == "" {
		charge.Provider = c.info.Provider
	}
	if charge.Model == "" {
		charge.Model = c.info.Name
	}
	var ok bool
	switch charge.Price, ok = c.prices.Price(charge.Provider, charge.Model, at); {
	case !ok:
		charge.Err = model.ErrNoPrice
	case charge.Usage == model.Usage{} && !charge.Price.Free():
		charge.Err = model.ErrNoUsage
	default:
		charge.Amount = charge.Price.Of(charge.Usage)
	}
	return charge
}

func (c *Costed) add(charge *Charge) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total.Usage.Add(charge.Usage)
	switch charge.Err {
	case nil:
		c.total.Amount += charge.Amount
		c.total.Priced++
	case model.ErrNoUsage:
		c.total.Unreported++
	default:
		if c.total.Unpriced == nil {
			c.total.Unpriced = map[string]model.Usage{}
		}
		name := charge.Provider + "/" + charge.Model
		usage := c.total.Unpriced[name]
		usage.Add(charge.Usage)
		c.total.Unpriced[name] = usage
	}
}

// Total returns the total cost so far.
func (c *Costed) Total() CostTotal {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.total
	t.Unpriced = maps.Clone(t.Unpriced)
	return t
}
