// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"context"
	"slices"
	"sync"

	"github.com/ponte-go/ponte/agent/model"
)

// Budget is room for requests that outlasts a run, such as a spending window of a user. It must be safe for concurrent use.
type Budget interface {
	// Key identifies the budget. If a meter and those above it have several budgets with one key,
	// the topmost is used. Others may refuse the request, if they have a method
	// Check(ctx context.Context, used Budget) error. A key must be comparable.
	Key() any
	// Reserve reserves room for a request to asked, the model that the run asks. If it returns an error, the request is not sent.
	// Otherwise the returned function is called once, with what the request has used. It reports whether it knows what that cost;
	// a request of unknown cost counts in [Usage.Unpriced].
	Reserve(ctx context.Context, asked model.Info, req *model.Request) (settle func(Spent) (known bool), err error)
}

// Spent is what a request has used of a [Budget].
type Spent struct {
	// Asked is the model that the request was sent to. It may be one that the model of the run asks.
	Asked model.Info
	// Unsent is set if the request was not sent: it was taken back, or the model has asked others, whose requests reserve room themselves.
	Unsent bool
	// Response has the usage. It is nil if the request was not sent or was refused. If it failed later, there is nothing but the usage
	// that was reported.
	Response *model.Message
	// Unknown is set if the request timed out, was cancelled, or broke off: the usage may be larger.
	Unknown bool
}

// SetBudgets sets the budgets of an owner for all requests that m and the meters below it count. They replace the earlier budgets of
// this owner on m, and apply together with those of other owners. If a meter above has budgets of the owner, these apply instead.
// An owner must be comparable.
func (m *Meter) SetBudgets(owner any, list ...Budget) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := &budgets{wrap: budgeted}
	if before := m.budgets.Load(); before != nil {
		all.list = slices.DeleteFunc(slices.Clone(before.list), func(o owned) bool { return o.owner == owner })
	}
	for _, b := range list {
		all.list = append(all.list, owned{owner, b})
	}
	m.budgets.Store(all)
}

// budgets are those of a meter. wrap is a field because programs without budgets need not link it.
type budgets struct {
	list []owned
	wrap func(d *door, to model.Model) model.Model
}

// has reports whether there are budgets of the owner of o.
func (b *budgets) has(o owned) bool {
	return slices.ContainsFunc(b.list, func(own owned) bool { return own.owner == o.owner })
}

type owned struct {
	owner any
	Budget
}

// within returns the model for a request: one that reserves room first, if there are budgets.
//
//go:noinline
func (d *door) within(to model.Model) model.Model {
	for at := d.meter; at != nil; at = at.parent {
		if b := at.budgets.Load(); b != nil && len(b.list) > 0 {
			return b.wrap(d, to)
		}
	}
	return to
}

func budgeted(d *door, to model.Model) model.Model {
	b := &budgetedModel{Model: to, door: d}
	for at := d.meter; at != nil; at = at.parent {
		if own := at.budgets.Load(); own != nil {
			b.list = slices.Concat(own.list, slices.DeleteFunc(b.list, own.has))
		}
	}
	return b
}

// budgetedModel reserves room for a request to a model.
type budgetedModel struct {
	model.Model
	door *door
	list []owned
}

// Generate implements [model.Model].
func (b *budgetedModel) Generate(ctx context.Context, req *model.Request, sink model.Sink) (resp *model.Message, err error) {
	h := &held{door: b.door, context: ctx}
	if err := h.reserve(ctx, b.list, req); err != nil {
		b.door.Unsent()
		return nil, err
	}
	spent := Spent{Asked: b.Model.Info(), Unknown: true} // if the model panics
	var reported model.Usage
	began := false
	if take := sink; take != nil {
		sink = func(d model.Delta) error {
			if d.Usage != nil {
				reported = *d.Usage
			}
			began = began || d.Kind != "" || d.Whole != nil
			return take(d)
		}
	}
	defer func() {
		switch {
		case resp != nil && err == nil:
			spent.Response = resp
		case reported != model.Usage{}:
			spent.Response = &model.Message{Usage: reported}
		}
		h.settle(spent)
	}()
	resp, err = b.Model.Generate(h, req, sink)
	spent.Unknown = (err != nil || resp == nil) && unanswered(ctx, began, err)
	return resp, err
}

// held is what a request has reserved. It is the context of the request, to give that back if the model asks others.
type held struct {
	*door
	context context.Context
	once    sync.Once
	settles []func(Spent) bool
}

// reserve reserves room in all budgets, or in none.
func (h *held) reserve(ctx context.Context, list []owned, req *model.Request) error {
	var keys []any
	var used []Budget
	for _, budget := range list {
		key := budget.Key()
		var settle func(Spent) bool
		var err error
		if i := slices.Index(keys, key); i < 0 {
			settle, err = budget.Reserve(ctx, h.asked.Info(), req)
		} else if c, ok := budget.Budget.(interface {
			Check(ctx context.Context, used Budget) error
		}); !ok {
			continue
		} else if err = c.Check(ctx, used[i]); err == nil {
			continue
		}
		if err != nil {
			h.settle(Spent{Unsent: true})
			return err
		}
		keys, used = append(keys, key), append(used, budget.Budget)
		h.settles = append(h.settles, settle)
	}
	return nil
}

func (h *held) settle(s Spent) {
	h.once.Do(func() {
		for _, settle := range h.settles {
			if !settle(s) {
				h.unknown.Store(true)
			}
		}
	})
}

// Value implements [context.Context].
func (h *held) Value(key any) any {
	if _, ok := key.(model.GateKey); ok {
		return h
	}
	return h.context.Value(key)
}

// Ask implements [model.Gate].
func (h *held) Ask(ctx context.Context, to model.Model, req *model.Request, sink model.Sink) (*model.Message, error) {
	h.settle(Spent{Unsent: true})
	return h.door.Ask(ctx, to, req, sink)
}

// Unsent implements [model.Gate].
func (h *held) Unsent() {
	h.settle(Spent{Unsent: true})
	h.door.Unsent()
}
