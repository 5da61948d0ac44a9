// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// closing is how long connections may take to be closed in order.
const closing = 2 * time.Second

// lines are the connections of a pool, so that they can be cut.
type lines struct {
	dial pgconn.DialFunc
	mu   sync.Mutex
	open map[net.Conn]bool
	done bool
}

// connect is a dial function.
func (l *lines) connect(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := l.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	made := &line{conn, l}
	l.open[made] = true
	return made, nil
}

// cut closes all connections, and those that are to come.
func (l *lines) cut() {
	l.mu.Lock()
	l.done = true
	all := l.open
	l.open = map[net.Conn]bool{}
	l.mu.Unlock()
	for conn := range all {
		_ = conn.Close()
	}
}

// line is a connection.
type line struct {
	net.Conn
	of *lines
}

// Close implements [net.Conn].
func (l *line) Close() error {
	l.of.mu.Lock()
	delete(l.of.open, l)
	l.of.mu.Unlock()
	return l.Conn.Close()
}
