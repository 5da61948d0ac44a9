// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/agent/session/transcript"
)

// proxy passes on connections, and passes on nothing while it is stalled.
type proxy struct {
	listener net.Listener
	to       string
	all      sync.WaitGroup
	// open holds a token while bytes pass.
	open chan struct{}

	mu    sync.Mutex
	conns []net.Conn
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: l, to: to, open: make(chan struct{}, 1)}
	p.open <- struct{}{}
	p.all.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.all.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.to)
		if err != nil {
			_ = in.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, in, out)
		p.mu.Unlock()
		p.all.Go(func() { p.pass(in, out) })
		p.all.Go(func() { p.pass(out, in) })
	}
}

func (p *proxy) pass(from, to net.Conn) {
	defer to.Close()
	buffer := make([]byte, 1<<15)
	for {
		n, err := from.Read(buffer)
		p.open <- <-p.open
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			_, _ = io.Copy(io.Discard, from)
			return
		}
	}
}

// stall has nothing pass until the returned function is called.
func (p *proxy) stall() (end func()) {
	<-p.open
	return func() { p.open <- struct{}{} }
}

// TestTurnsGoOnWhenWorkersLoseTouch: a worker that does not reach the server for some time loses
// its turn. It is not cancelled, and continues when the server can be reached.
func TestTurnsGoOnWhenWorkersLoseTouch(t *testing.T) {
	direct := dial(t, new(temporalengine.MemoryBlobs))
	p := newProxy(t, shared.server.address)
	c, err := connect(p.address(), new(temporalengine.MemoryBlobs))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	store, err := sqlitestore.Open(filepath.Join(t.TempDir(), "store"), sqlitestore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	queue := t.Name() + fmt.Sprint(time.Now().UnixNano())
	began, ended := make(chan struct{}, 100), make(chan error, 100)
	var lost atomic.Bool
	answer := func(
		ctx context.Context, _ *model.Request, _ model.Sink,
	) (*model.Message, error) {
		if lost.Swap(true) {
			return model.Response(model.Text("hello")), nil
		}
		began <- struct{}{}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, context.Cause(ctx)
	}
	slow := model.Func(model.Info{}, answer)
	start := func(m model.Model, c temporalengine.RunnerConfig) *host.Host {
		c.TaskQueue, c.Store, c.Heartbeat = queue, store, heartbeat
		r, err := temporalengine.NewRunner(c)
		require.NoError(t, err)
		a := agent.Must(agent.New(agent.Config[deps, string]{Name: "talker", Model: m}))
		h, err := host.New(host.Config[deps, string]{
			Agent: a, Store: store, Runner: r, Logger: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, h.Close(context.Background())) })
		return h
	}
	surface := start(slow, temporalengine.RunnerConfig{Client: direct})
	worker := start(slow, temporalengine.RunnerConfig{Client: c})
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- worker.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		require.ErrorIs(t, <-served, context.Canceled)
	})
	s, err := surface.Create(t.Context(), session.New{}, nil)
	require.NoError(t, err)
	done := make(chan *host.Outcome, 1)
	go func() {
		o, _ := s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("hello")}})
		done <- o
	}()
	<-began
	end := p.stall()
	t.Log("the turn of the worker ended with", <-ended)
	end()
	o := <-done
	require.NoError(t, o.Err)
	require.Equal(t, transcript.Done, o.Reason)
}
