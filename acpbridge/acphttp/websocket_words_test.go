// SPDX-License-Identifier: Apache-2.0

package acphttp_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acphttp"
)

// How a WebSocket's other side ends decides what the agent reads: the end of its input, or an error.
func TestEndsOfWebSocketsAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(conn *websocket.Conn)
		want string
	}{
		"normal":     {func(conn *websocket.Conn) { _ = conn.Close(websocket.StatusNormalClosure, "") }, "EOF"},
		"going away": {func(conn *websocket.Conn) { _ = conn.Close(websocket.StatusGoingAway, "") }, "EOF"},
		"killed":     {func(conn *websocket.Conn) { _ = conn.CloseNow() }, "EOF"},
		"refused": {
			func(conn *websocket.Conn) { _ = conn.Close(websocket.StatusPolicyViolation, "no") },
			`acphttp: failed to get reader: received close frame: status = StatusPolicyViolation and reason = "no"`,
		},
	} {
		inBubble(t, func(t *testing.T, p *pipes) {
			read := make(chan string, 10)
			failed := make(chan error, 1)
			p.serve = func(in io.Reader, _ io.Writer) error {
				b := make([]byte, 4)
				for {
					n, err := in.Read(b)
					if err != nil {
						require.Zero(t, n)
						failed <- err
						return nil
					}
					read <- string(b[:n])
				}
			}
			conn, _ := p.dial(t)
			require.NoError(t, conn.Write(t.Context(), websocket.MessageBinary, []byte("bytes")))
			require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte("{\n\"a\": 1}")))
			require.Equal(t, []string{`{"a"`, ":1}\n"}, []string{<-read, <-read}, "bytes are not read, and the rest is one line")
			c.end(conn)
			require.EqualError(t, <-failed, c.want, name)
			require.Empty(t, read)
		})
	}
}

// What is written to a WebSocket that has ended fails, as to a closed pipe.
func TestWritesToEndedWebSocketsFail(t *testing.T) {
	inBubble(t, func(t *testing.T, p *pipes) {
		failed := make(chan error, 1)
		p.serve = func(in io.Reader, out io.Writer) error {
			n, err := io.WriteString(out, "half ")
			require.NoError(t, err)
			require.Equal(t, 5, n)
			n, err = io.WriteString(out, "a line\nand more\nno")
			require.NoError(t, err)
			require.Equal(t, 18, n)
			_, _ = io.Copy(io.Discard, in)
			n, err = io.WriteString(out, "late\n")
			require.Zero(t, n)
			failed <- err
			return nil
		}
		conn, _ := p.dial(t)
		for _, want := range []string{"half a line", "and more"} {
			kind, data, err := conn.Read(t.Context())
			require.NoError(t, err)
			require.Equal(t, websocket.MessageText, kind)
			require.Equal(t, want, string(data))
		}
		_ = conn.CloseNow()
		err := <-failed
		require.ErrorContains(t, err, "acphttp: ")
	})
	synctest.Test(t, func(t *testing.T) {
		require.Equal(t, io.ErrClosedPipe, writeAfterClose(t))
	})
}

// writeAfterClose writes to a WebSocket whose handler has been closed.
func writeAfterClose(t *testing.T) error {
	failed := make(chan error, 1)
	p := &pipes{}
	inside(t, p, func(ctx context.Context, _ io.Reader, out io.Writer) error {
		<-ctx.Done()
		n, err := io.WriteString(out, "late\n")
		for err == nil { // the connection may be the quicker one
			n, err = io.WriteString(out, "late\n")
		}
		if n != 0 {
			err = fmt.Errorf("%d bytes written: %w", n, err)
		}
		failed <- err
		return err
	})
	return <-failed
}

// inside serves one WebSocket, and closes the handler.
func inside(t *testing.T, p *pipes, serve func(context.Context, io.Reader, io.Writer) error) {
	p.conns, p.closed = make(chan net.Conn), make(chan struct{})
	h, err := acphttp.NewWebSocket(acphttp.Config{Guard: acphttp.Guard{Token: socketToken}, Serve: serve, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	server := &http.Server{Handler: h}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(p)
	}()
	conn, _ := p.dial(t)
	synctest.Wait()
	go func() { // which answers the farewell
		for {
			if _, _, err := conn.Read(context.Background()); err != nil {
				return
			}
		}
	}()
	require.NoError(t, h.Close())
	_ = conn.CloseNow()
	require.NoError(t, server.Close())
	<-served
	synctest.Wait()
}

// A dead client is noticed when it has not answered a ping before the next one is due.
func TestDeadWebSocketClientIsNoticedInTime(t *testing.T) {
	inBubble(t, func(t *testing.T, p *pipes) {
		ended := make(chan error, 1)
		p.serve = func(in io.Reader, _ io.Writer) error {
			_, err := io.Copy(io.Discard, in)
			ended <- err
			return err
		}
		began := time.Now()
		conn, client := p.dial(t)
		go func() { _, _ = io.Copy(io.Discard, client) }() // it reads, and says nothing
		require.NoError(t, <-ended)
		require.Equal(t, 30*time.Second, time.Since(began))
		_ = conn.CloseNow()
	})
}

// A client that reads nothing is given up after half a minute, and one that goes on reading is not.
func TestWritingToAWebSocketHasItsTime(t *testing.T) {
	for size, want := range map[int]time.Duration{10: 30 * time.Second, 64 << 10: 30 * time.Second, 64<<10 + 1: 30 * time.Second, 1 << 20: 30 * time.Second} {
		inBubble(t, func(t *testing.T, p *pipes) {
			ended := make(chan error, 1)
			took := make(chan time.Duration, 1)
			p.serve = func(_ io.Reader, out io.Writer) error {
				began := time.Now()
				_, err := io.WriteString(out, strings.Repeat("x", size)+"\n")
				took <- time.Since(began)
				ended <- err
				return nil
			}
			conn, _ := p.dial(t)
			require.Error(t, <-ended)
			require.Equal(t, want, <-took, "%d", size)
			_ = conn.CloseNow()
		})
	}
}

// A request for a WebSocket is the other handler's alone.
func TestRequestsForWebSocketsAreForTheirHandler(t *testing.T) {
	h := handler(t, acphttp.Config{Serve: helloAgent(nil), WebSocket: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "mine")
	})})
	w := ask(t, h, "GET", "", "Upgrade", "websocket", "Authorization", "")
	require.Equal(t, http.StatusTeapot, w.Code)
	require.Equal(t, "mine", w.Body.String())
	require.Empty(t, w.Header().Get("Cache-Control"))
	closed, err := acphttp.NewWebSocket(acphttp.Config{Guard: acphttp.Guard{Token: token}, Serve: helloAgent(nil)})
	require.NoError(t, err)
	require.Equal(t, "WebSocketHandler", fmt.Sprintf("%+v", closed))
	plain := httptest.NewRecorder()
	closed.ServeHTTP(plain, asking(t.Context(), "GET", ""))
	require.Equal(t, http.StatusUpgradeRequired, plain.Code)
	require.NoError(t, closed.Close())
}
