// SPDX-License-Identifier: Apache-2.0

package acphttp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acphttp"
	"github.com/ponte-go/ponte/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// network is a server on connections that hold nothing back: what a client has not read, the server has not written.
type network struct {
	t       *testing.T
	handler *acphttp.Handler
	server  *http.Server
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

// inNetwork runs a test in a bubble, with a server of its own.
func inNetwork(t *testing.T, change func(*acphttp.Config), test func(t *testing.T, n *network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		config := acphttp.Config{Guard: acphttp.Guard{Token: token}, Serve: serveAgent, Logger: slog.New(slog.DiscardHandler)}
		if change != nil {
			change(&config)
		}
		h, err := acphttp.New(config)
		require.NoError(t, err)
		n := &network{t: t, handler: h, conns: make(chan net.Conn), closed: make(chan struct{})}
		n.server = &http.Server{Handler: h, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = n.server.Serve(n)
		}()
		t.Cleanup(func() {
			require.NoError(t, h.Close())
			require.NoError(t, n.server.Close())
			<-served
			synctest.Wait()
		})
		test(t, n)
	})
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

func (n *network) Addr() net.Addr { return &net.TCPAddr{} }

// wire is a client's end of a connection, which breaks after so many bytes if left is not negative.
type wire struct {
	net.Conn
	left int
}

var errBroken = errors.New("broken")

func (w *wire) Read(p []byte) (int, error) {
	if w.left == 0 {
		_ = w.Close()
		return 0, errBroken
	}
	if w.left > 0 {
		p = p[:min(len(p), w.left)]
	}
	k, err := w.Conn.Read(p)
	if w.left > 0 {
		w.left -= k
	}
	return k, err
}

// request sends a request on a connection of its own, which breaks after so many bytes of the answer if breaks is not negative.
func (n *network) request(breaks int, method, body string, headers ...string) (*http.Response, *wire) {
	client, server := net.Pipe()
	n.conns <- server
	req, err := http.NewRequestWithContext(n.t.Context(), method, "http://localhost/", strings.NewReader(body))
	require.NoError(n.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	require.NoError(n.t, req.Write(client))
	w := &wire{client, breaks}
	resp, err := http.ReadResponse(bufio.NewReaderSize(w, 256), req)
	if err != nil {
		return nil, w
	}
	return resp, w
}

// ask is request for an answer that is read whole.
func (n *network) ask(method, body string, headers ...string) (status int, text string, header http.Header) {
	resp, w := n.request(-1, method, body, headers...)
	require.NotNil(n.t, resp)
	defer w.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(n.t, err)
	return resp.StatusCode, string(data), resp.Header
}

// begin initializes a connection and returns its header.
func (n *network) begin() string {
	status, _, header := n.ask("POST", initialize)
	require.Equal(n.t, http.StatusOK, status)
	return acphttp.HeaderConnection + ": " + header.Get(acphttp.HeaderConnection)
}

func (n *network) post(conn, body string) {
	status, text, _ := n.ask("POST", body, conn)
	require.Equal(n.t, http.StatusAccepted, status, text)
}

func ofSession(id string) string { return acphttp.HeaderSession + ": " + id }

// reading is an open stream.
type reading struct {
	n    *network
	wire *wire
	body *bufio.Reader
	last string // the id of the last event that was read whole
}

// open opens a stream. It has to be taken.
func (n *network) open(breaks int, headers ...string) *reading {
	resp, w := n.request(breaks, "GET", "", headers...)
	if resp == nil {
		return &reading{n: n, wire: w, body: bufio.NewReader(strings.NewReader(""))}
	}
	require.Equal(n.t, http.StatusOK, resp.StatusCode)
	return &reading{n: n, wire: w, body: bufio.NewReaderSize(resp.Body, 256)}
}

type event struct {
	JSONRPC, Method string
	ID              json.RawMessage
	Params          struct {
		SessionID string
		N         int
	}
	Result, Error json.RawMessage
}

// next reads the next event that arrives whole; ok is false when the stream ends or breaks.
func (r *reading) next() (e event, ok bool) {
	id, data := "", ""
	for {
		line, err := r.body.ReadString('\n')
		if err != nil {
			return event{}, false
		}
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" && data != "":
			r.last = id
			require.NoError(r.n.t, json.Unmarshal([]byte(data), &e))
			return e, true
		case strings.HasPrefix(line, "id: "):
			id = line[len("id: "):]
		case strings.HasPrefix(line, "data: "):
			data += line[len("data: "):]
		}
	}
}

func (r *reading) must() event {
	r.n.t.Helper()
	e, ok := r.next()
	require.True(r.n.t, ok, "the stream has ended")
	return e
}

func (r *reading) close() { _ = r.wire.Close() }

// scripted is an agent that answers initialize, hands what it is sent to a test, and writes what the test says.
type scripted struct {
	in   chan event
	out  io.Writer
	done chan struct{}
}

// serve is a Config.Serve. Each connection's agent is sent to made.
func scriptedAgents(made chan<- *scripted) func(context.Context, io.Reader, io.Writer) error {
	return func(ctx context.Context, in io.Reader, out io.Writer) error {
		s := &scripted{in: make(chan event, 1000), out: out, done: make(chan struct{})}
		defer close(s.done)
		lines := bufio.NewReader(in)
		if _, err := lines.ReadString('\n'); err != nil {
			return err
		}
		if _, err := io.WriteString(out, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`+"\n"); err != nil {
			return err
		}
		made <- s
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return nil
			}
			var e event
			if json.Unmarshal(bytes.TrimSpace(line), &e) == nil {
				s.in <- e
			}
		}
	}
}
