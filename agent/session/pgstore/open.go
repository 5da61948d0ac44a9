// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ponte-go/ponte/agent/session"
)

// Options are the options of [Open]. The zero value is useful.
type Options struct {
	// Schema is the schema of the tables. It is made if it does not exist, and cannot be renamed.
	// Empty means "ponte".
	Schema string
	// Lost is after how long the server takes a store for dead whose machine or network is gone. It
	// is a number of whole seconds, and at least 3. Zero means 30 seconds.
	Lost time.Duration
	// Poll is how often a watch looks for entries in case a notification was lost. Zero means 10
	// seconds.
	Poll time.Duration
	// Timeout is how long the server may take to answer a statement, and a second for each MiB that
	// is sent. Then the method fails with [session.ErrUnavailable], whatever its context. Zero
	// means 20 seconds.
	Timeout time.Duration
}

// Store keeps sessions in Postgres. It implements [session.Store] and [session.Watcher]. It must be
// closed.
type Store struct {
	pool    *pgxpool.Pool
	own     bool // whether the pool is closed with the store
	lines   *lines
	options Options
	sql     statements

	presence *presence
	watchers watchers
	commits  commits
	debts    debts

	last atomic.Int64 // see moment

	once   sync.Once
	closed chan struct{}
	// background is the context of what the store does by itself. stop ends it, and ended waits for
	// that.
	background context.Context
	stop       func()
	ended      sync.WaitGroup
}

var (
	_ session.Store   = (*Store)(nil)
	_ session.Watcher = (*Store)(nil)
)

// Open connects to a database, given as a URL or as keywords and values in the form of libpq, and
// makes or migrates the tables. Passwords may come from PGPASSWORD or a pgpass file; special
// characters of one in a URL are percent-encoded. Errors never have the password in them.
//
// The pool has as many connections as pool_max_conns says; without it, one for each processor, but
// at least eight. An attempt to connect takes as many seconds as connect_timeout says; without it,
// at most ten.
func Open(ctx context.Context, database string, o Options) (*Store, error) {
	config, err := parse(database)
	if err != nil {
		return nil, err
	}
	if !hasPoolSize(database) {
		config.MaxConns = max(config.MaxConns, 8)
	}
	lines := &lines{dial: config.ConnConfig.DialFunc, open: map[net.Conn]bool{}}
	config.ConnConfig.DialFunc = lines.connect
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, &session.Error{Op: "open", Err: translate(err)}
	}
	s, err := New(ctx, pool, o)
	if err != nil {
		pool.Close()
		return nil, err
	}
	s.own, s.lines = true, lines
	return s, nil
}

// New makes a store of a pool of the program, which stays open when the store is closed. The
// connection of the store itself is made with the pool's configuration, and is none of the pool's.
func New(ctx context.Context, pool *pgxpool.Pool, o Options) (*Store, error) {
	fail := func(err error) (*Store, error) { return nil, &session.Error{Op: "open", Err: translate(err)} }
	if o.Schema == "" {
		o.Schema = "ponte"
	}
	if o.Lost == 0 {
		o.Lost = 30 * time.Second
	}
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	if o.Poll == 0 {
		o.Poll = 10 * time.Second
	}
	switch {
	case len(o.Schema) > 63:
		return fail(fmt.Errorf(
			"%w: the name of the schema has %d bytes, at most 63 are allowed", session.ErrInvalid,
			len(o.Schema),
		))
	case o.Lost < 3*time.Second || o.Lost%time.Second != 0:
		return fail(fmt.Errorf("%w: Lost is %v, must be whole seconds and at least 3", session.ErrInvalid, o.Lost))
	case o.Timeout < 0:
		return fail(fmt.Errorf("%w: Timeout is %v", session.ErrInvalid, o.Timeout))
	case o.Poll < 0:
		return fail(fmt.Errorf("%w: Poll is %v", session.ErrInvalid, o.Poll))
	}
	here := newPresence(pool.Config(), o)
	err := here.connect(ctx)
	for tries := 0; errors.Is(err, pgx.ErrNoRows) && tries < 3; tries++ {
		// The connection is out of step: it has answered with the result of another statement.
		// PgBouncer 1.18 hands out such a connection at times.
		err = here.connect(ctx)
	}
	if err == nil {
		err = here.alone(ctx, pool)
	}
	if err == nil {
		err = migrate(ctx, pool, o.Schema)
	}
	if err != nil {
		here.close(here.conn)
		return fail(err)
	}
	background, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := func() { cancel(session.ErrClosed) }
	s := &Store{
		pool: pool, options: o, sql: prepared(pgx.Identifier{o.Schema}.Sanitize()),
		closed: make(chan struct{}), background: background, stop: stop, presence: here, watchers: watchers{tell: make(chan struct{}, 1)},
		debts: debts{tell: make(chan struct{}, 1)},
	}
	s.ended.Go(func() { s.presence.keep(background, s.watchers.wake, s.watchers.wakeAll) })
	s.ended.Go(func() { s.notify(background) })
	s.ended.Go(func() { s.debts.pay(background) })
	return s, nil
}

// Close gives back all sessions that are held by way of this store, and closes it.
func (s *Store) Close() error {
	err := error(&session.Error{Op: "close", Err: session.ErrClosed})
	s.once.Do(func() {
		s.commits.mu.Lock()
		close(s.closed)
		s.commits.mu.Unlock()
		s.stop()
		s.ended.Wait() // the connection is closed then, and the lock on it gone
		if s.own {
			late := time.AfterFunc(closing, s.lines.cut) // connections say good-bye to a server that may not answer
			s.pool.Close()
			late.Stop()
		}
		err = nil
	})
	return err
}

// open returns the error of an operation on a store that is closed, or whose context has ended.
func (s *Store) open(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	select {
	case <-s.closed:
		return session.ErrClosed
	default:
		return nil
	}
}
