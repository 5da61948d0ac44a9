// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

// failNth answers the n-th statement that counts, from 0, with what is wrong, and all others with
// what answer says.
type failNth struct {
	n, seen atomic.Int64
	wrong   *reply
	answer  func(sql string) *reply
}

func (f *failNth) say(_ *fakeConn, sql string) *reply {
	if strings.Contains(sql, "pg_notify") || strings.Contains(sql, "unlock_all") {
		return nil
	}
	if f.seen.Add(1)-1 == f.n.Load() {
		return f.wrong
	}
	if f.answer == nil {
		return nil
	}
	return f.answer(sql)
}

// opened returns how many connections the server has.
func (f *fakeServer) opened() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.conns {
		select {
		case <-c.closed:
		default:
			n++
		}
	}
	return n
}

// noTables is what a server says on which nobody has opened a store.
func noTables(sql string) *reply {
	switch {
	case strings.HasPrefix(sql, "SELECT EXISTS"):
		return &reply{row: []any{false}}
	case strings.Contains(sql, "server_encoding"):
		return &reply{row: []any{"UTF8", false}}
	}
	return nil
}

// A store does not open if any statement fails, whether there are tables or not, and leaves no
// connection of its own behind.
func TestEveryStatementOfOpenCanFail(t *testing.T) {
	for _, answer := range []func(sql string) *reply{noTables, nil} {
		for n := int64(0); ; n++ {
			ended := false
			synctest.Test(t, func(t *testing.T) {
				failing := &failNth{wrong: &reply{code: "42501"}, answer: answer}
				failing.n.Store(n)
				f := &fakeServer{answer: failing.say}
				pool := f.pool(t)
				s, err := New(t.Context(), pool, Options{})
				if err == nil {
					require.LessOrEqual(t, failing.seen.Load(), n, "a statement has failed, and the store is open")
					require.Equal(t, n, failing.seen.Load())
					require.NoError(t, s.Close())
					ended = true
				} else {
					require.ErrorIs(t, err, session.ErrReadOnly, "statement %d", n)
					var known *session.Error
					require.ErrorAs(t, err, &known)
					require.Equal(t, "open", known.Op)
				}
				pool.Close()
				synctest.Wait()
				require.Zero(t, f.opened(), "statement %d", n)
				f.end()
			})
			if ended {
				break
			}
		}
	}
}

// The hooks of a pool of the program can fail, too. A lock that another connection has is an error
// at first, and waited for when the connection is made again.
func TestConnectionOfAStoreCanFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := errors.New("no password")
		f := &fakeServer{}
		for n := range 2 {
			base := f.pool(t)
			config := base.Config()
			base.Close()
			if n == 0 {
				config.BeforeConnect = func(context.Context, *pgx.ConnConfig) error { return bad }
			} else {
				config.AfterConnect = func(context.Context, *pgx.Conn) error { return bad }
			}
			pool := f.poolOf(t, config)
			_, err := New(t.Context(), pool, Options{})
			require.ErrorIs(t, err, bad)
			pool.Close()
			synctest.Wait()
			require.Zero(t, f.opened())
		}
		var held atomic.Bool
		f.mu.Lock()
		f.answer = func(_ *fakeConn, sql string) *reply {
			if held.Load() && strings.Contains(sql, "pg_try_advisory_lock($1)") {
				return &reply{row: []any{false}}
			}
			return nil
		}
		f.mu.Unlock()
		held.Store(true)
		pool := f.pool(t)
		_, err := New(t.Context(), pool, Options{})
		require.ErrorContains(t, err, "the server has not noticed yet that the connection was lost")
		pool.Close()
		held.Store(false)
		s, end := f.open(t, Options{})
		defer end()
		time.Sleep(time.Second)
		held.Store(true)
		begin := time.Now()
		require.NoError(t, f.lock().Close())
		time.Sleep(time.Second)
		require.Equal(t, ms(0, 50, 150, 350, 750), f.since(begin, "pg_try_advisory_lock($1)"))
		synctest.Wait()
		require.EqualValues(t, s.pool.Stat().TotalConns(), f.opened(), "those that have not got the lock are closed")
	})
}

// one is the answer to the statements of a store with a session, an entry, an item and a blob.
func one(pages *int) func(sql string) *reply {
	item := []any{"i", 1, 1, 1, "prompt", "", 1, "", "", "1"}
	return func(sql string) *reply {
		for _, known := range []struct {
			text string
			row  []any
		}{
			{".create(", []any{true}}, {".fork(", []any{true, true, 0}}, {".remove(", []any{false, "", 0}}, {".acquire(", []any{1, 0, "", 0}},
			{".append(", []any{"done", 1, nil, nil}}, {".put(", append([]any{true}, item...)}, {".change(", append([]any{"done"}, item...)},
			{"SELECT title, vals", []any{"t", "{}", 1}}, {"SELECT num, id, title", []any{1, "a", "t", "/d", "", "", "{}", 1, 1, 1, 1, "", 0, 1, ""}},
			{"SELECT id FROM (SELECT", []any{"a"}}, {"SELECT num, rev", []any{1, 1}}, {"SELECT num, head", []any{1, 1, 0, nil}},
			{"SELECT seq, time", []any{1, 1, "message", "", "", "1"}}, {"SELECT data FROM", []any{"1"}},
		} {
			if strings.Contains(sql, known.text) {
				return &reply{row: known.row}
			}
		}
		if strings.Contains(sql, " AS before FROM") {
			if *pages++; *pages%2 == 1 {
				return &reply{row: item}
			}
		}
		return nil
	}
}

// What fails is told by each method, whichever of its statements it is. If a connection is lost
// instead, reads are made again, and so is what can be found out: others say that it is not known.
func TestEveryStatementCanFail(t *testing.T) {
	title, lease := "t", session.Lease{Session: "a", Token: 1}
	for name, c := range map[string]struct {
		do         func(ctx context.Context, s *Store) error
		statements int64
		again      bool
	}{
		"create": {func(ctx context.Context, s *Store) error { _, err := s.Create(ctx, session.New{ID: "a"}); return err }, 2, false},
		"get":    {func(ctx context.Context, s *Store) error { _, err := s.Get(ctx, "a"); return err }, 1, true},
		"list":   {func(ctx context.Context, s *Store) error { _, err := s.List(ctx, session.Query{}); return err }, 1, true},
		"update": {func(ctx context.Context, s *Store) error {
			_, err := s.Update(ctx, "a", session.Change{Title: &title})
			return err
		}, 5, false},
		"fork":    {func(ctx context.Context, s *Store) error { _, err := s.Fork(ctx, "a", 0, session.New{}); return err }, 2, false},
		"delete":  {func(ctx context.Context, s *Store) error { return s.Delete(ctx, "a") }, 1, false},
		"acquire": {func(ctx context.Context, s *Store) error { _, err := s.Acquire(ctx, "a", session.Claim{}); return err }, 1, true},
		"release": {func(ctx context.Context, s *Store) error { return s.Release(ctx, lease) }, 1, false},
		"append": {func(ctx context.Context, s *Store) error {
			_, err := s.Append(ctx, lease, 0, session.Batch{Entries: []session.Entry{{Kind: session.KindView}}})
			return err
		}, 1, false},
		"put": {func(ctx context.Context, s *Store) error {
			_, err := s.Put(ctx, "a", session.Item{Kind: session.ItemPrompt})
			return err
		}, 1, true},
		"change": {func(ctx context.Context, s *Store) error {
			_, err := s.Change(ctx, "a", "i", 1, json.RawMessage(`1`))
			return err
		}, 1, false},
		"load":     {func(ctx context.Context, s *Store) error { return last(s.Load(ctx, "a", 0)) }, 3, true},
		"items":    {func(ctx context.Context, s *Store) error { return last(s.Items(ctx, "a", 0)) }, 3, true},
		"work":     {func(ctx context.Context, s *Store) error { return last(s.Work(ctx)) }, 1, true},
		"put blob": {func(ctx context.Context, s *Store) error { return s.Blobs().Put(ctx, "k", nil) }, 1, false},
		"get blob": {func(ctx context.Context, s *Store) error { _, err := s.Blobs().Get(ctx, "k"); return err }, 1, false},
		"remove blobs": {func(ctx context.Context, s *Store) error {
			_, err := s.Blobs().RemoveBefore(ctx, time.Now())
			return err
		}, 1, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			pages := 0
			failing := &failNth{answer: one(&pages)}
			f := &fakeServer{}
			s, end := f.open(t, Options{})
			defer end()
			f.mu.Lock()
			f.answer = failing.say
			f.mu.Unlock()
			failing.n.Store(-1)
			require.NoError(t, c.do(t.Context(), s), name)
			require.Equal(t, c.statements, failing.seen.Load(), name)
			for n := range c.statements {
				pages = 0
				failing.wrong = &reply{code: "22000"}
				failing.seen.Store(0)
				failing.n.Store(n)
				err := c.do(t.Context(), s)
				var server *pgconn.PgError
				require.ErrorAs(t, err, &server, "%s: statement %d", name, n)
				require.Equal(t, "22000", server.Code)
				synctest.Wait()

				pages = 0
				failing.wrong = &reply{drop: true}
				failing.seen.Store(0)
				err = c.do(t.Context(), s)
				if again := c.again || n == 1 && c.statements == 2; again { // the second one of those is a read
					require.NoError(t, err, "%s: statement %d", name, n)
					require.Greater(t, failing.seen.Load(), c.statements, "%s: statement %d", name, n)
				} else {
					require.ErrorIs(t, err, session.ErrUnavailable, "%s: statement %d", name, n)
					require.Equal(t, n+1, failing.seen.Load(), "%s: it is not made again", name)
				}
				time.Sleep(time.Second)
				synctest.Wait()
			}
		})
	}
}

// last returns the error that a sequence ends with.
func last[T any](seq func(func(T, error) bool)) (found error) {
	seq(func(_ T, err error) bool { found = err; return true })
	return found
}
