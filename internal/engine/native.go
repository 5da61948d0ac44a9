// SPDX-License-Identifier: Apache-2.0

// Package engine executes the tasks of the run loop.
package engine

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
)

// Native executes tasks in this process: a lone task on the caller's goroutine, unless its Emits is set, and all others in
// separate goroutines. It serves one run. The owner of the run calls [Native.Close] when the run has ended.
type Native struct {
	worker engine.Worker
	// first is the future of the first task. Its result has been read when the next task starts, so it is used again.
	first future
	// goroutines is made when the first one starts.
	*goroutines
}

// goroutines runs tasks that do not run alone.
type goroutines struct {
	// reports carries what they have to tell.
	reports chan report
	quit    chan struct{}
	running sync.WaitGroup
}

var _ engine.Engine = (*Native)(nil)

// New returns an engine whose tasks are executed by worker.
func New(worker engine.Worker) *Native {
	return &Native{worker: worker}
}

type future struct {
	ctx     context.Context
	task    *engine.Task
	taken   bool // of Native.first: it is in use
	started bool
	over    bool
	done    engine.Done
}

func (f *future) Done() *engine.Done {
	if !f.over {
		return nil
	}
	return &f.done
}

// stamp sets the time of a result, unless the worker has.
func (f *future) stamp() {
	if f.done.At == 0 && loop.Timed(f.task.Op) {
		f.done.At = engine.TimeOf(time.Now())
	}
}

// report says either that a future is over or what its task has to say, which waits for the reply.
type report struct {
	future *future
	say    func(l engine.Listener) error
	reply  chan error
}

// Start implements [engine.Engine].
func (n *Native) Start(ctx context.Context, t *engine.Task) engine.Future {
	if f := &n.first; !f.taken {
		*f = future{ctx: ctx, task: t, taken: true}
		return f
	}
	return &future{ctx: ctx, task: t}
}

// WaitAny implements [engine.Engine].
func (n *Native) WaitAny(futures []engine.Future, l engine.Listener) int {
	if f := futures[0].(*future); len(futures) == 1 && !f.started && !f.task.Emits {
		f.started, f.over = true, true
		n.worker.Do(f.ctx, f.task, l, &f.done)
		f.stamp()
		f.taken = false
		return 0
	}
	return n.waitSpawned(futures, l)
}

// waitSpawned is WaitAny for tasks that run in goroutines.
func (n *Native) waitSpawned(futures []engine.Future, l engine.Listener) int {
	for _, f := range futures {
		n.spawn(f.(*future))
	}
	for {
		for i := range futures {
			if f := futures[i].(*future); f.over {
				f.taken = false
				return i
			}
		}
		if got := <-n.reports; got.future != nil {
			got.future.over = true
		} else {
			got.reply <- got.say(l)
		}
	}
}

// spawn runs a task in a goroutine, unless it is running already.
func (n *Native) spawn(f *future) {
	if f.started {
		return
	}
	f.started = true
	if n.goroutines == nil {
		n.goroutines = &goroutines{reports: make(chan report), quit: make(chan struct{})}
	}
	n.running.Go(func() {
		returned := false
		defer func() {
			if !returned { // The worker catches panics.
				f.done = engine.Done{Err: engine.ErrGoexit}
			}
			select {
			case n.reports <- report{future: f}:
			case <-n.quit:
			}
		}()
		n.worker.Do(f.ctx, f.task, relay{n}, &f.done)
		f.stamp()
		returned = true
	})
}

// relay brings what a task in a goroutine has to say to the goroutine that waits.
type relay struct{ native *Native }

// Sink implements [engine.Listener].
func (r relay) Sink() model.Sink {
	return func(d model.Delta) error {
		return r.send(func(l engine.Listener) error { return l.Sink()(d) })
	}
}

// Custom implements [engine.Listener].
func (r relay) Custom(c *engine.Call, value any) error {
	return r.send(func(l engine.Listener) error { return l.Custom(c, value) })
}

func (r relay) send(say func(engine.Listener) error) error {
	reply := make(chan error, 1) // a task may say several things at once
	select {
	case r.native.reports <- report{say: say, reply: reply}:
	case <-r.native.quit:
		return engine.ErrStopped
	}
	select {
	case err := <-reply:
		return err
	case <-r.native.quit:
		return engine.ErrStopped
	}
}

// Close waits for the goroutines of abandoned tasks. There are such tasks only if a panic ended the run. Their contexts must
// have been cancelled.
func (n *Native) Close() {
	if n.goroutines != nil {
		close(n.quit)
		n.running.Wait()
	}
}

// Begin implements [engine.Engine].
func (n *Native) Begin(context.Context) (engine.Beginning, error) {
	run, conversation := newIDs()
	return engine.Beginning{At: engine.TimeOf(time.Now()), RunID: run, ConversationID: conversation}, nil
}

const lenID = 26

// drawn are random bytes for the ids of several runs: reading them one run at a time takes longer.
type drawn struct {
	bytes [16 * 2 * lenID]byte
	used  int
}

var random = sync.Pool{New: func() any { return &drawn{used: len(drawn{}.bytes)} }}

// newIDs returns two ids, with the letters and the length of [rand.Text].
func newIDs() (string, string) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	d := random.Get().(*drawn)
	if d.used == len(d.bytes) {
		_, _ = rand.Read(d.bytes[:]) // it never fails
		d.used = 0
	}
	ids := d.bytes[d.used : d.used+2*lenID]
	for i, b := range ids {
		ids[i] = letters[b%32]
	}
	both := string(ids)
	d.used += len(ids)
	random.Put(d)
	return both[:lenID], both[lenID:]
}

func now() time.Time { return time.Now().UTC().Round(0) }
