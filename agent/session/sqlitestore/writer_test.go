// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
)

// bubble runs a test with a store whose calls of SQLite can be made to fail, and whose time is exact.
func bubble(t *testing.T, o sqlitestore.Options, test func(t *testing.T, s *sqlitestore.Store, tr *trouble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, tr := troubled(t, t.TempDir(), o)
		defer func() {
			tr.ask(nil)
			require.NoError(t, s.Close())
		}()
		test(t, s, tr)
	})
}

// While another process writes, the writer tries again: after one millisecond, then after twice the time, at most after 25. It gives up
// after the first attempt behind the end of Options.Busy.
func TestWriterWaitsLongerAndLonger(t *testing.T) {
	busy := busyError(t)
	want := []time.Duration{0, 1, 3, 7, 15, 31, 56, 81, 106}
	for _, c := range []struct {
		busy     time.Duration
		attempts int
	}{{80 * time.Millisecond, 8}, {81 * time.Millisecond, 9}, {81*time.Millisecond - 1, 8}, {time.Millisecond - 1, 2}, {1, 2}} {
		bubble(t, sqlitestore.Options{Busy: c.busy}, func(t *testing.T, s *sqlitestore.Store, tr *trouble) {
			start := time.Now()
			var tried []time.Duration
			tr.ask(func(call string) error {
				if call != "exec BEGIN IMMEDIATE" {
					return nil
				}
				require.Equal(t, len(tried) > 0, sqlitestore.Busy(s), "it says that it waits")
				tried = append(tried, time.Since(start)/time.Millisecond)
				return busy
			})
			_, err := s.Create(t.Context(), session.New{ID: "s"})
			require.EqualError(t, err, "session: create s: "+session.ErrBusy.Error()+": "+busy.Error())
			require.Equal(t, want[:c.attempts], tried)
			require.False(t, sqlitestore.Busy(s))
		})
	}
}

// A query waits as the writer does. When its caller has given up, the error says that it waited, and why it ended.
func TestQueriesWaitLongerAndLonger(t *testing.T) {
	busy := busyError(t)
	for _, ends := range []time.Duration{0, 40 * time.Millisecond} {
		bubble(t, sqlitestore.Options{Busy: 100 * time.Millisecond}, func(t *testing.T, s *sqlitestore.Store, tr *trouble) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if ends > 0 {
				time.AfterFunc(ends, func() { cancel(errEnded) })
			}
			start := time.Now()
			var tried []time.Duration
			tr.ask(func(call string) error {
				if strings.HasPrefix(call, "query SELECT num") {
					tried = append(tried, time.Since(start)/time.Millisecond)
					return busy
				}
				return nil
			})
			_, err := s.Get(ctx, "s")
			require.ErrorIs(t, err, session.ErrBusy)
			if ends > 0 {
				require.Equal(t, ends, time.Since(start))
				require.ErrorIs(t, err, errEnded)
				require.Equal(t, []time.Duration{0, 1, 3, 7, 15, 31}, tried)
				return
			}
			require.EqualError(t, err, "session: get s: "+session.ErrBusy.Error()+": "+busy.Error())
			require.Equal(t, []time.Duration{0, 1, 3, 7, 15, 31, 56, 81, 106}, tried)
		})
	}
}

// held has a store begin a transaction that does not go on before release is called, and returns what the store executes from then on.
func held(t *testing.T, s *sqlitestore.Store, tr *trouble) (release func(), executed func() []string) {
	t.Helper()
	hold, holding := make(chan struct{}), true
	var all []string
	tr.ask(func(call string) error {
		if call == "exec BEGIN IMMEDIATE" && holding {
			holding = false
			<-hold
		}
		if what, ok := strings.CutPrefix(call, "exec "); ok {
			all = append(all, strings.Fields(what)[0])
		}
		return nil
	})
	go func() { _, _ = s.Create(t.Context(), session.New{ID: "first"}) }()
	synctest.Wait()
	return func() { close(hold) }, func() []string { return all }
}

// Operations that come while a transaction is made share the next one, up to 256.
func TestOperationsShareTransactions(t *testing.T) {
	for _, c := range []struct{ operations, transactions int }{{1, 2}, {255, 2}, {256, 2}, {257, 3}} {
		bubble(t, sqlitestore.Options{}, func(t *testing.T, s *sqlitestore.Store, tr *trouble) {
			release, executed := held(t, s, tr)
			for n := range c.operations {
				go func() {
					_, err := s.Create(t.Context(), session.New{ID: fmt.Sprint("s", n)})
					require.NoError(t, err)
				}()
			}
			synctest.Wait()
			release()
			synctest.Wait()
			began := 0
			for _, what := range executed() {
				if what == "BEGIN" {
					began++
				}
			}
			require.Equal(t, c.transactions, began)
			page, err := s.List(t.Context(), session.Query{Limit: 500})
			require.NoError(t, err)
			require.Len(t, page.Sessions, c.operations+1)
		})
	}
}

// Whoever has given up before a transaction begins has nothing written, and those with it are served. An error of SQLite is for the one
// that has it, and those that share its transaction have one of their own.
func TestOperationsOfATransactionAreTheirOwn(t *testing.T) {
	bubble(t, sqlitestore.Options{}, func(t *testing.T, s *sqlitestore.Store, tr *trouble) {
		release, _ := held(t, s, tr)
		ctx, cancel := context.WithCancelCause(t.Context())
		var mu sync.Mutex
		said := map[string]error{}
		for _, id := range []string{"a", "left", "first", "b"} {
			of := t.Context()
			if id == "left" {
				of = ctx
			}
			go func() {
				_, err := s.Create(of, session.New{ID: id})
				mu.Lock()
				defer mu.Unlock()
				said[id] = err
			}()
			synctest.Wait()
		}
		cancel(errEnded)
		synctest.Wait()
		release()
		synctest.Wait()
		require.NoError(t, said["a"])
		require.NoError(t, said["b"])
		require.EqualError(t, said["first"], "session: create first: the session exists")
		require.EqualError(t, said["left"], "session: create left: the caller has gone home")
		_, err := s.Get(t.Context(), "left")
		require.ErrorIs(t, err, session.ErrNotFound)
	})
	bubble(t, sqlitestore.Options{}, func(t *testing.T, s *sqlitestore.Store, tr *trouble) {
		_, err := s.Create(t.Context(), session.New{ID: "old"})
		require.NoError(t, err)
		hold, began, inserts := make(chan struct{}), false, 0
		tr.ask(func(call string) error {
			if call == "exec BEGIN IMMEDIATE" && !began {
				began = true
				<-hold
			}
			if strings.HasPrefix(call, "exec INSERT INTO sessions") {
				if inserts++; inserts == 2 || inserts == 4 { // the second one of those below, with the others and alone
					return errFire
				}
			}
			return nil
		})
		go func() { _, _ = s.Create(t.Context(), session.New{ID: "old"}) }() // which does not insert
		synctest.Wait()
		var mu sync.Mutex
		said := map[string]error{}
		ids := []string{"a", "b", "c"}
		for _, id := range ids {
			go func() {
				_, err := s.Create(t.Context(), session.New{ID: id})
				mu.Lock()
				defer mu.Unlock()
				said[id] = err
			}()
			synctest.Wait()
		}
		close(hold)
		synctest.Wait()
		require.NoError(t, said["a"])
		require.EqualError(t, said["b"], "session: create b: the disk is on fire")
		require.NoError(t, said["c"])
		page, err := s.List(t.Context(), session.Query{})
		require.NoError(t, err)
		var there []string
		for _, i := range page.Sessions {
			there = append(there, i.ID)
		}
		slices.Sort(there)
		require.Equal(t, []string{"a", "c", "old"}, there)
	})
}

// A transaction that waits for another process ends when all of its callers have given up, not before. They are told that it waited.
func TestNobodyWaitsForThoseWhoHaveLeft(t *testing.T) {
	busy := busyError(t)
	bubble(t, sqlitestore.Options{Busy: time.Hour}, func(t *testing.T, s *sqlitestore.Store, tr *trouble) {
		release, _ := held(t, s, tr) // so that both are in one transaction
		attempts := 0
		tr.ask(func(call string) error {
			if call == "exec BEGIN IMMEDIATE" {
				attempts++
				return busy
			}
			return nil
		})
		start := time.Now()
		var mu sync.Mutex
		ended := map[string]time.Duration{}
		for id, after := range map[string]time.Duration{"a": time.Minute, "b": 2 * time.Minute} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(after, func() { cancel(errEnded) })
			go func() {
				_, err := s.Create(ctx, session.New{ID: id})
				if !errors.Is(err, session.ErrBusy) || !errors.Is(err, errEnded) {
					panic(err)
				}
				mu.Lock()
				defer mu.Unlock()
				ended[id] = time.Since(start)
			}()
		}
		synctest.Wait()
		release()
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		require.Equal(t, map[string]time.Duration{"a": time.Minute, "b": 2 * time.Minute}, ended)
		before := attempts
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, before, attempts, "nobody waits any more")
		tr.ask(nil)
		_, err := s.Get(t.Context(), "a")
		require.ErrorIs(t, err, session.ErrNotFound)
	})
}

// Changes by other processes are looked for at each tick of Options.Poll, while somebody listens. What cannot be read is looked for again.
func TestChangesOfOthersAreFoundAtEachTick(t *testing.T) {
	const every = 10 * time.Second
	for name, failing := range map[string]string{
		"": "", "no connection": "connect", "no version": "query PRAGMA data_version", "no state": "query SELECT changed", "no sessions": "query SELECT id FROM sessions",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				other, err := sqlitestore.Open(dir, sqlitestore.Options{})
				require.NoError(t, err)
				s, tr := troubled(t, dir, sqlitestore.Options{Poll: every})
				defer func() {
					tr.ask(nil)
					require.NoError(t, s.Close())
					require.NoError(t, other.Close())
				}()
				_, err = other.Create(t.Context(), session.New{ID: "a"})
				require.NoError(t, err)
				var mu sync.Mutex
				var told []string
				heard := func() []string {
					mu.Lock()
					defer mu.Unlock()
					return slices.Clone(told)
				}
				start := time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					for id, err := range s.Listen(ctx) {
						mu.Lock()
						if err == nil {
							told = append(told, fmt.Sprint(id, " ", time.Since(start)))
						} else {
							told = append(told, err.Error())
						}
						mu.Unlock()
					}
				}()
				synctest.Wait()
				require.Equal(t, []string{" 0s"}, heard(), "it listens")
				failures, polls := 0, 0
				tr.ask(func(call string) error {
					mu.Lock()
					defer mu.Unlock()
					if call == "query PRAGMA data_version" {
						polls++
					}
					if failing != "" && strings.HasPrefix(call, failing) && failures < 2 {
						failures++
						return errFire
					}
					return nil
				})
				title := "T"
				_, err = other.Update(t.Context(), "a", session.Change{Title: &title})
				require.NoError(t, err)
				found := every
				if failing != "" && name != "" {
					found = 3 * every
				}
				time.Sleep(found - 1)
				synctest.Wait()
				require.Equal(t, []string{" 0s"}, heard())
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				require.Equal(t, []string{" 0s", fmt.Sprint("a ", found)}, heard())
				time.Sleep(2 * every)
				synctest.Wait()
				require.Len(t, heard(), 2, "it is told once")
				require.NoError(t, other.Delete(t.Context(), "a"))
				time.Sleep(every)
				synctest.Wait()
				require.Equal(t, fmt.Sprint(" ", found+3*every), heard()[2], "anything may have changed")
				cancel()
				synctest.Wait()
				require.Equal(t, "session: listen: context canceled", heard()[3])
				count := func() int {
					mu.Lock()
					defer mu.Unlock()
					return polls
				}
				before := count()
				time.Sleep(2 * every)
				synctest.Wait()
				require.Equal(t, before, count(), "nobody listens any more")
			})
		})
	}
}
