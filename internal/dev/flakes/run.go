// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// patience is how long one run of a test binary may take beyond what it should.
const patience = 5 * time.Minute

// runner builds and runs test binaries.
type runner struct {
	options
	out     io.Writer
	scratch string
	runs    atomic.Int64

	mu       sync.Mutex
	failures map[string]int // by package and test
	leftOut  map[string]int // runs, by test
}

// build builds the test binaries.
func (r *runner) build(ctx context.Context, packages []*testPackage) error {
	return each(r.workers, packages, func(p *testPackage) error {
		p.binary = filepath.Join(r.scratch, strings.ReplaceAll(p.ImportPath, "/", "_")+".test")
		cmd := exec.CommandContext(
			ctx, "go", "test", "-race", "-c", "-vet=off", "-ldflags=-s -w", "-o", p.binary, ".",
		)
		cmd.Dir = p.Dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", p.ImportPath, err, out)
		}
		return nil
	})
}

var (
	passed  = regexp.MustCompile(`(?m)^ *--- PASS: (\S+) \(([0-9.]+)s\)`)
	skipped = regexp.MustCompile(`(?m)^--- SKIP: (\S+) `)
	failed  = regexp.MustCompile(`(?m)^--- FAIL: (\S+) `)
	ended   = regexp.MustCompile(`(?m)^(PASS|FAIL)$`)
)

// measure runs each test once and notes how long it takes.
func (r *runner) measure(ctx context.Context, packages []*testPackage) error {
	return each(r.workers, packages, func(p *testPackage) error {
		out, err := r.execute(ctx, round{pkg: p, names: p.names, count: 1, processors: 2, seed: r.seed}, "-test.v")
		if err != nil {
			return err
		}
		if err := p.note(out); err != nil {
			return err
		}
		skips := skipped.FindAllSubmatch(out, -1)
		for _, m := range failed.FindAllSubmatch(out, -1) { // it is run again, to see how often
			p.took[string(m[1])] = time.Second
		}
		if n := len(p.took) + len(skips); n < len(p.names) && (n == 0 || !ended.Match(out)) {
			return fmt.Errorf(
				"%s: of %d tests %d have run: the binary has ended early\n%s", p.ImportPath,
				len(p.names), n, tail(out),
			)
		}
		for _, name := range p.names {
			if _, ok := p.took[name]; !ok && !bytes.Contains(out, []byte("--- SKIP: "+name+" ")) {
				p.took[name] = time.Second // the output of another has torn its line
			}
		}
		return nil
	})
}

// note reads from an output how long each test took. What go test prints for a test leaves out its
// parallel subtests: the sum over the subtests of one depth counts if it is longer.
func (p *testPackage) note(out []byte) error {
	type level struct {
		test  string
		depth int
	}
	sums := map[level]time.Duration{}
	for _, m := range passed.FindAllSubmatch(out, -1) {
		seconds, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			return err
		}
		name := string(m[1])
		test, _, _ := strings.Cut(name, "/")
		at := level{test, strings.Count(name, "/")}
		sums[at] += time.Duration(seconds * float64(time.Second))
		p.took[test] = max(p.took[test], sums[at])
	}
	return nil
}

// repeat makes the runs until the time is over. Tests that are not repeated have run once, in
// measure.
func (r *runner) repeat(ctx context.Context, rounds []round) error {
	end := time.Now().Add(time.Duration(r.minutes * float64(time.Minute)))
	return each(r.workers, rounds, func(one round) error {
		if r.minutes > 0 && !time.Now().Before(end) {
			r.leaveOut(one)
			return nil
		}
		_, err := r.execute(ctx, one)
		return err
	})
}

// leaveOut notes the tests of a round that is not made.
func (r *runner) leaveOut(one round) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range one.names {
		r.leftOut[one.pkg.short(name)] += one.count
	}
}

// execute runs tests and returns the output. Failures are noted and printed; the error comes from
// the context, or from the start.
func (r *runner) execute(ctx context.Context, one round, flags ...string) ([]byte, error) {
	timeout := patience + 8*one.takes()
	args := append([]string{
		"-test.run=^(" + strings.Join(one.names, "|") + ")$", fmt.Sprintf("-test.count=%d", one.count),
		fmt.Sprintf("-test.shuffle=%d", one.seed), fmt.Sprintf(
			"-test.timeout=%s", timeout,
		), fmt.Sprintf("-test.short=%v", r.short),
	}, flags...)
	cmd := exec.CommandContext(ctx, one.pkg.binary, args...)
	cmd.Dir = one.pkg.Dir
	cmd.Env = append(
		os.Environ(), "PWD="+one.pkg.Dir, fmt.Sprintf("GOMAXPROCS=%d", one.processors),
		"GORACE="+strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0"),
	)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	r.runs.Add(int64(one.count * len(one.names)))
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err == nil:
	case errors.As(err, &exit), errors.Is(err, exec.ErrWaitDelay):
		r.report(one, out, err)
	default:
		return nil, err
	}
	return out, nil
}

// report notes what has failed and prints it with the command that repeats it.
func (r *runner) report(one round, out []byte, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := map[string]int{}
	for _, m := range failed.FindAllSubmatch(out, -1) {
		names[string(m[1])]++
	}
	if len(names) == 0 {
		names["(the whole binary: "+err.Error()+")"] = 1
	}
	for name, n := range names {
		r.failures[one.pkg.ImportPath+" "+name] += n
	}
	short := ""
	if r.short {
		short = " -short"
	}
	fmt.Fprintf(r.out, "FAILED %s: %s\n  repeat it with: GOMAXPROCS=%d go test -race%s -count=%d -shuffle=%d -run '^(%s)$' %s\n%s\n",
		one.pkg.ImportPath, strings.Join(slices.Sorted(maps.Keys(names)), " "), one.processors, short, one.count, one.seed, strings.Join(one.names, "|"), one.pkg.ImportPath, tail(out))
}

// verdict lists what has failed.
func (r *runner) verdict() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failures) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(r.failures)) {
		fmt.Fprintf(r.out, "%s failed %d times\n", name, r.failures[name])
	}
	return fmt.Errorf("%d tests fail now and then (seed %d)", len(r.failures), r.seed)
}

// tail returns the part of an output that describes the failure: from the first failure on, a
// bounded part.
func tail(out []byte) []byte {
	const limit = 6000
	if i := bytes.Index(out, []byte("--- FAIL")); i > 0 {
		out = out[i:]
	}
	if len(out) > limit {
		out = append(slices.Clone(out[:limit]), "\n…"...)
	}
	return out
}

// each calls f for all elements, several at a time, and returns the errors.
func each[T any](workers int, all []T, f func(T) error) error {
	errs := make([]error, workers)
	var next atomic.Int64
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			for errs[i] == nil {
				n := int(next.Add(1)) - 1
				if n >= len(all) {
					return
				}
				errs[i] = f(all[n])
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
