// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// Store keeps sessions. Implementations are safe for concurrent use; package sessiontest checks
// them against this contract.
//
// Arguments stay the caller's, and results belong to the caller: neither shares memory with the
// store. A method whose context has ended returns the context's error. A method that changes
// something may have succeeded all the same if its context ended while it ran. Errors are a
// [*Error].
type Store interface {
	Inbox

	// Create makes a session without entries. If a session with the id exists, Create fails with
	// [ErrExists]. If the owner has as many sessions as New.Limit allows, it fails with
	// [ErrTooMany].
	Create(ctx context.Context, n New) (Info, error)
	// Get describes a session.
	Get(ctx context.Context, id string) (Info, error)
	// List describes the sessions that a query selects, a page at a time. It lists each session at
	// most once. It lists each session that exists and is not changed while the pages are read
	// exactly once, whatever becomes of the others. If the descriptions of some are damaged, the
	// page has at least their ids and times, and an error that wraps [ErrCorrupt] comes with it.
	List(ctx context.Context, q Query) (Page, error)
	// Update changes the title and values of a session, and returns it as it is then. It needs no
	// lease, and leaves the session to who holds it.
	Update(ctx context.Context, id string, c Change) (Info, error)
	// Fork creates a session with the entries of another one up to and including number at. From
	// there the two are independent. The number 0 forks before the first entry. The fork copies
	// title, directory and values unless n has its own, and tenant and owner unless n has one of
	// them; a value that is nil in n is left out. The cost does not grow with the number of
	// entries. It needs no lease.
	Fork(ctx context.Context, id string, at int64, n New) (Info, error)
	// Delete removes a session. Sessions that were forked from it keep their entries. While the
	// session is held, Delete fails with [ErrHeld].
	Delete(ctx context.Context, id string) error

	// Acquire takes hold of a session to append to it. If the session is held, Acquire fails with
	// [ErrHeld], unless the claim is made by force. A lease ends when it is released, when it is
	// taken by force, and when the process that holds it ends, for whatever reason.
	Acquire(ctx context.Context, id string, c Claim) (Lease, error)
	// Release ends a lease. It fails with [ErrLeaseLost] if the lease has ended already.
	Release(ctx context.Context, l Lease) error
	// Append adds the entries of a batch and consumes its items, all of it or nothing, and returns
	// the number of the session's last entry, which is the new head. It fails with [ErrLeaseLost]
	// if the lease has ended, with [ErrHeadMoved] if head is not the number of the session's last
	// entry, with [ErrChanged] or [ErrConsumed] if an item has another version or waits no more,
	// and with [ErrNoItem] if there never was one.
	//
	// When Append returns, the entries survive the end of the process. If the store is durable and
	// one of the entries is not a [KindView], or an item is consumed, they survive the end of the
	// machine too, and so does everything that was appended before.
	//
	// An entry without a number gets the next one. An entry with a number must have a greater one
	// than those before it. An entry without a time gets the present. See the package documentation
	// for which entries it takes the place of.
	Append(ctx context.Context, l Lease, head int64, b Batch) (int64, error)
	// Load yields the entries with numbers greater than after, in order. It sees at least those
	// that had been appended when it was called. An error ends the sequence, with one exception: an
	// [ErrCorrupt] with a Seq is about that entry alone, and the next ones follow.
	Load(ctx context.Context, id string, after int64) iter.Seq2[Entry, error]
}

// Watcher is implemented by stores that can tell of changes.
type Watcher interface {
	// Listen yields the ids of sessions that have changed, by whichever process, until ctx ends:
	// those that were made, forked, renamed or deleted, that have new entries or other items in
	// their inbox, or another holder. Changes of one session become one if they are not read at
	// once. The empty id means that any session may have changed. It is the first one, and is
	// yielded once all later changes will be. That a process which held a session has been killed
	// changes nothing.
	Listen(ctx context.Context) iter.Seq2[string, error]
	// Work yields the ids of the sessions that nobody holds and that somebody should take up: their
	// inbox has items that wait, or the process that held them has ended without giving them back.
	// It yields each at most once, in no order.
	Work(ctx context.Context) iter.Seq2[string, error]
	// Watch yields what Load does, and then each entry that is appended, by whichever process,
	// until ctx ends. An entry can be superseded before it has been yielded; then it is left out.
	// The sequence ends with the context's error, or with [ErrNotFound] when the session is
	// deleted.
	Watch(ctx context.Context, id string, after int64) iter.Seq2[Entry, error]
}

// New describes a session to be made.
type New struct {
	// ID is a string of 1 to 256 bytes of UTF-8 without control characters. If it is empty, the
	// store makes one.
	ID string `json:"id,omitempty"`
	// Title is the session's title for people.
	Title string `json:"title,omitempty"`
	// Dir is the directory that the session works in. See [Query].
	Dir string `json:"dir,omitempty"`
	// Tenant and Owner name whose session it is: a user, within an organization. Both may be empty,
	// and stay. They have the form of an ID.
	Tenant string `json:"tenant,omitempty"`
	Owner  string `json:"owner,omitempty"`
	// Limit bounds how many sessions the owner has, this one included, and not counting internal
	// sessions: see [Internal]. 0 means any number. It is exact however many processes create
	// sessions at the same time.
	Limit int `json:"-"`
	// Values are the session's values, as JSON. See [Change].
	Values map[string]json.RawMessage `json:"values,omitempty"`
	// Created is when the session was made. Zero means now.
	Created time.Time `json:"created,omitzero"`
}

// Info describes a session.
type Info struct {
	// ID identifies the session.
	ID string `json:"id"`
	// Title is the session's title for people. It may be empty.
	Title string `json:"title,omitempty"`
	// Dir is the directory that the session works in. It may be empty.
	Dir string `json:"dir,omitempty"`
	// Tenant and Owner name whose session it is. Both may be empty.
	Tenant string `json:"tenant,omitempty"`
	Owner  string `json:"owner,omitempty"`
	// Values are what the session's host keeps with it, such as the mode and the model.
	Values map[string]json.RawMessage `json:"values,omitempty"`
	// Created is when the session was made, Updated the latest of that, the times of its entries,
	// and the times of updates. They are in UTC and exact to the nanosecond.
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	// Head is the number of the last entry, or 0.
	Head int64 `json:"head"`
	// Size is how many bytes the data of the session's own entries have.
	Size int64 `json:"size"`
	// Parent is the session that this one was forked from, and ForkedAt the number of the last
	// entry that it has from there. Parent stays when that session is deleted.
	Parent   string `json:"parent,omitempty"`
	ForkedAt int64  `json:"forked_at,omitempty"`
	// Waiting is how many items of the session's inbox wait to be consumed.
	Waiting int64 `json:"waiting,omitempty"`
	// Holder names the holder of the session; empty if it is free.
	Holder string `json:"holder,omitempty"`
}

// Change describes a change by [Store.Update].
type Change struct {
	// Title is the new title, or nil to leave it.
	Title *string
	// Values are merged into the session's values. Nil removes a value.
	Values map[string]json.RawMessage
}

// Order is the order of a list.
type Order string

const (
	// OrderUpdated lists the session that was changed last first. A session that changes while a
	// list is read moves to its beginning, so a later page may miss it. It is the default.
	OrderUpdated Order = ""
	// OrderCreated lists the session that was made last first. Only sessions that are made or
	// deleted while a list is read can be missed.
	OrderCreated Order = "created"
)

// Limits of a page.
const (
	// DefaultLimit is how many sessions a page has if the query does not say.
	DefaultLimit = 50
	// MaxLimit is the most that a page has.
	MaxLimit = 1000
)

// Query selects sessions. With an Owner or a Tenant, the cost of a page does not depend on the
// number of sessions that others have.
type Query struct {
	// Owner selects the sessions of one owner in the Tenant. The empty owner is whoever has the
	// sessions without one. Nil selects all.
	Owner *string
	// Tenant selects the sessions of a tenant. If it is empty, Owner selects sessions without a
	// tenant, and without Owner all sessions are selected.
	Tenant string
	// Dir selects the sessions that work in a directory. It is compared as it is. Empty selects
	// all.
	Dir string
	// Parent selects the sessions that were forked from another one. Empty selects all.
	Parent string
	// Conversations leaves out the sessions that programs keep for themselves: see [Internal].
	Conversations bool
	// Order is the order of the list. Sessions of the same time are ordered by id.
	Order Order
	// Cursor is the Next of the page before, or empty for the first page. It belongs to a query
	// with the same Owner, Tenant, Dir, Parent, Conversations and Order, and stays valid. Any other
	// text is an error that wraps [ErrInvalid].
	Cursor string
	// Limit bounds the page. 0 means [DefaultLimit].
	Limit int
}

// Page is a part of a list.
type Page struct {
	// Sessions are the sessions of the page.
	Sessions []Info
	// Next is the cursor of the next page, or empty if this is the last one.
	Next string
}

// Claim describes a claim to a session.
type Claim struct {
	// Holder names the claimant to people who are told that the session is held.
	Holder string
	// Force takes the session from its holder, whose lease ends.
	Force bool
}

// Lease is the right to append to a session. It is plain data: a copy is the same lease.
type Lease struct {
	// Session is the session's id.
	Session string
	// Token is greater than the token of any earlier lease of a session with this id.
	Token int64
	// Holder is the one of the claim.
	Holder string
	// Head is the number of the last entry at the time of [Store.Acquire].
	Head int64
}
