// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

func serverError(code string) error {
	return &pgconn.PgError{Code: code, SeverityUnlocalized: "ERROR"}
}

// A transaction that the server ends because of others is made 20 times more, after waits at random
// that are below 2 ms at first, below twice as much each time, and below 50 ms always.
func TestConflictsAreTriedTwentyTimesMore(t *testing.T) {
	for _, code := range []string{"40001", "40P01"} {
		synctest.Test(t, func(t *testing.T) {
			s, end := (&fakeServer{}).open(t, Options{})
			defer end()
			longest := make([]time.Duration, 21)
			for range 300 {
				n, last := 0, time.Now()
				err := s.try(t.Context(), func(context.Context) error {
					if n > 0 {
						longest[n] = max(longest[n], time.Since(last))
					}
					n++
					last = time.Now()
					return serverError(code)
				})
				require.ErrorIs(t, translate(err), session.ErrBusy)
				require.Equal(t, 21, n)
			}
			last := time.Duration(0)
			for n := 1; n <= 20; n++ {
				bound := min(time.Millisecond<<n, 50*time.Millisecond)
				require.Less(t, longest[n], bound, "wait %d", n)
				require.Greater(t, longest[n], bound/2, "wait %d", n)
				last = max(last, longest[n])
			}
			require.Greater(t, last, 49*time.Millisecond)
			n := 0
			require.NoError(t, s.try(t.Context(), func(context.Context) error {
				if n++; n <= 20 {
					return serverError(code)
				}
				return nil
			}), "the last one may succeed")
		})
	}
}

// While a store waits to try again, the end of the context and the store's own end it.
func TestConflictsEndWithTheContextAndTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, end := (&fakeServer{}).open(t, Options{})
		defer end()
		given := errors.New("given up")
		ctx, cancel := context.WithCancelCause(t.Context())
		n := 0
		err := s.try(ctx, func(context.Context) error {
			if n++; n == 3 {
				cancel(given)
			}
			return serverError("40001")
		})
		require.ErrorIs(t, err, given)
		require.Equal(t, 3, n)
		n = 0
		err = s.try(t.Context(), func(context.Context) error {
			if n++; n == 3 {
				require.NoError(t, s.Close())
			}
			return serverError("40001")
		})
		require.Equal(t, serverError("40001"), err)
		require.Equal(t, 3, n)
		require.ErrorIs(t, s.try(t.Context(), func(context.Context) error { panic("it is closed") }), session.ErrClosed)
	})
}

// Each of the pool's eight connections may have been ended by the server before something was sent
// by way of it. A read is tried again also if it was lost in the middle.
func TestLostConnectionsAreTriedOnceEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, end := (&fakeServer{}).open(t, Options{})
		defer end()
		for _, c := range []struct {
			name       string
			err        error
			try, reads int
		}{
			{"ended by the server", &pgconn.PgError{Code: "57P01", SeverityUnlocalized: "FATAL"}, 9, 9 * 9},
			{"lost", io.EOF, 1, 9},
			{"refused", &pgconn.ConnectError{Config: &pgconn.Config{}}, 1, 1},
			{"an answer", serverError("22000"), 1, 1},
			{"not there", session.ErrNotFound, 1, 1},
		} {
			for _, do := range []struct {
				of   func(context.Context, func(context.Context) error) error
				want int
			}{{s.try, c.try}, {s.read, c.reads}} {
				n := 0
				err := do.of(t.Context(), func(context.Context) error { n++; return c.err })
				require.ErrorIs(t, err, c.err, c.name)
				require.Equal(t, do.want, n, c.name)
			}
		}
	})
}

// A statement may take as long as the option says, and an append a second more for each whole MiB,
// whichever appends share the transaction.
func TestSilentServerIsGivenUpOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		s, end := f.open(t, Options{Timeout: 7 * time.Second})
		defer end()
		f.mu.Lock()
		f.answer = func(_ *fakeConn, sql string) *reply {
			return &reply{silent: strings.Contains(sql, ".append(") || strings.HasPrefix(sql, "SELECT num")}
		}
		f.mu.Unlock()
		begin := time.Now()
		_, err := s.Get(t.Context(), "a")
		require.ErrorContains(t, err, "the server does not answer: within 7s")
		require.ErrorIs(t, err, session.ErrUnavailable)
		require.Equal(t, 7*time.Second, time.Since(begin))
		for _, c := range []struct {
			sizes []int
			want  int
		}{{[]int{0}, 7}, {[]int{1<<20 - 1}, 7}, {[]int{1 << 20}, 8}, {[]int{2<<20 - 1}, 8}, {[]int{2 << 20}, 9}, {[]int{1 << 19, 1 << 19}, 8}, {[]int{1 << 19, 1<<19 - 1}, 7}} {
			var batch []*commit
			for n, size := range c.sizes {
				batch = append(batch, &commit{addition: newAddition(session.Lease{Session: fmt.Sprint(n)}, 0, []session.Entry{{Data: make([]byte, size)}}, nil), done: make(chan struct{})})
			}
			begin := time.Now()
			s.transaction(batch)
			require.Equal(t, time.Duration(c.want)*time.Second, time.Since(begin), "%v", c.sizes)
			for _, one := range batch {
				<-one.done
				require.EqualError(t, one.err, fmt.Sprintf("the server does not answer: within %ds", c.want))
			}
		}
	})
}

// Four transactions with appends are under way at most. Those that come meanwhile share the next
// ones.
func TestFourTransactionsAreUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, gate := &fakeServer{}, make(chan struct{})
		s, end := f.open(t, Options{})
		defer end()
		f.mu.Lock()
		f.answer = func(_ *fakeConn, sql string) *reply {
			if strings.Contains(sql, ".append(") {
				<-gate
				return &reply{row: []any{"done", 1, nil, nil}}
			}
			return nil
		}
		f.mu.Unlock()
		done := make(chan error, 7)
		for n := range 7 {
			go func() {
				_, err := s.Append(t.Context(), session.Lease{Session: fmt.Sprint(n)}, 0, session.Batch{Entries: []session.Entry{{Kind: session.KindView}}})
				done <- err
			}()
			synctest.Wait()
		}
		require.Len(t, f.statements(".append("), 4)
		s.commits.mu.Lock()
		require.Equal(t, 4, s.commits.running)
		require.Len(t, s.commits.waiting, 3)
		s.commits.mu.Unlock()
		close(gate)
		for range 7 {
			require.NoError(t, <-done)
		}
		synctest.Wait()
		require.Zero(t, s.commits.running)
		conns := map[*fakeConn]int{}
		for _, a := range f.statements(".append(") {
			conns[a.conn]++
		}
		counts := []int{}
		for _, n := range conns {
			counts = append(counts, n)
		}
		require.ElementsMatch(t, []int{4, 1, 1, 1}, counts, "three in one transaction")
	})
}

// An address is refused if one of six looks shows that the connection is shared, as a pooler's is:
// a busy pooler gives a connection of its own at times.
func TestSharedConnectionsAreLookedForSixTimes(t *testing.T) {
	for shared, want := range map[int]error{1: session.ErrInvalid, 6: session.ErrInvalid, 7: nil} {
		synctest.Test(t, func(t *testing.T) {
			looks := 0
			f := &fakeServer{}
			f.answer = func(c *fakeConn, sql string) *reply {
				if c.number == 1 || !strings.Contains(sql, "pg_backend_pid") {
					return nil
				}
				if looks++; looks == shared {
					return &reply{row: []any{1}}
				}
				return nil
			}
			pool := f.pool(t)
			s, err := New(t.Context(), pool, Options{})
			require.ErrorIs(t, err, want, "look %d", shared)
			if err == nil {
				require.Equal(t, 6, looks)
				require.NoError(t, s.Close())
			}
			pool.Close()
			f.end()
		})
	}
}

// A connection that has answered with the result of another statement is replaced, three times.
func TestConnectionsOutOfStepAreReplacedThreeTimes(t *testing.T) {
	for wrong := range 6 {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			f := &fakeServer{}
			f.answer = func(_ *fakeConn, sql string) *reply {
				if !strings.Contains(sql, "pg_try_advisory_lock") {
					return nil
				}
				if asked++; asked <= wrong {
					return &reply{}
				}
				return nil
			}
			pool := f.pool(t)
			s, err := New(t.Context(), pool, Options{})
			require.Equal(t, min(wrong+1, 4), asked)
			if wrong <= 3 {
				require.NoError(t, err)
				require.NoError(t, s.Close())
			} else {
				require.ErrorIs(t, err, pgx.ErrNoRows)
			}
			pool.Close()
			f.end()
		})
	}
}

// Tables are made under a lock that is waited for ten seconds, and have the version of the program.
func TestTablesAreMadeWithABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		f.answer = func(_ *fakeConn, sql string) *reply {
			switch {
			case strings.HasPrefix(sql, "SELECT EXISTS"):
				return &reply{row: []any{false}}
			case strings.Contains(sql, "server_encoding"):
				return &reply{row: []any{"UTF8", false}}
			}
			return nil
		}
		_, end := f.open(t, Options{Schema: "mine"})
		defer end()
		var changes []string
		for _, s := range f.statements("") {
			if s.conn.number == 1 || strings.HasPrefix(s.sql, "SELECT") && !strings.Contains(s.sql, "lock") {
				continue
			}
			text := s.sql
			if i := strings.IndexByte(text, '\n'); i >= 0 {
				text = "the tables"
			}
			if strings.HasPrefix(text, "UPDATE") {
				text += fmt.Sprint(" ", s.args)
			}
			changes = append(changes, text)
		}
		require.Equal(t, []string{
			"begin", "SELECT pg_advisory_xact_lock($1)", `CREATE SCHEMA "mine"`, `CREATE TABLE "mine".version (version integer NOT NULL, serves integer NOT NULL)`,
			`INSERT INTO "mine".version VALUES (0, 0)`, "SET LOCAL lock_timeout = 10000", "the tables", `UPDATE "mine".version SET version = $1, serves = $2 [1 1]`, "commit",
		}, changes[len(changes)-9:])
	})
}
