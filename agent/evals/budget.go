// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// budget is the one for all trials: a meter with the limits, on which each request counts.
type budget struct {
	meter  *toolset.Meter
	prices model.PriceTable
	// limited is set if the meter has limits.
	limited bool
	// over is called when a request was refused.
	over func(err error)
}

// hooks record the runs of a context, and put the budget over them.
func (b *budget) hooks() agent.Hooks[any] {
	h := agent.Hooks[any]{Run: b.recordRun, Request: recordRequest, Call: recordCall}
	if b.counts() {
		h.Run = func(ctx context.Context, run *toolset.RunContext[any], next agent.RunFunc) error {
			run.Meter.SetBudgets(b, b)
			if b.prices != nil {
				run.Meter.SetPrices(b.prices)
			}
			return b.recordRun(ctx, run, next)
		}
	}
	return h
}

// counts reports whether each request is counted when it is made, because there is a limit.
func (b *budget) counts() bool { return b.limited || b.prices != nil }

// Key implements [toolset.Budget].
func (b *budget) Key() any { return b }

// Reserve implements [toolset.Budget].
func (b *budget) Reserve(ctx context.Context, asked model.Info,
	_ *model.Request) (settle func(toolset.Spent) (known bool), err error) {
	if ctx.Value(cachedKey{}) != nil { // nothing is sent
		return func(toolset.Spent) bool { return true }, nil
	}
	p := placeOf(ctx)
	err = b.meter.CheckRequest(asked, 0)
	if err == nil {
		err = b.meter.Request()
	}
	if err != nil {
		err = fmt.Errorf("evals: the budget for all cases is used up: %w", err)
		if p != nil {
			p.mu.Lock()
			p.refused = err
			p.mu.Unlock()
		}
		b.over(err)
		return nil, err
	}
	p.count(toolset.Usage{Requests: 1})
	return func(s toolset.Spent) bool {
		var used toolset.Usage
		switch {
		case s.Unsent:
			used.Requests = -1
		case s.Response != nil:
			used.Usage, used.Cost = s.Response.Usage, b.meter.Cost(s.Asked, s.Response)
		}
		b.meter.Add(used)
		p.count(used)
		return true
	}, nil
}

// count notes what has counted on the budget at a place, which may be nil.
func (p *place) count(used toolset.Usage) {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		addUsage(&p.used, used)
	}
}
