// SPDX-License-Identifier: Apache-2.0

package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/engine/enginetest"
	native "github.com/ponte-go/ponte/internal/engine"
	"github.com/ponte-go/ponte/toolset"
)

// faults are what an engine does wrong, and the rule that finds it.
var faults = map[string]string{
	"it loses results of tools":                    "a run comes to its end",
	"it executes one task after another":           "calls run side by side",
	"it reports when the run does not wait":        "listeners are called while the run waits",
	"it hides errors of listeners":                 "errors of listeners reach the task",
	"it gives up tasks that are cancelled":         "a run can be cancelled at every task",
	"it takes the end of a goroutine for a result": "a task that ends its goroutine fails",
	"it sets no times":                             "times and ids are set",
	"it gives an id twice":                         "times and ids are set",
	"it counts usage twice":                        "usage counts once",
	"it makes new ids for a replay":                "a repeated run is the same and does nothing",
	"it records results after it returned them":    "a run that dies anywhere goes on",
	"it records what became of cancellations":      "a run that was cancelled anywhere goes on",
	"it records errors":                            "a run that was cancelled anywhere goes on",
	"it panics":                                    "a run comes to its end",
	"it has no futures":                            "a run comes to its end",
	"it does not play the run":                     "a run comes to its end",
	"it does not begin":                            "a run comes to its end",
	"it fails when it is resumed":                  "a run that dies anywhere goes on",
	"it says that runs that died have ended":       "a run that dies anywhere goes on",
	"it keeps no times of results":                 "a repeated run is the same and does nothing",
}

func TestDurableEngineInMemoryConforms(t *testing.T) { enginetest.Conformance(t, memory("")) }

// TestFaultsAreFound runs the suite on engines with a fault each, and has what it says of them.
func TestFaultsAreFound(t *testing.T) {
	enginetest.HurryUp(t)
	found := map[string]bool{}
	var all strings.Builder
	for _, fault := range slices.Sorted(maps.Keys(faults)) {
		rule := faults[fault]
		says := hear(t, func(t testing.TB) { enginetest.Check(t, rule, memory(fault)) })
		require.NotEmpty(t, says, "%s: the suite accepts that %s", rule, fault)
		var said []string
		for line := range strings.SplitSeq(unlike.ReplaceAllString(says, "…"), "\n") {
			if !dumps.MatchString(line) {
				said = append(said, line)
			}
		}
		slices.Sort(said) // calls run in parallel
		fmt.Fprintf(&all, "# %s\n%s\n  %s\n", fault, rule, strings.Join(slices.Compact(said), "\n  "))
		found[rule] = true
	}
	for _, rule := range enginetest.Rules() {
		require.True(t, found[rule], "no fault breaks the rule that %s", rule)
	}
	goldenFile(t, "testdata/faults.txt", all.String())
}

// Lines of histories and of stacks are left out of what the suite says, and what differs each time.
var (
	dumps  = regexp.MustCompile(`^ *(["{}\[\]]|goroutine |.*\.go:\d+ \+0x|.*\(.*0x|runtime/debug|.*\(\)$|.*\(\.\.\.\)|created by |\t|$)`)
	unlike = regexp.MustCompile(`\d{4}-\d\d-\d\d [0-9:.]+|\d{6,}(-\d+)?|\([1-3]/[a-z/]+\)|/tool/[a-h]\b`)
)

// records are what a durable engine keeps of a run.
type records struct {
	done  map[string]*engine.Done
	began engine.Time
	lives int
	ended bool
}

// memory returns a harness of durable engines that keep their records in memory, with a fault.
func memory(fault string) enginetest.Harness {
	runs := map[string]*records{}
	open := func(l *enginetest.Life) *durable {
		r := runs[l.RunID]
		if r == nil {
			r = &records{done: map[string]*engine.Done{}, began: engine.TimeOf(time.Now())}
			runs[l.RunID] = r
		}
		r.lives++
		e := &durable{fault: fault, life: l, records: r, numbers: map[string]int{}, keys: map[*engine.Task]string{}, nonce: len(runs)}
		e.native = native.New(e)
		return e
	}
	h := enginetest.Harness{Durable: true}
	h.Open = func(_ *testing.T, l *enginetest.Life) (engine.Engine, func()) {
		e := open(l)
		return e, e.native.Close
	}
	if !strings.Contains(fault, "run") {
		return h
	}
	h.Open = nil
	h.Play = func(ctx context.Context, _ *testing.T, l *enginetest.Life, play enginetest.Play) {
		e := open(l)
		defer e.native.Close()
		if fault == "it does not play the run" || e.records.ended {
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		_ = play(ctx, e)
		e.records.ended = true
	}
	return h
}

// durable is a durable engine.
type durable struct {
	fault  string
	life   *enginetest.Life
	native *native.Native

	mu      sync.Mutex
	records *records
	numbers map[string]int
	keys    map[*engine.Task]string
	nonce   int
	late    []func()
	pending []func()
}

type durableFuture struct {
	engine.Future
	ctx  context.Context
	task *engine.Task
	done *engine.Done
}

// Done implements [engine.Future].
func (f *durableFuture) Done() *engine.Done {
	if f.done != nil {
		return f.done
	}
	return f.Future.Done()
}

// Start implements [engine.Engine].
func (e *durable) Start(ctx context.Context, t *engine.Task) engine.Future {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, act := range append(e.pending, e.late...) {
		act()
	}
	e.pending, e.late = nil, nil
	key := t.Key()
	e.numbers[key]++
	key = fmt.Sprint(key, "#", e.numbers[key])
	e.keys[t] = key
	if done := e.records.done[key]; done != nil {
		t.Count(done)
		again := *done
		return &durableFuture{task: t, done: &again}
	}
	if e.fault == "it has no futures" {
		return nil
	}
	return &durableFuture{Future: e.native.Start(ctx, t), ctx: ctx, task: t}
}

// Do implements [engine.Worker]: it records what a task came to.
func (e *durable) Do(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done) {
	e.mu.Lock()
	key := e.keys[t]
	e.mu.Unlock()
	if e.fault == "it takes the end of a goroutine for a result" {
		ended := make(chan bool)
		go func() {
			defer close(ended)
			e.life.Worker.Do(ctx, t, l, done)
		}()
		<-ended
	} else {
		e.life.Worker.Do(ctx, t, l, done)
	}
	if e.fault == "it loses results of tools" && t.Op == engine.OpTool {
		done.Return.Result = toolset.Result{}
	}
	if e.fault != "it keeps no times of results" {
		done.At = engine.TimeOf(time.Now())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	keep := e.fault == "it records what became of cancellations" && done.Err == nil
	keep = keep || done.Settle(ctx, t) || e.fault == "it records errors"
	kept := new(*done)
	record := func() { e.records.done[key] = kept }
	switch {
	case !keep:
	case e.fault == "it records results after it returned them":
		e.pending = append(e.pending, record)
	default:
		record()
	}
	if e.fault == "it counts usage twice" {
		t.Count(done)
	}
}

// WaitAny implements [engine.Engine]. Recorded results come in any order.
func (e *durable) WaitAny(futures []engine.Future, l engine.Listener) int {
	var known []int
	var inner []engine.Future
	for i, f := range futures {
		if f := f.(*durableFuture); f.done == nil {
			inner = append(inner, f.Future)
		} else {
			known = append(known, i)
		}
	}
	switch {
	case e.fault == "it panics":
		panic("a nil map")
	case len(known) > 0:
		return known[rand.IntN(len(known))]
	case e.fault == "it executes one task after another":
		return e.native.WaitAny(inner[:1], l)
	case e.fault == "it gives up tasks that are cancelled":
		i := e.native.WaitAny(inner, l)
		if f := futures[i].(*durableFuture); f.ctx.Err() != nil {
			return -1
		}
		return i
	}
	return e.native.WaitAny(inner, faulty{l, e})
}

// faulty is a listener of an engine with a fault.
type faulty struct {
	engine.Listener
	engine *durable
}

// Custom implements [engine.Listener].
func (l faulty) Custom(c *engine.Call, value any) error {
	switch l.engine.fault {
	case "it reports when the run does not wait":
		l.engine.late = append(l.engine.late, func() { _ = l.Listener.Custom(c, value) })
		return nil
	case "it hides errors of listeners":
		_ = l.Listener.Custom(c, value)
		return nil
	}
	return l.Listener.Custom(c, value)
}

// Begin implements [engine.Engine].
func (e *durable) Begin(context.Context) (engine.Beginning, error) {
	id := e.life.RunID
	b := engine.Beginning{At: e.records.began, RunID: id + "-run", ConversationID: id + "-talk"}
	switch {
	case e.fault == "it does not begin",
		e.fault == "it fails when it is resumed" && e.records.lives > 1:
		return b, errors.New("the database is away")
	case e.fault == "it sets no times":
		b.At = 0
	case e.fault == "it gives an id twice":
		b.ConversationID = b.RunID
	case e.fault == "it makes new ids for a replay":
		b.RunID = fmt.Sprint(b.RunID, "-", time.Now().UnixNano(), e.nonce)
	}
	return b, nil
}
