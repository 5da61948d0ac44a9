// SPDX-License-Identifier: Apache-2.0

package sessiontest

import (
	"context"
	"slices"
	"testing"

	"github.com/ponte-go/ponte/agent/session"
)

// Target is an empty store for one rule.
type Target struct {
	// Open opens the sessions of the target, each time as another process would, or returns the
	// same store if one process at a time can open them. It is called at least once.
	Open func() (session.Store, error)
	// Larger means that sessions have a larger Size than the data that was appended, because it is
	// stored in another form.
	Larger bool
	// Close is called in the end, if it is not nil.
	Close func()
}

// Run checks a store. newTarget is called once for each rule.
func Run(t *testing.T, newTarget func(t *testing.T) *Target) {
	t.Helper()
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			target := newTarget(t)
			if target.Close != nil {
				defer target.Close()
			}
			if err := r.run(t.Context(), target); err != nil {
				t.Error(err)
			}
		})
	}
}

// rule is one promise of the contract.
type rule struct {
	name  string
	check func(p *probe)
}

func rules() []rule { return slices.Concat(groups()...) }

func groups() [][]rule {
	return [][]rule{
		sessionRules(), entryRules(), leaseRules(), inboxRules(),
		listRules(), ownerRules(), forkRules(), watchRules(),
	}
}

// run checks the rule. It returns what is wrong.
func (r *rule) run(ctx context.Context, target *Target) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	p := &probe{ctx: ctx, target: target}
	func() {
		defer func() {
			if v := recover(); v != nil && v != errStop {
				panic(v)
			}
		}()
		p.Store = p.another()
		r.check(p)
	}()
	return p.result()
}
