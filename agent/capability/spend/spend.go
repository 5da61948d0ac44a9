// SPDX-License-Identifier: Apache-2.0

package spend

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/toolset"
)

// Options configures [New]. Store and Windows are required.
type Options[D any] struct {
	// Store has the ledgers.
	Store session.Store
	// Windows are the bounds. All of them apply.
	Windows []Window[D]
	// Prices are needed for windows of cost. A request to a model without a price is then not made.
	Prices model.PriceTable
}

// Window bounds what may be spent in a time. Name, Length, and one of Cost and Tokens are required.
type Window[D any] struct {
	// Name identifies the window in the store and in errors. With another name, it starts anew.
	Name string
	// Length is how long an amount counts.
	Length time.Duration
	// Cost bounds the cost of responses, in the currency of the prices. Tokens bounds their input and output.
	Cost   float64
	Tokens int64
	// Reserve is the amount that a request reserves, in the unit of the window. It should cover an
	// expensive request. 0 means a twentieth of the bound.
	Reserve float64
	// Key returns who spends, such as a user. Each key has its own window. Nil means one window for all.
	Key func(run *toolset.RunContext[D]) string
}

// ErrSpent is wrapped by every [*Error].
var ErrSpent = errors.New("the window is used up")

// Error reports a request that was not made because it did not fit into a window.
type Error struct {
	// Window and Key identify the window.
	Window, Key string
	// Length and Limit belong to the window. Used is the current sum, including reservations of
	// other requests, and Reserve is the amount that the request would have reserved.
	Length               time.Duration
	Limit, Used, Reserve float64
	// Free is when there will be room, if nothing else is spent until then.
	Free time.Time
}

// Error implements error.
func (e *Error) Error() string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	return fmt.Sprintf("spend: %v: %q has used %s of %s in %v, and a request reserves %s; try again at %s",
		ErrSpent, e.Window, number(e.Used), number(e.Limit), e.Length, number(e.Reserve), e.Free.UTC().Format(time.RFC3339))
}

// Unwrap returns [ErrSpent].
func (e *Error) Unwrap() error { return ErrSpent }

// New returns the capability "spend". agent.New reports invalid options.
func New[D any](o Options[D]) agent.Capability[D] {
	s := &spending[D]{options: o}
	s.options.Windows = append([]Window[D](nil), o.Windows...)
	return agent.Capability[D]{
		Name:     "spend",
		Hooks:    []agent.Hooks[D]{{Request: s.request}},
		Toolsets: []toolset.Toolset[D]{&checked[D]{toolset.Of[D](), s.check}},
	}
}

type spending[D any] struct {
	options Options[D]
	turns   sync.Map
}

func (s *spending[D]) check() error {
	var errs []error
	if s.options.Store == nil {
		errs = append(errs, errors.New("spend: Options.Store is nil"))
	}
	if len(s.options.Windows) == 0 {
		errs = append(errs, errors.New("spend: Options.Windows is empty"))
	}
	seen := map[string]bool{}
	for _, w := range s.options.Windows {
		wrong := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("spend: window %q: "+format, append([]any{w.Name}, args...)...))
		}
		if w.Name == "" || seen[w.Name] {
			wrong("the name must not be empty, nor that of another window")
		}
		seen[w.Name] = true
		if w.Length < time.Second {
			wrong("Length is %v; it must be at least a second", w.Length)
		}
		if (w.Cost > 0) == (w.Tokens > 0) || w.Cost < 0 || w.Tokens < 0 {
			wrong("Cost is %v and Tokens %d; one of them must be positive, the other 0", w.Cost, w.Tokens)
		}
		if w.Cost > 0 && s.options.Prices == nil {
			wrong("a window of cost needs Options.Prices")
		}
		if w.Reserve < 0 || w.Reserve > w.limit() {
			wrong("Reserve is %v; it must be between 0 and the bound", w.Reserve)
		}
	}
	return errors.Join(errs...)
}

func (w *Window[D]) limit() float64 { return max(w.Cost, float64(w.Tokens)) }

func (w *Window[D]) reserve() float64 {
	if w.Reserve > 0 {
		return w.Reserve
	}
	return w.limit() / 20
}

// checked is an empty toolset through which agent.New learns of invalid options.
type checked[D any] struct {
	toolset.Toolset[D]
	check func() error
}

// Check implements [toolset.Checker].
func (c *checked[D]) Check() error { return c.check() }

// request is the Request hook.
func (s *spending[D]) request(ctx context.Context, run *toolset.RunContext[D], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
	var asked model.Info
	if run.Model != nil {
		asked = *run.Model
	}
	prices := toolset.NewMeter(toolset.Limits{})
	if s.options.Prices != nil {
		prices.SetPrices(s.options.Prices)
		prices.SetLimits(toolset.Limits{Cost: 1}) // a price must be known
		if err := s.priced(prices, asked); err != nil {
			return nil, err
		}
	}
	held, err := s.reserve(ctx, run)
	if err != nil {
		return nil, err
	}
	var cutOff model.Usage // of a response that does not come
	watch := func(sink model.Sink) model.Sink {
		return func(d model.Delta) error {
			if d.Usage != nil {
				cutOff = *d.Usage
			}
			return sink(d)
		}
	}
	settle := func(m *model.Message) { // if the model panics, what was reserved counts
		for _, h := range held {
			h.settle(ctx, func(cost bool) float64 { return amountOf(m, prices, asked, cost) })
		}
	}
	resp, err := next(agent.WithSink(ctx, watch), req)
	switch {
	case err != nil || resp == nil:
		settle(&model.Message{Usage: cutOff, Time: time.Now()})
	case resp.Usage != model.Usage{} || len(resp.Parts) == 0:
		settle(resp)
	default: // the provider does not say what it used: what was reserved counts
	}
	return resp, err
}

// priced returns an error if there is a window of cost and a model has no price.
func (s *spending[D]) priced(prices *toolset.Meter, asked model.Info) error {
	for _, w := range s.options.Windows {
		if w.Cost > 0 {
			return prices.CheckPrice(asked, time.Now())
		}
	}
	return nil
}

// amountOf returns the amount that a response counts.
func amountOf(m *model.Message, prices *toolset.Meter, asked model.Info, cost bool) float64 {
	if !cost {
		return float64(m.Usage.TotalTokens())
	}
	counted := *m
	if counted.Time.IsZero() {
		counted.Time = time.Now()
	}
	return prices.Cost(asked, &counted)
}

// reserved is a reservation in a window.
type reserved struct {
	ledger *ledger
	id     string
	cost   bool
}

// reserve reserves what a request may need in every window, or in none.
func (s *spending[D]) reserve(ctx context.Context, run *toolset.RunContext[D]) ([]reserved, error) {
	var held []reserved
	for i := range s.options.Windows {
		w := &s.options.Windows[i]
		key := ""
		if w.Key != nil {
			key = w.Key(run)
		}
		l := &ledger{store: s.options.Store, id: idOf(w.Name, key), name: w.Name, key: key, length: w.Length, limit: w.limit(), turns: &s.turns}
		id, err := l.reserve(ctx, w.reserve())
		if err != nil {
			for _, h := range held {
				h.settle(ctx, func(bool) float64 { return 0 })
			}
			return nil, err
		}
		held = append(held, reserved{l, id, w.Cost > 0})
	}
	return held, nil
}

// settleTime bounds how long a run waits until the ledger has what it spent.
const settleTime = 10 * time.Second

// settle puts what was spent in the place of a reservation. If the store cannot be written to, the reservation counts.
func (h *reserved) settle(ctx context.Context, amount func(cost bool) float64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	_ = h.ledger.settle(ctx, h.id, amount(h.cost))
}
