// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"regexp"
	"slices"
	"sync"
	"time"
)

const (
	roundSize = 200 // mutants that are drawn before the first of them is tested, if time is short
	batchSize = 16  // mutants of one package in one binary
)

// tester tests a sample. Its methods are safe for concurrent use.
type tester struct {
	*runner
	code *code
	late func() bool

	mu  sync.Mutex
	rep *report
}

// testAll tests mutants until enough have been counted.
func (r *runner) testAll(ctx context.Context, s *sampler, rep *report, o options) error {
	begin := time.Now()
	t := &tester{runner: r, code: s.code, rep: rep, late: func() bool {
		return o.minutes > 0 && time.Since(begin).Minutes() >= o.minutes
	}}
	size := roundSize
	if o.minutes <= 0 {
		size = o.n
	}
	for rep.counted() < o.n && !t.late() {
		var drawn []*mutant
		for range min(size, o.n-rep.counted()) {
			m := s.next(rep)
			if m == nil {
				break
			}
			drawn = append(drawn, m)
		}
		if drawn == nil {
			return nil
		}
		batches := batchesOf(drawn)
		next := make(chan []*mutant, len(batches))
		for _, b := range batches {
			next <- b
		}
		close(next)
		if err := parallel(o.workers, func() error {
			for b := range next {
				if err := t.testBatch(ctx, b); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// batchesOf parts mutants by their packages.
func batchesOf(drawn []*mutant) (batches [][]*mutant) {
	last := map[*pkg]int{} // the index of the batch that has room
	for _, m := range drawn {
		i, ok := last[m.pkg]
		if !ok || len(batches[i]) == batchSize {
			i = len(batches)
			last[m.pkg] = i
			batches = append(batches, nil)
		}
		batches[i] = append(batches[i], m)
	}
	return batches
}

// testBatch tests mutants of one package: in one binary those that can be switched, then each of
// the others, and of those that survived, alone.
func (t *tester) testBatch(ctx context.Context, batch []*mutant) error {
	var switched, alone []*mutant
	for _, m := range batch {
		if m.around != nil {
			switched = append(switched, m)
		} else {
			alone = append(alone, m)
		}
	}
	if len(switched) < 2 {
		switched, alone = nil, batch
	}
	rest, err := t.testSwitched(ctx, switched)
	if err != nil {
		return err
	}
	for _, m := range append(rest, alone...) {
		if t.late() {
			return nil
		}
		v, err := t.test(ctx, m)
		if err != nil {
			return err
		}
		t.note(m, v)
	}
	return nil
}

func (t *tester) note(m *mutant, v verdict) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rep.note(m, v.outcome, v.by)
}

// testSwitched tests mutants in one binary for each directory of tests, notes those that are
// killed, and returns the others.
func (t *tester) testSwitched(ctx context.Context, mutants []*mutant) (alive []*mutant, err error) {
	if mutants == nil {
		return nil, nil
	}
	overlay, err := t.overlay(together(t.code.fset, mutants))
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, m := range mutants {
		for _, dir := range testsOf(m) {
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	gone := make([]bool, len(mutants))
	for _, dir := range dirs {
		if err := t.testSwitchedIn(ctx, dir, overlay, mutants, gone); err != nil {
			return nil, err
		}
	}
	for i, m := range mutants {
		if !gone[i] {
			alive = append(alive, m)
		}
	}
	return alive, nil
}

// testSwitchedIn runs the tests in one directory on those mutants that are not gone yet.
func (t *tester) testSwitchedIn(ctx context.Context, dir, overlay string, mutants []*mutant, gone []bool) error {
	base, err := t.baseline(ctx, dir)
	if err != nil {
		return err
	}
	var b *testBinary
	sound := map[string]bool{} // tests that pass in this binary without a mutant
	for i, m := range mutants {
		if gone[i] || !slices.Contains(testsOf(m), dir) || !base.mayKill(m, dir) {
			continue
		}
		if t.late() {
			break
		}
		if b == nil {
			if b, _, err = t.build(ctx, dir, overlay); b == nil {
				return err // without an error: it does not compile, so each is tested alone
			}
			defer b.remove()
		}
		b.mutant = i + 1
		v, err := t.try(ctx, b, base)
		if err != nil {
			return err
		}
		if v.outcome == survived {
			continue
		}
		if passes, known := sound[v.by]; known && !passes {
			continue
		} else if !known && v.outcome == killed {
			b.mutant = 0
			without, err := t.run(ctx, b, base.timeout(), "-run=^"+regexp.QuoteMeta(v.by)+"$")
			if err != nil {
				return err
			}
			if sound[v.by] = without.outcome == survived; !sound[v.by] {
				continue
			}
		}
		gone[i] = true
		t.note(m, v)
	}
	return nil
}
