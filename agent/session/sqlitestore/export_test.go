// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/session"
)

// Busy reports whether the writer waits for another process.
func Busy(s *Store) bool { return s.busy.Load() }

// AddStep adds a step to the schema, as a newer version of the program would, until it is mended.
func AddStep(sql string, serves int) (mend func()) {
	old := steps
	steps = append(slices.Clone(steps), step{serves, sql})
	return func() { steps = old }
}

// ListPlan returns SQLite's plan for a list.
func ListPlan(s *Store, q session.Query) (string, error) {
	query, args, err := listQuery(&q)
	if err != nil {
		return "", err
	}
	var plan []string
	err = s.query(context.Background(), func(rows *sql.Rows) error {
		var a, b, c int
		var line string
		err := rows.Scan(&a, &b, &c, &line)
		plan = append(plan, line)
		return err
	}, "EXPLAIN QUERY PLAN "+query, args...)
	return strings.Join(plan, "\n"), err
}

// Waiting returns how many sessions the store has noted because they are watched.
func Waiting(s *Store) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watchers)
}

// Translate gives an error its identity.
func Translate(dir string, err error) error { return translate(dir, err) }

// LongStrings returns the places of long strings.
func LongStrings(data []byte) [][2]int { return longStrings(data) }

// Defaults returns the options that a store has.
func Defaults(s *Store) Options { return s.options }

// Synchronous returns how the writer syncs: see SQLite's pragma.
func Synchronous(s *Store) (how int, err error) {
	err = s.submit("look", "", &op{ctx: context.Background(), alone: true, done: make(chan struct{}), do: func(q *queries) error {
		return q.row("PRAGMA synchronous").Scan(&how)
	}})
	return how, err
}

// Rewire has a store that was not used yet reach its database in another way.
func Rewire(s *Store, open func(name string) *sql.DB) error {
	err := errors.Join(s.readers.Close(), s.writer.Close())
	s.readers, s.writer = open(s.source("query_only(1)")), open(s.source("synchronous(FULL)", "secure_delete(FAST)"))
	s.writer.SetMaxOpenConns(1)
	return err
}
