// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/pgstore"
)

// with adds a parameter to the address of a database.
func with(t testing.TB, database, name, value string) string {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	return u.String()
}

func message(text string) session.Entry {
	return session.Entry{Kind: session.KindMessage, Data: []byte(`"` + text + `"`)}
}

// TestConnectionsCutInTheMiddle has the server end the connections of stores while they append, many times.
func TestConnectionsCutInTheMiddle(t *testing.T) {
	database, schema := database(t)
	s := store(t, database, pgstore.Options{Schema: schema})
	createBusySessions(t, s)
	acknowledged := map[string]bool{}
	conn := admin(t, database)
	for life := range *kills {
		lines, stop := make(chan string), make(chan struct{})
		failed := appendToAll(s, life, lines, stop)
		writers := busySessions
		next := func() {
			select {
			case line := <-lines:
				acknowledged[line] = true
			case err := <-failed:
				if writers--; err != nil {
					require.ErrorIs(t, err, session.ErrUnavailable)
				}
			}
		}
		for n := 0; n < 20*(1+life%5) && writers > 0; n++ {
			next()
		}
		_, err := conn.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%'||$1||'%' AND pid <> pg_backend_pid()", schema)
		require.NoError(t, err)
		close(stop)
		for writers > 0 {
			next()
		}
		for n := range busySessions { // what the writers that have failed hold
			l, err := s.Acquire(t.Context(), sessionName(n), session.Claim{Force: true})
			require.NoError(t, err, "acquiring does not notice connections that were cut")
			require.Eventually(t, func() bool { return s.Release(t.Context(), l) == nil }, time.Minute, time.Millisecond)
		}
	}
	hasAll(t, s, acknowledged)
}

func TestReadersDoNotNoticeCutConnections(t *testing.T) {
	database, schema := database(t)
	writer := store(t, database, pgstore.Options{Schema: schema})
	_, err := writer.Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), writer, "a", session.Claim{})
	require.NoError(t, err)
	_, err = w.Append(t.Context(), message("x"))
	require.NoError(t, err)
	reader := store(t, with(t, with(t, database, "application_name", schema), "pool_max_conns", "2"), pgstore.Options{Schema: schema, Poll: time.Millisecond})
	conn := admin(t, database)
	for e, err := range reader.Watch(t.Context(), "a", 0) {
		require.NoError(t, err)
		if e.Seq == 20 {
			break
		}
		_, err := conn.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", schema)
		require.NoError(t, err)
		_, err = reader.Get(t.Context(), "a")
		require.NoError(t, err)
		_, err = w.Append(t.Context(), message("x"))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close(t.Context()))
}

// TestAcquireThatWasGivenUpHoldsNothing ends contexts and connections while sessions are acquired: either there is a lease, or the session is free.
func TestAcquireThatWasGivenUpHoldsNothing(t *testing.T) {
	database, schema := database(t)
	s := store(t, with(t, database, "application_name", schema), pgstore.Options{Schema: schema})
	_, err := s.Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	conn := admin(t, database)
	_, err = conn.Exec(t.Context(), strings.ReplaceAll(`CREATE FUNCTION SCHEMA.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.002); RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER slow AFTER UPDATE ON SCHEMA.sessions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION SCHEMA.slow()`,
		"SCHEMA", pgx.Identifier{schema}.Sanitize())) // the commit takes a while
	require.NoError(t, err)
	given := 0
	for n := range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n)*time.Millisecond/2)
		l, err := s.Acquire(ctx, "a", session.Claim{})
		cancel()
		if err != nil {
			given++
			if !errors.Is(err, session.ErrHeld) { // for the moment, by the one before that was given up and came late
				require.ErrorIs(t, err, context.DeadlineExceeded)
			}
			require.Eventually(t, func() bool {
				l, err = s.Acquire(t.Context(), "a", session.Claim{})
				return err == nil
			}, time.Minute, time.Millisecond, "the session is free for this store, too")
		}
		require.NoError(t, s.Release(t.Context(), l))
	}
	require.Positive(t, given)
}

// TestOneConnectionIsEnough watches sessions and writes to them with a pool of one connection.
func TestOneConnectionIsEnough(t *testing.T) {
	database, schema := database(t)
	s := store(t, with(t, database, "pool_max_conns", "1"), pgstore.Options{Schema: schema, Poll: time.Hour})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for n := range 8 {
		id := sessionName(n)
		_, err := s.Create(ctx, session.New{ID: id})
		require.NoError(t, err)
		for range 2 {
			all.Go(func() {
				next := int64(1)
				for e, err := range s.Watch(ctx, id, 0) {
					if err != nil || e.Seq != next {
						t.Errorf("entry %d: %v", e.Seq, err)
						return
					}
					if _, err := s.Get(ctx, id); err != nil { // while entries are loaded
						t.Error(err)
					}
					if next++; next > 20 {
						return
					}
				}
			})
		}
		all.Go(func() {
			w, err := session.Open(ctx, s, id, session.Claim{})
			for i := 0; i < 20 && err == nil; i++ {
				_, err = w.Append(ctx, message(fmt.Sprint(i)))
			}
			if err == nil {
				err = w.Close(ctx)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Zero(t, pgstore.Waiting(s), "nothing is left of watches that have ended")
}

func TestWatchesEndWithTheStore(t *testing.T) {
	database, schema := database(t)
	s := store(t, database, pgstore.Options{Schema: schema})
	_, err := s.Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	began, ended := make(chan struct{}), make(chan error)
	w, err := session.Open(t.Context(), s, "a", session.Claim{})
	require.NoError(t, err)
	_, err = w.Append(t.Context(), message("1"))
	require.NoError(t, err)
	go func() {
		for _, err := range s.Watch(t.Context(), "a", 0) {
			if err != nil {
				ended <- err
				return
			}
			close(began)
		}
	}()
	<-began
	require.NoError(t, s.Close())
	require.ErrorIs(t, <-ended, session.ErrClosed)
}

// TestStoreThatIsClosedSaysSo closes stores while they are used: whatever cannot be done any more says why, also where it was about to connect.
func TestStoreThatIsClosedSaysSo(t *testing.T) {
	database, schema := database(t)
	store(t, database, pgstore.Options{Schema: schema}) // makes the tables
	for i := range 20 {
		s, err := pgstore.Open(t.Context(), database, pgstore.Options{Schema: schema})
		require.NoError(t, err)
		created, err := s.Create(t.Context(), session.New{})
		require.NoError(t, err)
		title := "t"
		operations := map[string]func() error{
			"create": func() error { _, err := s.Create(t.Context(), session.New{}); return err },
			"get":    func() error { _, err := s.Get(t.Context(), created.ID); return err },
			"list":   func() error { _, err := s.List(t.Context(), session.Query{Limit: 1}); return err },
			"update": func() error { _, err := s.Update(t.Context(), created.ID, session.Change{Title: &title}); return err },
			"fork":   func() error { _, err := s.Fork(t.Context(), created.ID, 0, session.New{}); return err },
			"load": func() (err error) {
				for _, err = range s.Load(t.Context(), created.ID, 0) {
				}
				return err
			},
		}
		var all sync.WaitGroup
		for name, do := range operations {
			all.Go(func() {
				err := do()
				for err == nil {
					err = do()
				}
				assert.ErrorIs(t, err, session.ErrClosed, name)
			})
		}
		time.Sleep(time.Duration(i) * time.Millisecond) // connections are made at different moments
		require.NoError(t, s.Close())
		all.Wait()
	}
}

// TestLastChangesAreTold closes stores at once after an append, and others hear of it.
func TestLastChangesAreTold(t *testing.T) {
	database, schema := database(t)
	watcher := store(t, database, pgstore.Options{Schema: schema, Poll: time.Hour})
	_, err := watcher.Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	write := func(n int) {
		s, err := pgstore.Open(ctx, database, pgstore.Options{Schema: schema})
		require.NoError(t, err)
		w, err := session.Open(ctx, s, "a", session.Claim{})
		require.NoError(t, err)
		_, err = w.Append(ctx, message(fmt.Sprint(n)))
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
	write(1)
	for e, err := range watcher.Watch(ctx, "a", 0) {
		require.NoError(t, err)
		if e.Seq == 10 {
			return
		}
		write(int(e.Seq) + 1)
	}
}

// TestConflictsAreTriedAgain has the server refuse what is made at the same time as something else: writers are not told.
func TestConflictsAreTriedAgain(t *testing.T) {
	database, schema := database(t)
	for _, level := range []string{"serializable", "repeatable read"} {
		s := store(t, with(t, database, "options", "-c default_transaction_isolation="+strings.ReplaceAll(level, " ", `\ `)), pgstore.Options{Schema: schema})
		created, err := s.Create(t.Context(), session.New{})
		require.NoError(t, err)
		var all sync.WaitGroup
		for n := range 4 {
			all.Go(func() {
				id := fmt.Sprint(level, n)
				_, err := s.Create(t.Context(), session.New{ID: id})
				var w *session.Writer
				if err == nil {
					w, err = session.Open(t.Context(), s, id, session.Claim{})
				}
				for i := 0; i < 10 && err == nil; i++ {
					if _, err = w.Append(t.Context(), message("x")); err != nil {
						break
					}
					if _, err = s.Fork(t.Context(), id, int64(i), session.New{}); err != nil {
						break
					}
					title := fmt.Sprint(n, i)
					if _, err = s.Update(t.Context(), created.ID, session.Change{Title: &title}); err != nil {
						break
					}
					if i%3 == 0 {
						_, err = s.List(t.Context(), session.Query{})
					}
				}
				if err == nil {
					err = w.Close(t.Context())
				}
				if err != nil {
					t.Errorf("%s: %v", level, err)
				}
			})
		}
		all.Wait()
		require.NoError(t, s.Close())
	}
}

func TestTimeoutsOfTheServerAreNamed(t *testing.T) {
	database, schema := database(t)
	_, err := store(t, database, pgstore.Options{Schema: schema}).Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	hurried := store(t, with(t, database, "options", "-c statement_timeout=2s"), pgstore.Options{Schema: schema})
	conn := admin(t, database)
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM "+pgx.Identifier{schema}.Sanitize()+".sessions FOR UPDATE")
	require.NoError(t, err)
	_, err = hurried.Acquire(t.Context(), "a", session.Claim{})
	require.ErrorIs(t, err, session.ErrBusy)
	require.NoError(t, tx.Rollback(t.Context()))
	_, err = hurried.Acquire(t.Context(), "a", session.Claim{})
	require.NoError(t, err)
}

func TestLargeEntries(t *testing.T) {
	database, schema := database(t)
	s := store(t, database, pgstore.Options{Schema: schema})
	_, err := s.Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), s, "a", session.Claim{})
	require.NoError(t, err)
	text := strings.Repeat("x", *large)
	for range 2 {
		_, err = w.Append(t.Context(), message(text))
		require.NoError(t, err)
	}
	n := 0
	for e, err := range s.Load(t.Context(), "a", 0) {
		require.NoError(t, err)
		require.Len(t, e.Data, *large+2)
		n++
	}
	require.Equal(t, 2, n)
	info, err := s.Get(t.Context(), "a")
	require.NoError(t, err)
	require.EqualValues(t, 2*(*large+2), info.Size)
	require.NoError(t, w.Close(t.Context()))
}

func TestSchemasHaveAnyName(t *testing.T) {
	database, schema := database(t)
	for _, name := range []string{schema[:20] + `"; DROP`, schema[:20] + "%d%s", schema[:20] + "SCHEMA.", schema[:20] + "$1 ?", schema[:20] + "日本"} {
		s := store(t, database, pgstore.Options{Schema: name})
		_, err := s.Create(t.Context(), session.New{ID: "a"})
		require.NoError(t, err, name)
		for _, q := range []session.Query{{}, {Conversations: true}, {Dir: "/repo"}} {
			_, err = s.List(t.Context(), q)
			require.NoError(t, err, name)
		}
		_, err = s.Fork(t.Context(), "a", 0, session.New{})
		require.NoError(t, err, name)
	}
}

// role makes a role without rights, and returns the address of the database for it.
func role(t *testing.T, database, name string) string {
	t.Helper()
	conn := admin(t, database)
	quoted := pgx.Identifier{name}.Sanitize()
	_, err := conn.Exec(t.Context(), "CREATE ROLE "+quoted+" LOGIN")
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := conn.Exec(context.Background(), "DROP OWNED BY "+quoted+" CASCADE; DROP ROLE "+quoted)
		require.NoError(t, err)
	})
	u, err := url.Parse(database)
	require.NoError(t, err)
	u.User = url.User(name)
	return u.String()
}

func TestRolesWithFewRights(t *testing.T) {
	database, schema := database(t)
	quoted := pgx.Identifier{schema}.Sanitize()
	t.Run("the schema was made for it", func(t *testing.T) {
		limited := role(t, database, "owner "+schema)
		_, err := admin(t, database).Exec(t.Context(), "CREATE SCHEMA "+quoted+" AUTHORIZATION "+pgx.Identifier{"owner " + schema}.Sanitize())
		require.NoError(t, err)
		s := store(t, with(t, limited, "search_path", ""), pgstore.Options{Schema: schema})
		_, err = s.Create(t.Context(), session.New{ID: "a"})
		require.NoError(t, err)
		require.NoError(t, s.Close())
	})
	other := schema + "2"
	quoted = pgx.Identifier{other}.Sanitize()
	store(t, database, pgstore.Options{Schema: other})
	t.Run("the tables are somebody else's", func(t *testing.T) {
		limited := role(t, database, "user "+schema)
		name := pgx.Identifier{"user " + schema}.Sanitize()
		_, err := pgstore.Open(t.Context(), limited, pgstore.Options{Schema: other})
		require.ErrorIs(t, err, session.ErrReadOnly)
		_, err = admin(t, database).Exec(t.Context(), fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %[1]s TO %[2]s; GRANT USAGE ON ALL SEQUENCES IN SCHEMA %[1]s TO %[2]s", quoted, name))
		require.NoError(t, err)
		s := store(t, limited, pgstore.Options{Schema: other})
		_, err = s.Create(t.Context(), session.New{ID: "a"})
		require.NoError(t, err)
		w, err := session.Open(t.Context(), s, "a", session.Claim{})
		require.NoError(t, err)
		_, err = w.Append(t.Context(), message("x"))
		require.NoError(t, err)
		require.NoError(t, w.Close(t.Context()))
		require.NoError(t, s.Delete(t.Context(), "a"))
		require.NoError(t, s.Close())
	})
}

func TestReadOnlyServerIsNamed(t *testing.T) {
	database, schema := database(t)
	_, err := store(t, database, pgstore.Options{Schema: schema}).Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	s := store(t, with(t, database, "options", "-c default_transaction_read_only=on"), pgstore.Options{Schema: schema})
	_, err = s.Get(t.Context(), "a")
	require.NoError(t, err)
	_, err = s.Acquire(t.Context(), "a", session.Claim{})
	require.ErrorIs(t, err, session.ErrReadOnly)
	_, err = s.Create(t.Context(), session.New{})
	require.ErrorIs(t, err, session.ErrReadOnly)
}

func TestMigrationDoesNotWaitForever(t *testing.T) {
	database, schema := database(t)
	require.NoError(t, store(t, database, pgstore.Options{Schema: schema}).Close())
	t.Cleanup(pgstore.AddStep(newColumn, 1))
	patient := pgstore.HurryMigrations()
	tx, err := admin(t, database).Begin(t.Context()) // a backup, for example
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM "+pgx.Identifier{schema}.Sanitize()+".sessions")
	require.NoError(t, err)
	_, err = pgstore.Open(t.Context(), database, pgstore.Options{Schema: schema})
	patient()
	require.ErrorIs(t, err, session.ErrBusy)
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, store(t, database, pgstore.Options{Schema: schema}).Close())
}

// TestHooksOfThePoolAreUsed has passwords that change, as those of cloud providers do.
func TestHooksOfThePoolAreUsed(t *testing.T) {
	database, schema := database(t)
	config, err := pgxpool.ParseConfig(database)
	require.NoError(t, err)
	user := config.ConnConfig.User
	config.ConnConfig.User = "nobody"
	var mu sync.Mutex
	after := 0
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error { c.User = user; return nil }
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		mu.Lock()
		defer mu.Unlock()
		after++
		if after > 100 {
			return errors.New("too many")
		}
		return nil
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer pool.Close()
	s, err := pgstore.New(t.Context(), pool, pgstore.Options{Schema: schema})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.EqualValues(t, pool.Stat().NewConnsCount()+1, after, "the store's own connection is made like those of the pool")
	var wrong *pgconn.PgError
	config.BeforeConnect = nil
	_, err = pgx.ConnectConfig(t.Context(), config.ConnConfig)
	require.ErrorAs(t, err, &wrong)
}

func TestDatabasesOfOtherEncodingsAreRefused(t *testing.T) {
	database, schema := database(t)
	conn := admin(t, database)
	name := pgx.Identifier{schema}.Sanitize()
	_, err := conn.Exec(t.Context(), "CREATE DATABASE "+name+" ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
	require.NoError(t, err)
	u, err := url.Parse(database)
	require.NoError(t, err)
	u.Path = "/" + schema
	_, err = pgstore.Open(t.Context(), u.String(), pgstore.Options{})
	require.ErrorIs(t, err, session.ErrInvalid)
	require.ErrorContains(t, err, "the database has the encoding LATIN1, must have UTF8")
}
