// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Config describes a server and how to use it. Name and Transport are required.
type Config struct {
	// Name identifies the server to people and models, and is the prefix of its tools' names. It
	// has 1 to 32 letters, digits and characters of "_-".
	Name string
	// Transport connects to the server: [Command], [HTTP], [SSE] or [Func].
	Transport Transport
	// Unprefixed offers the tools under the server's names for them. Otherwise they begin with Name
	// and an underscore, because servers use names such as "search" that other toolsets have too.
	Unprefixed bool
	// Eager connects when the server is made. Otherwise the first run does.
	Eager bool

	// ConnectTimeout limits an attempt to connect, including the first list of tools. 0 means 30 s.
	// With [HTTP.OAuth] it is at least 5 minutes, which gives a user time to sign in.
	ConnectTimeout time.Duration
	// Wait limits how long a run waits for a server that has not been connected yet, counted from
	// the start of the attempt. The run then begins without the server's tools and gets them in the
	// step after they are known. 0 means 10 s, a negative value means that runs never wait.
	Wait time.Duration
	// CallTimeout limits each call of a tool. 0 means the agent's timeout.
	CallTimeout time.Duration
	// Limits bounds what is taken from the server. A zero field has the default of [Limits].
	Limits Limits
	// Sampling decides whether the server may use the run's model. The default is [SamplingAsk].
	Sampling Sampling
	// LogLevel asks the server for log messages from this level on ("debug" to "emergency"). If
	// empty, the server decides.
	LogLevel string
	// ProtocolVersion is the version to offer. If empty, it is the newest that the SDK knows.
	ProtocolVersion string
	// Client is how this program introduces itself to the server. Its default name is "ponte".
	Client ClientInfo

	// Logger receives what happens to the connection. It never receives arguments, results or
	// secrets. Nil means slog.Default.
	Logger *slog.Logger
	// OnChange is called after each change of [Server.Status], one call at a time. It must be quick
	// and must not call the server.
	OnChange func(Status)
}

// ClientInfo identifies a program to servers.
type ClientInfo struct {
	Name, Version string // for people and logs
}

// Sampling decides about requests of a server to the run's model.
type Sampling string

const (
	// SamplingAsk asks the person of the run before each request. Without a person, requests are
	// refused.
	SamplingAsk Sampling = ""
	// SamplingAllow lets the server use the model within the run's limits.
	SamplingAllow Sampling = "allow"
	// SamplingNever refuses all requests.
	SamplingNever Sampling = "never"
)

var (
	// ErrClosed is wrapped by errors about a server after [Server.Close].
	ErrClosed = errors.New("the server is closed")
	// ErrUnavailable is wrapped by errors about a server that cannot be reached now.
	ErrUnavailable = errors.New("the server is not available")
)

const (
	defaultConnectTimeout = 30 * time.Second
	defaultWait           = 10 * time.Second
	// signInTimeout is the minimum time that a user has to sign in.
	signInTimeout = 5 * time.Minute
	// closeTimeout bounds how long a server may take to end its connection politely.
	closeTimeout = time.Second
	// firstDelay and maxDelay are the delays between attempts to connect. A connection that has
	// lasted for settled starts over.
	firstDelay = 500 * time.Millisecond
	maxDelay   = 30 * time.Second
	settled    = 30 * time.Second
	// patience is how long a call waits for the delay of an attempt to connect.
	patience = 3 * time.Second
)

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// Server is a connection to an MCP server. One Server is shared by all runs that use it. It
// connects when it is first needed, again after the connection has been lost, and waits longer
// after each failure (0.5 s to 30 s). Its methods may be called from several goroutines.
type Server struct {
	config *Config
	logger *slog.Logger
	ctx    context.Context // ends with the server
	cancel context.CancelCauseFunc
	work   sync.WaitGroup
	// listing is held while tools are listed.
	listing chan struct{}
	notify  sync.Mutex // orders OnChange

	mu       sync.Mutex
	closed   bool
	link     *link    // nil while there is no connection
	attempt  *attempt // nil unless one is in progress
	failures int      // since the last connection that lasted
	retryAt  time.Time
	err      error    // of the last attempt, or what ended the last connection
	known    *catalog // the tools as last listed, or nil
	// yielded has notices about tools that gave way to others of their name since then.
	yielded map[string]Problem
	// current is the listing that is made, and pending the next one.
	current, pending *refresh
}

// attempt is an attempt to connect that runs wait for.
type attempt struct {
	begun time.Time // when the attempt connects, after the delay
	first bool      // no attempt has failed before
	done  chan struct{}
	link  *link
	err   error
}

// New returns a server. It does not wait for a connection.
func New(config Config) (*Server, error) {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("mcptoolset: config: "+format, args...))
	}
	if !validName.MatchString(config.Name) {
		bad("Name %q must have 1 to 32 letters, digits, '_' or '-'", config.Name)
	}
	if config.Transport == nil {
		bad("server %q: Transport is nil: set a Command, HTTP, SSE or Func", config.Name)
	} else if err := config.Transport.check(); err != nil {
		bad("server %q: %w", config.Name, err)
	}
	if config.ConnectTimeout < 0 || config.CallTimeout < 0 {
		bad("server %q: ConnectTimeout and CallTimeout must not be negative", config.Name)
	}
	if field := config.Limits.negative(); field != "" {
		bad("server %q: Limits.%s must not be negative", config.Name, field)
	}
	if v := config.ProtocolVersion; v != "" && !slices.Contains(mcp.SupportedProtocolVersions(), v) {
		bad("server %q: ProtocolVersion %q is not one of %v", config.Name, v, mcp.SupportedProtocolVersions())
	}
	switch config.Sampling {
	case SamplingAsk, SamplingAllow, SamplingNever:
	default:
		bad("server %q: Sampling %q is not known", config.Name, string(config.Sampling))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, defaultConnectTimeout)
	config.Wait = cmp.Or(config.Wait, defaultWait)
	config.Limits = config.Limits.withDefaults()
	config.Client.Name = cmp.Or(config.Client.Name, "ponte")
	config.Client.Version = cmp.Or(config.Client.Version, "unknown")
	s := &Server{config: &config, logger: cmp.Or(config.Logger, slog.Default()), listing: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	if config.Eager {
		s.Connect()
	}
	return s, nil
}

// Must returns the server, or panics if there is an error. It is for servers whose configuration is
// constant.
func Must(s *Server, err error) *Server {
	if err != nil {
		panic(err)
	}
	return s
}

// Name returns the server's name.
func (s *Server) Name() string { return s.config.Name }

// String returns the server's name and its transport, without secrets.
func (s *Server) String() string {
	return fmt.Sprintf("mcptoolset.Server(%s at %s)", s.config.Name, s.config.Transport)
}

// Format implements [fmt.Formatter]: every verb prints the result of String.
func (s *Server) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue implements [slog.LogValuer].
func (s *Server) LogValue() slog.Value { return slog.StringValue(s.String()) }

func (s *Server) prefix() string {
	if s.config.Unprefixed {
		return ""
	}
	return s.config.Name + "_"
}

// Connect begins to connect if the server is not connected, and returns at once. [Server.Status]
// tells what came of it.
func (s *Server) Connect() {
	s.mu.Lock()
	s.begin()
	s.mu.Unlock()
	s.changed()
}

// begin starts an attempt unless there is a connection or an attempt already. The caller holds mu.
// It returns nil if there is a connection, or if the server is closed.
func (s *Server) begin() *attempt {
	if s.closed || s.link != nil {
		return nil
	}
	if s.attempt == nil {
		delay := max(0, time.Until(s.retryAt))
		a := &attempt{begun: time.Now().Add(delay), first: s.failures == 0, done: make(chan struct{})}
		s.attempt = a
		s.work.Go(func() { s.try(a, delay) })
	}
	return s.attempt
}

// try makes one attempt to connect.
func (s *Server) try(a *attempt, delay time.Duration) {
	select {
	case <-time.After(delay):
	case <-s.ctx.Done():
	}
	l, cat, err := s.open()
	s.mu.Lock()
	if s.closed && err == nil {
		err = ErrClosed
	}
	a.link, a.err, s.attempt = l, err, nil
	if err == nil {
		s.link, s.err = l, nil
		s.adopt(cat)
	} else {
		s.failed(err)
		a.link = nil
	}
	s.mu.Unlock()
	if err != nil {
		if l != nil {
			l.close()
		}
		if !errors.Is(err, ErrClosed) {
			s.logger.Warn("mcptoolset: server cannot be reached", "server", s.config.Name, "error", s.plain(err))
		}
	} else {
		s.logger.Info("mcptoolset: server connected", "server", s.config.Name, "tools", len(cat.tools))
		for _, p := range cat.problems {
			s.logger.Warn("mcptoolset: problem with a tool", "server", s.config.Name, "tool", p.Tool, "error", p.Err)
		}
		s.work.Go(func() { s.watch(l) })
	}
	close(a.done)
	s.changed()
}

// failed notes a failure and sets the time of the next attempt. The caller holds mu.
func (s *Server) failed(err error) {
	s.err = err
	s.failures++
	delay := maxDelay
	if n := s.failures - 1; n < 6 {
		delay = firstDelay << n
	}
	s.retryAt = time.Now().Add(delay)
}

// watch waits for the end of a connection.
func (s *Server) watch(l *link) {
	err := l.wait()
	l.close()
	s.mu.Lock()
	if s.link == l {
		s.link = nil
		if time.Since(l.since) >= settled {
			s.failures = 0
		}
		s.failed(err)
	}
	closed := s.closed
	s.mu.Unlock()
	if !closed {
		s.logger.Warn("mcptoolset: connection lost", "server", s.config.Name, "error", s.plain(err))
		s.changed()
	}
}

// ready returns the connection, and connects if necessary. It waits until ctx ends, but not for an
// attempt that is far away.
func (s *Server) ready(ctx context.Context) (*link, error) {
	for {
		s.mu.Lock()
		l, a, closed := s.link, s.begin(), s.closed
		s.mu.Unlock()
		switch {
		case closed:
			return nil, ErrClosed
		case l != nil && !l.over():
			return l, nil
		case l != nil: // it has just ended
			s.forget(l)
			continue
		}
		if time.Until(a.begun) > patience {
			s.mu.Lock()
			err := s.err
			s.mu.Unlock()
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		select {
		case <-a.done:
			if a.err != nil {
				return nil, fmt.Errorf("%w: %w", ErrUnavailable, a.err)
			}
			return a.link, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// forget drops a connection that has ended, if watch has not done so yet.
func (s *Server) forget(l *link) {
	cause := l.cause() // may wait for the server's last words
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == l {
		s.link = nil
		s.failed(cause)
	}
}

// Close ends the connection and the server's process, and waits for that. A server that does not
// end by itself is stopped after a second. Runs that still use the server get errors that wrap
// [ErrClosed]. Close may be called several times.
func (s *Server) Close() error {
	s.mu.Lock()
	already := s.closed
	s.closed = true
	l := s.link
	s.mu.Unlock()
	if l != nil {
		l.close()
	}
	s.cancel(ErrClosed)
	s.work.Wait()
	if !already {
		s.changed()
	}
	return nil
}
