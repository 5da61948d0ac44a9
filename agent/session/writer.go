// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Writer appends to one session. It holds the session's lease and knows its head. Entries that
// several goroutines append at the same time are passed to the store in one go. A Writer is safe
// for concurrent use.
type Writer struct {
	store Store
	lease Lease

	// commit has an element while a batch is appended. It guards head and unsure.
	commit chan struct{}
	head   int64
	// unsure is set if the head may have moved, because an append has failed.
	unsure bool

	mu     sync.Mutex
	open   *batch
	closed bool
	lost   bool
}

// batch holds entries to append together: they arrived while the previous batch was being appended.
type batch struct {
	parts []*part
	done  chan struct{}
}

// part holds what one call writes.
type part struct {
	Batch
	// first is the number of the first entry.
	first int64
	err   error
}

// Open acquires a session to write to it. The writer must be closed.
func Open(ctx context.Context, store Store, id string, c Claim) (*Writer, error) {
	if err := checkStore("open", store); err != nil {
		return nil, err
	}
	lease, err := store.Acquire(ctx, id, c)
	if err != nil {
		return nil, err
	}
	return &Writer{store: store, lease: lease, head: lease.Head, commit: make(chan struct{}, 1)}, nil
}

// checkStore reports a store that is nil.
func checkStore(op string, s Store) error {
	if s == nil {
		return &Error{Op: op, Err: fmt.Errorf("%w: the store is nil", ErrInvalid)}
	}
	return nil
}

// Store returns the store of the session.
func (w *Writer) Store() Store { return w.store }

// Lease returns the lease of the writer.
func (w *Writer) Lease() Lease { return w.lease }

// Session returns the id of the session.
func (w *Writer) Session() string { return w.lease.Session }

// Append adds entries, as [Writer.Write] does.
func (w *Writer) Append(ctx context.Context, entries ...Entry) (int64, error) {
	return w.Write(ctx, Batch{Entries: entries})
}

// Write adds the entries of a batch and consumes its items, all of it or nothing, as [Store.Append]
// does, and returns the number of the first entry. The others have the numbers that follow. The
// entries must not have numbers. If Before is set and there is nothing to write, it does nothing.
//
// If ctx ends while Write waits, the batch may be written all the same.
func (w *Writer) Write(ctx context.Context, made Batch) (int64, error) {
	if err := context.Cause(ctx); err != nil {
		return 0, fail("append", w.lease.Session, err)
	}
	if slices.ContainsFunc(made.Entries, func(e Entry) bool { return e.Seq != 0 }) {
		return 0, fail("append", w.lease.Session, fmt.Errorf("%w: the writer numbers its entries", ErrInvalid))
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return 0, fail("append", w.lease.Session, ErrClosed)
	}
	if made.Before != nil {
		made = Batch{Entries: append(made.Before(), made.Entries...), Consumed: made.Consumed}
		if len(made.Entries)+len(made.Consumed) == 0 {
			w.mu.Unlock()
			return 0, nil
		}
	}
	b := w.open
	leads := b == nil
	if leads {
		b = &batch{done: make(chan struct{})}
		w.open = b
	}
	p := &part{Batch: made}
	b.parts = append(b.parts, p)
	w.mu.Unlock()
	if leads {
		// Others wait for the batch, so it does not end with the context of this one.
		go w.write(context.WithoutCancel(ctx), b)
	}
	select {
	case <-b.done:
	case <-ctx.Done():
		return 0, fail("append", w.lease.Session, context.Cause(ctx))
	}
	return p.first, p.err
}

// write appends a batch as soon as the one before is done.
func (w *Writer) write(ctx context.Context, b *batch) {
	defer close(b.done)
	w.commit <- struct{}{}
	defer func() { <-w.commit }()
	w.mu.Lock()
	w.open = nil
	w.mu.Unlock()
	err := w.append(ctx, b.parts)
	own := errors.Is(err, ErrInvalid) || errors.Is(err, ErrConsumed) || errors.Is(err, ErrChanged) || errors.Is(err, ErrNoItem)
	if own && len(b.parts) > 1 {
		for i := range b.parts { // one of them must not fail the others
			_ = w.append(ctx, b.parts[i:i+1])
		}
	}
}

// append passes parts to the store in one go, and notes what became of them.
func (w *Writer) append(ctx context.Context, parts []*part) error {
	head, err := w.head, error(nil)
	if w.unsure {
		var info Info
		info, err = w.store.Get(ctx, w.lease.Session)
		head = info.Head // if somebody else has appended, the lease is lost
	}
	if err == nil {
		b := parts[0].Batch
		if len(parts) > 1 {
			b = Batch{}
			for _, p := range parts {
				b.Entries = append(b.Entries, p.Entries...)
				b.Consumed = append(b.Consumed, p.Consumed...)
			}
		}
		var moved int64
		if moved, err = w.store.Append(ctx, w.lease, head, b); err == nil {
			w.head = moved
		}
	}
	w.unsure = err != nil
	if errors.Is(err, ErrLeaseLost) || errors.Is(err, ErrNotFound) {
		w.mu.Lock()
		w.lost = true
		w.mu.Unlock()
	}
	for _, p := range parts {
		if p.first, p.err = head+1, err; err != nil {
			p.first = 0
		}
		head += int64(len(p.Entries))
	}
	return err
}

// Head returns the number of the last entry that the writer knows of.
func (w *Writer) Head() int64 {
	w.commit <- struct{}{}
	defer func() { <-w.commit }()
	return w.head
}

// Lost reports whether an append has failed because the session was taken over or deleted. No later
// append can succeed.
func (w *Writer) Lost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}

// Close waits for the appends that are under way and gives the session back. A second call does
// nothing.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	b, closed := w.open, w.closed
	w.closed = true
	w.mu.Unlock()
	if closed {
		return nil
	}
	if b != nil {
		<-b.done
	}
	w.commit <- struct{}{}
	defer func() { <-w.commit }()
	return w.store.Release(ctx, w.lease)
}
