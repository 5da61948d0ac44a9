// SPDX-License-Identifier: Apache-2.0

// Package failing makes workspaces and session stores fail at one operation, for tests of what
// becomes of the error. A test makes the first operation fail, then the second, and so on, until
// [Plan.Failed] reports that none is left:
//
//	for n := range failing.Operations {
//		plan := failing.At(n, workspace.ErrLost)
//		... use failing.Workspace{W, plan} ...
//		if !plan.Failed() {
//			break
//		}
//	}
package failing

import (
	"context"
	"encoding/json"
	"iter"
	"sync"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// Operations is more than any test makes.
const Operations = 1000

// Plan selects the operation that fails. It is safe for concurrent use.
type Plan struct {
	err error

	mu     sync.Mutex
	left   int
	failed string
}

// At returns a plan in which the operation number n, counted from 0, fails with err.
func At(n int, err error) *Plan { return &Plan{err: err, left: n} }

// Failed reports whether an operation has failed.
func (p *Plan) Failed() bool { return p.Operation() != "" }

// Operation names the operation that has failed, or is empty.
func (p *Plan) Operation() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

func (p *Plan) next(op string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left--; p.left != -1 {
		return nil
	}
	p.failed = op
	return p.err
}

// Workspace is a workspace that fails. Each entry of a walk is an operation.
type Workspace struct {
	workspace.Workspace
	*Plan
}

// Read implements [workspace.Workspace].
func (w Workspace) Read(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
	if err := w.next("read " + path); err != nil {
		return workspace.File{}, err
	}
	return w.Workspace.Read(ctx, path, r)
}

// Write implements [workspace.Workspace].
func (w Workspace) Write(ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
	if err := w.next("write " + path); err != nil {
		return "", err
	}
	return w.Workspace.Write(ctx, path, data, v)
}

// Remove implements [workspace.Workspace].
func (w Workspace) Remove(ctx context.Context, path string, v workspace.Version) error {
	if err := w.next("remove " + path); err != nil {
		return err
	}
	return w.Workspace.Remove(ctx, path, v)
}

// Stat implements [workspace.Workspace].
func (w Workspace) Stat(ctx context.Context, path string) (workspace.Info, error) {
	if err := w.next("stat " + path); err != nil {
		return workspace.Info{}, err
	}
	return w.Workspace.Stat(ctx, path)
}

// Walk implements [workspace.Workspace].
func (w Workspace) Walk(ctx context.Context, dir string, o workspace.WalkOptions) iter.Seq2[workspace.Info, error] {
	return failingSeq(w.Plan, "walk "+dir, w.Workspace.Walk(ctx, dir, o))
}

// failingSeq yields what all does, until the plan has an error.
func failingSeq[T any](p *Plan, op string, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range all {
			if failed := p.next(op); failed != nil {
				yield(*new(T), failed)
				return
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

// Store is a session store that fails. Each entry that is loaded is an operation.
type Store struct {
	session.Store
	*Plan
}

// Create implements [session.Store].
func (s Store) Create(ctx context.Context, n session.New) (session.Info, error) {
	if err := s.next("create " + n.ID); err != nil {
		return session.Info{}, err
	}
	return s.Store.Create(ctx, n)
}

// Get implements [session.Store].
func (s Store) Get(ctx context.Context, id string) (session.Info, error) {
	if err := s.next("get " + id); err != nil {
		return session.Info{}, err
	}
	return s.Store.Get(ctx, id)
}

// List implements [session.Store].
func (s Store) List(ctx context.Context, q session.Query) (session.Page, error) {
	if err := s.next("list"); err != nil {
		return session.Page{}, err
	}
	return s.Store.List(ctx, q)
}

// Update implements [session.Store].
func (s Store) Update(ctx context.Context, id string, c session.Change) (session.Info, error) {
	if err := s.next("update " + id); err != nil {
		return session.Info{}, err
	}
	return s.Store.Update(ctx, id, c)
}

// Acquire implements [session.Store].
func (s Store) Acquire(ctx context.Context, id string, c session.Claim) (session.Lease, error) {
	if err := s.next("acquire " + id); err != nil {
		return session.Lease{}, err
	}
	return s.Store.Acquire(ctx, id, c)
}

// Append implements [session.Store].
func (s Store) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	if err := s.next("append " + l.Session); err != nil {
		return 0, err
	}
	return s.Store.Append(ctx, l, head, b)
}

// Put implements [session.Inbox].
func (s Store) Put(ctx context.Context, id string, i session.Item) (session.Item, error) {
	if err := s.next("put " + id); err != nil {
		return session.Item{}, err
	}
	return s.Store.Put(ctx, id, i)
}

// Change implements [session.Inbox].
func (s Store) Change(ctx context.Context, id, item string, version int64, data json.RawMessage) (session.Item, error) {
	if err := s.next("change " + id); err != nil {
		return session.Item{}, err
	}
	return s.Store.Change(ctx, id, item, version, data)
}

// Load implements [session.Store].
func (s Store) Load(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	return failingSeq(s.Plan, "load "+id, s.Store.Load(ctx, id, after))
}
