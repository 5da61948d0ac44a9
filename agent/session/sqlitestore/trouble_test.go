// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session/sqlitestore"
)

var errFire = errors.New("the disk is on fire")

// trouble stands between a store and SQLite's driver. It is asked before each call, such as "exec COMMIT", whether it shall fail.
type trouble struct {
	mu    sync.Mutex
	asked func(call string) error
}

// ask sets who is asked.
func (t *trouble) ask(asked func(call string) error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = asked
}

func (t *trouble) call(what, query string) error {
	t.mu.Lock()
	asked := t.asked
	t.mu.Unlock()
	if asked == nil {
		return nil
	}
	return asked(strings.TrimSpace(what + " " + strings.Join(strings.Fields(query), " ")))
}

// troubled opens a store whose calls of SQLite can be made to fail.
func troubled(t *testing.T, dir string, o sqlitestore.Options) (*sqlitestore.Store, *trouble) {
	t.Helper()
	s, err := sqlitestore.Open(dir, o)
	require.NoError(t, err)
	var tr trouble
	require.NoError(t, sqlitestore.Rewire(s, func(name string) *sql.DB { return sql.OpenDB(tr.connector(name)) }))
	return s, &tr
}

func (t *trouble) connector(name string) driver.Connector { return &troubledConnector{name, t} }

type troubledConnector struct {
	name string
	t    *trouble
}

func (c *troubledConnector) Driver() driver.Driver {
	db, err := sql.Open("sqlite", c.name)
	if err != nil {
		panic(err)
	}
	defer db.Close()
	return db.Driver()
}

func (c *troubledConnector) Connect(context.Context) (driver.Conn, error) {
	if err := c.t.call("connect", ""); err != nil {
		return nil, err
	}
	conn, err := c.Driver().Open(c.name)
	return &troubledConn{conn, c.t}, err
}

type troubledConn struct {
	driver.Conn
	t *trouble
}

func (c *troubledConn) IsValid() bool { return c.Conn.(driver.Validator).IsValid() }

func (c *troubledConn) ResetSession(ctx context.Context) error {
	return c.Conn.(driver.SessionResetter).ResetSession(ctx)
}

func (c *troubledConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := c.t.call("prepare", query); err != nil {
		return nil, err
	}
	stmt, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	return &troubledStmt{stmt, c.t, query}, err
}

func (c *troubledConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.t.call("exec", query); err != nil {
		return nil, err
	}
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c *troubledConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.t.call("query", query); err != nil {
		return nil, err
	}
	rows, err := c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
	return &troubledRows{rows, c.t, query}, err
}

type troubledStmt struct {
	driver.Stmt
	t     *trouble
	query string
}

func (s *troubledStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := s.t.call("exec", s.query); err != nil {
		return nil, err
	}
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

func (s *troubledStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.t.call("query", s.query); err != nil {
		return nil, err
	}
	rows, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	return &troubledRows{rows, s.t, s.query}, err
}

type troubledRows struct {
	driver.Rows
	t     *trouble
	query string
}

func (r *troubledRows) Next(row []driver.Value) error {
	if err := r.t.call("next", r.query); err != nil {
		return err
	}
	return r.Rows.Next(row)
}

// busyError returns SQLite's error of a database that is locked by another process.
func busyError(t *testing.T) error {
	t.Helper()
	dir := t.TempDir()
	conn, err := database(t, dir).Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.ExecContext(t.Context(), "CREATE TABLE t (x); BEGIN IMMEDIATE")
	require.NoError(t, err)
	_, busy := database(t, dir).Exec("INSERT INTO t VALUES (1)")
	require.Error(t, busy)
	_, err = conn.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	return busy
}

// longQuery is the text of a call that is told in part.
var longQuery = regexp.MustCompile(`^(.{70}).+$`)

func short(call string) string { return longQuery.ReplaceAllString(call, "$1…") }
