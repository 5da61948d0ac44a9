// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// fakeServer speaks the protocol of Postgres over pipes, so that it can be used in a bubble of
// package synctest, where times are exact. Without an answer of the test it says what the
// statements of a store on finished tables want to hear.
type fakeServer struct {
	answer func(c *fakeConn, sql string) *reply // nil, or a nil reply, for the usual answer
	refuse func() bool                          // whether a connection is refused

	mu    sync.Mutex
	conns []*fakeConn
	dials []time.Time
	heard []statement
}

// statement is what a server was asked, and when.
type statement struct {
	at   time.Time
	conn *fakeConn
	sql  string
	args []string
}

// reply is an answer: a row of values that are bool, int, string or nil, or an error.
type reply struct {
	row    []any
	code   string // of an error
	silent bool   // there is no answer
	last   bool   // nothing is read after it
	drop   bool   // the connection ends instead
	none   bool   // there are no rows, and none was changed
}

// fakeConn is a connection at the server.
type fakeConn struct {
	net.Conn
	number int
	server *fakeServer
	to     *pgproto3.Backend
	status byte
	last   bool
	closed chan struct{}
	once   sync.Once
}

func (c *fakeConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

var errRefused = errors.New("connection refused")

func (f *fakeServer) dial(_ context.Context, network, _ string) (net.Conn, error) {
	if network == "pipe" { // to cancel a statement
		return nil, errRefused
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dials = append(f.dials, time.Now())
	if f.refuse != nil && f.refuse() {
		return nil, errRefused
	}
	client, server := net.Pipe()
	c := &fakeConn{Conn: server, number: len(f.conns) + 1, server: f, to: pgproto3.NewBackend(server, server), status: 'I', closed: make(chan struct{})}
	f.conns = append(f.conns, c)
	go c.serve()
	return client, nil
}

// statements returns what was asked that contains a text.
func (f *fakeServer) statements(text string) (found []statement) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.heard {
		if strings.Contains(s.sql, text) {
			found = append(found, s)
		}
	}
	return found
}

// lock is the connection with the lock of a store, the last one.
func (f *fakeServer) lock() *fakeConn {
	all := f.statements("LISTEN")
	return all[len(all)-1].conn
}

// since returns how long after a moment the statements with a text came, in order.
func (f *fakeServer) since(begin time.Time, text string) (after []time.Duration) {
	for _, s := range f.statements(text) {
		if !s.at.Before(begin) {
			after = append(after, s.at.Sub(begin))
		}
	}
	return after
}

// end closes all connections.
func (f *fakeServer) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.conns {
		_ = c.Close()
	}
}

// serve answers until the connection ends.
func (c *fakeConn) serve() {
	defer func() { _ = c.Close() }()
	if _, err := c.to.ReceiveStartupMessage(); err != nil {
		return
	}
	c.to.Send(&pgproto3.AuthenticationOk{})
	c.to.Send(&pgproto3.BackendKeyData{ProcessID: uint32(c.number), SecretKey: []byte("1234")})
	c.to.Send(&pgproto3.ReadyForQuery{TxStatus: c.status})
	if c.to.Flush() != nil {
		return
	}
	var sql string
	var args []string
	for {
		message, err := c.to.Receive()
		if err != nil {
			return
		}
		said := true
		switch m := message.(type) {
		case *pgproto3.Query:
			said = c.say(m.String, nil, false)
			c.to.Send(&pgproto3.ReadyForQuery{TxStatus: c.status})
		case *pgproto3.Parse:
			sql = m.Query
			c.to.Send(&pgproto3.ParseComplete{})
			continue
		case *pgproto3.Bind:
			args = nil
			for _, p := range m.Parameters {
				args = append(args, string(p))
			}
			c.to.Send(&pgproto3.BindComplete{})
			continue
		case *pgproto3.Execute:
			if said = c.say(sql, args, true); said {
				continue
			}
		case *pgproto3.Sync:
			c.to.Send(&pgproto3.ReadyForQuery{TxStatus: c.status})
		case *pgproto3.Terminate:
			return
		default:
			continue
		}
		if !said {
			for err == nil { // whatever is asked
				_, err = c.to.Receive()
			}
			return
		}
		if c.to.Flush() != nil {
			return
		}
		if c.last {
			<-c.closed
			return
		}
	}
}

// say answers a statement, or returns false if there is no answer.
func (c *fakeConn) say(sql string, args []string, described bool) bool {
	f := c.server
	f.mu.Lock()
	f.heard = append(f.heard, statement{time.Now(), c, sql, args})
	answer := f.answer
	f.mu.Unlock()
	var r *reply
	if answer != nil {
		r = answer(c, sql)
	}
	if r == nil {
		r = c.usual(sql)
	}
	if r.drop {
		_ = c.Close()
	}
	if r.silent || r.drop {
		return false
	}
	c.last = r.last
	if r.code != "" {
		c.to.Send(&pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: r.code, Message: "made up"})
		return true
	}
	if r.row == nil || r.none {
		if described {
			c.to.Send(&pgproto3.NoData{})
		}
		c.to.Send(&pgproto3.CommandComplete{CommandTag: []byte(map[bool]string{true: "UPDATE 0", false: "UPDATE 1"}[r.none])})
		return true
	}
	var head pgproto3.RowDescription
	var row pgproto3.DataRow
	for _, v := range r.row {
		if v == nil {
			head.Fields = append(head.Fields, pgproto3.FieldDescription{Name: []byte("c"), DataTypeOID: 25, DataTypeSize: -1, TypeModifier: -1})
			row.Values = append(row.Values, nil)
			continue
		}
		oid, text := uint32(25), ""
		switch v := v.(type) {
		case bool:
			oid, text = 16, map[bool]string{true: "t", false: "f"}[v]
		case int:
			oid, text = 20, strconv.Itoa(v)
		case string:
			text = v
		}
		head.Fields = append(head.Fields, pgproto3.FieldDescription{Name: []byte("c"), DataTypeOID: oid, DataTypeSize: -1, TypeModifier: -1})
		row.Values = append(row.Values, []byte(text))
	}
	c.to.Send(&head)
	c.to.Send(&row)
	c.to.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
	return true
}

// usual returns what a server with finished tables says.
func (c *fakeConn) usual(sql string) *reply {
	switch {
	case sql == "begin":
		c.status = 'T'
	case sql == "commit" || sql == "rollback":
		c.status = 'I'
	case strings.Contains(sql, "pg_try_advisory_lock($1)"), strings.HasPrefix(sql, "SELECT EXISTS"):
		return &reply{row: []any{true}}
	case strings.Contains(sql, "pg_backend_pid"):
		return &reply{row: []any{c.number}}
	case strings.HasPrefix(sql, "SELECT version, serves"):
		return &reply{row: []any{len(steps), len(steps), true}}
	case strings.Contains(sql, "pg_notify"):
		return &reply{row: []any{"off", 1}}
	}
	return &reply{}
}

// pool returns a pool of connections to the server, of which there are eight at most.
func (f *fakeServer) pool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig("host=127.0.0.1 user=u dbname=d sslmode=disable pool_max_conns=8")
	require.NoError(t, err)
	config.ConnConfig.DialFunc = f.dial
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	return f.poolOf(t, config)
}

func (f *fakeServer) poolOf(t *testing.T, config *pgxpool.Config) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	return pool
}

// notify tells a connection that listens of a session.
func notify(c *fakeConn, id string) error {
	c.to.Send(&pgproto3.NotificationResponse{PID: 1, Channel: "any", Payload: id})
	return c.to.Flush()
}

// open opens a store on the server. end closes both.
func (f *fakeServer) open(t *testing.T, o Options) (s *Store, end func()) {
	t.Helper()
	pool := f.pool(t)
	s, err := New(t.Context(), pool, o)
	require.NoError(t, err)
	return s, func() {
		_ = s.Close()
		pool.Close()
		f.end()
	}
}
