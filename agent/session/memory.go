// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/internal/hear"
)

// Memory is a [Store] in memory, for tests and for programs that need no sessions after their end. It is a [Watcher]. The zero value
// is ready.
type Memory struct {
	mu       sync.Mutex
	sessions map[string]*memorySession
	owned    map[owner]map[string]*memorySession
	token    int64 // of the latest lease
	board    hear.Board
}

var (
	_ Store   = (*Memory)(nil)
	_ Watcher = (*Memory)(nil)
)

type memorySession struct {
	info  Info
	token int64
	held  bool
	since time.Time
	// entries are the session's own. parent has those up to info.ForkedAt.
	entries []Entry
	parent  *memorySession
	// pinned is the last entry that a fork has.
	pinned int64
	inbox  memoryInbox
	// changed is closed with the next change.
	changed chan struct{}
	deleted bool
}

func now() time.Time { return time.Now().UTC().Round(0) }

// fail returns the error of an operation.
func fail(op, id string, err error) error { return &Error{Op: op, Session: id, Err: err} }

// find returns a session. The store must be locked.
func (m *Memory) find(ctx context.Context, op, id string) (*memorySession, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, fail(op, id, err)
	}
	s := m.sessions[id]
	if s == nil {
		return nil, fail(op, id, ErrNotFound)
	}
	return s, nil
}

// change tells those that wait for a change.
func (m *Memory) change(s *memorySession) {
	m.board.Tell(s.info.ID)
	close(s.changed)
	s.changed = make(chan struct{})
}

// describe returns a copy of the description.
func (s *memorySession) describe() Info {
	info := s.info
	info.Values = cloneValues(info.Values)
	info.Waiting = s.inbox.waiting
	if !s.held {
		info.Holder = ""
	}
	return info
}

func cloneValues(values map[string]json.RawMessage) map[string]json.RawMessage {
	if len(values) == 0 {
		return nil
	}
	made := make(map[string]json.RawMessage, len(values))
	for name, v := range values {
		made[name] = bytes.Clone(v)
	}
	return made
}

// merge merges values into others and returns them.
func merge(values, more map[string]json.RawMessage) map[string]json.RawMessage {
	for name, v := range more {
		if v == nil {
			delete(values, name)
			continue
		}
		if values == nil {
			values = map[string]json.RawMessage{}
		}
		values[name] = bytes.Clone(v)
	}
	return values
}

// Create implements [Store].
func (m *Memory) Create(ctx context.Context, n New) (Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.create(ctx, "create", n, &memorySession{})
}

// create adds a session. The store must be locked.
func (m *Memory) create(ctx context.Context, op string, n New, s *memorySession) (Info, error) {
	if err := context.Cause(ctx); err != nil {
		return Info{}, fail(op, n.ID, err)
	}
	if err := n.Check(); err != nil {
		return Info{}, fail(op, n.ID, err)
	}
	if n.ID == "" {
		n.ID = rand.Text()
	}
	if m.sessions[n.ID] != nil {
		return Info{}, fail(op, n.ID, ErrExists)
	}
	if n.Created.IsZero() {
		n.Created = now()
	}
	i := &s.info
	if n.Tenant != "" || n.Owner != "" {
		i.Tenant, i.Owner = n.Tenant, n.Owner
	}
	if !m.hasRoom(i, n.Limit) {
		return Info{}, fail(op, n.ID, ErrTooMany)
	}
	i.ID, i.Created = n.ID, time.Unix(0, n.Created.UnixNano()).UTC()
	i.Updated = i.Created
	if n.Title != "" {
		i.Title = n.Title
	}
	if n.Dir != "" {
		i.Dir = n.Dir
	}
	i.Values = merge(i.Values, n.Values)
	s.changed = make(chan struct{})
	if m.sessions == nil {
		m.sessions, m.owned = map[string]*memorySession{}, map[owner]map[string]*memorySession{}
	}
	m.sessions[n.ID] = s
	m.own(s)
	m.change(s)
	return s.describe(), nil
}

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, id string) (Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.find(ctx, "get", id)
	if err != nil {
		return Info{}, err
	}
	return s.describe(), nil
}

// List implements [Store].
func (m *Memory) List(ctx context.Context, q Query) (Page, error) {
	start, err := q.Start()
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return Page{}, fail("list", "", err)
	}
	before := func(a, b *Position) int { // whether a comes first
		if c := b.Time.Compare(a.Time); c != 0 {
			return c
		}
		return strings.Compare(b.ID, a.ID)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	place := func(s *memorySession) *Position { return &Position{q.timeOf(&s.info), s.info.ID} }
	var found []*memorySession
	all := m.sessions
	if q.Owner != nil {
		all = m.owned[owner{q.Tenant, *q.Owner}]
	}
	for _, s := range all {
		if q.Selects(&s.info) && (start == nil || before(start, place(s)) < 0) {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b *memorySession) int { return before(place(a), place(b)) })
	var page Page
	for i, s := range found {
		if i == q.PageSize() {
			page.Next = q.Next(&page.Sessions[i-1])
			break
		}
		page.Sessions = append(page.Sessions, s.describe())
	}
	return page, nil
}

// Update implements [Store].
func (m *Memory) Update(ctx context.Context, id string, c Change) (Info, error) {
	if err := c.Check(); err != nil {
		return Info{}, fail("update", id, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.find(ctx, "update", id)
	if err != nil {
		return Info{}, err
	}
	if c.Title != nil {
		s.info.Title = *c.Title
	}
	s.info.Values = merge(s.info.Values, c.Values)
	s.touch(now())
	m.change(s)
	return s.describe(), nil
}

// touch says when the session was changed.
func (s *memorySession) touch(at time.Time) {
	if at.After(s.info.Updated) {
		s.info.Updated = at
	}
}

// Fork implements [Store].
func (m *Memory) Fork(ctx context.Context, id string, at int64, n New) (Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.find(ctx, "fork", id)
	if err != nil {
		return Info{}, err
	}
	if at < 0 || at > s.info.Head {
		return Info{}, &Error{Op: "fork", Session: id, Err: fmt.Errorf("%w: fork at entry %d of %d", ErrInvalid, at, s.info.Head)}
	}
	fork := &memorySession{parent: s, info: Info{
		Title: s.info.Title, Dir: s.info.Dir, Tenant: s.info.Tenant, Owner: s.info.Owner, Values: cloneValues(s.info.Values), Parent: id, ForkedAt: at, Head: at,
	}}
	info, err := m.create(ctx, "fork", n, fork)
	if err == nil {
		s.pin(at)
	}
	return info, err
}

// pin keeps the entries up to a number.
func (s *memorySession) pin(at int64) {
	s.pinned = max(s.pinned, at)
	if s.parent != nil {
		s.parent.pin(min(at, s.info.ForkedAt))
	}
}

// Delete implements [Store].
func (m *Memory) Delete(ctx context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.find(ctx, "delete", id)
	if err != nil {
		return err
	}
	if s.held {
		return &Error{Op: "delete", Session: id, Err: ErrHeld, Holder: s.info.Holder, Since: s.since}
	}
	delete(m.sessions, id)
	m.disown(s)
	s.deleted = true
	m.change(s)
	return nil
}

// Acquire implements [Store].
func (m *Memory) Acquire(ctx context.Context, id string, c Claim) (Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.find(ctx, "acquire", id)
	if err != nil {
		return Lease{}, err
	}
	if s.held && !c.Force {
		return Lease{}, &Error{Op: "acquire", Session: id, Err: ErrHeld, Holder: s.info.Holder, Since: s.since}
	}
	m.token++
	s.token = m.token
	s.held, s.since, s.info.Holder = true, now(), c.Holder
	m.change(s)
	return Lease{Session: id, Token: s.token, Holder: c.Holder, Head: s.info.Head}, nil
}

// leased returns the session of a lease. The store must be locked.
func (m *Memory) leased(ctx context.Context, op string, l Lease) (*memorySession, error) {
	s, err := m.find(ctx, op, l.Session)
	if err == nil && (!s.held || s.token != l.Token) {
		lost := &Error{Op: op, Session: l.Session, Err: ErrLeaseLost}
		if s.held {
			lost.Holder, lost.Since = s.info.Holder, s.since
		}
		return nil, lost
	}
	return s, err
}

// Release implements [Store].
func (m *Memory) Release(ctx context.Context, l Lease) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.leased(ctx, "release", l)
	if err == nil {
		s.held = false
		m.change(s)
	}
	return err
}

// Append implements [Store].
func (m *Memory) Append(ctx context.Context, l Lease, head int64, b Batch) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.leased(ctx, "append", l)
	if err != nil {
		return 0, err
	}
	if head != s.info.Head {
		return 0, &Error{Op: "append", Session: l.Session, Err: ErrHeadMoved, Head: s.info.Head}
	}
	made, err := b.Prepare(head, now())
	if err != nil {
		return 0, fail("append", l.Session, err)
	}
	if err := s.inbox.consume(b.Consumed); err != nil {
		return 0, failItem("append", l.Session, err)
	}
	for _, e := range made {
		if e.Kind == KindMessage && e.Key != "" || e.Kind == KindEnd {
			s.supersede(&e)
		}
		e.Data = bytes.Clone(e.Data)
		s.entries = append(s.entries, e)
		s.info.Head = e.Seq
		s.info.Size += int64(len(e.Data))
		s.touch(e.Time)
	}
	if len(made)+len(b.Consumed) > 0 {
		m.change(s)
	}
	return s.info.Head, nil
}

// supersede removes the entries that e takes the place of.
func (s *memorySession) supersede(e *Entry) {
	if !slices.ContainsFunc(s.entries, func(old Entry) bool { return old.Seq > s.pinned && e.Supersedes(&old) }) {
		return
	}
	// Those who read hold the slice, so it is not changed in place.
	s.entries = slices.DeleteFunc(slices.Clone(s.entries), func(old Entry) bool {
		gone := old.Seq > s.pinned && e.Supersedes(&old)
		if gone {
			s.info.Size -= int64(len(old.Data))
		}
		return gone
	})
}

// upTo returns the entries with numbers greater than after and at most to.
func (s *memorySession) upTo(after, to int64) []Entry {
	var found []Entry
	if s.parent != nil && after < s.info.ForkedAt {
		found = s.parent.upTo(after, min(to, s.info.ForkedAt))
	}
	for i := range s.entries {
		if e := &s.entries[i]; e.Seq > after && e.Seq <= to {
			found = append(found, *e)
		}
	}
	return found
}

// Load implements [Store].
func (m *Memory) Load(ctx context.Context, id string, after int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		m.mu.Lock()
		s, err := m.find(ctx, "load", id)
		var found []Entry
		if err == nil {
			found = s.upTo(after, s.info.Head)
		}
		m.mu.Unlock()
		if err != nil {
			yield(Entry{}, err)
			return
		}
		yieldAll(ctx, id, found, yield)
	}
}

// yieldAll yields copies of entries. It reports whether the caller wants more.
func yieldAll(ctx context.Context, id string, found []Entry, yield func(Entry, error) bool) bool {
	for _, e := range found {
		if err := context.Cause(ctx); err != nil {
			yield(Entry{}, fail("load", id, err))
			return false
		}
		e.Data = bytes.Clone(e.Data)
		if !yield(e, nil) {
			return false
		}
	}
	return true
}

// Listen implements [Watcher].
func (m *Memory) Listen(ctx context.Context) iter.Seq2[string, error] {
	return m.board.Listen(ctx, nil, func(err error) error { return fail("listen", "", err) })
}

// Work implements [Watcher].
func (m *Memory) Work(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := context.Cause(ctx); err != nil {
			yield("", fail("work", "", err))
			return
		}
		m.mu.Lock()
		var ids []string
		for id, s := range m.sessions {
			if !s.held && s.inbox.waiting > 0 {
				ids = append(ids, id)
			}
		}
		m.mu.Unlock()
		for _, id := range ids {
			if !yield(id, nil) {
				return
			}
		}
	}
}

// Watch implements [Watcher].
func (m *Memory) Watch(ctx context.Context, id string, after int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		m.mu.Lock()
		s, err := m.find(ctx, "watch", id)
		m.mu.Unlock()
		for err == nil {
			m.mu.Lock()
			found, changed, deleted := s.upTo(after, s.info.Head), s.changed, s.deleted
			m.mu.Unlock()
			if !yieldAll(ctx, id, found, yield) {
				return
			}
			if n := len(found); n > 0 {
				after = found[n-1].Seq
			}
			if deleted {
				err = fail("watch", id, ErrNotFound)
				break
			}
			select {
			case <-changed:
			case <-ctx.Done():
				err = fail("watch", id, context.Cause(ctx))
			}
		}
		yield(Entry{}, err)
	}
}
