// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/hear"
)

// Options are the options of [Open]. The zero value is useful.
type Options struct {
	// Busy bounds how long a method waits while another process has the database locked. Zero means 10 seconds.
	Busy time.Duration
	// Poll is how often the store looks for changes by other processes while somebody watches or
	// listens. Zero means 100 milliseconds.
	Poll time.Duration
}

// maxReaders is how many connections read at a time.
const maxReaders = 4

// Store keeps sessions in a directory. It implements [session.Store] and [session.Watcher]. It must be closed.
type Store struct {
	dir, path string
	options   Options
	steps     []step // its version
	holders   *holders
	// readers is a pool of connections that only read. writer has one connection, which only the writer's goroutine uses.
	readers, writer *sql.DB

	queue  chan *op
	closed chan struct{}
	ended  chan struct{}
	once   sync.Once
	// busy is set while the writer waits for another process.
	busy atomic.Bool

	mu       sync.Mutex
	reads    map[string]*sql.Stmt
	watchers map[string]*watcher
	board    hear.Board
	polls    poller
}

var (
	_ session.Store   = (*Store)(nil)
	_ session.Watcher = (*Store)(nil)
)

// Open opens the store in a directory, which is made if it does not exist. See the package documentation for what becomes of stores of
// other versions.
func Open(dir string, o Options) (*Store, error) {
	if o.Busy < 0 || o.Poll < 0 {
		err := fmt.Errorf("%w: Busy is %v and Poll %v: they must not be negative",
			session.ErrInvalid, o.Busy, o.Poll)
		return nil, &session.Error{Op: "open", Err: err}
	}
	if o.Busy == 0 {
		o.Busy = 10 * time.Second
	}
	if o.Poll == 0 {
		o.Poll = 100 * time.Millisecond
	}
	if dir == "" {
		return nil, &session.Error{Op: "open", Err: fmt.Errorf("%w: the directory is empty: use \".\" for the current one", session.ErrInvalid)}
	}
	s, err := open(dir, o)
	if err != nil {
		return nil, &session.Error{Op: "open", Err: fmt.Errorf("%s: %w", dir, translate(dir, err))}
	}
	go s.write()
	return s, nil
}

func open(dir string, o Options) (s *Store, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s = &Store{
		dir: dir, path: filepath.Join(dir, "sessions.db"), options: o, steps: steps,
		queue: make(chan *op), closed: make(chan struct{}), ended: make(chan struct{}),
		reads: map[string]*sql.Stmt{}, watchers: map[string]*watcher{},
	}
	if err := makeFiles(dir, s.path); err != nil {
		return nil, err
	}
	if s.holders, err = newHolders(filepath.Join(dir, "holders")); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.closeFiles())
		}
	}()
	if s.readers, err = sql.Open("sqlite", s.source("query_only(1)")); err != nil {
		return nil, err
	}
	s.readers.SetMaxOpenConns(maxReaders + 1) // one polls
	s.readers.SetMaxIdleConns(maxReaders + 1)
	if s.writer, err = sql.Open("sqlite", s.source("journal_mode(WAL)", "synchronous(FULL)", "secure_delete(FAST)")); err != nil {
		return nil, err
	}
	s.writer.SetMaxOpenConns(1)
	ctx := context.Background() // waiting is bounded by Options.Busy, and a migration takes as long as it takes
	err = s.patiently(ctx, func() error {
		conn, err := s.writer.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		return s.prepareSchema(ctx, conn)
	})
	return s, err
}

// makeFiles makes the directories and the database's file, for their owner only.
func makeFiles(dir, path string) error {
	for _, d := range []string{dir, filepath.Join(dir, "media"), filepath.Join(dir, "holders")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) // SQLite gives its other files the same mode
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), syncDir(dir))
}

// source returns the name of the database for the driver.
func (s *Store) source(pragmas ...string) string {
	q := url.Values{"_pragma": append([]string{"busy_timeout(20)", "cell_size_check(1)", "trusted_schema(0)"}, pragmas...)}
	path := filepath.ToSlash(s.path)
	if !strings.HasPrefix(path, "/") { // C:/…
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// Close gives back all sessions that are held by way of this store, and closes it.
func (s *Store) Close() error {
	err := error(&session.Error{Op: "close", Err: session.ErrClosed})
	s.once.Do(func() {
		// Whatever becomes of it: the leases end with the file in holders.
		_ = s.do(context.Background(), "close", "", false, func(q *queries) error {
			return q.exec("UPDATE sessions SET instance = '' WHERE instance = ?", s.holders.name)
		})
		close(s.closed)
		<-s.ended
		s.polls.running.Wait()
		err = s.closeFiles()
	})
	return err
}

func (s *Store) closeFiles() error {
	var errs []error
	s.mu.Lock()
	for _, stmt := range s.reads {
		errs = append(errs, stmt.Close())
	}
	s.reads = nil
	s.mu.Unlock()
	for _, db := range []*sql.DB{s.readers, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(append(errs, s.holders.close())...)
}
