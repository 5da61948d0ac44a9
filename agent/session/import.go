// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ImportOptions are the options of [Import].
type ImportOptions struct {
	// SkipDamaged leaves a damaged line out, and what follows it up to the next session: the line
	// may have been the beginning of another one. Without it the first damaged line ends the
	// import, and the session that it belongs to is not kept.
	SkipDamaged bool
	// MaxLine bounds a line in bytes; longer lines count as damaged. Zero means 256 MiB.
	MaxLine int
}

// Imported is the result of [Import].
type Imported struct {
	// Sessions are the ids of the sessions that were made, Entries is how many entries they have.
	Sessions []string
	Entries  int
	// Damaged are the lines that were left out, the first 1,000 at most.
	Damaged []*LineError
}

const (
	importEntries = 256
	importBytes   = 1 << 20
	maxDamaged    = 1000
)

// Import creates the sessions that [Export] has written, with the ids, times and numbers of the
// original. A session whose id exists is an error that wraps [ErrExists]; sessions imported before
// it are kept. A fork becomes an independent session, without Parent and ForkedAt. Superseded
// entries are left out.
//
// A damaged line is a [*LineError] with its number. Import needs memory for one line and about a
// megabyte.
func Import(ctx context.Context, s Store, r io.Reader, o ImportOptions) (Imported, error) {
	if err := checkStore("import", s); err != nil {
		return Imported{}, err
	}
	if r == nil {
		return Imported{}, &Error{Op: "import", Err: fmt.Errorf("%w: the reader is nil", ErrInvalid)}
	}
	if o.MaxLine == 0 {
		o.MaxLine = 256 << 20
	}
	i := &importer{ctx: ctx, store: s, options: o, lines: bufio.NewReaderSize(r, 64<<10)}
	err := i.run()
	if err == nil {
		err = i.finish()
	}
	if err != nil {
		err = errors.Join(err, i.abandon())
	}
	return i.done, err
}

type importer struct {
	ctx     context.Context
	store   Store
	options ImportOptions
	lines   *bufio.Reader
	line    int
	inside  bool // the line in hand is an entry or an item
	done    Imported

	// session is the one that is being made, nil between sessions. first is the number of its line.
	session *Info
	first   int
	lease   Lease
	head    int64
	seq     int64 // of the last entry that was read
	count   int
	pending []Entry
	size    int
}

func (i *importer) run() error {
	for {
		line, err := i.next()
		if err == io.EOF {
			return nil
		}
		i.line++
		i.inside = false
		var bad *LineError
		switch {
		case errors.As(err, &bad):
		case err != nil:
			return fail("import", "", err)
		case len(bytes.TrimSpace(line)) == 0:
			continue
		default:
			if err = i.take(line); err == nil {
				continue
			}
			if !errors.As(err, &bad) {
				return err
			}
		}
		skip := i.options.SkipDamaged && !errors.Is(bad, ErrVersion)
		if skip {
			i.damaged(bad)
		}
		// It may be the beginning of another session: then one with all entries was complete.
		if i.session != nil && (skip || !i.inside && i.seq >= i.session.Head) {
			if err := i.finish(); err != nil {
				return err
			}
		}
		if !skip && i.session != nil {
			return fail("import", i.session.ID, bad)
		} else if !skip {
			return fail("import", "", bad)
		}
	}
}

func (i *importer) damaged(bad *LineError) {
	if len(i.done.Damaged) < maxDamaged {
		i.done.Damaged = append(i.done.Damaged, bad)
	}
}

// bad returns the error of the line in hand.
func (i *importer) bad(identity error, format string, args ...any) *LineError {
	return &LineError{i.line, fmt.Errorf("%w: "+format, append([]any{identity}, args...)...)}
}

// next reads a line. One that is too long is read to its end and a LineError.
func (i *importer) next() ([]byte, error) {
	var line []byte
	length := 0
	for {
		part, err := i.lines.ReadSlice('\n')
		length += len(part)
		if length <= i.options.MaxLine {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && length > 0, err == nil:
			if length > i.options.MaxLine {
				return nil, &LineError{i.line + 1, fmt.Errorf(
					"%w: %d bytes, more than %d", ErrCorrupt, length, i.options.MaxLine,
				)}
			}
			return line, nil
		default:
			return nil, err
		}
	}
}

// take deals with a line.
func (i *importer) take(data []byte) error {
	var line exportLine
	if err := json.Unmarshal(data, &line); err != nil {
		return i.bad(ErrCorrupt, "%v", err)
	}
	if line.Version > ExportVersion {
		return i.bad(ErrVersion, "version %d, this program reads versions up to %d", line.Version, ExportVersion)
	}
	if line.Session != nil {
		if err := i.finish(); err != nil {
			return err
		}
		return i.begin(line.Session)
	}
	i.inside = line.Item != nil || line.Kind != ""
	if line.Item != nil {
		return i.item(line.Item)
	}
	if line.Kind == "" {
		return i.bad(ErrCorrupt, "it is neither a session nor an entry nor an item")
	}
	if i.session == nil {
		return i.bad(ErrCorrupt, "an entry of no session")
	}
	e := Entry{line.Seq, line.Time, line.Kind, line.Run, line.Key, line.Data}
	if line.Text != nil {
		e.Data = json.RawMessage(*line.Text)
	}
	if e.Seq == 0 {
		return i.bad(ErrCorrupt, "an entry without a number")
	}
	if _, err := (&Batch{Entries: []Entry{e}}).Prepare(i.seq, now()); err != nil {
		return i.bad(ErrCorrupt, "%v", err)
	}
	i.seq = e.Seq
	i.pending, i.size = append(i.pending, e), i.size+len(e.Data)
	if len(i.pending) >= importEntries || i.size >= importBytes {
		return i.flush()
	}
	return nil
}

// begin makes a session.
func (i *importer) begin(info *Info) error {
	made := New{
		ID: info.ID, Title: info.Title, Dir: info.Dir, Tenant: info.Tenant, Owner: info.Owner,
		Values: info.Values, Created: info.Created,
	}
	if err := made.Check(); err != nil || info.ID == "" || info.Head < 0 {
		return i.bad(ErrCorrupt, "the session is not valid: %v", err)
	}
	if _, err := i.store.Create(i.ctx, made); err != nil {
		return err
	}
	i.session, i.first, i.head, i.seq, i.count = info, i.line, 0, 0, 0
	lease, err := i.store.Acquire(i.ctx, info.ID, Claim{Holder: "import"})
	i.lease = lease
	return err
}

// item puts an item into the inbox of the session in hand.
func (i *importer) item(made *Item) error {
	if i.session == nil {
		return i.bad(ErrCorrupt, "an item of no session")
	}
	if _, err := made.Prepare(now()); err != nil || made.State != ItemWaiting {
		return i.bad(ErrCorrupt, "the item is not valid: %v", err)
	}
	_, err := i.store.Put(i.ctx, i.session.ID, *made)
	return err
}

// flush appends the entries that have been read.
func (i *importer) flush() error {
	if len(i.pending) == 0 {
		return nil
	}
	head, err := i.store.Append(i.ctx, i.lease, i.head, Batch{Entries: i.pending})
	if err != nil {
		return err
	}
	i.head, i.count = head, i.count+len(i.pending)
	i.pending, i.size = i.pending[:0], 0
	return nil
}

// finish ends the session in hand.
func (i *importer) finish() error {
	if i.session == nil {
		return nil
	}
	if i.seq < i.session.Head {
		bad := &LineError{i.first, fmt.Errorf("%w: the session has entries up to %d, and the last line is entry %d: the file was cut off", ErrCorrupt, i.session.Head, i.seq)}
		if !i.options.SkipDamaged {
			return fail("import", i.session.ID, bad)
		}
		i.damaged(bad)
	}
	if err := i.flush(); err != nil {
		return err
	}
	err := i.store.Release(i.ctx, i.lease)
	i.done.Sessions, i.done.Entries = append(i.done.Sessions, i.session.ID), i.done.Entries+i.count
	i.session = nil
	return err
}

// abandon removes the session that could not be finished.
func (i *importer) abandon() error {
	if i.session == nil {
		return nil
	}
	ctx := context.WithoutCancel(i.ctx)
	if i.lease.Session == i.session.ID {
		if err := i.store.Release(ctx, i.lease); err != nil {
			return err
		}
	}
	return i.store.Delete(ctx, i.session.ID)
}
