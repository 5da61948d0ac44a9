// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/internal/loop"
)

// Harness makes the engines that [Conformance] checks.
type Harness struct {
	// Open returns the engine of a life, and a function that releases it once the life has ended, after its context has. If
	// the harness is Durable, it returns an engine that resumes what earlier lives of the same run have recorded.
	Open func(t *testing.T, l *Life) (eng engine.Engine, release func())
	// Play replaces Open for engines that need a special place, such as the function of a
	// workflow. It calls play there, with the engine of the life and a context that ends with
	// ctx, and returns when nothing of the life goes on. play returns nil if the run has come to
	// its end, well or not. Any other error, such as [ErrDied], means that the process of the run
	// is gone: the place must not let its platform record that the run has ended.
	Play func(ctx context.Context, t *testing.T, l *Life, play Play)
	// Unwatched means that the engine drops the reports of tasks. Such an engine is not for watched
	// runs.
	Unwatched bool
	// Durable means that the engine records results and can resume a run after its process died.
	Durable bool

	test *testing.T // for Open and Play
}

// Play plays a life with an engine.
type Play func(ctx context.Context, eng engine.Engine) error

// Conformance checks that engines keep the contract of [engine.Engine]: the results of tasks, their order and parallel execution,
// listeners, cancellation at every task, tasks that end their goroutine, times and ids, usage; and of durable engines, death at every place
// and equal replays. Engines that panic, or whose run is not played at all, fail the test.
//
// It plays a run with scripted tasks: three steps with parallel and sequential calls, approvals, invalid and repaired arguments, and
// messages that come in.
func Conformance(t *testing.T, h Harness) {
	for _, r := range rules {
		if r.durable && !h.Durable || r.watched && h.Unwatched {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			h.test = t
			r.check(t, &h)
		})
	}
}

var rules = []struct {
	name             string
	durable, watched bool
	check            func(testing.TB, *Harness)
}{
	{"a run comes to its end", false, false, checkResults},
	{"calls run side by side", false, false, checkParallel},
	{"listeners are called while the run waits", false, true, checkListener},
	{"errors of listeners reach the task", false, true, checkListenerError},
	{"a run can be cancelled at every task", false, false, checkCancel},
	{"a task that ends its goroutine fails", false, false, checkGoexit},
	{"times and ids are set", false, false, checkStamps},
	{"usage counts once", false, false, checkUsage},
	{"a repeated run is the same and does nothing", true, false, checkReplay},
	{"a run that dies anywhere goes on", true, false, checkDeath},
	{"a run that was cancelled anywhere goes on", true, false, checkCancelled},
}

// life returns a life that is not disturbed.
func life(t testing.TB, id string) *Life { return &Life{RunID: id, t: t, boundary: -1} }

// reference returns how the run ends and what it does.
func reference(t testing.TB, id string) (*loop.Result, *Life) {
	t.Helper()
	l := life(t, id)
	res, err := l.live(&Harness{Open: func(_ *testing.T, l *Life) (engine.Engine, func()) { return newPlain(l.Worker), nil }})
	if err != nil {
		t.Fatal(err)
	}
	return res, l
}

// finish lives a life that must reach the end of the run.
func finish(t testing.TB, h *Harness, l *Life) *loop.Result {
	t.Helper()
	res, err := l.live(h)
	if err != nil {
		t.Fatalf("the run failed: %v", err)
	}
	want, _ := reference(t, l.RunID)
	if got, want := history(t, res.Messages), history(t, want.Messages); got != want {
		t.Fatalf("the history is\n%s\nwant\n%s", got, want)
	}
	if out, ok := res.Output.(*engine.Output); !ok || string(out.Data) != `"all done"` {
		t.Errorf("the output is %+v", res.Output)
	}
	if res.Usage != want.Usage {
		t.Errorf("the usage is %+v, want %+v", res.Usage, want.Usage)
	}
	return res
}

func checkResults(t testing.TB, h *Harness) {
	l := life(t, "results")
	finish(t, h, l)
	_, want := reference(t, "results")
	did, expected := effects(l.begun), effects(want.begun)
	slices.Sort(did)
	slices.Sort(expected)
	if !slices.Equal(did, expected) {
		t.Errorf("the tasks %q were executed, want %q", did, expected)
	}
}

func checkParallel(t testing.TB, h *Harness) {
	l := life(t, "parallel")
	l.together = true
	finish(t, h, l)
}

func checkListener(t testing.TB, h *Harness) {
	l := life(t, "listener")
	l.stream = true
	finish(t, h, l)
	if want := len("at work") + len("all done") + 8 + 1; l.told != want {
		t.Errorf("the listener was called %d times, want %d", l.told, want)
	}
}

func checkListenerError(t testing.TB, h *Harness) {
	l := life(t, "stopped")
	l.stream, l.stopAt = true, "d"
	res, err := l.live(h)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(history(t, res.Messages), "was told: stopped by the suite") {
		t.Error("the task did not get the error of the listener")
	}
}

// tasks returns how many tasks a run has.
func tasks(t testing.TB, h *Harness, id string) int {
	l := life(t, id)
	finish(t, h, l)
	return len(l.begun)
}

func checkCancel(t testing.TB, h *Harness) {
	for n := range tasks(t, h, "count") {
		l := life(t, fmt.Sprint("cancelled-", n))
		l.cancelAt = n + 1
		if res, err := l.live(h); !errors.Is(err, errCancelled) {
			t.Errorf("cancelled at task %d (%s), the run ended with %v and %v", n+1, l.task(n), res, err)
		}
	}
}

func checkGoexit(t testing.TB, h *Harness) {
	l := life(t, "goexit")
	l.goexitAt = "1/tool/b"
	if _, err := l.live(h); !errors.Is(err, engine.ErrGoexit) {
		t.Errorf("the run ended with %v, want engine.ErrGoexit", err)
	}
}

func checkStamps(t testing.TB, h *Harness) {
	l := life(t, "stamps")
	messages := finish(t, h, l).Messages
	for i, m := range messages {
		if m.Time.Unix() <= 0 || m.Time.Location() != time.UTC { // the loop keeps them in order
			t.Errorf("message %d is of %v, must be set and in UTC", i, m.Time)
		}
	}
	other := life(t, "other stamps")
	finish(t, h, other)
	seen := map[string]bool{}
	a, b := &l.began, &other.began
	for _, id := range []string{a.RunID, a.ConversationID, b.RunID, b.ConversationID} {
		if id == "" || seen[id] {
			t.Errorf("an id of a run is %q, must be another one for each run and each conversation", id)
		}
		seen[id] = true
	}
}

func checkUsage(t testing.TB, h *Harness) {
	l := life(t, "usage")
	finish(t, h, l)
	want, _ := reference(t, "usage")
	if got := l.Meter.Usage(); got != want.Usage {
		t.Errorf("the meter has counted %+v, want %+v", got, want.Usage)
	}
}

// effects returns the tasks that must not be executed again.
func effects(keys []string) []string {
	var kept []string
	for _, key := range keys {
		if step, ok := strings.CutSuffix(key, "/step"); ok {
			key = step + "/model"
		}
		for _, op := range []engine.Op{engine.OpModel, engine.OpTool, engine.OpOutput, engine.OpApprove} {
			if strings.Contains(key+"/", "/"+op.String()+"/") {
				kept = append(kept, key)
			}
		}
	}
	return kept
}

// resumes lives another life of a run, which must do nothing again that an earlier life was given the result of.
func resumes(t testing.TB, h *Harness, earlier ...*Life) *loop.Result {
	t.Helper()
	l := life(t, earlier[0].RunID)
	res := finish(t, h, l)
	notAgain(t, l, earlier...)
	return res
}

func notAgain(t testing.TB, l *Life, earlier ...*Life) {
	t.Helper()
	for _, e := range earlier {
		for _, key := range effects(l.begun) {
			if slices.Contains(e.returned, key) {
				t.Errorf("%s was executed again", key)
			}
		}
	}
}

func checkReplay(t testing.TB, h *Harness) {
	first := life(t, "replay")
	want := finish(t, h, first)
	again := life(t, "replay")
	got := finish(t, h, again)
	if done := effects(again.begun); len(done) > 0 {
		t.Errorf("%q were executed again", done)
	}
	b, was := again.began, first.began
	if b.At != was.At || b.RunID != was.RunID || b.ConversationID != was.ConversationID {
		t.Errorf("the run began as %+v, it was %+v", b, was)
	}
	for i, m := range got.Messages { // they are as many: finish compares them
		if !m.Time.Equal(want.Messages[i].Time) {
			t.Errorf("message %d is of %v, it was of %v", i, m.Time, want.Messages[i].Time)
		}
	}
}

func checkDeath(t testing.TB, h *Harness) {
	for n := 0; ; n++ {
		first := life(t, fmt.Sprint("death-", n))
		first.boundary = n
		if _, err := first.live(h); first.end == finished && err == nil {
			return // it has come to its end
		} else if first.end != died {
			t.Fatalf("a life that was to die at place %d ended with %v", n, err)
		}
		second := life(t, first.RunID)
		second.boundary = first.passed + 5
		if _, err := second.live(h); second.end != died && err != nil {
			t.Fatalf("the second life after a death at place %d failed: %v", n, err)
		}
		notAgain(t, second, first)
		resumes(t, h, first, second)
		if t.Failed() {
			t.Fatalf("after a death at place %d", n)
		}
	}
}

func checkCancelled(t testing.TB, h *Harness) {
	for n := range tasks(t, h, "count again") {
		first := life(t, fmt.Sprint("resumed-", n))
		first.cancelAt = n + 1
		if _, err := first.live(h); !errors.Is(err, errCancelled) {
			t.Errorf("cancelled at task %d, the run ended with %v", n+1, err)
		}
		if resumes(t, h, first); t.Failed() {
			t.Fatalf("after a cancellation at task %d", n+1)
		}
	}
}
