// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// Journal keeps the records of runs. Implementations are safe for concurrent use;
// enginetest.JournalConformance checks them.
type Journal interface {
	// Open opens the records of a run. A run is open once at a time: until the log is closed,
	// Open returns an error that wraps [ErrInUse], in this process and in others. When the
	// process that has it open ends, the run is free again. A run without records is not an
	// error. A run's id is any string except the empty one.
	Open(ctx context.Context, runID string) (Log, error)
}

// Log holds the records of a run that is open.
type Log interface {
	// Load returns all records in the order in which they were appended. The caller may keep and
	// change them. A record whose Append failed is either there or not, never in part. If an
	// appended record is lost or damaged, Load, or already Open, returns an error that wraps
	// [ErrCorrupt].
	Load(ctx context.Context) ([][]byte, error)
	// Append adds a record, a JSON document on a single line. It returns when the record would
	// survive the end of the process and, if the journal is durable, of the machine. It is called
	// from several goroutines at once, and may then write their records together. It must not
	// keep the slice. After a failure the log may refuse all further records.
	//
	// ctx is not cancelled with the run, because completed work must be recorded. An
	// implementation that may wait for long, for a server for example, sets its own time limit.
	Append(ctx context.Context, record []byte) error
	// Close frees the run. It is called once, after all calls of Append have returned.
	Close() error
}

// Func is a function that implements [Journal], for tests and wrappers.
type Func func(ctx context.Context, runID string) (Log, error)

// Open implements [Journal].
func (f Func) Open(ctx context.Context, runID string) (Log, error) { return f(ctx, runID) }

// Errors of journals, for errors.Is.
var (
	// ErrInUse means that the run is open elsewhere, in this process or another one.
	ErrInUse = errors.New("the run is in use")
	// ErrCorrupt means that records of the run are damaged or missing.
	ErrCorrupt = errors.New("the journal is corrupt")
	// ErrVersion means that a newer version of the program wrote the journal.
	ErrVersion = errors.New("the journal is newer than this program")
	// ErrMismatch means that the run was started by another agent, or with another prompt,
	// history or results. Nothing has been executed.
	ErrMismatch = errors.New("the journal was started with something else")
	// ErrDiverged means that the agent no longer follows the records of the run, for example
	// because a tool is gone. Nothing has been executed.
	ErrDiverged = errors.New("the run does not follow its journal")
	// ErrClosed means that a log was used after it was closed.
	ErrClosed = errors.New("the log is closed")
)

// Error is a failure of a run's journal. It ends the run.
type Error struct {
	// RunID is the run's.
	RunID string
	// Op is the operation that failed: "open", "load", "append", "encode" or "replay".
	Op string
	// Err is the cause, often one of the errors of this package.
	Err error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("journal: run %s: %s: %v", e.RunID, e.Op, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// check returns an error if a record is not a single line, or if ctx has ended.
func check(ctx context.Context, record []byte) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if len(record) == 0 || bytes.ContainsAny(record, "\n\x00") {
		return errors.New("a record must be a JSON document on a single line")
	}
	return nil
}

var errNoID = errors.New("the run has no id")
