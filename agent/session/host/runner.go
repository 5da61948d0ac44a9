// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/session"
)

// Runner decides which process runs the turns of sessions. The native runner, which is the default,
// runs them in the process where they were prompted, and resumes the turns of killed processes. The
// runner of package temporalengine has Temporal distribute them over workers. The journal of a turn
// is in the store with every runner. Implementations are safe for concurrent use.
//
// With a runner in [Config].Runner, prompts and answers go to the inbox of the session, and the
// host tells the runner. It does not touch a turn that was cut off, which only the runner
// continues. So all programs that write to the store need the same runner. Sessions are at the
// place [Local], and commands that begin with a slash are executed where they were typed.
type Runner interface {
	// Wake is called when something was put into the inbox of a session. It may be called again for
	// the same, and does not wait for the turn. An error is logged: nothing is lost, because Serve
	// also finds such sessions in the store.
	Wake(ctx context.Context, session string) error
	// Serve advances turns until ctx ends, and returns its cause. It serves the sessions that Wake
	// was called for, in any process, and sessions that have work but no live holder.
	Serve(ctx context.Context, t Turns) error
}

// Turns is the host's side of a [Runner].
type Turns interface {
	// Advance resumes a turn that was cut off, or does what the inbox asks for, up to the end of
	// the first turn. It holds the session's lease meanwhile. If there is nothing to do, the error
	// wraps [ErrIdle]; if another process holds the session, [session.ErrHeld]. If ctx ends, the
	// turn is cancelled. If the cause of that is [ErrMoved], the turn is cut off as if the process
	// had ended, and the next Advance, in any process, continues it.
	Advance(ctx context.Context, session string) (*Outcome, error)
}

// ErrMoved is the cause of the context of [Turns].Advance for a turn that another process is to
// continue. [Outcome].Err wraps it and [session.ErrUnavailable] for a turn that was left because
// the store could not be reached: it continues later, here or elsewhere.
var ErrMoved = errors.New("host: the turn continues in another process")

// Serve has the turns of the sessions of the store run that no live process owns, until ctx ends,
// whose cause it returns: turns whose process was killed continue, up to [Config].Attempts times,
// and prompts that wait in an inbox are run, although no one types. Calls of tools that may have
// run are made again, with the same idempotency keys, if the tool is idempotent or only reads;
// otherwise a person is asked. Turns that Serve runs move when ctx ends: they have no end then, and
// the next process that serves the store continues them, as if this one had been killed. Of the
// sessions, it serves those for which each keep returns true, such as those of the program's
// directories. Run it once in each process that serves the store. Sessions are opened at the place
// [Local], so a host whose sessions need an editor's files must not call it.
func (h *Host) Serve(ctx context.Context, keep ...func(*session.Info) bool) error {
	h.mu.Lock()
	if h.serving {
		h.mu.Unlock()
		return errors.New("host: serve: the host serves already")
	}
	h.serving, h.keep = true, keep
	if h.served != nil {
		close(h.served)
		h.served = nil
	}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.serving = false
		h.mu.Unlock()
	}()
	return h.runner.Serve(ctx, turns{h})
}

// WillServe announces that [Host.Serve] is about to be called, with the same arguments. From now on
// a turn that was cut off is left to Serve when its session is opened; before, it is settled as
// interrupted. Call it before sessions can be opened if Serve runs on another goroutine, which may
// be late.
func (h *Host) WillServe(keep ...func(*session.Info) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.serving && h.served == nil {
		h.served, h.keep = make(chan struct{}), keep
	}
}

// serves reports whether Serve serves a session.
func (h *Host) serves(i *session.Info) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.serving && h.keeps(i)
}

// keeps reports whether a session is one of those that Serve is for. The caller holds mu.
func (h *Host) keeps(i *session.Info) bool {
	return h.kept && !slices.ContainsFunc(h.keep, func(k func(*session.Info) bool) bool { return !k(i) })
}

// takesUp reports whether Serve continues a turn of a session that was cut off, also if it is
// only about to be called.
func (h *Host) takesUp(i *session.Info) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.attempts > 0 && (h.serving || h.served != nil) && h.keeps(i)
}

// turns implements [Turns].
type turns struct{ host *Host }

// Advance implements [Turns].
func (t turns) Advance(ctx context.Context, id string) (*Outcome, error) {
	info, err := t.host.store.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if !t.host.serves(&info) {
		return nil, fmt.Errorf("host: session %s is not served here: %w", id, ErrIdle)
	}
	s, err := t.host.Open(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Leave(context.WithoutCancel(ctx), nil) }()
	s.advancing.Add(1)
	defer s.advancing.Add(-1)
	if t.host.takesUp(&info) {
		o, err := s.takeUp(ctx)
		if err != nil || o != nil {
			return o, err
		}
	}
	return s.runFirst(ctx)
}

// runFirst does what the inbox asks for, up to the end of the first turn.
func (s *Session) runFirst(ctx context.Context) (*Outcome, error) {
	items, err := s.inbox(ctx)
	if err != nil {
		return nil, err
	}
	known := context.WithValue(ctx, nothingCut{}, true)
	for i := range items {
		if items[i].Kind == session.ItemContinue { // it went on, or has ended
			_ = s.consume(ctx, &items[i], func() error { return nil })
			continue
		}
		if items[i].Kind != session.ItemPrompt {
			s.serve(known, &items[i])
			if o := s.begun(ctx); o != nil { // the last answer to a pending run
				return o, nil
			}
			continue
		}
		w, err := waitingOf(&items[i])
		if err != nil {
			return nil, err
		}
		if s.waitsHere(w.ID) {
			break
		}
		t, err := s.AdmitWith(ctx, BusyRefuse)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", session.ErrHeld, err)
		}
		t.own(&items[i])
		o := t.Run(Prompt{Parts: w.Parts, Shown: w.Shown, Plain: w.Plain, Wait: true})
		return o, nil
	}
	return nil, fmt.Errorf("host: session %s: %w", s.id, ErrIdle)
}

// native is the runner that runs turns in this process.
type native struct{ store session.Store }

// Wake implements [Runner]: the process that has the session open hears of the item.
func (native) Wake(context.Context, string) error { return nil }

// patrol is how often the native runner looks for what killed processes have left.
const patrol = 500 * time.Millisecond

// maxAdvancing bounds the sessions that the native runner advances at a time.
const maxAdvancing = 16

// Serve implements [Runner].
func (n native) Serve(ctx context.Context, t Turns) error {
	w, ok := n.store.(session.Watcher)
	if !ok {
		return fmt.Errorf("host: serve: the store does not tell of changes: %w", errors.ErrUnsupported)
	}
	var all sync.WaitGroup
	defer all.Wait()
	var mu sync.Mutex
	busy := map[string]bool{}
	free := make(chan struct{}, maxAdvancing)
	run, move := context.WithCancelCause(context.WithoutCancel(ctx))
	defer move(ErrMoved)
	for ctx.Err() == nil {
		for id, err := range w.Work(ctx) {
			if err != nil {
				break
			}
			mu.Lock()
			taken := busy[id]
			busy[id] = true
			mu.Unlock()
			if taken {
				continue
			}
			select {
			case free <- struct{}{}:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			all.Go(func() {
				defer func() {
					mu.Lock()
					delete(busy, id)
					mu.Unlock()
					<-free
				}()
				for err := error(nil); err == nil && ctx.Err() == nil; {
					_, err = t.Advance(run, id)
				}
			})
		}
		select {
		case <-ctx.Done():
		case <-time.After(patrol):
		}
	}
	return context.Cause(ctx)
}
