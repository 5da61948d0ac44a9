// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ponte-go/ponte/agent/session"
)

// applicationID identifies our databases. It spells "Pont".
const applicationID = 0x506f6e74

// steps change a database from each version to the next. A new version is a new step; steps of a
// released version never change.
//
// While programs are updated, those of the version before and of this one use the same database. So
// a step only adds: columns with a default, tables, indexes. The step after that may remove what
// the version before uses.
var steps = []step{{serves: 1, sql: `
CREATE TABLE state (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	token INTEGER NOT NULL, -- of the latest lease
	changed INTEGER NOT NULL, -- counts transactions that change sessions
	deleted INTEGER NOT NULL, -- the last one that has deleted a session
	serves INTEGER NOT NULL -- the oldest version of programs that can use the database
);
INSERT INTO state VALUES (1, 0, 0, 0, 0);

CREATE TABLE sessions (
	num INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT UNIQUE, -- NULL once it is deleted, if forks still need its entries
	title TEXT NOT NULL,
	dir TEXT NOT NULL,
	tenant TEXT NOT NULL DEFAULT '',
	owner TEXT NOT NULL DEFAULT '',
	vals TEXT NOT NULL,
	created INTEGER NOT NULL, -- nanoseconds, as all times
	updated INTEGER NOT NULL,
	head INTEGER NOT NULL,
	size INTEGER NOT NULL,
	parent INTEGER,
	parent_id TEXT NOT NULL,
	forked_at INTEGER NOT NULL,
	pinned INTEGER NOT NULL, -- entries up to here are those of forks, too
	token INTEGER NOT NULL,
	holder TEXT NOT NULL,
	instance TEXT NOT NULL, -- the file in holders, or empty if the session is free
	since INTEGER NOT NULL,
	rev INTEGER NOT NULL DEFAULT 0, -- of the last change of the inbox
	waiting INTEGER NOT NULL DEFAULT 0, -- items that are not notes
	changed INTEGER NOT NULL DEFAULT 0, -- the last transaction that has changed it
	internal INTEGER NOT NULL GENERATED ALWAYS AS (substr(dir, 1, 6) = 'ponte:') VIRTUAL
);
-- Internal sessions are kept apart, so that a list of conversations does not walk past them. Other lists read both halves.
CREATE INDEX sessions_internal_updated ON sessions (internal, updated, id) WHERE id IS NOT NULL;
CREATE INDEX sessions_internal_created ON sessions (internal, created, id) WHERE id IS NOT NULL;
CREATE INDEX sessions_dir_updated ON sessions (dir, updated, id) WHERE id IS NOT NULL;
CREATE INDEX sessions_dir_created ON sessions (dir, created, id) WHERE id IS NOT NULL;
CREATE INDEX sessions_owner_updated ON sessions (tenant, owner, internal, updated, id) WHERE id IS NOT NULL;
CREATE INDEX sessions_owner_created ON sessions (tenant, owner, internal, created, id) WHERE id IS NOT NULL;
CREATE INDEX sessions_tenant_updated ON sessions (tenant, internal, updated, id) WHERE id IS NOT NULL AND tenant <> '';
CREATE INDEX sessions_tenant_created ON sessions (tenant, internal, created, id) WHERE id IS NOT NULL AND tenant <> '';
CREATE INDEX sessions_parent_id ON sessions (parent_id) WHERE parent_id <> '';
CREATE INDEX sessions_parent ON sessions (parent) WHERE parent IS NOT NULL;
CREATE INDEX sessions_waiting ON sessions (waiting) WHERE waiting > 0;
CREATE INDEX sessions_changed ON sessions (changed);
CREATE INDEX sessions_instance ON sessions (instance) WHERE instance <> '';

CREATE TABLE entries (
	session INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	time INTEGER NOT NULL,
	kind TEXT NOT NULL,
	run TEXT NOT NULL,
	key TEXT NOT NULL,
	place TEXT, -- what can take its place: see place
	size INTEGER NOT NULL,
	sum INTEGER NOT NULL,
	media TEXT, -- what was cut out of data: see media.go
	data BLOB
);
CREATE UNIQUE INDEX entries_seq ON entries (session, seq);
CREATE INDEX entries_place ON entries (session, place) WHERE place IS NOT NULL;

CREATE TABLE items (
	session INTEGER NOT NULL,
	id TEXT NOT NULL,
	pos INTEGER NOT NULL,
	version INTEGER NOT NULL,
	rev INTEGER NOT NULL,
	kind TEXT NOT NULL,
	state TEXT NOT NULL,
	time INTEGER NOT NULL,
	by TEXT NOT NULL,
	digest TEXT NOT NULL,
	sum INTEGER NOT NULL,
	data BLOB
);
CREATE UNIQUE INDEX items_id ON items (session, id);
CREATE INDEX items_rev ON items (session, rev);
CREATE INDEX items_live ON items (session, rev) WHERE state = '';

CREATE TABLE media (
	hash TEXT NOT NULL,
	session INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	PRIMARY KEY (hash, session, seq)
) WITHOUT ROWID;
CREATE INDEX media_entry ON media (session, seq);
CREATE TABLE garbage (hash TEXT PRIMARY KEY) WITHOUT ROWID; -- files that may be needed no more
`}}

// step is a version of the database. serves is the oldest version of programs that can use it.
type step struct {
	serves int
	sql    string
}

// prepareSchema makes, checks or migrates the schema. Nothing else uses the connection.
func (s *Store) prepareSchema(ctx context.Context, conn *sql.Conn) error {
	version, err := s.readVersion(ctx, conn)
	if err != nil || version == len(s.steps) {
		return err
	}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err = s.migrate(ctx, conn); err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		_, rollback := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		_ = rollback // the error is the first one
	}
	return err
}

// migrate brings the database to the present version, in a transaction that excludes other writers.
func (s *Store) migrate(ctx context.Context, conn *sql.Conn) error {
	version, err := s.readVersion(ctx, conn) // somebody may have been faster
	if err != nil || version == len(s.steps) {
		return err
	}
	serves := s.steps[len(s.steps)-1].serves
	if version > 0 {
		others, err := s.holders.others()
		if err != nil {
			return err
		}
		if others > 0 && version < serves {
			return fmt.Errorf("%w: it has version %d and must be changed to version %d, "+
				"but %d other processes have it open: end them first",
				session.ErrBusy, version, len(s.steps), others)
		}
		if err := s.backUp(ctx, version); err != nil {
			return fmt.Errorf("back up version %d: %w", version, err)
		}
	}
	for n := version; n < len(s.steps); n++ {
		if _, err := conn.ExecContext(ctx, s.steps[n].sql); err != nil {
			return fmt.Errorf("change version %d to %d: %w", n, n+1, err)
		}
	}
	for _, statement := range []string{
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		fmt.Sprintf("PRAGMA user_version = %d", len(s.steps)),
		fmt.Sprintf("UPDATE state SET serves = %d", serves),
	} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// backUp copies the database to a file beside it. It reads committed data, through a separate
// connection.
func (s *Store) backUp(ctx context.Context, version int) error {
	path := filepath.Join(s.dir, fmt.Sprintf(
		"sessions.v%d-%s.db", version, time.Now().UTC().Format("20060102T150405.000000000"),
	))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	db, err := sql.Open("sqlite", s.source())
	if err == nil {
		_, err = db.ExecContext(ctx, "VACUUM INTO ?", path)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return errors.Join(f.Sync(), syncDir(s.dir))
}

type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// readVersion returns the version of the database, 0 if it is empty. A newer one that serves this
// program counts as its own.
func (s *Store) readVersion(ctx context.Context, q queryer) (int, error) {
	var version, app, tables, serves int
	err := q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	if err == nil {
		err = q.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app)
	}
	if err == nil && version == 0 {
		err = q.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables)
	}
	if err == nil && (version != 0 || tables != 0) && app != applicationID {
		err = fmt.Errorf("%w: it is a database of another program", session.ErrCorrupt)
	}
	if err != nil || version <= len(s.steps) {
		return version, err
	}
	err = q.QueryRowContext(ctx, "SELECT serves FROM state").Scan(&serves)
	if err != nil || serves > len(s.steps) {
		err = errors.Join(fmt.Errorf("%w: %s has version %d, this program has version %d: "+
			"use a newer program, or the copy from before in the same directory",
			session.ErrVersion, s.path, version, len(s.steps)), err)
		return 0, err
	}
	return len(s.steps), nil
}
