// SPDX-License-Identifier: Apache-2.0

package spend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
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
	// Name identifies the window in the store and in errors. With another name, unit or Length, it
	// is another window, which starts anew. Windows that are the same in these, with one store and
	// key, count together, and the bounds of all of them apply.
	Name string
	// Length is how long an amount counts.
	Length time.Duration
	// Cost bounds the cost of responses, in the currency of the prices. Tokens bounds their input
	// and output.
	Cost   float64
	Tokens int64
	// Reserve is the amount that a request reserves, in the unit of the window. It should cover an
	// expensive request. 0 means a twentieth of the bound.
	Reserve float64
	// Key returns who spends, such as a user. Each key has its own window. Nil means one window
	// for all.
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

// New returns the capability "spend", which is the policy of that name with the windows.
func New[D any](o Options[D]) agent.Capability[D] {
	return agent.Capability[D]{Name: "spend", Policies: []*agent.Policy{Policy("spend", o)}}
}

// Policy returns a policy with windows. agent.New reports invalid options. Windows for dependencies
// of type any fit all agents.
func Policy[D any](name string, o Options[D]) *agent.Policy {
	s := &spending[D]{options: o}
	s.options.Windows = append([]Window[D](nil), o.Windows...)
	return agent.NewPolicy(agent.PolicyConfig[D]{Name: name, Windows: s.budgets, Check: s.check})
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
			wrong("the name must not be empty or that of another window")
		}
		seen[w.Name] = true
		if w.Length < time.Second {
			wrong("Length is %v; it must be at least a second", w.Length)
		}
		number := w.Cost >= 0 && w.Cost <= math.MaxFloat64
		if !number || w.Tokens < 0 || (w.Cost > 0) == (w.Tokens > 0) {
			wrong("Cost is %v and Tokens %d; one of them must be positive, the other 0", w.Cost, w.Tokens)
		}
		if w.Cost > 0 && s.options.Prices == nil {
			wrong("a window of cost needs Options.Prices")
		}
		if !(w.Reserve >= 0 && w.Reserve <= w.limit()) {
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

// budgets returns the windows of a run.
func (s *spending[D]) budgets(run *toolset.RunContext[D]) (all []toolset.Budget) {
	for i := range s.options.Windows {
		all = append(all, &budget[D]{s, &s.options.Windows[i], run})
	}
	return all
}

// budget is a window in a run. It does not ask for its key before there is a request, because the
// loop of a run may have no dependencies.
type budget[D any] struct {
	spending *spending[D]
	window   *Window[D]
	run      *toolset.RunContext[D]
}

// ledgerKey identifies a ledger in this process.
type ledgerKey struct{ store, id any }

// Key implements [toolset.Budget].
func (b *budget[D]) Key() any {
	key := ledgerKey{id: b.window.id(b.key())}
	if store := b.spending.options.Store; reflect.TypeOf(store).Comparable() {
		key.store = store
	}
	return key
}

func (b *budget[D]) key() string {
	if b.window.Key == nil {
		return ""
	}
	return b.window.Key(b.run)
}

// Reserve implements [toolset.Budget].
func (b *budget[D]) Reserve(
	ctx context.Context, asked model.Info, req *model.Request,
) (settle func(toolset.Spent) (known bool), err error) {
	w := b.window
	var price model.Price
	if w.Cost > 0 {
		if price, err = b.price(asked, &model.Message{}); err != nil {
			return nil, err
		}
	}
	l := b.ledger()
	id, err := l.reserve(ctx, w.reserve())
	if err != nil {
		return nil, err
	}
	return func(spent toolset.Spent) bool {
		amount, known := b.amount(&spent)
		if !known {
			if amount = b.unknown(&spent, req, price); amount <= w.reserve() {
				return w.Cost == 0 // what was reserved counts
			}
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
		defer cancel()
		_ = l.settle(ctx, id, amount) // if the store cannot be written to, the reservation counts
		return known || w.Cost == 0
	}, nil
}

func (b *budget[D]) ledger() *ledger {
	w, s := b.window, b.spending
	return &ledger{store: s.options.Store, id: w.id(b.key()), name: w.Name, key: b.key(), length: w.Length, limit: w.limit(), turns: &s.turns}
}

// bounds are what a window does not share with others of its ledger.
type bounds struct{ limit, reserve float64 }

func (b *budget[D]) bounds() bounds { return bounds{b.window.limit(), b.window.reserve()} }

// Check applies the bounds of the window to a request for which another window of its ledger has
// reserved room: see [toolset.Budget].
func (b *budget[D]) Check(ctx context.Context, used toolset.Budget) error {
	other, ok := used.(interface{ bounds() bounds })
	if !ok || other.bounds() == b.bounds() {
		return nil
	}
	l := b.ledger()
	a, err := l.load(ctx)
	if err != nil {
		return err
	}
	l.forget(a, time.Now())
	if sum, own := a.used()-other.bounds().reserve, b.window.reserve(); sum+own > l.limit {
		return l.refuse(a, sum, own)
	}
	return nil
}

// unknown returns what a request of unknown amount may have used: the longest answer that it
// allowed and what was reported, at the price of the model that was asked.
func (b *budget[D]) unknown(spent *toolset.Spent, req *model.Request, price model.Price) float64 {
	longest, reported := toolset.LongestAnswer(req), model.Usage{}
	if spent.Response != nil {
		reported = spent.Response.Usage
	}
	if b.window.Cost == 0 {
		return float64(max(longest, reported.TotalTokens()))
	}
	return max(price.Of(model.Usage{OutputTokens: longest}), price.Of(reported))
}

// settleTime bounds how long a run waits until the ledger has what it spent.
const settleTime = 10 * time.Second

// amount returns the amount that a request counts, if that is known.
func (b *budget[D]) amount(spent *toolset.Spent) (amount float64, known bool) {
	resp := spent.Response
	if spent.Unknown {
		return 0, false
	}
	if resp == nil {
		return 0, true
	}
	none := resp.Usage == model.Usage{}
	if b.window.Cost == 0 {
		return float64(resp.Usage.TotalTokens()), !none
	}
	price, err := b.price(spent.Asked, resp)
	return price.Of(resp.Usage), err == nil && (!none || price.Free())
}

// price returns the price of the model that answered or, if it is unknown, of the model that was
// asked.
func (b *budget[D]) price(asked model.Info, resp *model.Message) (model.Price, error) {
	at := resp.Time
	if at.IsZero() {
		at = time.Now()
	}
	provider := cmp.Or(resp.Provider, asked.Provider)
	if resp.Model != "" {
		if price, ok := b.spending.options.Prices.Price(provider, resp.Model, at); ok {
			return price, nil
		}
	}
	if provider == asked.Provider {
		if price, ok := b.spending.options.Prices.Price(provider, asked.Name, at); ok {
			return price, nil
		}
	}
	return model.Price{}, &toolset.PriceError{Provider: provider, Model: cmp.Or(resp.Model, asked.Name), Err: model.ErrNoPrice}
}
