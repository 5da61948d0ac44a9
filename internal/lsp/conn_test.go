// SPDX-License-Identifier: Apache-2.0

package lsp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/leaktest"
	"github.com/ponte-go/ponte/internal/lsp"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// handler answers with what it was asked.
type handler struct{ told chan string }

func (h *handler) Request(method string, params json.RawMessage) (any, error) {
	switch method {
	case "echo":
		return params, nil
	case "fail":
		return nil, errors.New("because")
	case "modified":
		return nil, nil
	}
	return nil, lsp.ErrNotSupported
}

func (h *handler) Notify(method string, _ json.RawMessage) { h.told <- method }

func pair(t *testing.T) (a, b *lsp.Conn, told chan string) {
	x, y := net.Pipe()
	told = make(chan string, 100)
	a, b = lsp.NewConn(
		x,
		&handler{told},
		lsp.Limits{},
	), lsp.NewConn(
		y,
		&handler{told},
		lsp.Limits{},
	)
	t.Cleanup(a.Close)
	t.Cleanup(b.Close)
	return a, b, told
}

func TestConn(t *testing.T) {
	a, b, told := pair(t)
	var got string
	require.NoError(t, a.Call(t.Context(), "echo", "x", &got))
	require.Equal(t, "x", got)
	require.NoError(t, b.Notify(t.Context(), "hello", nil))
	require.Equal(t, "hello", <-told)
	err := a.Call(t.Context(), "fail", nil, nil)
	require.EqualError(t, err, "because (code -32603)")
	require.False(t, lsp.Modified(err))
	require.ErrorContains(t, a.Call(t.Context(), "other", nil, nil), "-32601")
	require.ErrorContains(
		t,
		a.Call(t.Context(), "echo", "x", &struct{}{}),
		"the answer to echo is malformed",
	)
	require.Error(t, a.Call(t.Context(), "echo", make(chan int), nil))
	b.Close()
	require.Eventually(t, func() bool { return a.Err() != nil }, time.Minute, time.Millisecond)
	require.ErrorIs(t, a.Call(t.Context(), "echo", "x", &got), lsp.ErrClosed)
	require.ErrorIs(t, a.Notify(t.Context(), "x", nil), lsp.ErrClosed)
}

// A call ends with its context, and the server is told.
func TestCallsEndWithTheirContext(t *testing.T) {
	x, y := net.Pipe()
	c := lsp.NewConn(x, &handler{}, lsp.Limits{})
	defer c.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	because := errors.New("because")
	done := make(chan error, 1)
	go func() { done <- c.Call(ctx, "slow", nil, nil) }()
	read := func() string {
		buf := make([]byte, 1000)
		n, err := y.Read(buf)
		require.NoError(t, err)
		return string(buf[:n])
	}
	require.Contains(t, read(), `"method":"slow"`)
	cancel(because)
	require.ErrorIs(t, <-done, because)
	require.Contains(t, read(), `"method":"$/cancelRequest","params":{"id":1}`)
	_, err := io.WriteString(
		y,
		"Content-Length: 38\r\n\r\n"+`{"jsonrpc":"2.0","id":1,"result":null}`,
	) // late
	require.NoError(t, err)
	require.NoError(t, c.Err())
}

// Whatever a peer sends, the connection ends with an error or goes on.
func FuzzConn(f *testing.F) {
	for _, seed := range []string{
		"Content-Length: 2\r\n\r\n{}", "Content-Length: 2\r\n\r\n[]", "Content-Length: -1\r\n\r\n", "Content-Length: 99999999999999999999\r\n\r\n",
		"\r\n\r\n", "a\r\n", "Content-Length: 49\r\nContent-Type: x\r\n\r\n" + `{"jsonrpc":"2.0","id":{},"method":"echo","x":[1]}`,
		"content-length:36\n\n" + `{"id":1,"error":{"code":1},"x":null}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		out := make(chan string, 10_000)
		c := lsp.NewConn(
			&script{Reader: strings.NewReader(sent), closed: make(chan struct{})},
			&handler{out},
			lsp.Limits{Message: 1 << 10},
		)
		<-c.Done()
		require.ErrorIs(t, c.Err(), lsp.ErrClosed)
		c.Close()
	})
}

// script is a stream that has been written before.
type script struct {
	io.Reader
	closed chan struct{}
}

func (s *script) Write(b []byte) (int, error) { return len(b), nil }
func (s *script) Close() error                { return nil }
