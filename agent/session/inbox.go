// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Inbox receives the items that are sent to the sessions of a store. Any process may write to it:
// that needs no lease and does not move the session's head. The holder of the session consumes the
// items, in one transaction with the entries that they cause. See [Batch].
//
// Each inbox has its own counter. Every change of an item, including its consumption, increments
// it. Readers continue from the last change that they have seen. Forks have empty inboxes.
// Deleting a session deletes its inbox.
type Inbox interface {
	// Put adds an item to the inbox of a session, with the fields that the sender sets: see [Item].
	// If there is, or was, an item with the same ID, Put changes nothing. It returns the item as it
	// is then. When Put returns, the item survives the end of the process and, in a durable store,
	// a crash of the machine.
	Put(ctx context.Context, id string, i Item) (Item, error)
	// Change replaces the data of an item that waits, or of a note. Data that is nil removes the
	// item. It fails with [ErrChanged] if the item has another version, with [ErrConsumed] if it
	// was consumed or removed, and with [ErrNoItem] if there never was one. It returns the item as
	// it is then, unless the session does not exist or there was no such item.
	Change(ctx context.Context, id, item string, version int64, data json.RawMessage) (Item, error)
	// Items yields the items with a Rev greater than after, as they were when it was called, in
	// order of their Rev. Kinds selects some kinds; without it, all are yielded. If after is 0,
	// items that were consumed or removed are left out. Otherwise they are yielded like all others:
	// a reader that passes the greatest Rev that it has seen misses nothing. A negative after
	// yields all items, including those. An error ends the sequence, with one exception: an
	// [ErrCorrupt] with an Item is about that item alone, and the next ones follow.
	Items(ctx context.Context, id string, after int64, kinds ...ItemKind) iter.Seq2[Item, error]
}

// ItemKind is the kind of an item. Programs leave items of unknown kinds unchanged.
type ItemKind string

const (
	// ItemPrompt is a prompt that waits for its turn.
	ItemPrompt ItemKind = "prompt"
	// ItemAnswer is the answer to a question. Digest names what was shown.
	ItemAnswer ItemKind = "answer"
	// ItemCancel stops a turn: the one that its data names, or without a name the one that is running.
	ItemCancel ItemKind = "cancel"
	// ItemSetting sets a setting of the session.
	ItemSetting ItemKind = "setting"
	// ItemContinue says that the turn without an end is to go on, in whichever process serves the
	// store: the one that ran it has stopped.
	ItemContinue ItemKind = "continue"
	// ItemNote is data that is kept beside a session, such as a score or a mark. Notes are never
	// consumed. They can be changed and removed.
	ItemNote ItemKind = "note"
)

// ItemState tells whether an item still waits.
type ItemState string

const (
	// ItemWaiting is the state of an item that was not consumed yet, and of notes.
	ItemWaiting ItemState = ""
	// ItemConsumed is the state of an item that was consumed. Its data is gone from the inbox.
	ItemConsumed ItemState = "consumed"
	// ItemRemoved is the state of an item that [Inbox].Change has removed.
	ItemRemoved ItemState = "removed"
)

// Item is an item of the inbox of a session.
type Item struct {
	// ID identifies the item within its session. It is a string of 1 to 256 bytes of UTF-8 without
	// control characters. If it is empty, Put makes one. An ID is never used again, so a sender
	// that is not sure whether an item has arrived sends it again.
	ID string `json:"id"`
	// Pos is the place of the item in the inbox, which the store sets: the later the item was put,
	// the greater. It stays.
	Pos int64 `json:"pos"`
	// Version is 1 for a new item, and one more with each change of its data. Rev is the number of
	// the last change of the inbox that was about this item. The store sets both.
	Version int64 `json:"version"`
	Rev     int64 `json:"rev"`
	// Kind is the kind of the item. It must not be empty.
	Kind ItemKind `json:"kind"`
	// State tells whether the item still waits. The store sets it.
	State ItemState `json:"state,omitempty"`
	// Time is when the item was put. Zero means now. It has the bounds of [Entry].Time.
	Time time.Time `json:"time"`
	// By names who sent the item, for people. It may be empty.
	By string `json:"by,omitempty"`
	// Digest names what the sender saw, for answers. It may be empty.
	Digest string `json:"digest,omitempty"`
	// Data is the content as a JSON document. It may be nil, and is nil once the item was consumed
	// or removed.
	Data json.RawMessage `json:"data,omitempty"`
}

// Ref names an item in the version that a reader has seen.
type Ref struct {
	// ID is the item's id.
	ID string
	// Version is the version that was seen.
	Version int64
}

// Ref returns the item's name and version.
func (i *Item) Ref() Ref { return Ref{i.ID, i.Version} }

// Batch is the input of one [Store].Append, which writes all of it or nothing.
type Batch struct {
	// Entries are the new entries of the session.
	Entries []Entry
	// Consumed are items of the session's inbox that are consumed. Each has caused some of the
	// entries, or none was needed.
	Consumed []Ref
	// Before, if it is set, returns entries that come before the others. A [Writer] calls it in the
	// order in which it writes, one call at a time. It must not use the writer. Stores ignore it.
	Before func() []Entry
}

// Waiting returns the items of a session that wait to be consumed, in the order in which they were
// put. If some are damaged, it returns the others and an [ErrCorrupt] with the Item of one.
func Waiting(ctx context.Context, in Inbox, id string) (all []Item, damaged error) {
	for i, err := range in.Items(ctx, id, 0) {
		var bad *Error
		if errors.Is(err, ErrCorrupt) && errors.As(err, &bad) && bad.Item != "" {
			damaged = cmp.Or(damaged, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		if i.Kind != ItemNote {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, func(a, b Item) int { return int(min(1, max(-1, a.Pos-b.Pos))) })
	return all, damaged
}

// Prepare checks an item to be put, and returns it with an ID, a time and the version 1, but
// without what the store sets in its transaction. Implementations of [Inbox] use it. The data is
// shared. The error wraps [ErrInvalid].
func (i *Item) Prepare(now time.Time) (Item, error) {
	made := Item{ID: i.ID, Version: 1, Kind: i.Kind, Time: i.Time, By: i.By, Digest: i.Digest, Data: i.Data}
	if made.ID == "" {
		made.ID = rand.Text()
	}
	if err := checkID(made.ID); err != nil {
		return Item{}, err
	}
	if made.Time.IsZero() {
		made.Time = now
	}
	if made.Time.Before(firstTime) || !made.Time.Before(lastTime) {
		return Item{}, fmt.Errorf(
			"%w: the item has the time %v, must be between the years 1970 and 2262", ErrInvalid,
			made.Time,
		)
	}
	made.Time = time.Unix(0, made.Time.UnixNano()).UTC()
	if made.Kind == "" {
		return Item{}, fmt.Errorf("%w: the item has no kind", ErrInvalid)
	}
	for _, text := range [...]string{string(made.Kind), made.By, made.Digest} {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return Item{}, fmt.Errorf("%w: kind, sender and digest of an item must be UTF-8 without zero bytes, not %.40q", ErrInvalid, text)
		}
	}
	if len(made.Data) == 0 {
		made.Data = nil
	}
	return made, CheckItemData(made.Data)
}

// CheckItemData reports what is wrong with the data of an item, with an error that wraps
// [ErrInvalid]. Implementations of [Inbox] use it.
func CheckItemData(data json.RawMessage) error {
	if data != nil && !json.Valid(data) {
		return fmt.Errorf("%w: the data of the item is not a JSON document", ErrInvalid)
	}
	return nil
}

// Usable returns the error with which an item that is there refuses a change or its consumption:
// [ErrConsumed], [ErrChanged], or, for a note that is consumed, [ErrInvalid]. Implementations of
// [Inbox] use it.
func (i *Item) Usable(version int64, consume bool) error {
	switch {
	case consume && i.Kind == ItemNote:
		return fmt.Errorf("%w: notes are not consumed", ErrInvalid)
	case i.State != ItemWaiting:
		return ErrConsumed
	case i.Version != version:
		return ErrChanged
	}
	return nil
}

// checkRefs reports what is wrong with the items that a batch consumes.
func checkRefs(refs []Ref) error {
	seen := make(map[string]bool, len(refs))
	for _, r := range refs {
		if r.ID == "" || seen[r.ID] {
			return fmt.Errorf("%w: the batch consumes the item %.40q twice, or one without an id", ErrInvalid, r.ID)
		}
		seen[r.ID] = true
	}
	return nil
}
