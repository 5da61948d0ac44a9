// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"sync"
	"time"
)

// debts are sessions that could not be given back, because the server could not be reached. The
// lock of the store would hold them until its end.
type debts struct {
	mu     sync.Mutex
	all    []func() error
	tokens map[int64]bool // of leases whose callers were told that they could not be given back
	tell   chan struct{}  // has an element if there are some
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

// isOwed reports whether a call before has begun to give a lease back, of which err is the outcome
// now. Once the server has answered, it is not owed any more.
func (d *debts) isOwed(token int64, err error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	owed := d.tokens[token]
	switch {
	case err == nil || answered(err):
		delete(d.tokens, token)
	case d.tokens == nil:
		d.tokens = map[int64]bool{token: true}
	default:
		d.tokens[token] = true
	}
	return owed
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
			if err := do(); err == nil || answered(err) {
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
