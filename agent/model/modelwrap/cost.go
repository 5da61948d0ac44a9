// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// Charge is what one response cost.
type Charge struct {
	// Provider and Model say who answered: the response's own, or the wrapped model's where it does not say.
	Provider, Model string
	// Usage is what was used, Price what it was charged at.
	Usage model.Usage
	Price model.Price
	// Amount is the cost, in the currency of the prices. It means nothing if Err is set.
	Amount float64
	// Err is [model.ErrNoPrice] or [model.ErrNoUsage] if the cost is not known, else nil.
	Err error
}

// CostTotal is what the responses of a [Costed] model cost so far.
type CostTotal struct {
	// Amount is the cost of all responses whose cost is known: the Priced ones.
	Amount float64
	Priced int64
	// Usage is what all responses used, priced or not.
	Usage model.Usage
	// Unpriced has, for each "provider/model" without a price, what it used. It is nil if there is none.
	Unpriced map[string]model.Usage
	// Unreported counts the responses without usage.
	Unreported int64
}

// Known reports whether Amount is the cost of all responses.
func (t CostTotal) Known() bool { return len(t.Unpriced) == 0 && t.Unreported == 0 }

// Costed is a model that works out what its responses cost. Make one with [Cost].
type Costed struct {
	model.Model

	info    model.Info
	prices  model.PriceTable
	observe func(context.Context, Charge)

	mu    sync.Mutex
	total CostTotal
}

var _ model.Model = (*Costed)(nil)

// Cost returns a model that works out what each response costs, tells observe (unless it is nil) before Generate returns,
// and keeps the [Costed.Total]. ctx is the request's, so that observe can tell whose bill it is. A response whose cost is
// not known is told as such, in [Charge.Err] and in the total, and not as one that is free; a model that is free has a
// price of zero in the table.
//
// The price is that of the model that answered, so one Cost may stand around a [Fallback]. A request that fails is not
// counted, whatever the provider may charge for it. It panics if m or prices is nil.
func Cost(m model.Model, prices model.PriceTable, observe func(context.Context, Charge)) *Costed {
	mustWrap("Cost", m)
	if prices == nil {
		panic("modelwrap: Cost: there is no table of prices")
	}
	return &Costed{Model: m, info: m.Info(), prices: prices, observe: observe}
}

// Generate implements [model.Model].
func (c *Costed) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	resp, err := c.Model.Generate(ctx, req, sink)
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

// Total returns what the responses cost so far.
func (c *Costed) Total() CostTotal {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.total
	t.Unpriced = maps.Clone(t.Unpriced)
	return t
}
