// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/ponte-go/ponte/agent/session"
)

// maxConflicts is how often a transaction is made again that the server has ended because of
// others.
const maxConflicts = 20

// errSilent means that the server does not answer. The statement may have been executed.
var errSilent = errors.New("the server does not answer")

// try does something with the database. It is done again if nothing has come of it: if the
// connection was lost before anything was sent, or ended by the server, as it is with connections
// of the pool after a restart of the server, and if the server has ended the transaction because of
// others.
//
// An attempt, with its wait for a connection, takes as long as Options.Timeout at most.
func (s *Store) try(ctx context.Context, do func(ctx context.Context) error) error {
	return s.tryWithin(ctx, s.options.Timeout, do)
}

// tryWithin is like try, for attempts that may take another time.
func (s *Store) tryWithin(ctx context.Context, most time.Duration, do func(ctx context.Context) error) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	attempt := func() error {
		bounded, cancel := context.WithTimeoutCause(ctx, most, errSilent)
		defer cancel()
		err := do(bounded)
		if err != nil && !answered(err) && ctx.Err() == nil && context.Cause(bounded) == errSilent {
			return fmt.Errorf("%w: within %v", errSilent, most)
		}
		return err
	}
	err := attempt()
	for lost, ended := int32(0), 0; err != nil && s.open(ctx) == nil; err = attempt() {
		switch {
		case (nothingSent(err) || terminated(err)) && lost < s.connections():
			lost++
			continue
		case isConflict(err) && ended < maxConflicts:
			ended++
			select {
			case <-time.After(rand.N(min(time.Millisecond<<ended, 50*time.Millisecond))):
				continue
			case <-ctx.Done():
			case <-s.closed:
			}
		}
		break
	}
	switch {
	case errors.Is(err, errSilent): // the other connections are probably silent, too
		s.pool.Reset()
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	case unsent(err) && errors.Is(s.open(ctx), session.ErrClosed):
		err = fmt.Errorf("%w: %w", session.ErrClosed, err)
	case err != nil && (terminated(err) || !answered(err) && errors.Is(translate(err), session.ErrUnavailable)):
		s.pool.Reset() // the other connections are probably lost, too
	}
	return err
}

// read is like try, for what changes nothing: it is done again also if the connection was lost in
// the middle.
func (s *Store) read(ctx context.Context, do func(ctx context.Context) error) error {
	err := s.try(ctx, do)
	for range s.connections() { // each of the pool may be a lost one
		var connect *pgconn.ConnectError
		if err == nil || ctx.Err() != nil || errors.Is(err, errSilent) || errors.As(err, &connect) || !errors.Is(translate(err), session.ErrUnavailable) {
			break
		}
		err = s.try(ctx, do)
	}
	return err
}

// connections returns how many connections the pool has at most.
func (s *Store) connections() int32 { return s.pool.Config().MaxConns }

// nothingSent reports whether a statement was not sent. The driver believes that also of some whose
// connection was lost before their result came.
func nothingSent(err error) bool {
	return pgconn.SafeToRetry(err) && !strings.Contains(err.Error(), "conn closed")
}

// unsent reports whether there was no connection for a statement because the pool, or an attempt to
// connect, was ended.
func unsent(err error) bool {
	return errors.Is(err, puddle.ErrClosedPool) || errors.Is(err, context.Canceled)
}

// isConflict reports whether the server has ended a transaction that may succeed when it is made
// again.
func isConflict(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01") // serialization_failure, deadlock_detected
}
