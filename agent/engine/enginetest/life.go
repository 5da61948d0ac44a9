// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// Life is one life of a run: from its start or resumption to its end, or to the death of the process.
type Life struct {
	// RunID identifies the run. Lives of one run follow one another and share their records, if the engine has any.
	RunID string
	// Meter is the meter of this life. It has counted nothing.
	Meter *toolset.Meter
	// Worker executes the tasks. An engine whose tasks are executed in another process has [Script] execute them there, and
	// calls Begin for each.
	Worker engine.Worker

	t        testing.TB
	cancel   context.CancelCauseFunc
	boundary int // how many times the engine is passed before the life ends; negative to live on
	cancelAt int // which task is cancelled, from 1; 0 for none
	goexitAt string
	together bool
	stream   bool
	stopAt   string
	mu       sync.Mutex
	begun    []string // keys of the tasks that were executed
	returned []string // keys of the tasks whose results the loop was given
	running  int
	meeting  int
	met      chan struct{}
	waiting  bool // the loop is in WaitAny
	telling  bool
	told     int
	passed   int
	began    engine.Beginning
	end      end
	over     bool // nothing may be said of it any more
}

// end is how a life has ended.
type end int

const (
	unplayed end = iota
	finished     // the run has come to its end, well or not
	died
	broken // the engine broke the contract, so what became of the run means nothing
)

// ErrDied is returned by the function play of a [Harness] if the life has ended in the middle.
var ErrDied = errors.New("enginetest: the process of the run has died")

// errBroken means that a test has failed already.
var errBroken = errors.New("the engine does not keep the contract")

// errorf fails the test, unless the life is over: a straggler must not end the program.
func (l *Life) errorf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.t.Errorf(format, args...)
	}
}

// task returns the key of the n-th task that was executed.
func (l *Life) task(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n < len(l.begun) {
		return l.begun[n]
	}
	return "which was not executed"
}

// patience limits how long calls wait for each other. It ends the suite for engines that do not run
// them concurrently.
var patience = 20 * time.Second

// errCancelled is the cause of the cancellations of the suite.
var errCancelled = errors.New("cancelled by the suite")

// Begin is called before a task is executed elsewhere, with the context that it is executed with. It may block until ctx ends. The task
// is then not executed: its result is the error.
func (l *Life) Begin(ctx context.Context, t *engine.Task) error {
	l.mu.Lock()
	l.begun = append(l.begun, t.Key())
	n := len(l.begun)
	meets := l.together && t.Op == engine.OpTool && slices.Contains([]string{"a", "b", "c"}, t.Call.ID)
	if meets {
		if l.meeting++; l.meeting == 3 {
			close(l.met)
		}
	}
	l.mu.Unlock()
	if meets {
		select {
		case <-l.met:
		case <-time.After(patience):
			l.errorf("calls that were started together do not run side by side")
		case <-ctx.Done():
		}
	}
	if n == l.cancelAt {
		l.cancel(errCancelled)
		<-ctx.Done()
		return errCancelled
	}
	if t.Key() == l.goexitAt {
		runtime.Goexit()
	}
	return nil
}

// own is the worker of a life.
type own struct{ *Life }

// Do implements [engine.Worker].
func (w own) Do(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done) {
	w.mu.Lock()
	w.running++
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.running--
		w.mu.Unlock()
	}()
	if err := w.Begin(ctx, t); err != nil {
		gaveUp(t, done)
		return
	}
	script{}.Do(ctx, t, l, done)
}

// gaveUp is the result of a task that was cancelled, as it comes from models and tools that have
// words for it.
func gaveUp(t *engine.Task, done *engine.Done) {
	switch t.Op {
	case engine.OpTool:
		done.Return.Text, done.Return.Outcome = "I was told to stop.", model.OutcomeFailed
	case engine.OpApprove:
		done.Decision = &toolset.Decision{Verdict: toolset.VerdictDeny, Reason: "nobody is there"}
	case engine.OpOutput:
		done.Return = engine.Return{Result: toolset.Result{Text: "not valid"}, Retry: true}
	default:
		done.Err = errCancelled
	}
}

// death ends a life in the middle.
type death struct{}

// watched is an engine that a life looks at.
type watched struct {
	engine  engine.Engine
	life    *Life
	futures []engine.Future
}

type watchedFuture struct {
	engine.Future
	key   string
	timed bool
}

// pass passes a place where a life may end.
func (w *watched) pass() {
	if l := w.life; l.boundary >= 0 && l.passed >= l.boundary {
		panic(death{})
	}
	w.life.passed++
}

// Begin implements [engine.Engine].
func (w *watched) Begin(ctx context.Context) (engine.Beginning, error) {
	w.pass()
	b, err := w.engine.Begin(ctx)
	w.life.began = b
	w.pass()
	return b, err
}

// Start implements [engine.Engine].
func (w *watched) Start(ctx context.Context, t *engine.Task) engine.Future {
	w.pass()
	f := w.engine.Start(ctx, t)
	w.pass()
	return &watchedFuture{f, t.Key(), loop.Timed(t.Op)}
}

// WaitAny implements [engine.Engine].
func (w *watched) WaitAny(futures []engine.Future, l engine.Listener) int {
	w.futures = w.futures[:0]
	for _, f := range futures {
		w.futures = append(w.futures, f.(*watchedFuture).Future)
	}
	w.life.waiting = true
	i := w.engine.WaitAny(w.futures, &watchedListener{l, w.life})
	w.life.waiting = false
	if i < 0 || i >= len(futures) || futures[i].Done() == nil {
		panic(fmt.Sprintf("WaitAny returned %d, which is not a future that is done", i))
	}
	w.pass()
	f := futures[i].(*watchedFuture)
	done, key := f.Done(), f.key
	if done.Err != nil {
		return i
	}
	w.life.returned = append(w.life.returned, key)
	nothing := done.Inbox == nil && strings.Contains(key, "/inbox")
	if f.timed && !nothing && done.At == 0 {
		w.life.errorf("the result of %s has no time: Done.At must be set", key)
	}
	return i
}

// watchedListener checks how it is called.
type watchedListener struct {
	engine.Listener
	*Life
}

func (l *watchedListener) enter() func() {
	if !l.waiting || l.telling {
		l.errorf("the listener was called outside of WaitAny, or twice at once")
	}
	l.telling = true
	l.told++
	return func() { l.telling = false }
}

// Sink implements [engine.Listener].
func (l *watchedListener) Sink() model.Sink {
	sink := l.Listener.Sink()
	return func(d model.Delta) error {
		defer l.enter()()
		return sink(d)
	}
}

// Custom implements [engine.Listener].
func (l *watchedListener) Custom(c *engine.Call, value any) error {
	defer l.enter()()
	if c == nil || c.ID == "" {
		l.errorf("an event of a tool came without its call")
	} else if c.ID == l.stopAt {
		return errors.New("stopped by the suite")
	}
	return l.Listener.Custom(c, value)
}

// silent is an observer of the run's events, which are not the engine's business.
type silent struct{}

// Emit implements [loop.Observer].
func (silent) Emit(*engine.Event) bool { return true }

// live lives a life and returns what the run came to: an error if the life has ended before.
func (l *Life) live(h *Harness) (res *loop.Result, err error) {
	ctx, cancel := context.WithCancelCause(l.t.Context())
	l.cancel, l.met, l.Meter = cancel, make(chan struct{}), new(toolset.Meter)
	l.Worker = own{l}
	play := func(ctx context.Context, eng engine.Engine) (ended error) {
		l.end, ended = broken, errBroken // unless something better is known
		defer func() {
			switch p := recover(); p.(type) {
			case nil:
			case death:
				l.end, ended = died, ErrDied
			default:
				l.errorf("the engine panicked: %v\n%s", p, debug.Stack())
			}
		}()
		res, err = loop.Run(ctx, &watched{engine: eng, life: l}, silent{}, &loop.Config{
			Agent: "enginetest", RunID: l.RunID, Prompt: []model.Part{model.User("Go.")}, Meter: l.Meter,
			Asks: true, Steered: true, Observed: l.stream, Stream: l.stream,
		})
		l.end = finished
		return nil
	}
	if h.Play != nil {
		h.Play(ctx, h.test, l, play)
		cancel(nil)
	} else {
		eng, release := h.Open(h.test, l)
		_ = play(ctx, eng)
		cancel(nil)
		if release != nil {
			release()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running > 0 {
		l.t.Errorf("%d tasks go on after the run has ended", l.running)
	}
	l.over = true
	switch l.end {
	case finished:
		return res, err
	case unplayed:
		l.t.Error("the run was not played: the harness must have its function play called for each life")
	}
	return nil, errBroken
}

// history shows a history without what an engine may choose.
func history(t testing.TB, messages []*model.Message) string {
	t.Helper()
	var shown []model.Message
	for _, m := range messages {
		c := *m
		c.Time, c.ConversationID = time.Time{}, ""
		shown = append(shown, c)
	}
	data, err := json.MarshalIndent(pointers(shown), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func pointers(messages []model.Message) []*model.Message {
	var all []*model.Message
	for i := range messages {
		all = append(all, &messages[i])
	}
	return all
}
