// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ExportVersion is the version of the form that [Export] writes. [Import] reads all versions up to
// this one.
const ExportVersion = 1

// exportLine is a line of an export: a session, or an entry or an item of the preceding session.
type exportLine struct {
	entryJSON
	Session *Info `json:"session,omitempty"`
	Item    *Item `json:"item,omitempty"`
	// Text is the data if it has white space between its tokens, which "data" would lose.
	Text *string `json:"text,omitempty"`
}

// itemLine is the form of exportLine for an item.
type itemLine struct {
	Version int   `json:"v"`
	Item    *Item `json:"item"`
}

// sessionLine is the form of exportLine for a session.
type sessionLine struct {
	Version int   `json:"v"`
	Session *Info `json:"session"`
}

// Export writes sessions as JSON lines: one for the session, followed by one for each of its
// entries, and for each item of its inbox that waits or is a note. Without ids it writes all
// sessions. A fork is written with all of its entries. Sessions are written as they are when their
// turn comes.
//
// Export needs little memory, whatever the size of the sessions. If an entry, an item or the
// description of a session is damaged, or a session is removed meanwhile, Export writes the others
// and returns an error for it in the end. One that is removed before its turn comes is left out.
func Export(ctx context.Context, s Store, w io.Writer, ids ...string) error {
	if len(ids) == 0 {
		return ExportQuery(ctx, s, w, Query{Order: OrderCreated})
	}
	return export(ctx, s, w, func(one func(id string) error) error {
		for _, id := range ids {
			if err := one(id); err != nil {
				return err
			}
		}
		return nil
	})
}

// ExportQuery is [Export] for all sessions that a query selects, whatever its Limit, such as those
// of an owner.
func ExportQuery(ctx context.Context, s Store, w io.Writer, q Query) error {
	return export(ctx, s, w, func(one func(id string) error) error {
		q.Limit = 100
		return each(ctx, s, q, func(i Info) error {
			if err := one(i.ID); !errors.Is(err, ErrNotFound) {
				return err
			}
			return nil
		})
	})
}

// each calls do with the sessions that a query selects, of which it reads a page at a time. Those
// that are damaged are among them.
func each(ctx context.Context, s Store, q Query, do func(Info) error) error {
	for {
		page, err := s.List(ctx, q)
		if err != nil && (len(page.Sessions) == 0 || !errors.Is(err, ErrCorrupt)) {
			return err
		}
		for _, info := range page.Sessions {
			if err := do(info); err != nil {
				return err
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return nil
		}
	}
}

// export writes the sessions that all passes to its argument.
func export(ctx context.Context, s Store, w io.Writer, all func(one func(id string) error) error) error {
	if err := checkStore("export", s); err != nil {
		return err
	}
	if w == nil {
		return &Error{Op: "export", Err: fmt.Errorf("%w: the writer is nil", ErrInvalid)}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	var damaged error
	err := all(func(id string) error {
		bad, err := exportSession(ctx, s, enc, id)
		damaged = cmp.Or(damaged, bad)
		return err
	})
	if err != nil {
		return err
	}
	return damaged
}

// exportSession writes a session. damaged is an error about what was left out.
func exportSession(ctx context.Context, s Store, enc *json.Encoder, id string) (damaged, err error) {
	info, err := s.Get(ctx, id)
	if errors.Is(err, ErrCorrupt) {
		return err, nil
	}
	if err != nil {
		return nil, err
	}
	info.Holder, info.Waiting = "", 0
	if err := enc.Encode(sessionLine{ExportVersion, &info}); err != nil {
		return nil, fail("export", id, err)
	}
	defer func() {
		if errors.Is(err, ErrNotFound) { // it was removed meanwhile
			damaged, err = err, nil
		}
	}()
	var last int64
	for e, err := range s.Load(ctx, id, 0) {
		if err != nil {
			if e.Seq == 0 {
				return damaged, err
			}
			damaged, last = err, e.Seq
			continue
		}
		if e.Seq > info.Head && last == info.Head { // it came later
			break
		}
		last = e.Seq // beyond the head if entries that came later have taken the place of the last ones
		line := exportLine{entryJSON: entryJSON{ExportVersion, e.Seq, e.Time, e.Kind, e.Run, e.Key, e.Data}}
		var compact bytes.Buffer
		if len(e.Data) > 0 && (json.Compact(&compact, e.Data) != nil || !bytes.Equal(compact.Bytes(), e.Data)) {
			text := string(e.Data)
			line.Data, line.Text = nil, &text
		}
		if err := enc.Encode(line); err != nil {
			return damaged, fail("export", id, err)
		}
	}
	for item, err := range s.Items(ctx, id, 0) {
		var bad *Error
		if errors.Is(err, ErrCorrupt) && errors.As(err, &bad) && bad.Item != "" {
			damaged = err
			continue
		}
		if err == nil {
			err = enc.Encode(itemLine{ExportVersion, &item})
		}
		if err != nil {
			return damaged, fail("export", id, err)
		}
	}
	return damaged, nil
}

// LineError describes an invalid line of an export.
type LineError struct {
	// Line is the number of the line, from 1.
	Line int
	// Err is the error. It wraps an error of this package.
	Err error
}

// Error implements error.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }
