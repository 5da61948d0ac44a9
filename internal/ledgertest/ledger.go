// SPDX-License-Identifier: Apache-2.0

// Package ledgertest makes random trees of agents whose provider keeps a ledger of its requests. The runs must have counted the same:
// no request is counted twice, none is missed, and each has the usage and the price of the model that answered.
package ledgertest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Ledger counts the requests that the provider of a tree received. Nano is their cost in billionths of the currency.
type Ledger struct {
	Requests int
	Usage    model.Usage
	Nano     int64
	// Unknown is how many requests have a cost that the provider does not know.
	Unknown int
	// Parallel is how many requests were under way at the same time, at most.
	Parallel int
	// Happened counts what the requests came to.
	Happened map[string]int
}

// MaxTokens bounds the tokens of one request.
const MaxTokens = 2 * 999

// Of returns what a usage says in the terms of a ledger.
func Of(u toolset.Usage) Ledger {
	return Ledger{Requests: u.Requests, Usage: u.Usage, Nano: int64(math.Round(u.Cost * 1e9)), Unknown: u.Unpriced}
}

// Counted returns what must be counted.
func (l Ledger) Counted() Ledger {
	return Ledger{Requests: l.Requests, Usage: l.Usage, Nano: l.Nano, Unknown: l.Unknown}
}

// provider answers the requests of a tree.
type provider struct {
	mu     sync.Mutex
	rnd    *rand.Rand
	ledger Ledger
	active int
	cancel context.CancelFunc
}

func (p *provider) n(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rnd.IntN(n)
}

// prices has prices for all models but those whose names begin with "free" or "unknown".
type prices struct{}

// Price implements [model.PriceTable].
func (prices) Price(_, name string, _ time.Time) (model.Price, bool) {
	switch {
	case strings.HasPrefix(name, "unknown"):
		return model.Price{}, false
	case strings.HasPrefix(name, "free"):
		return model.Price{}, true
	}
	n := float64(len(name)%7 + 1)
	return model.Price{Input: 0.1 * n, Output: 1.7 * n, Request: 0.0013}, true
}

// names has the names of the models.
var names = []string{"model-a", "model-bb", "model-ccc", "free-d", "unknown-e"}

func (p *provider) count(f func(l *Ledger)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.ledger)
}

// answered enters a response, or what was said of one that was cut off. It has the price of the model that answered or, if that is
// unknown, of the one that was asked.
func (l *Ledger) answered(asked, name string, u model.Usage) {
	l.Usage.Add(u)
	price, ok := prices{}.Price("p", name, time.Time{})
	if !ok {
		price, ok = prices{}.Price("p", asked, time.Time{})
	}
	switch {
	case !ok, u == model.Usage{} && !price.Free():
		l.Unknown++
		l.Happened["unknown cost"]++
	default:
		l.Nano += int64(math.Round(price.Of(u) * 1e9))
	}
}

// leaf returns a model of the provider. answer makes its responses.
func (p *provider) leaf(answer func(req *model.Request) *model.Message) model.Model {
	name := names[p.n(len(names))]
	return model.Func(model.Info{Provider: "p", Name: name, NativeOutput: true}, func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		p.count(func(l *Ledger) {
			l.Requests++
			p.active++
			l.Parallel = max(l.Parallel, p.active)
		})
		defer p.count(func(*Ledger) { p.active-- })
		return p.respond(ctx, name, answer(req), sink)
	})
}

func (p *provider) respond(ctx context.Context, name string, resp *model.Message, sink model.Sink) (*model.Message, error) {
	happens := func(what string) { p.count(func(l *Ledger) { l.Happened[what]++ }) }
	asked := name
	usage := model.Usage{InputTokens: int64(1 + p.n(999)), OutputTokens: int64(1 + p.n(999))}
	if err := ctx.Err(); err != nil {
		happens("late")
		p.count(func(l *Ledger) { l.lost(name) })
		return nil, err
	}
	switch roll := p.n(100); {
	case roll < 6:
		happens("refused")
		p.count(func(l *Ledger) {
			if ctx.Err() != nil { // nobody can tell any more who has ended the request
				l.lost(name)
			}
		})
		return nil, &model.APIError{Provider: "p", Model: name, Status: 503, Retryable: true}
	case roll < 10 && sink != nil:
		err := sink(model.Delta{Usage: &usage})
		if err == nil {
			happens("cut off")
		}
		p.count(func(l *Ledger) {
			if ctx.Err() == nil {
				l.answered(name, name, usage)
			} else { // there may have been more than what was said
				l.Usage.Add(usage)
				l.lost(name)
			}
		})
		if err != nil {
			return nil, err
		}
		return nil, &model.APIError{Provider: "p", Model: name, Message: "broken"}
	case roll < 11:
		happens("timed out")
		p.count(func(l *Ledger) { l.lost(name) })
		return nil, fmt.Errorf("after a minute: %w", context.DeadlineExceeded)
	case roll < 13 && p.cancel != nil:
		happens("cancelled")
		p.cancel()
		p.count(func(l *Ledger) { l.lost(name) })
		return nil, context.Canceled
	case roll < 16:
		happens("unusable")
		resp = &model.Message{Kind: model.KindResponse, Finish: model.FinishError}
	case roll < 19:
		usage = model.Usage{}
	case roll < 25:
		name = names[p.n(len(names))]
		happens("answered by another")
	}
	resp.Usage, resp.Provider, resp.Model = usage, "p", name
	p.count(func(l *Ledger) { l.answered(asked, name, usage) })
	if sink != nil {
		if err := sink(model.Delta{Usage: &usage}); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

// lost enters a request without an answer.
func (l *Ledger) lost(name string) {
	if price, ok := (prices{}).Price("p", name, time.Time{}); !ok || !price.Free() {
		l.Unknown++
	}
}

// Ledger returns the ledger of the provider.
func (t *Tree) Ledger() Ledger {
	t.provider.mu.Lock()
	defer t.provider.mu.Unlock()
	return t.provider.ledger
}
