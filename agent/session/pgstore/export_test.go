// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ponte-go/ponte/agent/session"
)

// SettingOfPresence returns a setting of a connection that is made as the one with the lock is.
func SettingOfPresence(ctx context.Context, s *Store, name string) (string, error) {
	p := newPresence(s.pool.Config(), s.options)
	if err := p.connect(ctx); err != nil {
		return "", err
	}
	defer p.close(p.conn)
	var value string
	err := p.conn.QueryRow(ctx, "SHOW "+name).Scan(&value)
	return value, err
}

// AddStep adds a step to the schema, as a newer version of the program would, until it is mended. The tables serve programs from a version on.
func AddStep(sql string, serves int) (mend func()) {
	old := steps
	steps = append(slices.Clone(steps), step{sql, serves})
	return func() { steps = old }
}

// ListPlan returns what the server did for a list.
func ListPlan(ctx context.Context, s *Store, q session.Query) (string, error) {
	query, args, err := s.listQuery(&q)
	if err != nil {
		return "", err
	}
	rows, err := s.pool.Query(ctx, "EXPLAIN (ANALYZE, COSTS OFF) "+query, args...)
	if err != nil {
		return "", err
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return strings.Join(lines, "\n"), err
}

// Waiting returns how many sessions the store has noted because they are watched.
func Waiting(s *Store) int {
	s.watchers.mu.Lock()
	defer s.watchers.mu.Unlock()
	return len(s.watchers.waiting)
}

// HurryMigrations makes migrations wait for a short time only, until it is mended.
func HurryMigrations() (mend func()) {
	old := maxLock
	maxLock = 10 * time.Millisecond
	return func() { maxLock = old }
}

// ConnectTimeout returns how long an attempt to connect to an address may take.
func ConnectTimeout(database string) (time.Duration, error) {
	config, err := parse(database)
	if err != nil {
		return 0, err
	}
	return config.ConnConfig.ConnectTimeout, nil
}

// Connections returns how many connections the pool of a store has at most.
func Connections(s *Store) int { return int(s.connections()) }
