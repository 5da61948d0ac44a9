// SPDX-License-Identifier: Apache-2.0

// Package acpws speaks the Agent Client Protocol over WebSocket, one message of the protocol in each text message: experimental, as the
// protocol's SDKs do. [New] makes the handler of an agent's server, and [Dial] connects a client, such as that of acpclient.Connect.
//
// Requests are under the rules of [acphttp.Guard]. A page in a browser cannot set headers: it sends the token as a subprotocol
// instead, "bearer.TOKEN" behind "acp".
package acpws

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coder/websocket"

	"github.com/ponte-go/ponte/acpbridge/acphttp"
)

// Protocol is the subprotocol that servers choose if a client offers it.
const Protocol = "acp"

const bearer = "bearer."

// Handler serves agents over WebSocket. Make it with [New].
type Handler struct {
	config acphttp.Config
	ctx    context.Context
	stop   context.CancelFunc
	work   sync.WaitGroup
	open   atomic.Int64
}

// New returns a handler. Of the configuration it uses Guard, Serve, MaxConnections, MaxMessage and Logger, with the same meaning.
func New(config acphttp.Config) (*Handler, error) {
	if _, err := acphttp.New(config); err != nil {
		return nil, err
	}
	if config.MaxConnections <= 0 {
		config.MaxConnections = 16
	}
	if config.MaxMessage <= 0 {
		config.MaxMessage = 64 << 20
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	h := &Handler{config: config}
	h.ctx, h.stop = context.WithCancel(context.Background())
	return h, nil
}

// Close ends all connections and waits until their agents have ended.
func (h *Handler) Close() error {
	h.stop()
	h.work.Wait()
	return nil
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if status := h.config.Guard.Check(r, tokenOf(r)); status != 0 {
		http.Error(w, http.StatusText(status), status)
		return
	}
	if h.ctx.Err() != nil || h.open.Add(1) > int64(h.config.MaxConnections) {
		h.open.Add(-1)
		http.Error(w, "too many connections", http.StatusServiceUnavailable)
		return
	}
	defer h.open.Add(-1)
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{Protocol}, InsecureSkipVerify: true}) // the guard has checked the origin
	if err != nil {
		return // it has been answered
	}
	h.work.Add(1)
	defer h.work.Done()
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	s := newStream(ctx, conn, h.config.MaxMessage)
	defer s.Close()
	if err := h.config.Serve(ctx, s, s); err != nil && ctx.Err() == nil {
		h.config.Logger.Warn("acpws: the agent ended with an error")
	}
}

// tokenOf returns the token that a request offers as a subprotocol.
func tokenOf(r *http.Request) string {
	for _, header := range r.Header.Values("Sec-WebSocket-Protocol") {
		for _, p := range strings.Split(header, ",") {
			if token, ok := strings.CutPrefix(strings.TrimSpace(p), bearer); ok {
				return token
			}
		}
	}
	return ""
}

// Dial connects to an agent's server, such as "ws://127.0.0.1:7777". ctx bounds the dialling only. What it returns is both streams of
// acpclient.Connect.
func Dial(ctx context.Context, url, token string) (io.ReadWriteCloser, error) {
	conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{
		Subprotocols: []string{Protocol}, HTTPHeader: http.Header{"Authorization": {"Bearer " + token}},
	})
	if err != nil {
		return nil, fmt.Errorf("acpws: %w", err)
	}
	return newStream(context.WithoutCancel(ctx), conn, 64<<20), nil
}

// stream makes lines of a WebSocket's messages, and messages of lines.
type stream struct {
	ctx    context.Context
	cancel context.CancelFunc
	conn   *websocket.Conn
	once   sync.Once

	read []byte // a line that has not been read to its end
	rest []byte // a line that has not been written to its end
}

func newStream(ctx context.Context, conn *websocket.Conn, maxMessage int) *stream {
	conn.SetReadLimit(int64(maxMessage))
	s := &stream{conn: conn}
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s
}

// Read implements [io.Reader]. The other side's orderly end is the end of the stream.
func (s *stream) Read(p []byte) (int, error) {
	for len(s.read) == 0 {
		kind, data, err := s.conn.Read(s.ctx)
		switch status := websocket.CloseStatus(err); {
		case status == websocket.StatusNormalClosure, status == websocket.StatusGoingAway, errors.Is(err, context.Canceled):
			return 0, io.EOF
		case err != nil:
			return 0, fmt.Errorf("acpws: %w", err)
		case kind != websocket.MessageText:
			continue // the protocol has none of these
		}
		s.read = lineOf(data)
	}
	n := copy(p, s.read)
	s.read = s.read[n:]
	return n, nil
}

// lineOf returns a message as one line. What is no JSON is answered by the connection.
func lineOf(data []byte) []byte {
	if bytes.IndexByte(data, '\n') >= 0 {
		var line bytes.Buffer
		if json.Compact(&line, data) == nil {
			data = line.Bytes()
		} else {
			data = bytes.ReplaceAll(data, []byte("\n"), []byte(" "))
		}
	}
	return append(data, '\n')
}

// Write implements [io.Writer].
func (s *stream) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	for {
		i := bytes.IndexByte(s.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		if err := s.conn.Write(s.ctx, websocket.MessageText, s.rest[:i]); err != nil {
			if s.ctx.Err() != nil {
				return 0, io.ErrClosedPipe
			}
			return 0, fmt.Errorf("acpws: %w", err)
		}
		s.rest = s.rest[i+1:]
	}
}

// Close implements [io.Closer].
func (s *stream) Close() error {
	s.once.Do(func() {
		_ = s.conn.Close(websocket.StatusNormalClosure, "") // a client that is gone needs no farewell
		s.cancel()
	})
	return nil
}
