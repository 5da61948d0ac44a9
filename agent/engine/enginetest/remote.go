// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"crypto/rand"
	"sync"

	"github.com/ponte-go/ponte/agent/engine"
)

// Execute executes a task elsewhere, as [engine.Execute] does with a worker.
type Execute func(ctx context.Context, task []byte, report func(report []byte) error) ([]byte, error)

// Remote is the simplest engine that has tasks executed elsewhere: everything but the inbox goes through JSON. It records nothing. It is
// meant for tests, and as an example of what an engine has to do.
type Remote struct {
	// Fuse has a step prepared, requested and checked by one task: see [engine.Beginning].
	Fuse bool

	local   engine.Worker
	execute Execute
	news    chan news
	quit    chan struct{}
	running sync.WaitGroup
}

// NewRemote returns an engine for one run. local executes the tasks that need the run's own process, execute all others.
func NewRemote(local engine.Worker, execute Execute) *Remote {
	return &Remote{local: local, execute: execute, news: make(chan news), quit: make(chan struct{})}
}

// news is a message from a task: a report, which waits for the reply, or its end.
type news struct {
	from   *future
	report []byte
	reply  chan error
	done   *engine.Done
}

type future struct {
	task *engine.Task
	done *engine.Done
}

// Done implements [engine.Future].
func (f *future) Done() *engine.Done { return f.done }

// Start implements [engine.Engine].
func (r *Remote) Start(ctx context.Context, t *engine.Task) engine.Future {
	f := &future{task: t}
	if t.Op == engine.OpInbox {
		f.done = new(engine.Done)
		r.local.Do(ctx, t, nil, f.done)
		f.done.Used, f.done.At = nil, now() // it was counted here
		return f
	}
	data, err := engine.MarshalTask(t)
	if err != nil {
		f.done = &engine.Done{Err: err}
		return f
	}
	r.running.Go(func() {
		done := &engine.Done{Err: engine.ErrGoexit}
		defer func() {
			select {
			case r.news <- news{from: f, done: done}:
			case <-r.quit:
			}
		}()
		done = r.do(ctx, f, data)
	})
	return f
}

func (r *Remote) do(ctx context.Context, f *future, task []byte) *engine.Done {
	data, err := r.execute(ctx, task, func(report []byte) error {
		reply := make(chan error, 1)
		select {
		case r.news <- news{from: f, report: report, reply: reply}:
			return <-reply
		case <-r.quit:
			return context.Canceled
		}
	})
	if err != nil {
		return &engine.Done{Err: err}
	}
	done, err := engine.UnmarshalDone(f.task, data)
	if err != nil {
		return &engine.Done{Err: err}
	}
	return done
}

// Begin implements [engine.Engine].
func (r *Remote) Begin(context.Context) (engine.Beginning, error) {
	b := engine.Beginning{At: now(), RunID: rand.Text(), ConversationID: rand.Text(), Fuse: r.Fuse}
	return b, nil
}

// WaitAny implements [engine.Engine].
func (r *Remote) WaitAny(futures []engine.Future, l engine.Listener) int {
	for {
		for i := range futures {
			if futures[i].Done() != nil {
				return i
			}
		}
		n := <-r.news
		if n.done == nil {
			n.reply <- engine.Deliver(n.from.task, n.report, l)
			continue
		}
		n.from.task.Count(n.done)
		n.from.done = n.done
	}
}

// Close waits for abandoned tasks. Their contexts must have ended.
func (r *Remote) Close() {
	close(r.quit)
	r.running.Wait()
}
