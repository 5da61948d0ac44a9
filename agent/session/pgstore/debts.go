// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"sync"
	"time"
)

// debts are sessions that could not be given back, because the server could not be reached. The lock of the store would hold them until its end.
type debts struct {
	mu    sync.Mutex
	all   []func() error
	doing chan struct{}  // is closed when what is being done has been done; nil before the first
	paid  map[int64]bool // the tokens of leases that were given back
	tell  chan struct{}  // has an element if there are some
}

// owe has something done again and again until the server has answered.
func (d *debts) owe(do func() error) {
	d.mu.Lock()
	d.all = append(d.all, do)
	d.mu.Unlock()
	select {
	case d.tell <- struct{}{}:
	default:
	}
}

// paidFor notes that a lease was given back.
func (d *debts) paidFor(token int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.paid == nil {
		d.paid = map[int64]bool{}
	}
	d.paid[token] = true
}

// isPaid reports whether a lease was given back, once. The server may have done what is being done already, so its end is waited for.
func (d *debts) isPaid(ctx context.Context, token int64) bool {
	d.mu.Lock()
	doing := d.doing
	d.mu.Unlock()
	if doing != nil {
		select {
		case <-doing:
		case <-ctx.Done():
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	paid := d.paid[token]
	delete(d.paid, token)
	return paid
}

// pay does what is owed, until ctx ends.
func (d *debts) pay(ctx context.Context) {
	for {
		select {
		case <-d.tell:
		case <-ctx.Done():
			return
		}
		d.mu.Lock()
		all := d.all
		d.all = nil
		d.mu.Unlock()
		for i, do := range all {
			if err := d.attempt(do); err == nil || answered(err) {
				continue
			}
			for _, left := range all[i:] {
				d.owe(left)
			}
			select {
			case <-time.After(again):
			case <-ctx.Done():
				return
			}
			break
		}
	}
}

func (d *debts) attempt(do func() error) error {
	done := make(chan struct{})
	defer close(done)
	d.mu.Lock()
	d.doing = done
	d.mu.Unlock()
	return do()
}
