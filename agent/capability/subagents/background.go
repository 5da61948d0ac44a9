// SPDX-License-Identifier: Apache-2.0

package subagents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// background holds the sub-agents of a run that work outside of calls.
type background struct {
	mu     sync.Mutex
	closed bool
	count  map[string]int  // of each agent
	taken  map[string]bool // handles of an earlier process
	told   map[string]bool // handles that the model was told about
	tasks  map[string]*task
	order  []string
}

// errEnded cancels what is in the background when its run ends.
var errEnded = errors.New("subagents: the run has ended")

// maxEvents bounds the events that are kept until the model waits. Deltas are dropped first.
const maxEvents = 2000

// task is a sub-agent in the background. It is the [toolset.Asker] of its run.
type task struct {
	handle, agent string
	stop          context.CancelFunc
	run           *agent.Outliving
	// ended is closed when it has ended, changed gets a token for each event.
	ended     chan struct{}
	changed   chan struct{}
	questions chan question

	mu     sync.Mutex
	events []agent.Nested
	text   string
	err    error
}

// question is a question of a sub-agent that a waiting call has to ask.
type question struct {
	ask  func(ctx context.Context, person toolset.Asker)
	done chan struct{}
}

// work runs a sub-agent in the background.
type work func(context.Context, *task) (string, error)

// start begins a sub-agent. An empty handle makes one. Those with a handle are from an earlier
// process: no more than MaxBackground of them had not ended, and they are not refused.
func (b *background) start(
	ctx context.Context, name, handle string, run *agent.Outliving, work work,
) (*task, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errEnded
	}
	running := 0
	for _, t := range b.tasks {
		if !t.over() {
			running++
		}
	}
	if running >= MaxBackground && handle == "" {
		return nil, toolset.Failed("%d background agents are already running. Wait for one of them: %s.", running, strings.Join(b.order, ", "))
	}
	for handle == "" {
		b.count[name]++
		if handle = fmt.Sprintf("%s-%d", name, b.count[name]); b.taken[handle] {
			handle = ""
		}
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	t := &task{
		handle: handle, agent: name, run: run, stop: func() { cancel(errEnded) },
		ended: make(chan struct{}), changed: make(chan struct{}, 1), questions: make(chan question), err: errors.New("it ended its goroutine"),
	}
	b.tasks[t.handle], b.order = t, append(b.order, t.handle)
	go func() {
		defer close(t.ended)
		defer cancel(nil)
		text, err := guarded(ctx, t, work)
		t.mu.Lock()
		t.text, t.err = text, err
		t.mu.Unlock()
	}()
	return t, nil
}

// guarded calls work. A panic is an error.
func guarded(ctx context.Context, t *task, work work) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return work(ctx, t)
}

func (t *task) over() bool {
	select {
	case <-t.ended:
		return true
	default:
		return false
	}
}

func (t *task) result() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text, t.err
}

// chosen returns tasks by their handles, or all, in order.
func (b *background) chosen(handles []string) (tasks []*task, unknown []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(handles) == 0 {
		handles = b.order
	}
	for _, h := range handles {
		if t := b.tasks[h]; t == nil {
			unknown = append(unknown, h)
		} else if !slices.Contains(tasks, t) {
			tasks = append(tasks, t)
		}
	}
	return tasks, unknown
}

// forget removes tasks that the model has been told about. Their usage is recorded with the call
// that has told it, whose context and meter are given.
func (b *background) forget(ctx context.Context, tasks []*task, call *toolset.Meter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range tasks {
		if b.tasks[t.handle] == t {
			t.run.Ended(ctx, call)
		}
		delete(b.tasks, t.handle)
		b.told[t.handle] = true
		b.order = slices.DeleteFunc(b.order, func(h string) bool { return h == t.handle })
	}
}

// known reports whether a handle is or was one of this process.
func (b *background) known(handle string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tasks[handle] != nil || b.told[handle]
}

// take marks the handles of an earlier process.
func (b *background) take(all []*started) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range all {
		b.taken[s.Handle] = true
	}
}

func (b *background) handles() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.order) == 0 {
		return "none"
	}
	return strings.Join(b.order, ", ")
}

// Close implements [toolset.Instance]: it ends what is in the background.
func (b *background) Close(context.Context) error {
	b.mu.Lock()
	b.closed = true
	var all []*task
	for _, t := range b.tasks {
		all = append(all, t)
	}
	b.mu.Unlock()
	for _, t := range all {
		t.stop()
	}
	for _, t := range all {
		<-t.ended
	}
	return nil
}

// show keeps an event until the model waits.
func (t *task) show(e agent.Nested) {
	t.mu.Lock()
	if n := len(t.events); n < maxEvents/2 || n < maxEvents && e.Event.Kind != agent.EventPartDelta {
		t.events = append(t.events, e)
	}
	t.mu.Unlock()
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// attend shows the events of tasks and asks their questions until one of them has ended.
func attend[D any](ctx context.Context, run *toolset.RunContext[D], until *task, tasks []*task) error {
	person := agent.AskerOf(run)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	for _, t := range tasks {
		if t == until {
			continue
		}
		helpers.Go(func() { _ = t.serve(ctx, run.Emit, person) })
	}
	err := until.serve(ctx, run.Emit, person)
	cancel(errEnded)
	return err
}

// serve shows the events of a task and asks its questions until it has ended, or ctx has.
func (t *task) serve(ctx context.Context, emit func(any), person toolset.Asker) error {
	for {
		t.mu.Lock()
		events := t.events
		t.events = nil
		t.mu.Unlock()
		for _, e := range events {
			emit(e)
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-t.changed:
		case q := <-t.questions:
			q.ask(ctx, person)
			close(q.done)
		case <-t.ended:
			t.mu.Lock()
			left := len(t.events)
			t.mu.Unlock()
			if left == 0 {
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// put passes a question to a waiting call, and waits until it was asked.
func (t *task) put(ctx context.Context, ask func(ctx context.Context, person toolset.Asker)) error {
	q := question{ask, make(chan struct{})}
	select {
	case t.questions <- q:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-q.done:
		return nil
	case <-ctx.Done():
		<-q.done // ask returns soon: it has a part of the wait's context
		return context.Cause(ctx)
	}
}

// asked asks until there is an answer. If the model stops to wait while the question is open, the
// next one that waits asks again.
func asked[R any](ctx context.Context, t *task, ask func(ctx context.Context, person toolset.Asker) (R, error)) (reply R, err error) {
	for {
		left := false // the one who asks
		if err := t.put(ctx, func(waiting context.Context, person toolset.Asker) {
			both, cancel := joined(ctx, waiting)
			defer cancel()
			reply, err = ask(both, person)
			left = err != nil && waiting.Err() != nil
		}); err != nil {
			return *new(R), err
		}
		if !left {
			return reply, err
		}
	}
}

// Approve implements [toolset.Asker].
func (t *task) Approve(ctx context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
	return asked(ctx, t, func(ctx context.Context, person toolset.Asker) (toolset.Decision, error) {
		return person.Approve(ctx, r)
	})
}

// Answer implements [toolset.Asker].
func (t *task) Answer(ctx context.Context, q toolset.Question) (toolset.Reply, error) {
	return asked(ctx, t, func(ctx context.Context, person toolset.Asker) (toolset.Reply, error) { return person.Answer(ctx, q) })
}

// joined returns a context that ends with either of two.
func joined(a, b context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(a)
	stop := context.AfterFunc(b, func() { cancel(context.Cause(b)) })
	return ctx, func() { stop(); cancel(nil) }
}

// Policies returns the policies of the outer run, for tools in the background: see [agent.Within].
func (t *task) Policies() []*agent.Policy { return t.run.Policies() }

// Emit implements [toolset.Host], for tools in the background.
func (t *task) Emit(_ toolset.Call, value any) {
	if e, ok := value.(agent.Nested); ok {
		t.show(e)
	}
}

// Ask implements [toolset.Host].
func (t *task) Ask(ctx context.Context, _ toolset.Call, q toolset.Question) (toolset.Reply, error) {
	return t.Answer(ctx, q)
}

// Generate implements [toolset.Host].
func (t *task) Generate(context.Context, toolset.Call, *model.Request) (*model.Message, error) {
	return nil, toolset.ErrNobody
}
