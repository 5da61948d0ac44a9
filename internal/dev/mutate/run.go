// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// outcome is the end of a mutant.
type outcome int

const (
	survived outcome = iota
	killed
	timedOut   // killed, by a timeout
	equivalent // not tested: listed in equivalent.txt
	invalid    // not counted: does not compile
)

// runner runs tests.
type runner struct {
	root, scratch string
	chosen        []target // whose coverage is of interest
	files         atomic.Int64

	mu        sync.Mutex
	baselines map[string]*baseline // by the directory of the tests
}

// baseline describes a package's tests without a mutant.
type baseline struct {
	once    sync.Once
	err     error
	took    time.Duration
	quick   string   // a regular expression of tests that together take little of it
	covered coverage // nil if it is not known
}

// timeout returns how long the tests may take with a mutant.
func (b *baseline) timeout() time.Duration {
	return min(max(minTimeout, 8*b.took), maxTimeout+b.took)
}

// verdict is the result of one run of tests.
type verdict struct {
	outcome
	by   string // the test that failed
	text string // all output
	took time.Duration
}

// overlay writes changed files, by path, and the JSON file for the flag -overlay, and returns the
// latter's path.
func (r *runner) overlay(files map[string][]byte) (string, error) {
	replace := map[string]string{}
	for path, source := range files {
		replace[path] = filepath.Join(r.scratch, fmt.Sprintf("%d.go", r.files.Add(1)))
		if err := os.WriteFile(replace[path], source, 0o600); err != nil {
			return "", err
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(r.scratch, fmt.Sprintf("%d.json", r.files.Add(1)))
	return overlay, os.WriteFile(overlay, data, 0o600)
}

// baseline runs the tests in a directory without a mutant, once. They must pass. It notes how long
// they take and what they cover.
func (r *runner) baseline(ctx context.Context, dir string) (*baseline, error) {
	r.mu.Lock()
	if r.baselines == nil {
		r.baselines = map[string]*baseline{}
	}
	b := r.baselines[dir]
	if b == nil {
		b = &baseline{}
		r.baselines[dir] = b
	}
	r.mu.Unlock()
	b.once.Do(func() { b.err = r.measure(ctx, dir, b) })
	return b, b.err
}

func (r *runner) measure(ctx context.Context, dir string, b *baseline) error {
	var others []string // packages whose mutants are tested here only if their line is covered
	for _, t := range r.chosen {
		if t.dir != dir && slices.Contains(t.tests, dir) {
			others = append(others, t.path)
		}
	}
	if others != nil {
		profile := filepath.Join(r.scratch, fmt.Sprintf("cover%d", r.files.Add(1)))
		v, err := r.pass(ctx, dir, []string{"-coverpkg=" + strings.Join(others, ",")}, "-coverprofile="+profile)
		if err != nil {
			return err
		}
		if v.outcome == survived {
			b.took, b.quick = v.took, quickTests(v.text)
			b.covered, err = readCoverage(profile)
			return err
		}
		// Some tests look at the output of their children, which complain if their coverage is not
		// collected.
	}
	v, err := r.pass(ctx, dir, nil)
	if err != nil {
		return err
	}
	if v.outcome != survived {
		return fmt.Errorf("the tests of %s fail without a mutant:\n%s", dir, v.text)
	}
	b.took, b.quick = v.took, quickTests(v.text)
	return nil
}

var passed = regexp.MustCompile(`(?m)^--- PASS: (\w+) \((\d+\.\d+)s\)`)

// quickTests returns a regular expression of the tests which take a sixth of the time together,
// from the quickest on. It reads the output of -v.
func quickTests(text string) string {
	type test struct {
		name    string
		seconds float64
	}
	var tests []test
	total, quick := 0.0, 0.0
	for _, m := range passed.FindAllStringSubmatch(text, -1) {
		seconds, _ := strconv.ParseFloat(m[2], 64)
		tests = append(tests, test{m[1], seconds})
		total += seconds
	}
	slices.SortStableFunc(tests, func(a, b test) int { return cmp.Compare(a.seconds, b.seconds) })
	var names []string
	for _, t := range tests {
		if quick += t.seconds; quick > total/6 {
			break
		}
		names = append(names, t.name)
	}
	if names == nil {
		return ""
	}
	return "^(?:" + strings.Join(names, "|") + ")$"
}

// pass builds the tests in a directory and runs them, twice if they fail: a busy machine is not a
// fault.
func (r *runner) pass(ctx context.Context, dir string, buildFlags []string, flags ...string) (verdict, error) {
	bin, v, err := r.build(ctx, dir, "", buildFlags...)
	if bin == nil {
		return v, err
	}
	defer bin.remove()
	flags = append(flags, "-v")
	for range 2 {
		if v, err = r.run(ctx, bin, 10*time.Minute, flags...); err != nil || v.outcome == survived {
			break
		}
	}
	return v, err
}

// parallel runs f in several goroutines and returns the first error.
func parallel(workers int, f func() error) error {
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = f() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// test runs the tests that may kill a mutant: the tests of its own package, then those that cover
// the changed line.
func (r *runner) test(ctx context.Context, m *mutant) (verdict, error) {
	overlay, err := r.overlay(map[string][]byte{m.file.path: m.source()})
	if err != nil {
		return verdict{}, err
	}
	for _, dir := range testsOf(m) {
		base, err := r.baseline(ctx, dir)
		if err != nil {
			return verdict{}, err
		}
		if !base.mayKill(m, dir) {
			continue
		}
		v, err := r.testIn(ctx, dir, overlay, base)
		if err != nil || v.outcome != survived {
			return v, err
		}
	}
	return verdict{outcome: survived}, nil
}

// long is from when on the quick tests are run first: most mutants are killed by them.
const long = 3 * time.Second

// testIn runs the tests in a directory on a mutant.
func (r *runner) testIn(ctx context.Context, dir, overlay string, base *baseline) (verdict, error) {
	b, v, err := r.build(ctx, dir, overlay)
	if b == nil {
		return v, err
	}
	defer b.remove()
	return r.try(ctx, b, base)
}

// try runs tests on a mutant.
func (r *runner) try(ctx context.Context, b *testBinary, base *baseline) (verdict, error) {
	if base.took < long || base.quick == "" {
		return r.run(ctx, b, base.timeout())
	}
	v, err := r.run(ctx, b, base.timeout(), "-run="+base.quick)
	if err != nil || v.outcome != survived {
		return v, err
	}
	return r.run(ctx, b, base.timeout(), "-skip="+base.quick)
}

// mayKill reports whether the tests in a directory can reach a mutant.
func (b *baseline) mayKill(m *mutant, dir string) bool {
	return dir == m.pkg.dir || b.covered == nil ||
		b.covered.covers(m.pkg.path, filepath.Base(m.file.path), m.line())
}
