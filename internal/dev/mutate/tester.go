// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// enough bounds the time of the tests that are run for a mutant besides those of its own packages.
const enough = time.Minute

// tester tests a sample. Its methods are safe for concurrent use.
type tester struct {
	*runner
	suites map[string]*suite // by their directories
	late   func() bool

	mu  sync.Mutex
	rep *report
}

// testAll tests mutants in the order of the sample.
func (r *runner) testAll(ctx context.Context, s *sampler, rep *report, o options) error {
	begin := time.Now()
	var drawn []*mutant
	for len(drawn) < o.n {
		m := s.next(rep)
		if m == nil {
			break
		}
		drawn = append(drawn, m)
	}
	suites, err := r.suitesFor(ctx, together(s.code.fset, drawn), drawn, rep.w, o.workers)
	if err != nil {
		return err
	}
	took := time.Since(begin).Round(time.Second)
	_, _ = fmt.Fprintf(rep.w, "the tests of %d packages are built and run (%s)\n", len(suites), took)
	t := &tester{runner: r, suites: suites, rep: rep, late: func() bool {
		return o.minutes > 0 && time.Since(begin).Minutes() >= o.minutes
	}}
	return parallel(o.workers, len(drawn), func(i int) error {
		if t.late() {
			return nil
		}
		return t.test(ctx, drawn[i], i+1)
	})
}

// suitesFor returns the tests for mutants.
func (r *runner) suitesFor(
	ctx context.Context, files map[string][]byte, mutants []*mutant, w io.Writer, workers int,
) (map[string]*suite, error) {
	telling, err := tellingTests(ctx)
	if err != nil {
		return nil, err
	}
	maps.Copy(files, telling)
	overlay, err := r.overlay(files)
	if err != nil {
		return nil, err
	}
	r.switched = overlay
	suites := map[string]*suite{}
	for _, m := range mutants {
		for _, dir := range testsOf(m) {
			suites[dir] = nil
		}
	}
	dirs := slices.Sorted(maps.Keys(suites))
	var mu sync.Mutex
	return suites, parallel(workers, len(dirs), func(i int) error {
		s, err := r.suite(ctx, dirs[i], overlay)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		suites[s.dir] = s
		if s.without != nil {
			_, _ = fmt.Fprintf(w, "left out of %s, for they fail without a mutant in this code: %s\n",
				s.dir, strings.Join(s.without, ", "))
		}
		return nil
	})
}

// test tests a mutant and notes what became of it.
func (t *tester) test(ctx context.Context, m *mutant, number int) error {
	test := t.testSwitched
	if m.form == unswitchable {
		test = t.testAlone
	}
	v, err := test(ctx, m, number)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rep.note(m, v)
	return nil
}

// testSwitched runs the tests that reach a mutant: those of its own packages, then those of others
// whose tests take not too long, because their binaries have it too.
func (t *tester) testSwitched(ctx context.Context, m *mutant, number int) (verdict, error) {
	own := testsOf(m)
	type other struct {
		*suite
		took time.Duration
	}
	var others []other
	reached := 0
	for dir, s := range t.suites {
		names, took := s.reaching(number)
		reached += len(names)
		var sum time.Duration
		for _, d := range took {
			sum += d
		}
		if names != nil && !slices.Contains(own, dir) {
			others = append(others, other{s, sum})
		}
	}
	slices.SortFunc(others, func(a, b other) int {
		return cmp.Or(cmp.Compare(a.took, b.took), cmp.Compare(a.dir, b.dir))
	})
	for _, dir := range own {
		if v, err := t.kill(ctx, t.suites[dir], number); err != nil || v.outcome != survived {
			return v, err
		}
	}
	var sum time.Duration
	for _, s := range others {
		if sum += s.took + time.Second/4; sum > enough {
			break
		}
		if v, err := t.kill(ctx, s.suite, number); err != nil || v.outcome != survived {
			return v, err
		}
	}
	for _, dir := range own { // what tests share, only the first of them reaches
		s := t.suites[dir]
		if names, _ := s.reaching(number); len(names) > 2 || s.took > enough {
			continue
		}
		v, err := t.run(ctx, s.bin, strconv.Itoa(number), timeout(s.took), s.all()...)
		if err != nil || v.outcome != survived {
			return v, err
		}
	}
	if reached == 0 {
		return verdict{outcome: survived, by: "no test reaches it"}, nil
	}
	return verdict{outcome: survived, by: fmt.Sprintf("%d tests reach it", reached)}, nil
}

// testAlone builds the tests of a mutant's packages with it.
func (t *tester) testAlone(ctx context.Context, m *mutant, _ int) (verdict, error) {
	overlay, err := t.overlay(map[string][]byte{m.file.path: m.source()})
	if err != nil {
		return verdict{}, err
	}
	for _, dir := range testsOf(m) {
		s := t.suites[dir]
		v, err := t.goTest(ctx, dir, overlay, timeout(s.took), s.all()...)
		if err != nil || v.outcome != survived {
			return v, err
		}
	}
	return verdict{outcome: survived, by: "a build of its own"}, nil
}
