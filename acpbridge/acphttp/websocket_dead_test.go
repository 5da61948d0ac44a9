// SPDX-License-Identifier: Apache-2.0

package acphttp_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acphttp"
)

// pipes listens to connections inside the process, which hold nothing back: what is not read is not written.
type pipes struct {
	serve  func(in io.Reader, out io.Writer) error // of the agent
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// dial connects to a server that is run for the test.
func (p *pipes) dial(t *testing.T) (*websocket.Conn, net.Conn) {
	t.Helper()
	client, server := net.Pipe()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		p.conns <- server
		return client, nil
	}}
	conn, _, err := websocket.Dial(t.Context(), "ws://localhost/", &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: http.Header{"Authorization": {"Bearer " + socketToken}},
	})
	require.NoError(t, err)
	conn.SetReadLimit(-1)
	return conn, client
}

func inBubble(t *testing.T, test func(t *testing.T, p *pipes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		h, err := acphttp.NewWebSocket(acphttp.Config{Guard: acphttp.Guard{Token: socketToken}, Logger: slog.New(slog.DiscardHandler),
			Serve: func(_ context.Context, in io.Reader, out io.Writer) error { return p.serve(in, out) }})
		require.NoError(t, err)
		server := &http.Server{Handler: h}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = server.Serve(p)
		}()
		t.Cleanup(func() {
			require.NoError(t, h.Close())
			require.NoError(t, server.Close())
			<-served
			synctest.Wait()
		})
		test(t, p)
	})
}

func TestDeadWebSocketClientIsNoticed(t *testing.T) {
	inBubble(t, func(t *testing.T, p *pipes) {
		ended := make(chan error, 1)
		p.serve = func(in io.Reader, _ io.Writer) error {
			_, err := io.Copy(io.Discard, in)
			ended <- err
			return err
		}
		conn, _ := p.dial(t)
		before := time.Now()
		require.NoError(t, <-ended, "as if its input had ended") // the client reads nothing, so it answers no ping
		require.Less(t, time.Since(before), time.Minute)
		_ = conn.CloseNow()
	})
}

func TestSilentWebSocketClientIsKept(t *testing.T) {
	inBubble(t, func(t *testing.T, p *pipes) {
		ended := make(chan error, 1)
		p.serve = func(in io.Reader, _ io.Writer) error {
			_, err := io.Copy(io.Discard, in)
			ended <- err
			return err
		}
		conn, _ := p.dial(t)
		ctx := conn.CloseRead(t.Context()) // it reads, and answers pings
		time.Sleep(time.Hour)
		require.NoError(t, ctx.Err())
		require.Empty(t, ended)
		_ = conn.CloseNow()
		<-ended
	})
}

func TestSlowWebSocketClientGetsEverything(t *testing.T) {
	const size = 1 << 20
	inBubble(t, func(t *testing.T, p *pipes) {
		p.serve = func(in io.Reader, out io.Writer) error {
			if _, err := fmt.Fprintf(out, "%s\nend\n", strings.Repeat("x", size)); err != nil {
				return err
			}
			_, err := io.Copy(io.Discard, in)
			return err
		}
		conn, _ := p.dial(t)
		_, r, err := conn.Reader(t.Context())
		require.NoError(t, err)
		got := 0
		for b := make([]byte, 32<<10); ; time.Sleep(10 * time.Second) { // far longer than a message may stall
			n, err := r.Read(b)
			got += n
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
		}
		require.Equal(t, size, got)
		_, data, err := conn.Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, "end", string(data))
		_ = conn.CloseNow()
	})
}

func TestWebSocketClientThatReadsNothingIsGivenUp(t *testing.T) {
	inBubble(t, func(t *testing.T, p *pipes) {
		ended := make(chan error, 1)
		p.serve = func(_ io.Reader, out io.Writer) error {
			_, err := fmt.Fprintln(out, strings.Repeat("x", 1<<20))
			ended <- err
			return err
		}
		conn, _ := p.dial(t)
		before := time.Now()
		require.Error(t, <-ended)
		require.LessOrEqual(t, time.Since(before), time.Minute)
		_ = conn.CloseNow()
	})
}
