// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ponte-go/ponte/agent/session"
)

//go:embed schema.sql
var schemaSQL string

// steps change a database from each version to the next. A new version is a new step; steps of a
// released version never change.
//
// While a fleet is updated, programs of the version before and of this one use the same tables. So
// a step only adds: columns with a default, tables, functions. What the version before calls keeps
// its name, arguments and results. The step after that may remove it.
var steps = []step{{sql: schemaSQL, serves: 1}}

// step is a version of the tables. serves is the oldest version of programs that can use them.
type step struct {
	sql    string
	serves int
}

// inSchema puts the name of a schema into a statement.
func inSchema(statement, schema string) string {
	return strings.ReplaceAll(statement, "SCHEMA.", schema+".")
}

// maxLock is how long a migration waits for a lock on tables that others use. All later statements
// on those tables queue up meanwhile.
var maxLock = 10 * time.Second

// migrate makes the tables, or changes them to the present version.
func migrate(ctx context.Context, pool *pgxpool.Pool, name string) error {
	version, err := versionOf(ctx, pool, name)
	if err != nil || version == len(steps) {
		return err
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		lock := fnv.New64a()
		_, _ = lock.Write([]byte("ponte sessions " + name))
		// One process at a time.
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(lock.Sum64())); err != nil {
			return err
		}
		version, err := versionOf(ctx, tx, name)
		if err != nil || version == len(steps) {
			return err
		}
		if version == 0 {
			err = makeSchema(ctx, tx, name)
		}
		if err == nil {
			_, err = tx.Exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d", maxLock.Milliseconds()))
		}
		if err != nil {
			return err
		}
		schema := pgx.Identifier{name}.Sanitize()
		for ; version < len(steps); version++ {
			if _, err := tx.Exec(ctx, inSchema(steps[version].sql, schema)); err != nil {
				return fmt.Errorf("migration to version %d: %w", version+1, err)
			}
		}
		_, err = tx.Exec(
			ctx, "UPDATE "+schema+".version SET version = $1, serves = $2", version,
			steps[version-1].serves,
		)
		return err
	})
}

// makeSchema makes the schema, unless it exists, and the table with its version.
func makeSchema(ctx context.Context, tx pgx.Tx, name string) error {
	var encoding string
	var there bool
	err := tx.QueryRow(ctx, "SELECT current_setting('server_encoding'), EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", name).Scan(&encoding, &there)
	if err != nil {
		return err
	}
	if encoding != "UTF8" {
		return fmt.Errorf("%w: the database has the encoding %s, must have UTF8", session.ErrInvalid, encoding)
	}
	schema := pgx.Identifier{name}.Sanitize()
	var statements []string
	if !there { // IF NOT EXISTS would need the right to make one all the same
		statements = append(statements, "CREATE SCHEMA "+schema)
	}
	for _, statement := range append(statements, "CREATE TABLE "+schema+".version (version integer NOT NULL, serves integer NOT NULL)", "INSERT INTO "+schema+".version VALUES (0, 0)") {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// isOwn reports whether the functions of a schema use what is in it, which they name.
const isOwn = `EXISTS (SELECT FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1 AND p.proname = 'acquire' AND strpos(p.prosrc, $2) > 0)`

// versionOf returns the version of the tables, 0 if there are none. Newer tables that serve this
// program count as its own.
func versionOf(ctx context.Context, db interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, name string) (int, error) {
	// The catalogue itself is asked, because names may be cached from before the lock was there.
	var there bool
	err := db.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'version')", name).Scan(&there)
	if err != nil || !there {
		return 0, err
	}
	var version, serves int
	schema := pgx.Identifier{name}.Sanitize()
	if err := db.QueryRow(ctx, "SELECT version, serves, "+isOwn+" FROM "+schema+".version", name, schema+".alive(").Scan(&version, &serves, &there); err != nil {
		return 0, err
	}
	switch {
	case version > len(steps) && serves > len(steps):
		return 0, fmt.Errorf("%w: the tables in schema %q have version %d, this program has version %d: use a newer program, or restore a backup from before",
			session.ErrVersion, name, version, len(steps))
	case version > 0 && !there:
		return 0, fmt.Errorf("%w: the schema %q was renamed, and its functions use the tables of the old name: give it its old name back", session.ErrInvalid, name)
	}
	return min(version, len(steps)), nil
}

// errPooler describes an address that leads to a pooler in transaction mode.
var errPooler = fmt.Errorf("%w: the address leads to a pooler that shares connections between transactions, and each lease needs its own connection: "+
	"use the server itself, or a pooler in session mode", session.ErrInvalid)

// translate gives an error the identity that package session has for it.
func translate(err error) error {
	var known *session.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) && errors.Is(err, context.DeadlineExceeded) { // the server says nothing
		return fmt.Errorf("%w: %w", session.ErrUnavailable, err)
	}
	for _, identity := range []error{session.ErrInvalid, session.ErrVersion, session.ErrClosed, session.ErrCorrupt, session.ErrNotFound, session.ErrExists, session.ErrTooMany, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, identity) {
			return err
		}
	}
	identity := session.ErrUnavailable // it never reached the server, or lost it
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		identity = nil
		switch class := pg.Code[:min(2, len(pg.Code))]; {
		case pg.Code == "53100": // disk_full
			identity = session.ErrFull
		case pg.Code == "25006": // read_only_sql_transaction: a standby
			identity = session.ErrReadOnly
		case pg.Code == "26000", pg.Code == "42P05": // a prepared statement does not exist, or does
			return fmt.Errorf("%w: %w", errPooler, err)
		case pg.Code == "57014": // query_canceled: a timeout of the server, because callers' contexts are looked at before
			identity = session.ErrBusy
		case pg.Code == "42501": // insufficient_privilege
			identity = session.ErrReadOnly
		case class == "08", class == "53", class == "57", class == "28", class == "3D": // connection, resources, shutdown, authorisation, database
			identity = session.ErrUnavailable
		case class == "40", class == "55": // deadlock, lock not available
			identity = session.ErrBusy
		case class == "XX": // data_corrupted among others
			identity = session.ErrCorrupt
		}
	}
	if identity == nil {
		return err
	}
	return fmt.Errorf("%w: %w", identity, err)
}

// answered reports whether an error is the answer to a statement, from the server or from this
// package. The transaction has then ended without effect. If the server ends the connection, that
// may have happened before or after the commit.
func answered(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.SeverityUnlocalized == "ERROR"
	}
	var known *session.Error
	return errors.As(err, &known)
}

// terminated reports whether the server has ended the connection, and with it the transaction.
func terminated(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "57P01" // admin_shutdown
}

// fail returns the error of an operation on a session.
func fail(op, id string, err error) error {
	if err == nil {
		return nil
	}
	var known *session.Error
	if errors.As(err, &known) {
		made := *known
		made.Op, made.Session = op, id
		return &made
	}
	return &session.Error{Op: op, Session: id, Err: translate(err)}
}

// hasPoolSize reports whether a connection string sets the size of the pool.
func hasPoolSize(database string) bool { return strings.Contains(database, "pool_max_conns") }
