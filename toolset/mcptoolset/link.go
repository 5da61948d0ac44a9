// SPDX-License-Identifier: Apache-2.0

//lint:file-ignore SA1019 Servers still use what the newest version of the protocol deprecates.

package mcptoolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// link is one connection to a server.
type link struct {
	server  *Server
	session *mcp.ClientSession
	since   time.Time
	ctx     context.Context // ends with the connection
	cancel  context.CancelCauseFunc
	opened  *opened
	conn    mcp.Connection
	gone    chan struct{} // closed when the session has ended
	closing sync.Once

	// stale reports that the tools must be listed again. listed and nextList pace that; the
	// server's listing guards them.
	stale    atomic.Bool
	listed   int
	nextList time.Time

	mu      sync.Mutex
	err     error
	next    uint64
	flights map[string]*flight // calls in progress, by progress token
	// abandoned has the runs with calls that the server never answered. It may still ask questions
	// about them.
	abandoned map[string]struct{}
}

// open connects to the server and lists its tools. It returns a link also with some errors, to be
// closed.
func (s *Server) open() (*link, *catalog, error) {
	if s.ctx.Err() != nil {
		return nil, nil, ErrClosed
	}
	l := &link{server: s, since: time.Now(), gone: make(chan struct{}), flights: map[string]*flight{}}
	l.ctx, l.cancel = context.WithCancelCause(s.ctx)
	within := s.config.ConnectTimeout
	if h, ok := s.config.Transport.(HTTP); ok && h.OAuth != nil {
		within = max(within, signInTimeout)
	}
	limit := time.AfterFunc(within, func() { l.cancel(fmt.Errorf("no connection within %v", within)) })
	defer limit.Stop()
	var err error
	if l.opened, err = s.config.Transport.open(l.ctx, &s.config.Limits); err != nil {
		l.cancel(err)
		return nil, nil, err
	}
	// The session lasts longer than the attempt, so the end of ctx is an event and not only a
	// deadline of the handshake.
	stop := context.AfterFunc(l.ctx, l.cut)
	client := mcp.NewClient(
		&mcp.Implementation{Name: s.config.Client.Name, Version: s.config.Client.Version},
		l.options(),
	)
	session, err := client.Connect(
		l.ctx, tap{l}, &mcp.ClientSessionOptions{ProtocolVersion: s.config.ProtocolVersion},
	)
	if err != nil {
		err = l.explain(err)
		stop()
		l.cut()
		l.cancel(err)
		return nil, nil, err
	}
	l.session = session
	go func() {
		err := session.Wait()
		l.mu.Lock()
		l.err = err
		l.mu.Unlock()
		close(l.gone)
	}()
	if s.config.LogLevel != "" && session.InitializeResult().Capabilities != nil && session.InitializeResult().Capabilities.Logging != nil {
		_ = session.SetLoggingLevel(l.ctx, &mcp.SetLoggingLevelParams{Level: mcp.LoggingLevel(s.config.LogLevel)})
	}
	cat, err := l.list(l.ctx)
	if err != nil {
		err = l.explain(err)
		l.cancel(err)
		return l, nil, err
	}
	return l, cat, nil
}

// options returns the client's options. The handlers belong to this connection.
func (l *link) options() *mcp.ClientOptions {
	o := &mcp.ClientOptions{
		Logger: slog.New(slog.DiscardHandler), // it would log what servers say
		Capabilities: &mcp.ClientCapabilities{
			Elicitation: &mcp.ElicitationCapabilities{
				Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
			},
		},
		ElicitationHandler:     l.elicit,
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { l.stale.Store(true) },
	}
	if l.server.config.Sampling != SamplingNever {
		o.CreateMessageHandler = l.sample
	}
	if !l.opened.ordered {
		o.ProgressNotificationHandler = func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { l.progress(r.Params) }
		o.LoggingMessageHandler = func(_ context.Context, r *mcp.LoggingMessageRequest) { l.log(r.Params) }
	}
	return o
}

// tap keeps the connection of a transport.
type tap struct{ link *link }

func (t tap) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.link.opened.Connect(ctx)
	if err != nil {
		return nil, err
	}
	t.link.mu.Lock()
	t.link.conn = conn
	t.link.mu.Unlock()
	if t.link.opened.ordered {
		return ordered{conn, t.link}, nil
	}
	return conn, nil
}

// ordered takes notice of notifications in the order of the wire: progress before the answer to its
// call.
type ordered struct {
	mcp.Connection
	link *link
}

func (o ordered) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := o.Connection.Read(ctx)
	if r, ok := msg.(*jsonrpc.Response); ok && err == nil {
		r.Result = verbatim(answerable(r.Result))
	}
	if r, ok := msg.(*jsonrpc.Request); ok && err == nil {
		r.Params = sound(r.Method, r.Params)
		switch r.Method {
		case "notifications/progress":
			var p mcp.ProgressNotificationParams
			if json.Unmarshal(r.Params, &p) == nil {
				o.link.progress(&p)
			}
		case "notifications/message":
			var p mcp.LoggingMessageParams
			if json.Unmarshal(r.Params, &p) == nil {
				o.link.log(&p)
			}
		}
	}
	return msg, err
}

// cut ends the connection at once. All calls on it fail.
func (l *link) cut() {
	l.mu.Lock()
	conn := l.conn
	l.mu.Unlock()
	if conn != nil {
		_ = conn.Close()
	}
	if l.opened.end != nil {
		l.opened.end()
	}
}

// close ends the connection, politely if the server answers soon, and waits for its end.
func (l *link) close() {
	l.closing.Do(func() {
		if l.session == nil {
			l.cut()
			return
		}
		polite := make(chan struct{})
		go func() {
			defer close(polite)
			_ = l.session.Close()
		}()
		select {
		case <-polite:
		case <-time.After(closeTimeout):
		}
		l.cancel(nil)
		l.cut()
		<-l.gone
		<-polite
	})
}

// wait waits until the connection has ended and returns why.
func (l *link) wait() error {
	<-l.gone
	return l.cause()
}

func (l *link) over() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}

// cause returns why the connection has ended.
func (l *link) cause() error {
	l.mu.Lock()
	err := l.err
	l.mu.Unlock()
	if err == nil {
		err = errors.New("the server closed the connection")
	}
	return l.explain(err)
}

// explain adds what is known about the end of the server.
func (l *link) explain(err error) error {
	known := answered(err) || errors.Is(err, errNoMessages)
	if cause := context.Cause(l.ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err, known = cause, true
	}
	if text := err.Error(); strings.Contains(text, "unsupported protocol version") {
		known = true
		err = fmt.Errorf("%w: this program knows %s", err, strings.Join(mcp.SupportedProtocolVersions(), ", "))
	}
	if l.opened == nil || errors.Is(err, ErrClosed) {
		return err
	}
	note := ""
	if l.opened.note != nil {
		note = l.opened.note(l.ctx) // first, because output ends before its process does
	}
	if l.opened.why != nil && !known { // otherwise the server has ended because we have left it
		if why := l.opened.why(); why != nil {
			err = why
		}
	}
	if note != "" {
		err = fmt.Errorf("%w; %s", err, note)
	}
	return err
}

// lost reports whether an error of a call means that the connection has ended.
func (l *link) lost(err error) bool {
	return l.over() || l.ctx.Err() != nil || errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(
		err, mcp.ErrSessionMissing,
	) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe)
}
