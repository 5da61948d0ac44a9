// SPDX-License-Identifier: Apache-2.0

package acphttp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Headers of the transport.
const (
	HeaderConnection = "Acp-Connection-Id"
	HeaderSession    = "Acp-Session-Id"
)

// Config configures the service and its access.
type Config struct {
	// Guard decides which requests are served. Its Token is required.
	Guard Guard
	// Serve serves an agent on two streams, as [acpbridge.Serve] does, until the client has ended
	// its side or ctx ends. It is called once for each connection, and required.
	Serve func(ctx context.Context, in io.Reader, out io.Writer) error
	// WebSocket serves requests that ask for a WebSocket. Nil refuses them. If it has a method
	// Close() error, it is closed with the handler.
	WebSocket http.Handler

	// MaxConnections bounds the connections at the same time; 0 means 16. When there are as many, a
	// new one replaces one that has been silent for a second, without a request and an open stream.
	// MaxMessage bounds a message of a client in bytes; 0 means 64 MiB. MaxBuffered bounds, for
	// each stream, the bytes that wait to be read, and those that are kept for a client that
	// resumes; 0 means 4 MiB.
	MaxConnections, MaxMessage, MaxBuffered int
	// Idle is after what time without a request and an open stream a connection ends; 0 means 10
	// seconds.
	Idle time.Duration
	// Stall is how long the agent waits for a stream that is full and whose client reads nothing; 0
	// means 3 seconds. After that the stream's messages are dropped, and its session's turn is
	// cancelled. A connection whose own stream is full ends.
	Stall time.Duration
	// Heartbeat is how often a comment is sent on a silent stream, and a ping on a WebSocket; 0
	// means 15 seconds.
	Heartbeat time.Duration
	// Logger is told about connections. Nil is [slog.Default]. No content is ever logged.
	Logger *slog.Logger
}

// Handler is the [http.Handler] that serves agents. Make it with [New].
type Handler struct {
	config *Config
	ctx    context.Context
	stop   context.CancelFunc
	work   sync.WaitGroup

	mu          sync.Mutex
	closed      bool
	connections map[string]*connection
}

// New returns a handler for all paths that it is mounted on.
func New(config Config) (*Handler, error) {
	if err := config.Guard.check(); err != nil {
		return nil, err
	}
	if config.Serve == nil {
		return nil, errors.New("acphttp: Config.Serve is nil: set a function that serves an agent on two streams")
	}
	if min(config.MaxConnections, config.MaxMessage, config.MaxBuffered) < 0 ||
		min(config.Idle, config.Stall, config.Heartbeat) < 0 {
		return nil, errors.New("acphttp: Config: MaxConnections, MaxMessage, MaxBuffered, " +
			"Idle, Stall and Heartbeat must not be negative")
	}
	config.MaxConnections = cmp.Or(config.MaxConnections, 16)
	config.MaxMessage = cmp.Or(config.MaxMessage, 64<<20)
	config.MaxBuffered = cmp.Or(config.MaxBuffered, 4<<20)
	config.Idle = cmp.Or(config.Idle, 10*time.Second)
	config.Stall = cmp.Or(config.Stall, 3*time.Second)
	config.Heartbeat = cmp.Or(config.Heartbeat, 15*time.Second)
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	h := &Handler{config: &config, connections: map[string]*connection{}}
	h.ctx, h.stop = context.WithCancel(context.Background())
	return h, nil
}

// Close ends all connections and waits until their agents have ended. No more begin.
func (h *Handler) Close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.stop()
	if sockets, ok := h.config.WebSocket.(io.Closer); ok {
		_ = sockets.Close()
	}
	h.work.Wait()
	return nil
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		if h.config.WebSocket == nil {
			http.Error(w, "WebSocket is not served here", http.StatusUpgradeRequired)
			return
		}
		h.config.WebSocket.ServeHTTP(w, r) // which has its own guard
		return
	}
	if status := h.config.Guard.Check(r, ""); status != 0 {
		http.Error(w, http.StatusText(status), status)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch r.Method {
	case http.MethodPost:
		h.post(w, r)
	case http.MethodGet:
		h.events(w, r)
	case http.MethodDelete:
		if c := h.find(w, r); c != nil {
			c.end()
			w.WriteHeader(http.StatusAccepted)
		}
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

// find returns the connection that a request names, or answers the request.
func (h *Handler) find(w http.ResponseWriter, r *http.Request) *connection {
	id := r.Header.Get(HeaderConnection)
	if id == "" {
		http.Error(w, "missing "+HeaderConnection, http.StatusBadRequest)
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.connections[id]
	if c == nil {
		http.Error(w, "unknown "+HeaderConnection, http.StatusNotFound)
	}
	return c
}

// message has the members of a message that its route depends on.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		SessionID string `json:"sessionId"`
	} `json:"params"`
	Result struct {
		SessionID string `json:"sessionId"`
	} `json:"result"`
	Error json.RawMessage `json:"error"`
}

// post takes a message of the client.
func (h *Handler) post(w http.ResponseWriter, r *http.Request) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		http.Error(w, "Content-Type must be application/json", http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(h.config.MaxMessage)))
	if err != nil {
		status := http.StatusBadRequest
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, "the message cannot be read", status)
		return
	}
	var m message
	var line bytes.Buffer
	if err := json.Compact(&line, body); err != nil {
		http.Error(w, "the message is not JSON", http.StatusBadRequest)
		return
	}
	if line.Bytes()[0] != '{' {
		http.Error(w, "a message is one JSON object: batches are not supported", http.StatusBadRequest)
		return
	}
	_ = json.Unmarshal(line.Bytes(), &m) // the agent answers what is wrong with it
	line.WriteByte('\n')
	isInitialize := m.Method == "initialize" && m.ID != nil
	switch {
	case isInitialize && r.Header.Get(HeaderConnection) != "":
		http.Error(w, "the connection has been initialized", http.StatusBadRequest)
	case isInitialize:
		h.begin(w, r, &m, line.Bytes())
	default:
		if c := h.find(w, r); c != nil {
			if m.Method == methodLoad || m.Method == methodResume {
				h.free(r.Context(), m.Params.SessionID, c)
			}
			if err := c.take(&m, line.Bytes()); err == nil {
				w.WriteHeader(http.StatusAccepted)
			} else {
				http.Error(w, "the connection has ended", http.StatusGone)
			}
		}
	}
}

// begin begins a connection and answers with the agent's answer to initialize.
func (h *Handler) begin(w http.ResponseWriter, r *http.Request, m *message, line []byte) {
	c := h.place(r.Context(), string(m.ID))
	if c == nil {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many connections", http.StatusServiceUnavailable)
		return
	}
	c.busy(1) // an agent may be slow to begin
	defer c.busy(-1)
	var answer []byte
	err := c.take(m, line)
	if err == nil {
		select {
		case answer = <-c.first:
		case <-c.ctx.Done():
		case <-r.Context().Done():
		}
	}
	select {
	case answer = <-c.first: // right before the end of the connection, or the request was not read
	default:
	}
	if answer == nil {
		c.end()
		http.Error(w, "the agent did not answer", http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set(HeaderConnection, c.id)
	_, _ = w.Write(answer)
}

// Format implements [fmt.Formatter]. No verb prints the configuration, which has secrets.
func (h *Handler) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "acphttp.Handler") }
