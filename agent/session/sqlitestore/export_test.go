// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
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
