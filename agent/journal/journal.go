// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// Journal keeps the records of runs. Implementations are safe for concurrent use; package journaltest checks them.
type Journal interface {
	// Open takes hold of the records of a run, for one holder at a time until it closes the log: to everybody else, in
	// this process and others, Open fails with an error that wraps [ErrInUse]. If the holder's process dies the run is
	// free again. A run that has no records yet is not an error. Any string but the empty one may be a run's id.
	Open(ctx context.Context, runID string) (Log, error)
}

// Log is the records of one run, in the hands of whoever opened it.
type Log interface {
	// Load returns all records, each as it was appended, in the order in which they were. The caller may keep and change
	// them. Records whose Append did not succeed may be there or not, but never in part. If a record that was appended
	// is lost or damaged, Load fails with an error that wraps [ErrCorrupt] rather than leave it out; Open may do so too.
	Load(ctx context.Context) ([][]byte, error)
	// Append adds a record, a JSON document on a single line, and returns when it would survive the end of the process
	// and, if the journal is durable at all, of the machine. It may be called from several goroutines at once, and then
	// can write several records in one go. It must not keep the slice. Once it has failed the log may refuse all further
	// records.
	//
	// The run does not cancel ctx when it is cancelled itself, because what has been done must be recorded: an
	// implementation that may wait for long, for a server for example, bounds that time itself.
	Append(ctx context.Context, record []byte) error
	// Close releases the run. It is called once, after all calls of Append have returned.
	Close() error
}

// Func makes a Journal of a function, for tests and wrappers.
type Func func(ctx context.Context, runID string) (Log, error)

// Open implements [Journal].
func (f Func) Open(ctx context.Context, runID string) (Log, error) { return f(ctx, runID) }

// Identities of what can be wrong with a journal.
var (
	// ErrInUse means that the run is open elsewhere, in this process or another one.
	ErrInUse = errors.New("the run is in use")
	// ErrCorrupt means that records of the run are damaged or missing.
	ErrCorrupt = errors.New("the journal is corrupt")
	// ErrVersion means that a newer version of the program wrote the journal.
	ErrVersion = errors.New("the journal is newer than this program")
	// ErrMismatch means that the run was started by another agent, or with something else than now: a prompt, a history,
	// results. Nothing has been run.
	ErrMismatch = errors.New("the journal was started with something else")
	// ErrDiverged means that the agent takes another way than it took when the journal was written, for example because a
	// tool is gone. Nothing has been run.
	ErrDiverged = errors.New("the run does not follow its journal")
	// ErrClosed means that a log was used after it was closed.
	ErrClosed = errors.New("the log is closed")
)

// Error says what failed between a run and its journal. It ends the run.
type Error struct {
	// RunID is the run's.
	RunID string
	// Op is what failed: "open", "load", "append", "encode" or "replay".
	Op string
	// Err is the cause, often one of the errors of this package.
	Err error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("journal: run %s: %s: %v", e.RunID, e.Op, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// check refuses what does not fit on a line of its own.
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
