// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
)

// rude is a connection whose first Close waits for a second one, as if the other side did not
// answer.
type rude struct {
	mcp.Connection
	closes int
	cut    chan struct{}
	mu     sync.Mutex
}

func (r *rude) Close() error {
	r.mu.Lock()
	r.closes++
	n := r.closes
	r.mu.Unlock()
	if n == 1 {
		<-r.cut
	} else if n == 2 {
		close(r.cut)
	}
	return r.Connection.Close()
}

// joined is a transport to a server in this process.
type joined struct {
	mcp.Transport
	rude bool
}

func (j joined) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := j.Transport.Connect(ctx)
	if j.rude && err == nil {
		return &rude{Connection: conn, cut: make(chan struct{})}, nil
	}
	return conn, err
}

// inProcess returns a server that is in this process.
func inProcess(isRude bool, change ...func(*mcp.Server)) *Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, nil)
	for _, c := range change {
		c(server)
	}
	return Must(New(Config{Name: "s", Transport: Func(func(ctx context.Context) (mcp.Transport, error) {
		ours, theirs := mcp.NewInMemoryTransports()
		_, err := server.Connect(context.WithoutCancel(ctx), theirs, nil)
		return joined{ours, isRude}, err
	})}))
}

// A connection ends when the server answers, or after a second without an answer. All that belongs
// to it ends with it.
func TestConnectionsEndPolitelyOrAfterASecond(t *testing.T) {
	for isRude, want := range map[bool]time.Duration{false: 0, true: time.Second} {
		bubble(t, func(t *testing.T) {
			s := inProcess(isRude)
			l, _, err := s.open()
			require.NoError(t, err)
			require.NoError(t, l.ctx.Err())
			began := time.Now()
			l.close()
			require.Equal(t, want, time.Since(began))
			require.ErrorIs(t, l.ctx.Err(), context.Canceled)
			require.True(t, l.over())
			l.close()
			require.Equal(t, want, time.Since(began), "it has ended")
			require.NoError(t, s.Close())
		})
	}
}

// A server whose tools cannot be listed is left at once.
func TestServersWithoutAListAreLeftAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := inProcess(true, func(server *mcp.Server) {
			server.AddTool(&mcp.Tool{Name: "x", InputSchema: map[string]any{"type": "object"}}, nil)
			server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
					if method == "tools/list" {
						return nil, errors.New("no list")
					}
					return next(ctx, method, r)
				}
			})
		})
		began := time.Now()
		l, cat, err := s.open()
		require.ErrorContains(t, err, "list tools: ")
		require.Nil(t, cat)
		require.Equal(t, err, context.Cause(l.ctx))
		l.close()
		require.Zero(t, time.Since(began))
		require.NoError(t, s.Close())
	})
}

// A listing that is not made, because the connection ends, is not waited for on the next one.
func TestListingsEndWithTheirConnection(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, l := range map[string]*link{
		"while another one is made": {ctx: ended},
		"while it is paced":         {ctx: ended, listed: listBurst, nextList: time.Now().Add(time.Hour)},
	} {
		s := &Server{config: &Config{Name: "s"}, listing: make(chan struct{}, 1)}
		if l.listed == 0 {
			s.listing <- struct{}{}
		}
		r := &refresh{done: make(chan struct{})}
		s.pending = r
		s.refresh(l, r)
		<-r.done
		require.Nil(t, s.pending, name)
		require.Nil(t, s.current, name)
		if l.listed > 0 {
			require.Empty(t, s.listing, name)
		}
	}
	s, one, two := &Server{}, &refresh{}, &refresh{}
	s.pending = one
	s.started(one)
	require.Equal(t, []*refresh{nil, one}, []*refresh{s.pending, s.current})
	s.pending = two
	s.ended(one)
	require.Equal(t, []*refresh{two, nil}, []*refresh{s.pending, s.current}, "others go on")
	s.current = one
	s.ended(two)
	require.Equal(t, []*refresh{nil, one}, []*refresh{s.pending, s.current})
}

// What a process wrote besides messages is waited for: until it has been read, for a second at
// most, and not longer than the connection lasts.
func TestNotesAreWaitedForForASecond(t *testing.T) {
	const note = `its standard output had lines that are not messages: "hello"`
	ended, because := make(chan struct{}), errors.New("because")
	close(ended)
	for name, c := range map[string]struct {
		ended  chan struct{}
		cancel time.Duration
		want   time.Duration
	}{
		"read":             {ended, time.Hour, 0},
		"held open":        {nil, time.Hour, time.Second},
		"the end of a run": {nil, time.Second / 4, time.Second / 4},
	} {
		bubble(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), c.cancel, because)
			defer cancel()
			m := &messages{ended: c.ended}
			_, err := m.skipped.filter([]byte("hello\n"))
			require.NoError(t, err)
			began := time.Now()
			require.Equal(t, note, m.note(ctx), name)
			require.Equal(t, c.want, time.Since(began), name)
		})
	}
}

// Lists that are due in a nanosecond are made in a nanosecond.
func TestListingsWaitForTheLastMoment(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &link{ctx: t.Context(), listed: listBurst}
		for _, left := range []time.Duration{0, 1, 2, time.Second} {
			l.nextList = time.Now().Add(left)
			began := time.Now()
			require.True(t, l.pace())
			require.Equal(t, left, time.Since(began))
			require.Equal(t, listEvery, time.Until(l.nextList))
		}
	})
}

// A call that nobody observes has no events, and one that has ended has no more of them.
func TestEventsOfCallsThatNobodyObserves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &link{flights: map[string]*flight{}, server: &Server{config: &Config{Name: "s"}}, ctx: t.Context()}
		f := l.depart(t.Context(), caller{call: &toolset.Call{}, info: &toolset.RunInfo{}})
		l.progress(&mcp.ProgressNotificationParams{ProgressToken: f.token})
		//lint:ignore SA1019 Servers still use what the newest version of the protocol deprecates.
		l.log(&mcp.LoggingMessageParams{Level: "info", Data: "text"})
		synctest.Wait()
		require.Nil(t, f.event)
		f.arrive(true)
	})
}
