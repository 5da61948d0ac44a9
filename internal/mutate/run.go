// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// outcome is what became of a mutant.
type outcome int

const (
	survived outcome = iota
	killed
	timedOut   // killed, by a timeout
	equivalent // not tested: listed in equivalent.txt
	invalid    // not counted: does not compile
)

// runner runs tests with go test.
type runner struct {
	root, scratch string
	files         atomic.Int64
	took          map[string]time.Duration // per test package, without a mutant
	covered       map[string]coverage      // per test package
}

// verdict is the result of one run of go test.
type verdict struct {
	outcome
	by   string // the test that failed
	text string // all output
	took time.Duration
}

// goTest runs the tests of one package. The overlay may be empty.
func (r *runner) goTest(ctx context.Context, dir, overlay string, timeout time.Duration, flags ...string) (verdict, error) {
	args := []string{"test", "-failfast", "-vet=off", "-count=1", "-timeout", timeout.String()}
	if overlay != "" {
		args = append(args, "-overlay", overlay, "-ldflags=-s -w")
	}
	if limit := limitMemory(); limit != "" {
		args = append(args, "-exec", limit)
	}
	args = append(append(args, flags...), "./"+dir)
	if extra := testArgs[dir]; extra != nil && !slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "-run") }) {
		args = append(append(args, "-args"), extra...)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout+10*time.Minute) // building takes long on a busy machine
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "PWD="+r.root)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second
	begin := time.Now()
	err := runGroup(cmd)
	v := verdict{text: out.String(), took: time.Since(begin)}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && context.Cause(ctx) == context.DeadlineExceeded:
		v.outcome = timedOut
	case ctx.Err() != nil:
		return v, ctx.Err()
	case err == nil:
		v.outcome = survived
		if m := elapsed.FindStringSubmatch(v.text); m != nil {
			if s, err := strconv.ParseFloat(m[1], 64); err == nil {
				v.took = time.Duration(s * float64(time.Second))
			}
		}
	case !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay):
		return v, err
	case strings.Contains(v.text, "[build failed]") || strings.Contains(v.text, "[setup failed]"):
		v.outcome = invalid
	case strings.Contains(v.text, "panic: test timed out after"):
		v.outcome = timedOut
	default:
		v.outcome = killed
		v.by = "a crash"
		if m := failed.FindStringSubmatch(v.text); m != nil {
			v.by = m[1]
		}
	}
	return v, nil
}

var (
	elapsed = regexp.MustCompile(`(?m)^ok\s+\S+\s+([0-9.]+)s`)
	failed  = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
)

// overlay writes a file with a change and the JSON file for the flag -overlay, and returns the latter's path.
func (r *runner) overlay(path string, source []byte) (string, error) {
	n := r.files.Add(1)
	changed := filepath.Join(r.scratch, fmt.Sprintf("%d.go", n))
	if err := os.WriteFile(changed, source, 0o600); err != nil {
		return "", err
	}
	data, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(r.scratch, fmt.Sprintf("%d.json", n))
	return overlay, os.WriteFile(overlay, data, 0o600)
}

// baseline runs all tests without a mutant. They must pass. It notes how long they take and what they cover.
func (r *runner) baseline(ctx context.Context, chosen []target, workers int) error {
	var dirs, covered []string
	for _, t := range chosen {
		covered = append(covered, "./"+t.dir)
		for _, dir := range t.tests {
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	r.took, r.covered = map[string]time.Duration{}, map[string]coverage{}
	var mu sync.Mutex
	var next atomic.Int64
	return parallel(workers, func() error {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(dirs) {
				return nil
			}
			profile := filepath.Join(r.scratch, fmt.Sprintf("cover%d", i))
			v, err := r.goTest(ctx, dirs[i], "", 10*time.Minute, "-coverpkg="+strings.Join(covered, ","), "-coverprofile="+profile)
			if err != nil {
				return err
			}
			if v.outcome != survived {
				return fmt.Errorf("the tests of %s fail without a mutant:\n%s", dirs[i], v.text)
			}
			c, err := readCoverage(profile)
			if err != nil {
				return err
			}
			mu.Lock()
			r.took[dirs[i]], r.covered[dirs[i]] = v.took, c
			mu.Unlock()
		}
	})
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

// testAll tests mutants until enough have been counted.
func (r *runner) testAll(ctx context.Context, s *sampler, rep *report, o options) error {
	var mu sync.Mutex
	underWay := 0
	return parallel(o.workers, func() error {
		for {
			mu.Lock()
			var m *mutant
			if rep.counted()+underWay < o.n {
				m = s.next(rep)
			}
			if m == nil {
				mu.Unlock()
				return nil
			}
			underWay++
			mu.Unlock()
			v, err := r.test(ctx, m)
			mu.Lock()
			underWay--
			if err == nil {
				rep.note(m, v.outcome, v.by)
			}
			mu.Unlock()
			if err != nil {
				return err
			}
		}
	})
}

// test runs the tests that may kill a mutant: those of its own package, then those that cover the changed line.
func (r *runner) test(ctx context.Context, m *mutant) (verdict, error) {
	overlay, err := r.overlay(m.file.path, m.source())
	if err != nil {
		return verdict{}, err
	}
	for _, dir := range m.pkg.tests {
		if dir != m.pkg.dir && !r.covered[dir].covers(m.pkg.path, filepath.Base(m.file.path), m.line()) {
			continue
		}
		v, err := r.goTest(ctx, dir, overlay, max(minTimeout, 8*r.took[dir]))
		if err != nil || v.outcome != survived {
			return v, err
		}
	}
	return verdict{outcome: survived}, nil
}
