// SPDX-License-Identifier: Apache-2.0

package spend

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
)

// Dir is the directory of the sessions that are ledgers. Hosts do not list them.
const Dir = session.InternalDir + "spend"

// slots is how many amounts a ledger tells apart.
const slots = 60

// ledger is the account of one window for one key.
type ledger struct {
	store     session.Store
	id        string
	name, key string
	length    time.Duration
	limit     float64
	// turns has a channel of one element for each ledger of this process. It keeps runs from taking
	// the lease from one another.
	turns *sync.Map
}

// id returns the id of the session of the ledger. Windows of another unit or length have another
// one: amounts of two units have no sum, and what has left a short window still counts in a long one.
func (w *Window[D]) id(key string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %v %v", w.Name, key, w.Length, w.Cost > 0))
	return "spend-" + hex.EncodeToString(sum[:16])
}

// account is the content of a ledger.
type account struct {
	Version int `json:"v"`
	// Spent are the amounts that count, by the end of the slot of time that they are of, the
	// oldest first.
	Spent []amount `json:"spent,omitempty"`
	// Held are reservations.
	Held []amount `json:"held,omitempty"`
}

type amount struct {
	ID    string  `json:"id,omitempty"`
	At    int64   `json:"at"` // in milliseconds since 1970
	Value float64 `json:"value"`
}

// accountVersion is the version of accounts that this package writes.
const accountVersion = 1

// slot returns the end of the time slot of t. An amount counts for at least the length of the
// window.
func (l *ledger) slot(t time.Time) int64 {
	width := l.length.Milliseconds() / slots
	return (t.UnixMilli()/width + 1) * width
}

// forget drops what is out of the window.
func (l *ledger) forget(a *account, now time.Time) {
	out := func(e amount) bool { return e.At+l.length.Milliseconds() <= now.UnixMilli() }
	a.Spent, a.Held = slices.DeleteFunc(a.Spent, out), slices.DeleteFunc(a.Held, out)
}

func (a *account) used() (sum float64) {
	for _, e := range a.Spent {
		sum += e.Value
	}
	for _, e := range a.Held {
		sum += e.Value
	}
	return sum
}

// reserve reserves an amount. The error is an [*Error] if it does not fit.
func (l *ledger) reserve(ctx context.Context, value float64) (id string, err error) {
	id = rand.Text()
	return id, l.change(ctx, func(a *account, now time.Time) error {
		if used := a.used(); used+value > l.limit {
			return l.refuse(a, used, value)
		}
		a.Held = append(a.Held, amount{id, l.slot(now), value})
		return nil
	})
}

// refuse returns the error of a request that does not fit.
func (l *ledger) refuse(a *account, used, value float64) *Error {
	return &Error{Window: l.name, Key: l.key, Length: l.length, Limit: l.limit, Used: used, Reserve: value, Free: l.free(a, used+value-l.limit)}
}

// free returns when enough has left the window.
func (l *ledger) free(a *account, excess float64) time.Time {
	all := slices.Concat(a.Spent, a.Held)
	slices.SortFunc(all, func(x, y amount) int { return cmp.Compare(x.At, y.At) })
	var at int64
	for _, e := range all {
		if excess <= 0 {
			break
		}
		at, excess = e.At, excess-e.Value
	}
	return time.UnixMilli(at).Add(l.length).UTC()
}

// settle replaces a reservation by what was spent.
func (l *ledger) settle(ctx context.Context, id string, value float64) error {
	return l.change(ctx, func(a *account, now time.Time) error {
		a.Held = slices.DeleteFunc(a.Held, func(e amount) bool { return e.ID == id })
		if value <= 0 {
			return nil
		}
		at := l.slot(now)
		if n := len(a.Spent); n > 0 && a.Spent[n-1].At >= at { // a clock may have gone back
			a.Spent[n-1].Value += value
		} else {
			a.Spent = append(a.Spent, amount{At: at, Value: value})
		}
		return nil
	})
}

// change changes the account. Of several changes at the same time, in whatever processes, each sees
// the one before it: the last process to take the lease can write, and the others begin again.
func (l *ledger) change(ctx context.Context, change func(a *account, now time.Time) error) error {
	turn, _ := l.turns.LoadOrStore(l.id, make(chan struct{}, 1))
	select {
	case turn.(chan struct{}) <- struct{}{}:
		defer func() { <-turn.(chan struct{}) }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		err := l.try(ctx, change)
		if !errors.Is(err, session.ErrLeaseLost) && !errors.Is(err, session.ErrHeadMoved) {
			return err
		}
		select {
		case <-time.After(mathrand.N(wait) + 1):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (l *ledger) try(ctx context.Context, change func(a *account, now time.Time) error) error {
	lease, err := l.store.Acquire(ctx, l.id, session.Claim{Holder: "spend", Force: true})
	if errors.Is(err, session.ErrNotFound) {
		_, err = l.store.Create(ctx, session.New{ID: l.id, Title: "Spending: " + l.name, Dir: Dir, Values: l.stale()})
		if err == nil || errors.Is(err, session.ErrExists) {
			lease, err = l.store.Acquire(ctx, l.id, session.Claim{Holder: "spend", Force: true})
		}
	}
	if err != nil {
		return fmt.Errorf("spend: %w", err)
	}
	defer func() { _ = l.store.Release(context.WithoutCancel(ctx), lease) }() // it may have been taken
	a, err := l.load(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	l.forget(a, now)
	if err := change(a, now); err != nil {
		return err
	}
	data, err := json.Marshal(content{Message: model.Message{Kind: model.KindRequest}, Account: a})
	if err != nil {
		return fmt.Errorf("spend: %w", err)
	}
	// It takes the place of the entry before it: there is never more than one.
	if _, err = l.store.Append(ctx, lease, lease.Head, session.Batch{Entries: []session.Entry{{Kind: session.KindMessage, Key: "account", Data: data}}}); err != nil {
		return fmt.Errorf("spend: %w", err)
	}
	return nil
}

// stale returns the values that let [session.Prune] remove the ledger once nothing can be in the
// window any more. Clocks may differ by a slot.
func (l *ledger) stale() map[string]json.RawMessage {
	return session.StaleAfter(l.length + 2*l.length/slots + time.Second)
}

// content is the data of the entry: a message without content, for readers that open the session as
// a conversation, and the account.
type content struct {
	Message model.Message `json:"message"`
	Account *account      `json:"account"`
}

func (l *ledger) load(ctx context.Context) (*account, error) {
	a := new(account)
	for e, err := range l.store.Load(ctx, l.id, 0) {
		if err != nil {
			return nil, fmt.Errorf("spend: %w", err)
		}
		c := content{Account: new(account)}
		if err := json.Unmarshal(e.Data, &c); err != nil {
			return nil, fmt.Errorf("spend: the ledger %s: %w: %w", l.id, session.ErrCorrupt, err)
		}
		if c.Account == nil {
			continue // not ours
		}
		if a = c.Account; a.Version > accountVersion {
			return nil, fmt.Errorf("spend: the ledger %s: %w", l.id, session.ErrVersion)
		}
	}
	a.Version = accountVersion
	return a, nil
}
