// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Writer appends to one session. It holds the session's lease and knows its head. Entries that several goroutines append at the same time
// are passed to the store in one go. A Writer is safe for concurrent use.
type Writer struct {
	store Store
	lease Lease

	// commit has an element while a batch is appended. It guards head and unsure.
	commit chan struct{}
	head   int64
	// unsure says that the head may be another one, because an append has failed.
	unsure bool

	mu     sync.Mutex
	open   *batch
	closed bool
}

// batch is entries that are appended together: those that come while the batch before is being appended.
type batch struct {
	entries []Entry
	done    chan struct{}
	// first is the number of the first entry.
	first int64
	err   error
}

// Open acquires a session to write to it. The writer must be closed.
func Open(ctx context.Context, store Store, id string, c Claim) (*Writer, error) {
	lease, err := store.Acquire(ctx, id, c)
	if err != nil {
		return nil, err
	}
	return &Writer{store: store, lease: lease, head: lease.Head, commit: make(chan struct{}, 1)}, nil
}

// Store returns the store of the session.
func (w *Writer) Store() Store { return w.store }

// Lease returns the lease of the writer.
func (w *Writer) Lease() Lease { return w.lease }

// Session returns the id of the session.
func (w *Writer) Session() string { return w.lease.Session }

// Append adds entries, all or none, as [Store.Append] does, and returns the number of the first one. The others have the numbers that
// follow. The entries must not have numbers.
//
// If ctx ends while Append waits, the entries may be appended all the same.
func (w *Writer) Append(ctx context.Context, entries ...Entry) (int64, error) {
	if err := context.Cause(ctx); err != nil {
		return 0, fail("append", w.lease.Session, err)
	}
	if slices.ContainsFunc(entries, func(e Entry) bool { return e.Seq != 0 }) {
		return 0, fail("append", w.lease.Session, fmt.Errorf("%w: the writer numbers its entries", ErrInvalid))
	}
	if _, err := Prepare(0, now(), entries); err != nil { // it must not fail those of others
		return 0, fail("append", w.lease.Session, err)
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return 0, fail("append", w.lease.Session, ErrClosed)
	}
	b := w.open
	leads := b == nil
	if leads {
		b = &batch{done: make(chan struct{})}
		w.open = b
	}
	at := int64(len(b.entries))
	b.entries = append(b.entries, entries...)
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
	if b.err != nil {
		return 0, b.err
	}
	return b.first + at, nil
}

// write appends a batch as soon as the one before is done.
func (w *Writer) write(ctx context.Context, b *batch) {
	defer close(b.done)
	w.commit <- struct{}{}
	defer func() { <-w.commit }()
	w.mu.Lock()
	w.open = nil
	w.mu.Unlock()
	if w.unsure {
		info, err := w.store.Get(ctx, w.lease.Session)
		if err != nil {
			b.err = err
			return
		}
		w.head, w.unsure = info.Head, false // if somebody else has appended, the lease is lost
	}
	head, err := w.store.Append(ctx, w.lease, w.head, b.entries...)
	if err != nil {
		b.err, w.unsure = err, true
		return
	}
	b.first, w.head = w.head+1, head
}

// Head returns the number of the last entry that the writer knows of.
func (w *Writer) Head() int64 {
	w.commit <- struct{}{}
	defer func() { <-w.commit }()
	return w.head
}

// Close waits for the appends that are under way and gives the session back. A second call does nothing.
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
