// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// realDelay is the delay that programs have; the other tests have a shorter one.
var realDelay, realInterval = firstDelay, checkInterval

// logged returns a logger, and what it has been told since the last time.
func logged() (*slog.Logger, func() string) {
	var b strings.Builder
	h := slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	return slog.New(h), func() string {
		text := b.String()
		b.Reset()
		return text
	}
}

// A server that cannot be started is tried again after half a second, one, two and four, when it is
// needed. Calls wait for up to three seconds of that; after five failures, they no longer do.
func TestServersThatCannotBeStarted(t *testing.T) {
	require.Equal(t, 2*time.Second, realInterval)
	before := firstDelay
	firstDelay = realDelay
	defer func() { firstDelay = before }()
	bubble(t, func(t *testing.T) {
		logger, told := logged()
		servers, err := New(Config{
			Servers: []Server{{Name: "fake", Command: []string{"/none"}, Files: map[string]string{".toy": "toy"}, Install: "make fake"}}, Logger: logger,
		})
		require.NoError(t, err)
		v, err := servers.viewOf(newDisk(t, nil))
		require.NoError(t, err)
		again, err := servers.viewOf(newDisk(t, nil))
		require.NoError(t, err)
		require.Same(t, v, again, "sessions that see the same text share servers")
		g := v.guest(&servers.config.Servers[0])
		require.Same(t, g, v.guest(&servers.config.Servers[0]))
		require.Equal(t, []Status{{Server: "fake", Dir: "/project", State: StateMissing, Install: "make fake"}}, servers.Status())
		const missing = "fake is not installed. The user can install it with: make fake"
		const warned = `level=WARN msg="lsptoolset: server cannot be started" server=fake error="` + missing + "\"\n"
		ready := func(after time.Duration, want string) {
			t.Helper()
			began := time.Now()
			l, err := g.ready(t.Context())
			require.Nil(t, l)
			require.ErrorIs(t, err, ErrUnavailable)
			require.EqualError(t, err, "the language server is not available: "+want)
			require.Equal(t, after, time.Since(began))
			synctest.Wait()
		}
		ready(0, missing)
		require.Equal(t, warned, told())
		status := servers.Status()
		require.EqualError(t, status[0].Err, missing)
		status[0].Err = nil
		require.Equal(t, []Status{{Server: "fake", Dir: "/project", State: StateFailed}}, status)

		// Calls that wait for one attempt share it, and end with their context.
		because := errors.New("because")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(100*time.Millisecond, func() { cancel(because) })
		_, err = g.ready(ctx)
		require.Equal(t, because, err)
		require.Equal(t, StateStarting, servers.Status()[0].State)
		ready(400*time.Millisecond, missing)
		require.Equal(t, warned, told())

		ready(time.Second, missing)
		ready(2*time.Second, missing)
		ready(0, missing+"; it is started again in 4s")
		time.Sleep(time.Second - 1)
		ready(0, missing+"; it is started again in 3s")
		time.Sleep(time.Nanosecond)
		ready(3*time.Second, missing)
		require.Equal(t, strings.Repeat(warned, 3), told())
		time.Sleep(time.Hour)
		ready(0, "fake has failed 5 times in a row and is not started again: "+missing)
		require.Empty(t, told())
		v.restart()
		require.Equal(t, StateMissing, servers.Status()[0].State)
		ready(0, missing)

		// The end of all servers ends the wait, and is no failure to tell of.
		told()
		g.server.Command[0] = "/bin/sh"
		time.AfterFunc(100*time.Millisecond, func() { _ = servers.Close() })
		began := time.Now()
		_, err = g.ready(t.Context())
		require.ErrorIs(t, err, ErrClosed)
		require.Equal(t, 100*time.Millisecond, time.Since(began))
		synctest.Wait()
		require.Empty(t, told())
		_, err = g.ready(t.Context())
		require.Equal(t, ErrClosed, err)
		_, err = servers.viewOf(newDisk(t, nil))
		require.EqualError(t, err, "lsptoolset: the language servers are closed")
		require.ErrorIs(t, err, ErrClosed)
		require.NoError(t, servers.Close())
	})
}

// A server is not started when all are being closed.
func TestNoServerIsStartedAtTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newLink(t, Server{Name: "fake"})
		g := l.guest
		g.view.pool.closed = true
		_, err := g.ready(t.Context())
		require.ErrorIs(t, err, ErrClosed)
		require.Nil(t, g.attempt)
		require.Equal(t, 0, g.failures)
	})
}

// Servers are printed by their names.
func TestServersArePrintedByName(t *testing.T) {
	servers, err := New(Config{Servers: []Server{
		{Name: "b", Command: []string{"x", "secret"}, Files: map[string]string{".b": "b"}}, {Name: "a", Command: []string{"x"}, Files: map[string]string{".a": "a"}},
	}})
	require.NoError(t, err)
	defer servers.Close()
	require.Equal(t, "lsptoolset.Servers(b, a)", fmt.Sprintf("%+v", servers))
	var dirs []string
	for _, roots := range [][]string{{"/b"}, {"/a"}, {"/a", "/b"}} {
		w := &roofs{newDisk(t, nil), roots}
		v, err := servers.viewOf(w)
		require.NoError(t, err)
		for i := range servers.config.Servers {
			v.guest(&servers.config.Servers[i])
		}
	}
	for _, st := range servers.Status() {
		dirs = append(dirs, st.Dir+" "+st.Server)
	}
	require.Equal(t, []string{"/a a", "/a a", "/a b", "/a b", "/b a", "/b b"}, dirs)
}

// roofs is a workspace with other roots.
type roofs struct {
	*disk
	roots []string
}

func (w *roofs) Roots() []string { return w.roots }
