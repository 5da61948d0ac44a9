// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

// ms returns durations of so many milliseconds.
func ms(all ...int) (times []time.Duration) {
	for _, n := range all {
		times = append(times, time.Duration(n)*time.Millisecond)
	}
	return times
}

// A store that is opened without options has those that are documented.
func TestOptionsHaveDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		s, end := f.open(t, Options{})
		defer end()
		require.Equal(t, Options{Schema: "ponte", Lost: 30 * time.Second, Poll: 10 * time.Second, Timeout: 20 * time.Second}, s.options)
	})
}

// The connection with the lock is made again at once, then after 50 ms, and after twice as long
// each time, up to a second. When it is back, everybody is told that something may have changed,
// and it begins again.
func TestLostLockIsTakenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		f := &fakeServer{refuse: away.Load}
		s, end := f.open(t, Options{})
		defer end()
		heard := make(chan string, 10)
		listening, stop := context.WithCancel(t.Context())
		go func() {
			for id, err := range s.Listen(listening) {
				if err == nil {
					heard <- id
				}
			}
		}()
		require.Empty(t, <-heard, "whoever begins to listen has missed something")
		for range 2 {
			f.mu.Lock()
			before := len(f.dials)
			f.mu.Unlock()
			away.Store(true)
			begin := time.Now()
			require.NoError(t, f.lock().Close())
			time.Sleep(5 * time.Second)
			f.mu.Lock()
			var after []time.Duration
			for _, at := range f.dials[before:] {
				after = append(after, at.Sub(begin))
			}
			f.mu.Unlock()
			require.Equal(t, ms(0, 50, 150, 350, 750, 1550, 2550, 3550, 4550), after)
			require.Empty(t, heard)
			away.Store(false)
			time.Sleep(time.Second)
			require.Len(t, heard, 1)
			require.Empty(t, <-heard, "any session")
		}
		locks := f.statements("pg_try_advisory_lock($1)")
		require.Len(t, locks, 3)
		require.Equal(t, locks[0].args, locks[2].args, "the lock is the same one")
		stop()
		synctest.Wait()
	})
}

// What the server says of a session on that connection is told.
func TestNotificationsAreHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		s, end := f.open(t, Options{})
		defer end()
		heard := make(chan string, 10)
		listening, stop := context.WithCancel(t.Context())
		go func() {
			for id, err := range s.Listen(listening) {
				if err == nil {
					heard <- id
				}
			}
		}()
		require.Empty(t, <-heard, "whoever begins to listen has missed something")
		synctest.Wait()
		require.NoError(t, notify(f.lock(), "a"))
		require.Equal(t, "a", <-heard)
		stop()
		synctest.Wait()
	})
}

// Changes of five milliseconds are told together. What could not be told is told again after a
// tenth of a second, and a server that says nothing is given up after five seconds.
func TestChangesAreToldTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var answers []*reply
		f := &fakeServer{}
		f.answer = func(_ *fakeConn, sql string) *reply {
			mu.Lock()
			defer mu.Unlock()
			if !strings.Contains(sql, "pg_notify") || len(answers) == 0 {
				return nil
			}
			r := answers[0]
			answers = answers[1:]
			return r
		}
		s, end := f.open(t, Options{})
		defer end()
		begin := time.Now()
		s.changed("first")
		time.Sleep(3 * time.Millisecond)
		s.changed("second")
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, ms(5), f.since(begin, "pg_notify"))
		told := f.statements("pg_notify")[0]
		require.Len(t, told.args, 2)
		require.Equal(t, s.presence.channel, told.args[0])
		require.Contains(t, told.args[1], "first")
		require.Contains(t, told.args[1], "second")

		mu.Lock()
		answers = []*reply{{code: "57014"}, {code: "57014"}, nil, nil}
		mu.Unlock()
		begin = time.Now()
		s.changed("third")
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, ms(5, 105, 205), f.since(begin, "pg_notify"))
		begin = time.Now()
		s.changed("fourth")
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, ms(5), f.since(begin, "pg_notify"), "soon again once it works")

		mu.Lock()
		answers = []*reply{{silent: true}}
		mu.Unlock()
		begin = time.Now()
		s.changed("fifth")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, ms(5, 5105), f.since(begin, "pg_notify"))
		all := f.statements("pg_notify")
		require.Contains(t, all[len(all)-1].args[1], "fifth")
	})
}

// A change that comes while others are told is told next.
func TestChangesDuringATellingAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		f.answer = func(_ *fakeConn, sql string) *reply {
			if strings.Contains(sql, "pg_notify") {
				time.Sleep(time.Second)
			}
			return nil
		}
		s, end := f.open(t, Options{})
		defer end()
		begin := time.Now()
		s.changed("first")
		time.Sleep(500 * time.Millisecond)
		s.changed("second")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, ms(5, 1010), f.since(begin, "pg_notify"))
		require.Contains(t, f.statements("pg_notify")[1].args[1], "second")
	})
}

// What is owed is tried again after a tenth of a second, in order. A lease that is lost is not owed
// any more.
func TestDebtsArePaidInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, end := (&fakeServer{}).open(t, Options{})
		defer end()
		type paid struct {
			name  string
			after time.Duration
		}
		var all []paid
		begin := time.Now()
		debt := func(name string, answers ...error) func() error {
			return func() error {
				all = append(all, paid{name, time.Since(begin)})
				if len(answers) == 0 {
					return nil
				}
				err := answers[0]
				answers = answers[1:]
				return err
			}
		}
		first := debt("first", nil, io.EOF, io.EOF)
		s.debts.owe(func() error {
			s.debts.owe(first)
			s.debts.owe(debt("second", &session.Error{Err: session.ErrLeaseLost}))
			s.debts.owe(debt("third"))
			return first()
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []paid{
			{"first", 0}, {"first", 0}, {"first", 100 * time.Millisecond}, {"first", 200 * time.Millisecond}, {"second", 200 * time.Millisecond}, {"third", 200 * time.Millisecond},
		}, all)
	})
}

// A watch looks after ten seconds, in case it was not told.
func TestWatchesLookFromTimeToTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		f.answer = func(_ *fakeConn, sql string) *reply {
			if strings.HasPrefix(sql, "SELECT num, head") {
				return &reply{row: []any{1, 0, 0, nil}}
			}
			return nil
		}
		s, end := f.open(t, Options{})
		defer end()
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		begin := time.Now()
		for _, err := range s.Watch(ctx, "a", 0) {
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		require.Equal(t, ms(0, 10000, 20000), f.since(begin, "SELECT num, head"))
	})
}

// Close waits for a server that reads nothing: a second to give up the lock, and two seconds to
// close connections in order.
func TestCloseDoesNotWaitForADeafServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		pool := f.pool(t)
		config := pool.Config()
		pool.Close()
		l := &lines{dial: f.dial, open: map[net.Conn]bool{}}
		for _, deaf := range []string{"the pool", "the lock"} {
			config.ConnConfig.DialFunc = l.connect
			pool := f.poolOf(t, config)
			s, err := New(t.Context(), pool, Options{})
			require.NoError(t, err)
			s.own, s.lines = true, l
			f.mu.Lock()
			f.answer = func(c *fakeConn, sql string) *reply {
				return &reply{last: sql == "SELECT last" || deaf == "the lock" && strings.Contains(sql, "unlock_all"), silent: strings.Contains(sql, "unlock_all") && deaf == "the lock"}
			}
			f.mu.Unlock()
			if deaf == "the pool" {
				_, err = pool.Exec(t.Context(), "SELECT last")
				require.NoError(t, err)
			}
			begin := time.Now()
			require.NoError(t, s.Close())
			require.Equal(t, map[string]time.Duration{"the pool": 2 * time.Second, "the lock": time.Second}[deaf], time.Since(begin), deaf)
			f.mu.Lock()
			f.answer = nil
			f.mu.Unlock()
			l = &lines{dial: f.dial, open: map[net.Conn]bool{}}
		}
		f.end()
	})
}

// A server that says nothing to the connection with the lock is given up, after ten seconds if the
// pool has no bound of its own.
func TestSilentServerIsGivenUpWhenAStoreIsOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{answer: func(_ *fakeConn, sql string) *reply { return &reply{silent: strings.Contains(sql, "set_config")} }}
		defer f.end()
		for own, want := range map[time.Duration]time.Duration{0: 10 * time.Second, 3 * time.Second: 3 * time.Second} {
			pool := f.pool(t)
			config := pool.Config()
			pool.Close()
			config.ConnConfig.ConnectTimeout = own
			pool = f.poolOf(t, config)
			begin := time.Now()
			_, err := New(t.Context(), pool, Options{})
			require.ErrorIs(t, err, session.ErrUnavailable)
			require.ErrorContains(t, err, "no answer within "+want.String())
			require.Equal(t, want, time.Since(begin))
			pool.Close()
		}
	})
}
