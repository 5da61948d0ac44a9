// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// guest is a language server of a project: its process, if there is one, and what became of the
// earlier ones.
type guest struct {
	server *Server
	view   *project

	mu       sync.Mutex
	link     *link    // nil while it does not run
	attempt  *attempt // nil unless it is being started
	failures int      // in a row
	retryAt  time.Time
	err      error // of the last failure
}

// attempt is a start that calls wait for.
type attempt struct {
	done chan struct{}
	link *link
	err  error
}

// status returns the state of the server.
func (g *guest) status() Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	st := Status{Server: g.server.Name, Dir: g.view.dir(), State: StateIdle}
	switch {
	case g.link != nil:
		st.State = StateReady
	case g.attempt != nil:
		st.State = StateStarting
	case g.err != nil:
		st.State, st.Err = StateFailed, g.err
	case !g.view.pool.installed(g.server):
		st.State, st.Install = StateMissing, g.server.Install
	}
	return st
}

// current returns the connection, nil if the server does not run.
func (g *guest) current() *link {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.link == nil || g.link.conn.Err() != nil {
		return nil
	}
	return g.link
}

// ready returns the connection, and starts the server if it does not run. It waits until ctx ends.
func (g *guest) ready(ctx context.Context) (*link, error) {
	for {
		g.mu.Lock()
		if l := g.link; l != nil {
			g.mu.Unlock()
			if l.conn.Err() == nil {
				l.touch()
				return l, nil
			}
			select { // it has just ended
			case <-l.gone:
				continue
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		a := g.attempt
		if a == nil {
			if err := g.refusal(); err != nil {
				g.mu.Unlock()
				return nil, err
			}
			a = g.begin()
		}
		g.mu.Unlock()
		select {
		case <-a.done:
			if a.err != nil {
				return nil, fmt.Errorf("%w: %w", ErrUnavailable, a.err)
			}
			return a.link, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// refusal returns why the server is not started again now, nil if it is. g.mu is held.
func (g *guest) refusal() error {
	switch {
	case g.view.pool.ctx.Err() != nil:
		return ErrClosed
	case g.failures >= maxFailures:
		return fmt.Errorf(
			"%w: %s has failed %d times in a row and is not started again: %w",
			ErrUnavailable,
			g.server.Name,
			g.failures,
			g.err,
		)
	case time.Until(g.retryAt) > patience:
		return fmt.Errorf(
			"%w: %w; it is started again in %v",
			ErrUnavailable,
			g.err,
			time.Until(g.retryAt).Round(time.Second),
		)
	}
	return nil
}

// begin starts the server. g.mu is held.
func (g *guest) begin() *attempt {
	a := &attempt{done: make(chan struct{})}
	g.attempt = a
	delay := time.Until(g.retryAt)
	pool := g.view.pool
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if pool.closed {
		a.err, g.attempt = ErrClosed, nil
		close(a.done)
		return a
	}
	pool.work.Go(func() {
		if delay > 0 {
			timer := time.NewTimer(delay)
			select {
			case <-timer.C:
			case <-pool.ctx.Done():
				timer.Stop()
			}
		}
		l, err := g.open(pool.ctx)
		g.mu.Lock()
		g.attempt = nil
		if err == nil {
			g.link, a.link = l, l
		} else {
			a.err = err
			g.failed(err)
		}
		g.mu.Unlock()
		close(a.done)
		if err != nil {
			if !errors.Is(err, ErrClosed) {
				pool.config.Logger.Warn(
					"lsptoolset: server cannot be started", "server", g.server.Name, "error", err,
				)
			}
			return
		}
		pool.config.Logger.Info("lsptoolset: server started", "server", g.server.Name)
		g.watch(l)
	})
	return a
}

// failed notes a failure. g.mu is held.
func (g *guest) failed(err error) {
	g.err = err
	g.failures++
	g.retryAt = time.Now().Add(firstDelay << min(g.failures-1, maxFailures))
}

// watch waits for the end of a connection. It ends the connection if the server uses too much
// memory or is idle, and when the servers are closed.
func (g *guest) watch(l *link) {
	pool := g.view.pool
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	var wanted bool // that it ends
	for open := true; open; {
		select {
		case <-l.conn.Done():
			open = false
		case <-pool.ctx.Done():
			wanted, open = true, false
		case <-tick.C:
			if most := pool.config.Memory; most > 0 {
				if used := l.process.Memory(); used > most {
					l.conn.End(
						fmt.Errorf(
							"it used %d MiB of memory; %d MiB are allowed", used>>20, most>>20,
						),
					)
					open = false
				}
			}
			if pool.config.Idle > 0 && l.idle() > pool.config.Idle {
				wanted, open = true, false
			}
		}
	}
	l.close(wanted)
	g.mu.Lock()
	g.link = nil
	if time.Since(l.since) > settled {
		g.failures = 0
	}
	if !wanted {
		g.failed(l.why())
		pool.config.Logger.Warn("lsptoolset: server ended", "server", g.server.Name, "error", g.err)
	}
	g.mu.Unlock()
	close(l.gone)
}

// restart forgets failures. The server may then be started again.
func (g *guest) restart() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failures, g.err, g.retryAt = 0, nil, time.Time{}
}
