// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// fakeT is a test that only records what happens.
type fakeT struct {
	testing.TB
	name string
	ctx  context.Context

	mu       sync.Mutex
	problems []string
	results  []modeltest.Result
	skips    int
	skipped  bool
	logs     string
	cleanups []func()
	helpers  map[string]bool // functions that have called Helper
	inside   []string        // problems that are reported at lines of helpers
}

func (t *fakeT) Name() string                      { return t.name }
func (t *fakeT) Context() context.Context          { return t.ctx }
func (t *fakeT) Cleanup(f func())                  { t.cleanups = append(t.cleanups, f) }
func (t *fakeT) FailNow()                          { runtime.Goexit() }
func (t *fakeT) Logf(format string, args ...any)   { t.logs += fmt.Sprintf(format, args...) }
func (t *fakeT) Error(args ...any)                 { t.note(fmt.Sprint(args...)) }
func (t *fakeT) Errorf(format string, args ...any) { t.note(fmt.Sprintf(format, args...)) }
func (t *fakeT) Fatal(args ...any) {
	t.note(fmt.Sprint(args...))
	runtime.Goexit()
}
func (t *fakeT) Fatalf(format string, args ...any) {
	t.note(fmt.Sprintf(format, args...))
	runtime.Goexit()
}
func (t *fakeT) Skip(...any) {
	t.mu.Lock()
	t.place("skipped")
	t.mu.Unlock()
	t.skips++
	t.skipped = true
	runtime.Goexit()
}
func (t *fakeT) Skipf(format string, args ...any) { t.logs += fmt.Sprintf(format, args...); t.Skip() }
func (t *fakeT) Skipped() bool                    { return t.skipped }
func (t *fakeT) Failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.problems) > 0
}

func (t *fakeT) Helper() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.helpers == nil {
		t.helpers = map[string]bool{}
	}
	t.helpers[callers()[0]] = true
}

// callers returns the functions that have called a method of a fakeT, the inner ones first.
func callers() (names []string) {
	pcs := make([]uintptr, 50)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if !strings.Contains(f.Function, "modeltest_test.(*fakeT)") && !strings.Contains(f.Function, "modeltest_test.callers") {
			names = append(names, f.Function)
		}
	}
	return names
}

// place notes a problem whose line would be that of a helper, not of the rule that is broken.
func (t *fakeT) place(problem string) {
	for _, name := range callers() {
		_, function, ok := strings.Cut(name, "/agent/model/modeltest.")
		switch {
		case t.helpers[name]:
			continue
		case ok && function != "Emit" && !strings.HasPrefix(function, "test") && !strings.HasPrefix(function, "settingIsSent") && !strings.Contains(function, ".func"):
			t.inside = append(t.inside, function+": "+problem)
		}
		return
	}
}

func (t *fakeT) note(problem string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.place(problem)
	t.problems = append(t.problems, t.name+": "+problem)
}

// run runs f as a subtest of parent.
func (*fakeT) run(parent testing.TB, name string, f func(testing.TB)) {
	outer := parent.(*fakeT)
	ctx, cancel := context.WithCancel(outer.ctx)
	t := &fakeT{name: strings.TrimPrefix(outer.name+"/"+name, "/"), ctx: ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(t)
	}()
	<-done
	cancel()
	for _, f := range slices.Backward(t.cleanups) {
		f()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	outer.problems = append(outer.problems, t.problems...)
	outer.skips += t.skips
	outer.logs += t.logs
	outer.inside = append(outer.inside, t.inside...)
}

// conform returns what the suite reports about a model. It uses fake time.
func conform(t *testing.T, h modeltest.Harness) *fakeT {
	var fake *fakeT
	synctest.Test(t, func(t *testing.T) {
		fake = &fakeT{ctx: t.Context()}
		fake.run(fake, "", func(t testing.TB) { fake.results = modeltest.Conform(t, h, fake.run) })
	})
	return fake
}
