// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ponte-go/ponte/agent/session"
)

// presence is a connection with an advisory lock. While the lock is held, the sessions of its store
// are held. The connection listens to changes of sessions, too.
type presence struct {
	config  *pgxpool.Config
	lost    time.Duration
	lock    int64
	channel string
	conn    *pgx.Conn // nil if it was lost
}

func newPresence(config *pgxpool.Config, o Options) *presence {
	var random [8]byte
	_, _ = rand.Read(random[:])
	channel := fnv.New64a()
	_, _ = channel.Write([]byte(o.Schema))
	return &presence{
		config: config, lost: o.Lost,
		lock:    int64(binary.BigEndian.Uint64(random[:])>>1 | 1), // never 0
		channel: "ponte_" + hex.EncodeToString(channel.Sum(nil)),
	}
}

// connect makes the connection and takes the lock.
func (p *presence) connect(ctx context.Context) (err error) {
	config := p.config.ConnConfig.Copy()
	if p.config.BeforeConnect != nil { // it may have a new password
		if err := p.config.BeforeConnect(ctx, config); err != nil {
			return err
		}
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // prepared statements would not be used again
	if config.ConnectTimeout == 0 {                     // that of a pool of the program
		config.ConnectTimeout = connectTimeout
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	silent := fmt.Errorf("%w: no answer within %v", session.ErrUnavailable, config.ConnectTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, config.ConnectTimeout, silent)
	defer cancel()
	done := false
	defer func() {
		if !done {
			p.close(conn)
		}
		if err != nil && context.Cause(ctx) == silent {
			err = silent
		}
	}()
	if p.config.AfterConnect != nil {
		if err := p.config.AfterConnect(ctx, conn); err != nil {
			return err
		}
	}
	// The server asks three times in the time after which a silent machine counts as lost. Sockets
	// of the same machine need none of it.
	every := strconv.Itoa(int(p.lost/time.Second) / 3)
	for _, setting := range [][2]string{
		{"tcp_keepalives_idle", every}, {"tcp_keepalives_interval", every}, {
			"tcp_keepalives_count", "2",
		}, {"tcp_user_timeout", strconv.FormatInt(p.lost.Milliseconds(), 10)},
		{"idle_session_timeout", "0"}, // since Postgres 14
		{"application_name", "ponte sessions"},
	} {
		if _, err := conn.Exec(ctx, "SELECT set_config(name, $2, false) FROM pg_settings WHERE name = $1", setting[0], setting[1]); err != nil {
			return err
		}
	}
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{p.channel}.Sanitize()); err != nil {
		return err
	}
	// The lock may still be held by a connection that was lost, until the server notices.
	var got bool
	if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", p.lock).Scan(&got); err != nil {
		return err
	}
	if !got {
		return fmt.Errorf("pgstore: the server has not noticed yet that the connection was lost")
	}
	p.conn, done = conn, true
	return nil
}

// alone returns an error if the connection is shared: a pooler that reassigns server connections
// between transactions would also give away the lock.
func (p *presence) alone(ctx context.Context, pool *pgxpool.Pool) error {
	const ask = "SELECT pg_backend_pid()"
	for range 6 { // one that is busy gives back the same by chance, about one time in ten
		var before, other, after int
		err := p.conn.QueryRow(ctx, ask).Scan(&before)
		if err == nil {
			err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
				if err := tx.QueryRow(ctx, ask, pgx.QueryExecModeExec).Scan(&other); err != nil {
					return err
				}
				return p.conn.QueryRow(ctx, ask).Scan(&after)
			})
		}
		var pg *pgconn.PgError
		if errors.As(err, &pg) && pg.Code == "08P01" { // protocol_violation: a transaction where statements are shared
			return fmt.Errorf("%w: %w", errPooler, err)
		}
		if err != nil {
			return err
		}
		if other == before || other == after || before != after {
			return errPooler
		}
	}
	return nil
}

// keep tells of changes, and connects again whenever the connection is lost, until ctx ends. Then
// it closes the connection.
func (p *presence) keep(ctx context.Context, wake func(id string), wakeAll func()) {
	defer func() {
		if p.conn == nil {
			return
		}
		// The server may take its time to notice that the connection was closed.
		bounded, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, _ = p.conn.Exec(bounded, "SELECT pg_advisory_unlock_all()")
		p.close(p.conn)
	}()
	for wait := 50 * time.Millisecond; ; {
		if p.conn == nil {
			if err := p.connect(ctx); err != nil {
				select {
				case <-time.After(wait):
				case <-ctx.Done():
					return
				}
				wait = min(2*wait, time.Second)
				continue
			}
			wait = 50 * time.Millisecond
			wakeAll() // changes may have been missed
		}
		n, err := p.conn.WaitForNotification(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			p.close(p.conn)
			p.conn = nil
			continue
		}
		wake(fromText(n.Payload))
	}
}

// close closes a connection, however it is, if there is one.
func (p *presence) close(conn *pgx.Conn) {
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}
