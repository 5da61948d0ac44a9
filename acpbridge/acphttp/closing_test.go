// SPDX-License-Identifier: Apache-2.0

package acphttp_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acphttp"
)

// halted is a response that halts when its connection is taken over.
type halted struct {
	http.ResponseWriter
	reached, goOn chan struct{}
}

func (h *halted) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	close(h.reached)
	<-h.goOn
	return h.ResponseWriter.(http.Hijacker).Hijack()
}

// Close waits for the agent of a connection that is just being made, which is told to end at once. Later ones are refused,
// and a second Close changes nothing.
func TestCloseWaitsForAWebSocketThatIsBeingMade(t *testing.T) {
	var ended atomic.Bool
	ws, err := acphttp.NewWebSocket(acphttp.Config{Guard: acphttp.Guard{Token: socketToken}, Logger: slog.New(slog.DiscardHandler), Serve: func(ctx context.Context, _ io.Reader, _ io.Writer) error {
		<-ctx.Done()
		ended.Store(true)
		return ctx.Err()
	}})
	require.NoError(t, err)
	h := &halted{reached: make(chan struct{}), goOn: make(chan struct{})}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ResponseWriter = w
		ws.ServeHTTP(h, r)
	}))
	defer s.Close()
	address := "ws" + strings.TrimPrefix(s.URL, "http")
	dialled := make(chan io.ReadWriteCloser)
	go func() {
		rw, err := acphttp.DialWebSocket(context.Background(), address, socketToken)
		if err == nil {
			_, _ = rw.Read(make([]byte, 1)) // until it ends
		}
		dialled <- rw
	}()
	<-h.reached
	closed := make(chan bool)
	go func() {
		_ = ws.Close()
		closed <- ended.Load()
	}()
	select {
	case <-closed:
		t.Fatal("Close has not waited")
	case <-time.After(50 * time.Millisecond):
	}
	close(h.goOn)
	require.True(t, <-closed)
	if rw := <-dialled; rw != nil {
		_ = rw.Close()
	}
	require.NoError(t, ws.Close())
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "http://127.0.0.1/", nil)
	r.Header.Set("Sec-WebSocket-Protocol", "acp, bearer."+socketToken)
	ws.ServeHTTP(w, r)
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
}

// The agents of a handler's WebSockets end with it, before Close and Serve return.
func TestCloseEndsTheWebSocketsToo(t *testing.T) {
	var ended atomic.Bool
	began := make(chan struct{})
	config := acphttp.Config{Guard: acphttp.Guard{Token: socketToken}, Logger: slog.New(slog.DiscardHandler), Serve: func(ctx context.Context, _ io.Reader, _ io.Writer) error {
		close(began)
		<-ctx.Done()
		time.Sleep(10 * time.Millisecond) // the agent has something to do yet
		ended.Store(true)
		return ctx.Err()
	}}
	sockets, err := acphttp.NewWebSocket(config)
	require.NoError(t, err)
	config.WebSocket = sockets
	h, err := acphttp.New(config)
	require.NoError(t, err)
	l, err := acphttp.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- acphttp.Serve(ctx, l, h) }()
	client, err := acphttp.DialWebSocket(t.Context(), "ws://"+l.Addr().String(), socketToken)
	require.NoError(t, err)
	defer client.Close()
	<-began
	cancel()
	require.NoError(t, <-served)
	require.True(t, ended.Load())
}
