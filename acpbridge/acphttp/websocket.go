// SPDX-License-Identifier: Apache-2.0

package acphttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// WebSocketProtocol is the subprotocol that servers choose if a client offers it.
const WebSocketProtocol = "acp"

const (
	bearer       = "bearer."
	heartbeat    = 15 * time.Second
	frameChunk   = 64 << 10         // of a message, after which the other side is seen to have read something
	frameTimeout = 30 * time.Second // for the other side to read one
)

// WebSocketHandler serves agents over WebSocket. Make it with [NewWebSocket].
type WebSocketHandler struct {
	config *Config
	ctx    context.Context
	stop   context.CancelFunc
	work   sync.RWMutex // each connection has it for reading, Close for writing
	open   atomic.Int64
}

// NewWebSocket returns a handler. Of the configuration it uses Guard, Serve, MaxConnections,
// MaxMessage, Heartbeat and Logger, with the same meaning. A client that does not answer a ping
// before the next one is due, and sends nothing meanwhile, is gone, and so is one that reads
// nothing for 30 seconds: its connection ends.
func NewWebSocket(config Config) (*WebSocketHandler, error) {
	h, err := New(config)
	if err != nil {
		return nil, err
	}
	return &WebSocketHandler{config: h.config, ctx: h.ctx, stop: h.stop}, nil
}

// Close ends all connections and waits until their agents have ended.
func (h *WebSocketHandler) Close() error {
	h.stop()
	h.work.Lock()
	defer h.work.Unlock()
	return nil
}

// ServeHTTP implements [http.Handler].
func (h *WebSocketHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if status := h.config.Guard.Check(r, tokenOf(r)); status != 0 {
		http.Error(w, http.StatusText(status), status)
		return
	}
	h.work.RLock()
	defer h.work.RUnlock()
	if h.open.Add(1) > int64(h.config.MaxConnections) || h.ctx.Err() != nil {
		h.open.Add(-1)
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many connections", http.StatusServiceUnavailable)
		return
	}
	defer h.open.Add(-1)
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{WebSocketProtocol}, InsecureSkipVerify: true}) // the guard has checked the origin
	if err != nil {
		return // it has been answered
	}
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	s := newStream(ctx, conn, h.config.MaxMessage, h.config.Heartbeat)
	defer s.Close()
	if err := h.config.Serve(ctx, s, s); err != nil && ctx.Err() == nil {
		h.config.Logger.Warn("acphttp: the agent ended with an error")
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

// DialWebSocket connects to an agent's server, such as "ws://127.0.0.1:7777". ctx bounds the
// dialling only. Redirects are not followed. The result is both streams of acpclient.Connect.
func DialWebSocket(ctx context.Context, address, token string) (io.ReadWriteCloser, error) {
	conn, _, err := websocket.Dial(ctx, address, &websocket.DialOptions{
		Subprotocols: []string{WebSocketProtocol}, HTTPHeader: http.Header{"Authorization": {"Bearer " + token}},
		// A redirect would take the token elsewhere.
		HTTPClient: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	})
	var wrong *url.Error
	if errors.As(err, &wrong) {
		err = wrong.Err // the address may have a token in its query
	}
	if err != nil {
		return nil, fmt.Errorf("acphttp: connect: %w", err)
	}
	return newStream(context.WithoutCancel(ctx), conn, 64<<20, heartbeat), nil
}

// Format implements [fmt.Formatter]. No verb prints the configuration, which has secrets.
func (h *WebSocketHandler) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "WebSocketHandler") }
