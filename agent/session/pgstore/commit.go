// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ponte-go/ponte/agent/session"
)

const (
	// maxBatch is how many appends share a transaction, and so a wait for the disk.
	maxBatch = 64
	// maxBytes bounds the data of a batch of several appends.
	maxBytes = 8 << 20
	// maxCommits is how many such transactions are under way at a time.
	maxCommits = 4
)

// commits are the appends that wait for a transaction.
type commits struct {
	mu      sync.Mutex
	waiting []*commit
	running int
}

// commit is an append that waits.
type commit struct {
	*addition
	last int64
	err  error
	done chan struct{}
}

// commit makes an append. Those that come while transactions are under way share the next one.
func (s *Store) commit(ctx context.Context, a *addition) (int64, error) {
	c := &commit{addition: a, done: make(chan struct{})}
	s.commits.mu.Lock()
	if err := s.open(ctx); err != nil { // Close waits for those that are in
		s.commits.mu.Unlock()
		return 0, err
	}
	s.commits.waiting = append(s.commits.waiting, c)
	if s.commits.running < maxCommits {
		s.commits.running++
		s.ended.Go(s.commitAll)
	}
	s.commits.mu.Unlock()
	select {
	case <-c.done:
		return c.last, c.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// next returns how many of the appends that wait share the next transaction. The commits must be
// locked.
func (c *commits) next() (n int) {
	size := 0
	for ; n < min(len(c.waiting), maxBatch); n++ {
		if size += c.waiting[n].size; size > maxBytes && n > 0 {
			break
		}
	}
	return n
}

// commitAll makes transactions until nothing waits.
func (s *Store) commitAll() {
	for {
		s.commits.mu.Lock()
		n := s.commits.next()
		if n == 0 {
			s.commits.running--
			s.commits.mu.Unlock()
			return
		}
		batch := s.commits.waiting[:n:n]
		s.commits.waiting = s.commits.waiting[n:]
		s.commits.mu.Unlock()
		s.transaction(batch)
	}
}

// transaction makes appends in one transaction.
func (s *Store) transaction(batch []*commit) {
	// Transactions lock the rows of sessions in the same order.
	slices.SortFunc(batch, func(a, b *commit) int { return strings.Compare(a.session, b.session) })
	size := 0
	for _, c := range batch {
		size += c.size
	}
	within := s.options.Timeout + time.Duration(size>>20)*time.Second
	err := s.tryWithin(s.background, within, func(ctx context.Context) error { return s.send(ctx, batch) })
	if err != nil && len(batch) > 1 && answered(err) { // perhaps it is for one of them only, and nothing was written
		for i := range batch {
			s.transaction(batch[i : i+1])
		}
		return
	}
	for _, c := range batch {
		if err != nil {
			c.last, c.err = 0, err
		}
		close(c.done)
	}
}

// send sends the statements of a transaction in one round trip and reads their results. Its error
// applies to the whole transaction.
func (s *Store) send(ctx context.Context, batch []*commit) error {
	soft := true
	for _, c := range batch {
		soft = soft && c.soft
	}
	var statements pgx.Batch // without a BEGIN of its own it is one transaction
	for _, c := range batch {
		statements.Queue(s.sql.appendTo, c.args(soft)...)
	}
	results := s.pool.SendBatch(ctx, &statements)
	for _, c := range batch {
		c.last, c.err = c.scan(results.QueryRow())
		var known *session.Error
		if c.err != nil && !errors.As(c.err, &known) {
			return errors.Join(c.err, results.Close())
		}
	}
	return results.Close()
}
