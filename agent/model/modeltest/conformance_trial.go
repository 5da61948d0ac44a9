// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
)

// trial is a test that may fail. Failures are only recorded. It runs in its own goroutine, so
// FailNow ends nothing else. Other methods are those of the real test.
type trial struct {
	testing.TB
	name string
	ctx  context.Context

	mu       sync.Mutex
	problems []string
	failed   bool
	skipped  bool
	skip     string // the reason
	cleanups []func()
}

// try runs f as a trial and returns it after cleanup. A panic of f is a failure.
func try(parent testing.TB, name string, f func(testing.TB)) *trial {
	ctx, cancel := context.WithCancel(parent.Context())
	t := &trial{TB: parent, name: name, ctx: ctx}
	t.do(func() { f(t) })
	cancel()
	for {
		t.mu.Lock()
		last := len(t.cleanups) - 1
		if last < 0 {
			t.mu.Unlock()
			return t
		}
		cleanup := t.cleanups[last]
		t.cleanups = t.cleanups[:last]
		t.mu.Unlock()
		t.do(cleanup)
	}
}

// do runs f in a goroutine and waits for it.
func (t *trial) do(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				t.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		f()
	}()
	<-done
}

// runTrial runs a trial within a trial.
func runTrial(parent testing.TB, name string, f func(testing.TB)) {
	outer := parent.(*trial)
	inner := try(outer, outer.name+"/"+name, f)
	if inner.Failed() {
		outer.mu.Lock()
		defer outer.mu.Unlock()
		outer.failed = true
		outer.problems = append(outer.problems, inner.problems...)
	}
}

func (t *trial) Helper()                  {}
func (t *trial) Name() string             { return t.name }
func (t *trial) Context() context.Context { return t.ctx }
func (t *trial) Log(...any)               {}
func (t *trial) Logf(string, ...any)      {}

func (t *trial) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

func (t *trial) Fail() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = true
}

func (t *trial) FailNow() {
	t.Fail()
	runtime.Goexit()
}

func (t *trial) Failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

func (t *trial) Error(args ...any) {
	t.note(fmt.Sprint(args...))
}

func (t *trial) Errorf(format string, args ...any) {
	t.note(fmt.Sprintf(format, args...))
}

func (t *trial) Fatal(args ...any) {
	t.note(fmt.Sprint(args...))
	runtime.Goexit()
}

func (t *trial) Fatalf(format string, args ...any) {
	t.note(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

func (t *trial) note(problem string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = true
	t.problems = append(t.problems, problem)
}

func (t *trial) Skip(args ...any) {
	t.mu.Lock()
	t.skip = fmt.Sprint(args...)
	t.mu.Unlock()
	t.SkipNow()
}

func (t *trial) Skipf(format string, args ...any) { t.Skip(fmt.Sprintf(format, args...)) }

func (t *trial) SkipNow() {
	t.mu.Lock()
	t.skipped = true
	t.mu.Unlock()
	runtime.Goexit()
}

func (t *trial) Skipped() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.skipped
}
