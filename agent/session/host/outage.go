// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ponte-go/ponte/agent/session"
)

// outage is for how long a turn waits for a store that cannot be reached.
const outage = time.Minute

// errLeft is the cause of the end of a turn that has waited for the store in vain. The turn has no
// end then, as if the process had been killed, and is resumed when the store is back.
var errLeft = fmt.Errorf("host: the store could not be reached for %v: %w", outage, ErrMoved)

// errDoubt is errLeft before the store had answered that it has the prompt.
var errDoubt = errors.New("host: it is not known whether the prompt is recorded")

// passes reports whether an error of the store goes away by itself.
func passes(err error) bool {
	return errors.Is(err, session.ErrUnavailable) || errors.Is(err, session.ErrBusy)
}

// reach knows since when the store cannot be reached. The zero value is a store that can.
type reach struct {
	mu    sync.Mutex
	since time.Time
}

// note notes the outcome of an operation, and returns how long the store has been out of reach.
func (r *reach) note(err error) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !passes(err):
		r.since = time.Time{}
		return 0
	case r.since.IsZero():
		r.since = time.Now()
	}
	return time.Since(r.since)
}

// reaching does something with the store, again and again while that cannot be reached: until ctx
// or the host ends, or the outage is too long. The function may be called again after it has had
// its effect.
func (h *Host) reaching(ctx context.Context, do func() error) error {
	begun := time.Now()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := do()
		away := h.reach.note(err)
		if !passes(err) {
			return err
		}
		if max(away, time.Since(begun)) >= outage {
			return err
		}
		select {
		case <-time.After(wait):
		case <-h.life.Done():
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// lingering returns a context that ends a moment after ctx does: for what is better done, but must
// not wait for the end of an outage when the caller does not. One that does already stays.
func lingering(ctx context.Context) (late context.Context, stop func()) {
	if ctx.Value(lingers{}) != nil {
		return ctx, func() {}
	}
	late, cancel := context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), lingers{}, true))
	ended := context.AfterFunc(ctx, func() { time.AfterFunc(lag, func() { cancel(context.Cause(ctx)) }) })
	return late, func() {
		ended()
		cancel(nil)
	}
}

// lingers marks a context that lingering has made.
type lingers struct{}

// patient is the store of the writer of a session: what a turn records waits for the end of an
// outage. If that is too long, the turn is left, and the writer refuses the rest of it.
type patient struct {
	session.Store
	to   *Session
	left atomic.Bool
	// unwritten is why the batch with which the turn was left is not in the store; nil if it may
	// be. It is read after left.
	unwritten error
}

// Append implements [session.Store]. The store may have the batch although the answer got lost.
func (p *patient) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (last int64, err error) {
	if p.left.Load() {
		return 0, errLeft
	}
	doubt := false
	err = p.to.host.reaching(ctx, func() (err error) {
		last, err = p.Store.Append(ctx, l, head, b)
		if doubt && err != nil && p.arrived(ctx, l, head, b, err) {
			last, err = head+int64(len(b.Entries)), nil
		}
		doubt = doubt || errors.Is(err, session.ErrUnavailable)
		return err
	})
	if passes(err) {
		if !doubt {
			p.unwritten = err
		}
		err = fmt.Errorf("%w: %w", errLeft, err)
		p.left.Store(true)
		p.to.leave(err)
	}
	return last, err
}

// arrived reports whether an earlier attempt has written a batch, which the error of the next one
// shows: the head moves only by appends of this lease.
func (p *patient) arrived(ctx context.Context, l session.Lease, head int64, b session.Batch, err error) bool {
	if n := len(b.Entries); n > 0 {
		moved, ok := errors.AsType[*session.Error](err)
		return ok && errors.Is(err, session.ErrHeadMoved) && moved.Head == head+int64(n)
	}
	if !errors.Is(err, session.ErrConsumed) {
		return false
	}
	left := map[string]bool{}
	for _, r := range b.Consumed {
		left[r.ID] = true
	}
	for i, err := range p.Store.Items(ctx, l.Session, -1) {
		if err == nil && i.State == session.ItemConsumed {
			delete(left, i.ID)
		}
	}
	return len(left) == 0
}

// Load implements [session.Store].
func (p *patient) Load(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	return func(yield func(session.Entry, error) bool) {
		enough := false
		err := p.to.host.reaching(ctx, func() error {
			for e, err := range p.Store.Load(ctx, id, after) {
				if passes(err) {
					return err
				}
				if enough = !yield(e, err); enough {
					return nil
				}
				if err == nil {
					after = e.Seq
				}
			}
			return nil
		})
		if err != nil && !enough {
			yield(session.Entry{}, err)
		}
	}
}

// Put implements [session.Store].
func (p *patient) Put(ctx context.Context, id string, i session.Item) (put session.Item, err error) {
	if i.ID == "" {
		i.ID = rand.Text()
	}
	err = p.to.host.reaching(ctx, func() (err error) {
		put, err = p.Store.Put(ctx, id, i)
		return err
	})
	return put, err
}

// Release implements [session.Store]. If the store cannot be reached, the session is given back
// when it can be.
func (p *patient) Release(ctx context.Context, l session.Lease) error {
	err := p.Store.Release(ctx, l)
	if passes(err) {
		p.to.host.owe(func() error { return p.Store.Release(context.WithoutCancel(ctx), l) })
	}
	return err
}

// leave cancels the turn that is running here.
func (s *Session) leave(cause error) {
	if t := s.Turn(); t != nil {
		t.cancel(cause)
	}
}

// giveBack gives the session back. If its turn may have no end, an item in the inbox has a process
// that serves the store resume it: a session that was given back is not found otherwise. If the
// item cannot be put, that is done when the store can be reached. Until then the session stays with
// this process, and is found if that ends. An append that waits for the end of an outage comes
// first: if ctx ends before, all of that is done later. The caller holds changing.
func (s *Session) giveBack(ctx context.Context, w *session.Writer) error {
	late, stop := lingering(ctx)
	_, here := s.host.runner.(native)
	left := here && s.unended.Load() && !w.Lost()
	cancelled := s.stopped.Swap(nil)
	given := make(chan error, 1)
	s.host.beside(func() {
		defer stop()
		if ctx := context.WithoutCancel(ctx); left {
			given <- s.giveBackCut(ctx, w, cancelled)
		} else {
			given <- w.Close(ctx)
		}
	})
	select {
	case err := <-given:
		return err
	case <-late.Done():
	}
	select {
	case err := <-given: // which has ended the context
		return err
	default:
		return context.Cause(late)
	}
}

// giveBackCut is giveBack, for a session whose turn may have no end. cancelled is the turn if a
// person has stopped it.
func (s *Session) giveBackCut(ctx context.Context, w *session.Writer, cancelled *string) error {
	tell := func() error {
		// A turn that is resumed moves the head, and the next item has another id.
		i := session.Item{ID: fmt.Sprint("continue-", w.Head()), Kind: session.ItemContinue}
		if cancelled != nil {
			i = cancelJSON{Turn: *cancelled}.item()
		}
		i.By = s.host.holder
		_, err := s.host.store.Put(ctx, s.id, i)
		return err
	}
	err := tell()
	if !passes(err) {
		return errors.Join(err, w.Close(ctx))
	}
	s.host.owe(func() error {
		if err := tell(); passes(err) {
			return err
		}
		return w.Close(ctx)
	})
	return err
}

// beside runs a function on a goroutine that Close waits for, or at once if the host is closed.
func (h *Host) beside(do func()) {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		do()
		return
	}
	h.attending.Add(1)
	h.mu.Unlock()
	go func() {
		defer h.attending.Done()
		do()
	}()
}

// owe does something again and again until the store can be reached, or the host is closed.
func (h *Host) owe(do func() error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.attending.Add(1)
	go func() {
		defer h.attending.Done()
		for {
			select {
			case <-time.After(pause):
			case <-h.life.Done():
				return
			}
			if err := do(); !passes(err) {
				return
			}
		}
	}()
}
