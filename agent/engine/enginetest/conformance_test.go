// SPDX-License-Identifier: Apache-2.0

package enginetest_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/engine/enginetest"
	"github.com/ponte-go/ponte/agent/model"
	native "github.com/ponte-go/ponte/internal/engine"
	"github.com/ponte-go/ponte/toolset"
)

const brokenEnv = "PONTE_BROKEN_ENGINE"

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
}

func TestDurableEngineInMemoryConforms(t *testing.T) { enginetest.Conformance(t, memory("")) }

// TestBrokenEngine is what the suite says of an engine with a fault. It is run in a process of its own, because it fails.
func TestBrokenEngine(t *testing.T) {
	fault := os.Getenv(brokenEnv)
	if fault == "" {
		t.Skip("it is run by the other tests")
	}
	enginetest.HurryUp()
	enginetest.Conformance(t, memory(fault))
}

// TestFaultsAreFound runs the suite on engines with a fault each.
func TestFaultsAreFound(t *testing.T) {
	found := map[string]bool{}
	for fault, rule := range faults {
		t.Run(fault, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestBrokenEngine$", "-test.v")
			cmd.Env = append(os.Environ(), brokenEnv+"="+fault, "GOCOVERDIR="+t.TempDir())
			var out bytes.Buffer
			cmd.Stdout = &out
			require.Error(t, cmd.Run(), "the suite accepts it")
			require.Contains(t, out.String(), "--- FAIL: TestBrokenEngine/"+strings.ReplaceAll(rule, " ", "_")+" ", out.String())
			require.NotContains(t, out.String(), "panic:")
			found[rule] = true
		})
	}
	for _, rule := range enginetest.Rules() {
		require.True(t, found[rule], "no fault breaks the rule that %s", rule)
	}
}

// records are what a durable engine keeps of a run.
type records struct {
	done   map[string]*engine.Done
	order  []string
	stamps []time.Time
}

// memory returns a harness of durable engines that keep their records in memory, with a fault.
func memory(fault string) enginetest.Harness {
	runs := map[string]*records{}
	return enginetest.Harness{Durable: true, Open: func(_ *testing.T, l *enginetest.Life) (engine.Engine, func()) {
		r := runs[l.RunID]
		if r == nil {
			r = &records{done: map[string]*engine.Done{}}
			runs[l.RunID] = r
		}
		e := &durable{fault: fault, life: l, records: r, numbers: map[string]int{}, keys: map[*engine.Task]string{}, nonce: len(runs)}
		e.native = native.New(e)
		return e, e.native.Close
	}}
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
	stamps  int
	ids     int
	nonce   int
	late    []func()
	pending []func()
}

type durableFuture struct {
	engine.Future
	ctx  context.Context
	task *engine.Task
	done *engine.Done
	seq  int
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
	for _, record := range e.pending {
		record()
	}
	e.pending = nil
	key := t.Key()
	e.numbers[key]++
	key = fmt.Sprint(key, "#", e.numbers[key])
	e.keys[t] = key
	if done := e.records.done[key]; done != nil {
		seq := 0
		for e.records.order[seq] != key {
			seq++
		}
		t.Count(done)
		again := *done
		return &durableFuture{task: t, done: &again, seq: seq}
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
	e.mu.Lock()
	defer e.mu.Unlock()
	record := func(kept *engine.Done) func() {
		return func() { e.records.done[key], e.records.order = kept, append(e.records.order, key) }
	}(new(*done))
	switch {
	case done.Err != nil && e.fault != "it records what became of cancellations":
	case e.fault == "it records results after it returned them":
		e.pending = append(e.pending, record)
	default:
		record()
	}
	if e.fault == "it counts usage twice" {
		t.Count(done)
	}
}

// WaitAny implements [engine.Engine].
func (e *durable) WaitAny(futures []engine.Future, l engine.Listener) int {
	first := -1
	var inner []engine.Future
	for i, f := range futures {
		f := f.(*durableFuture)
		switch {
		case f.done == nil:
			inner = append(inner, f.Future)
		case first < 0 || f.seq < futures[first].(*durableFuture).seq:
			first = i
		}
	}
	switch {
	case first >= 0:
		return first
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

// Stamp implements [engine.Engine].
func (e *durable) Stamp(m *model.Message) {
	for _, report := range e.late {
		report()
	}
	e.late = nil
	if e.fault == "it sets no times" {
		return
	}
	if e.stamps == len(e.records.stamps) {
		e.records.stamps = append(e.records.stamps, time.Now().UTC())
	}
	m.Time = e.records.stamps[e.stamps]
	e.stamps++
}

// NewID implements [engine.Engine].
func (e *durable) NewID() string {
	if e.ids == 0 || e.fault != "it gives an id twice" {
		e.ids++
	}
	id := fmt.Sprint(e.life.RunID, "-", e.ids)
	if e.fault == "it makes new ids for a replay" {
		id = fmt.Sprint(id, "-", time.Now().UnixNano(), e.nonce)
	}
	return id
}
