// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// testBinary is the test binary of a package.
type testBinary struct {
	dir  string // of the package, absolute
	path string
}

// remove removes the file.
func (b *testBinary) remove() { _ = os.Remove(b.path) }

// build builds the tests of the package in a directory. The overlay may be empty. If they do not
// compile, the verdict is invalid and there is no binary.
func (r *runner) build(ctx context.Context, dir, overlay string, flags ...string) (*testBinary, verdict, error) {
	b := &testBinary{dir: filepath.Join(r.root, filepath.FromSlash(dir)), path: filepath.Join(
		r.scratch, fmt.Sprintf("%d.test", r.files.Add(1)),
	)}
	args := append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", b.path}, flags...)
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute) // a busy machine
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append(args, ".")...)
	cmd.Dir, cmd.Env = b.dir, append(os.Environ(), "PWD="+b.dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := runGroup(cmd)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, verdict{}, fmt.Errorf("building the tests of %s: %w", dir, context.Cause(ctx))
	case err == nil:
		return b, verdict{}, nil
	case errors.As(err, &exit):
		return nil, verdict{outcome: invalid, text: out.String()}, nil
	}
	return nil, verdict{}, err
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// ofTest matches the flags of package testing that are used.
var ofTest = regexp.MustCompile(`^(v|run=.*|skip=.*|list=.*)$`)

// run runs a test binary with a mutant switched on, or with what switchName says else. It takes
// flags as go test does.
func (r *runner) run(
	ctx context.Context, b *testBinary, mutant string, timeout time.Duration, flags ...string,
) (verdict, error) {
	args := []string{"-test.timeout=" + timeout.String()}
	if !strings.HasPrefix(mutant, reachPrefix) {
		args = append(args, "-test.failfast")
	}
	for _, f := range flags {
		if name, ok := strings.CutPrefix(f, "-"); ok && ofTest.MatchString(name) {
			f = "-test." + name
		}
		args = append(args, f)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout+time.Minute) // the binary ends itself, unless a mutant keeps it from that
	defer cancel()
	line := append(append(limitMemory(), b.path), args...)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir, cmd.Env = b.dir, append(os.Environ(), "PWD="+b.dir, switchName+"="+mutant)
	if mutant != "" { // for programs that tests build
		cmd.Env = append(cmd.Env, "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+r.switched))
	}
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
	case !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay):
		return v, err
	case strings.Contains(v.text, "panic: test timed out after"):
		v.outcome = timedOut
	default:
		v.outcome, v.by = killed, "a crash"
		if m := failed.FindStringSubmatch(v.text); m != nil {
			v.by = m[1]
		}
	}
	return v, nil
}

// goTest builds and runs tests.
func (r *runner) goTest(
	ctx context.Context, dir, overlay string, timeout time.Duration, flags ...string,
) (verdict, error) {
	b, v, err := r.build(ctx, dir, overlay)
	if b == nil {
		return v, err
	}
	defer b.remove()
	return r.run(ctx, b, "", timeout, flags...)
}
