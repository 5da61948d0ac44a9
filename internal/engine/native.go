// Package engine executes the tasks of the run loop.
package engine

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
)

// Native executes tasks in this process: a lone task on the caller's goroutine, several in goroutines of their own. It
// serves one run. The run's owner calls [Native.Close] when the run has ended, however it did.
type Native struct {
	worker loop.Worker
	// reports carries what the goroutines have to tell; made when the first one starts.
	reports chan report
	quit    chan struct{}
	running sync.WaitGroup
}

var _ loop.Engine = (*Native)(nil)

// New returns an engine that has worker do the tasks.
func New(worker loop.Worker) *Native { return &Native{worker: worker} }

type future struct {
	ctx     context.Context
	task    *loop.Task
	started bool
	over    bool
	done    loop.Done
}

func (f *future) Done() *loop.Done {
	if !f.over {
		return nil
	}
	return &f.done
}

// report says either that a future is over or has a note, which waits for its reply.
type report struct {
	future *future
	note   loop.Note
	reply  chan error
}

// Start implements [loop.Engine].
func (n *Native) Start(ctx context.Context, t *loop.Task) loop.Future {
	return &future{ctx: ctx, task: t}
}

// WaitAny implements [loop.Engine].
func (n *Native) WaitAny(futures []loop.Future, notify func(loop.Note) error) int {
	if f := futures[0].(*future); len(futures) == 1 && !f.started {
		f.started, f.over, f.done = true, true, n.worker.Do(f.ctx, f.task, notify)
		return 0
	}
	for _, f := range futures {
		n.spawn(f.(*future))
	}
	for {
		for i := range futures {
			if futures[i].Done() != nil {
				return i
			}
		}
		if got := <-n.reports; got.future != nil {
			got.future.over = true
		} else {
			got.reply <- notify(got.note)
		}
	}
}

// spawn runs a task in a goroutine, unless it is running already.
func (n *Native) spawn(f *future) {
	if f.started {
		return
	}
	f.started = true
	if n.reports == nil {
		n.reports, n.quit = make(chan report), make(chan struct{})
	}
	n.running.Go(func() {
		reply := make(chan error, 1)
		f.done = n.worker.Do(f.ctx, f.task, func(note loop.Note) error {
			select {
			case n.reports <- report{note: note, reply: reply}:
			case <-n.quit:
				return loop.ErrStopped
			}
			select {
			case err := <-reply:
				return err
			case <-n.quit:
				return loop.ErrStopped
			}
		})
		select {
		case n.reports <- report{future: f}:
		case <-n.quit:
		}
	})
}

// Close waits for the goroutines of tasks that nobody waits for any more, which happens only if the run was left by a
// panic. Their contexts must have been cancelled.
func (n *Native) Close() {
	if n.quit != nil {
		close(n.quit)
		n.running.Wait()
	}
}

// Stamp implements [loop.Engine].
func (n *Native) Stamp(m *model.Message) { m.Time = time.Now().UTC().Round(0) }

// NewID implements [loop.Engine].
func (n *Native) NewID() string { return rand.Text() }
