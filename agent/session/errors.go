// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Identities of what can go wrong.
var (
	// ErrNotFound means that the session does not exist.
	ErrNotFound = errors.New("no such session")
	// ErrExists means that a session with the id exists.
	ErrExists = errors.New("the session exists")
	// ErrTooMany means that the owner has as many sessions as [New].Limit allows.
	ErrTooMany = errors.New("the owner has too many sessions")
	// ErrHeld means that another writer holds the session. [Error] names it, and since when.
	ErrHeld = errors.New("the session is in use")
	// ErrLeaseLost means that the lease has ended: it was released or taken by force. [Error] names
	// the present holder.
	ErrLeaseLost = errors.New("the session was taken over")
	// ErrHeadMoved means that the session's last entry is not the one that the writer expected.
	// [Error] has its number.
	ErrHeadMoved = errors.New("the session has other entries than expected")
	// ErrInvalid means that an argument is not valid.
	ErrInvalid = errors.New("invalid argument")
	// ErrNoItem means that the inbox of the session never had the item. [Error] names it, as it
	// does for the next two.
	ErrNoItem = errors.New("no such item")
	// ErrConsumed means that an item was consumed or removed.
	ErrConsumed = errors.New("the item was consumed or removed")
	// ErrChanged means that an item has changed since the version that was named.
	ErrChanged = errors.New("the item was changed")
	// ErrVersion means that a newer version of the program wrote the data.
	ErrVersion = errors.New("written by a newer version of this program")
	// ErrCorrupt means that data is damaged.
	ErrCorrupt = errors.New("the data is damaged")
	// ErrKey means that data was encrypted with a key that is not in the [Keyring].
	ErrKey = errors.New("the keyring does not have the key")
	// ErrFull means that the disk is full.
	ErrFull = errors.New("the disk is full")
	// ErrBusy means that another process locked the storage for too long.
	ErrBusy = errors.New("the store is busy")
	// ErrUnavailable means that the server that has the sessions cannot be reached.
	ErrUnavailable = errors.New("the store cannot be reached")
	// ErrReadOnly means that the storage cannot be written to.
	ErrReadOnly = errors.New("the store cannot be written to")
	// ErrClosed means that the store was closed.
	ErrClosed = errors.New("the store is closed")
)

// Error describes a failed operation.
type Error struct {
	// Op is the operation, for example "append".
	Op string
	// Session is the id of the session, if it is about one.
	Session string
	// Holder is the holder of the session, and Since is when it acquired it, for [ErrHeld] and
	// [ErrLeaseLost], if known.
	Holder string
	Since  time.Time
	// Head is the number of the session's last entry: for [ErrHeadMoved].
	Head int64
	// Seq is the number of the damaged entry: for [ErrCorrupt], if it is about one.
	Seq int64
	// Item is the id of the item of an inbox that the error is about, if it is about one.
	Item string
	// Good is the number of an entry before the damage at which [Store.Fork] makes a session of the
	// turns that had ended by then: for [ErrCorrupt] with a Seq, from package transcript. It is 0
	// if the first turn is damaged.
	Good int64
	// Err is the cause. It wraps one of the errors of this package, or is an error of a context or
	// of the operating system.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("session: ")
	b.WriteString(e.Op)
	if e.Session != "" {
		fmt.Fprintf(&b, " %s", e.Session)
	}
	if e.Item != "" {
		fmt.Fprintf(&b, ": item %s", e.Item)
	}
	if e.Seq != 0 {
		fmt.Fprintf(&b, ": entry %d", e.Seq)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	switch {
	case e.Holder != "" && !e.Since.IsZero():
		fmt.Fprintf(&b, " (by %s since %s)", e.Holder, e.Since.Format(time.RFC3339))
	case e.Holder != "":
		fmt.Fprintf(&b, " (by %s)", e.Holder)
	case e.Good > 0:
		fmt.Fprintf(&b, " (up to entry %d it can be kept as a fork)", e.Good)
	case errors.Is(e.Err, ErrHeadMoved):
		fmt.Fprintf(&b, " (the last one is %d)", e.Head)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
