// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/ponte-go/ponte/agent/session"
)

// fail returns the error of an operation on a session.
func fail(op, id, dir string, err error) error {
	if err == nil {
		return nil
	}
	var known *session.Error
	if errors.As(err, &known) {
		made := *known
		made.Op, made.Session = op, id
		return &made
	}
	return &session.Error{Op: op, Session: id, Err: translate(dir, err)}
}

// sqliteCode returns SQLite's code of an error, 0 if it has none.
func sqliteCode(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code() & 0xff // without what extended codes add
}

func isBusy(err error) bool {
	code := sqliteCode(err)
	return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED || code == sqlite3.SQLITE_PROTOCOL
}

// translate gives an error the identity that package session has for it.
func translate(dir string, err error) error {
	for _, known := range []error{session.ErrBusy, session.ErrFull, session.ErrCorrupt, session.ErrReadOnly, session.ErrVersion} {
		if errors.Is(err, known) {
			return err
		}
	}
	var identity error
	switch code := sqliteCode(err); {
	case isBusy(err):
		identity = session.ErrBusy
	case code == sqlite3.SQLITE_FULL, errors.Is(err, syscall.ENOSPC):
		identity = session.ErrFull
	case code == sqlite3.SQLITE_CORRUPT, code == sqlite3.SQLITE_NOTADB:
		identity = session.ErrCorrupt
	case code == sqlite3.SQLITE_READONLY, code == sqlite3.SQLITE_PERM, errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		identity = session.ErrReadOnly
	case code == sqlite3.SQLITE_IOERR, code == sqlite3.SQLITE_CANTOPEN:
		probe := tryToWrite(dir)
		switch {
		case errors.Is(probe, syscall.ENOSPC):
			identity = session.ErrFull
		case errors.Is(probe, fs.ErrPermission), errors.Is(probe, syscall.EROFS):
			identity = session.ErrReadOnly
		}
	}
	if identity == nil {
		return err
	}
	return fmt.Errorf("%w: %w", identity, err)
}

// tryToWrite finds out what is wrong with a directory, because SQLite does not say.
func tryToWrite(dir string) error {
	if dir == "" {
		return nil
	}
	f, err := os.CreateTemp(dir, "probe-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 64<<10))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// patiently calls fn until the database is not locked by others, for as long as the options allow.
func (s *Store) patiently(ctx context.Context, fn func() error) error {
	end := time.Now().Add(s.options.Busy)
	for wait := time.Millisecond; ; wait = min(2*wait, 25*time.Millisecond) {
		err := fn()
		if !isBusy(err) && !errors.Is(err, session.ErrBusy) || time.Now().After(end) {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", session.ErrBusy, context.Cause(ctx))
		}
	}
}
