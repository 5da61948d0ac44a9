// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acp/unstable"
	"github.com/ponte-go/ponte/internal/acpview"
	"github.com/ponte-go/ponte/internal/boxmeta"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// Config configures a client. The zero value offers nothing to the agent and allows nothing, which
// many agents that bring their own tools can work with.
type Config struct {
	// Name and Version are what the client says it is.
	Name, Version string
	// Permission answers the agent's questions, and decides about what it does with the workspace
	// without asking. Nil answers no.
	Permission PermissionFunc
	// Elicitation answers the agent's forms, and opens its addresses. The agent is told that it may
	// ask if it is not nil.
	Elicitation ElicitationFunc
	// Workspace is the files and commands that are served to the agent, within its
	// [workspace.Features]. Nil serves none. A session may have another one, see [SessionConfig].
	// The client does not close it.
	Workspace workspace.Workspace
	// Trusted is for an agent of the program itself, which has asked the user about its work with
	// the workspace, or has decided by rules: it is not asked about again. If the workspace runs
	// commands in a sandbox, the agent is told, and may have them leave it.
	Trusted bool
	// Turns tells the agent that the client shows turns which it has not asked for with
	// [Session.Prompt]: see [Session.Queue] and [Session.Begun].
	Turns bool
	// TerminalLogin tells the agent that the user can log in by [Client.Login].
	TerminalLogin bool

	// StartTimeout is how long the agent may take to answer initialize; 0 means 30 s. CancelGrace
	// is how long it may take to end a turn that was cancelled, and to end itself; 0 means 5 s.
	StartTimeout, CancelGrace time.Duration
	// MaxState bounds the bytes of a session's content; 0 means 256 MiB. A turn that makes more of
	// it is cancelled, with [ErrLimit].
	MaxState int

	// OnProblem is called with everything that [Client.Problems] has, as it happens. It must be
	// quick.
	OnProblem func(error)
	// OnStderr is called with each line that the agent's process writes to its standard error, cut
	// at 400 bytes and without secrets.
	OnStderr func(line string)
	// Conn are the settings of the connection.
	Conn acp.ConnOptions
}

// Client is a connection with an agent.
type Client struct {
	config  Config
	conn    *acp.ClientConn
	process *process // nil if the client did not start it
	hello   *acp.InitializeResponse
	garbage lines
	reading chan struct{} // as many files are read at a time as it holds

	forks bool // the agent offers session/fork

	ctx    context.Context // until the client is closed
	cancel context.CancelCauseFunc
	served chan struct{}
	work   sync.WaitGroup // goroutines of turns and terminals
	once   sync.Once

	mu       sync.Mutex
	closed   bool
	sessions map[acp.SessionID]*Session
	opening  int // calls of session/new that have not been answered
	early    map[acp.SessionID][]*acp.SessionUpdate
	earlies  int // updates in early, and their bytes
	earlyLen int
	problems []error
	more     int
}

// maxReading bounds the files that are read for the agent at a time.
const maxReading = 32

// Start starts an agent, connects to it and initializes the connection. ctx bounds the start only.
// The process ends with the client, and with this process, however that ends. Its children do too.
func Start(ctx context.Context, command Command, config Config) (*Client, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	p, err := startProcess(command, grace(&config), config.OnStderr)
	if err != nil {
		return nil, &ProcessError{Command: command.String(), err: err}
	}
	return open(ctx, config, p, p.stdout, p.stdin)
}

// Connect initializes a connection with an agent that reads what is written to w, and whose answers
// are read from r. The client closes both if they are [io.Closer]s.
func Connect(ctx context.Context, r io.Reader, w io.Writer, config Config) (*Client, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	return open(ctx, config, nil, r, w)
}

func (c *Config) check() error {
	if c.StartTimeout < 0 || c.CancelGrace < 0 || c.MaxState < 0 {
		const what = "StartTimeout, CancelGrace and MaxState must not be negative"
		return errors.New("acpclient: config: " + what)
	}
	return nil
}

func grace(c *Config) time.Duration { return cmp.Or(c.CancelGrace, 5*time.Second) }

func open(ctx context.Context, config Config, p *process, r io.Reader, w io.Writer) (*Client, error) {
	config.StartTimeout = cmp.Or(config.StartTimeout, 30*time.Second)
	config.CancelGrace = grace(&config)
	config.MaxState = cmp.Or(config.MaxState, 256<<20)
	config.Name, config.Version = cmp.Or(config.Name, "ponte"), cmp.Or(config.Version, "0")
	c := &Client{
		config: config, process: p, served: make(chan struct{}), reading: make(chan struct{}, maxReading), sessions: map[acp.SessionID]*Session{},
		early: map[acp.SessionID][]*acp.SessionUpdate{},
	}
	if p != nil {
		c.garbage.secrets = p.last.secrets
	}
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	opts := config.Conn
	opts.Trace, opts.Tap = c.trace(opts.Trace), c.tap(opts.Tap)
	c.conn = acp.NewClientConn(r, w, func(*acp.ClientConn) acp.Client { return &handler{client: c} }, &opts)
	go func() {
		defer close(c.served)
		_ = c.conn.Serve(c.ctx)
		c.disconnected()
	}()
	if p != nil {
		c.work.Go(c.watch)
	}
	if err := c.initialize(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Client) initialize(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.config.StartTimeout,
		fmt.Errorf("%w initialize in %v; is it an ACP agent?", ErrNoAnswer, c.config.StartTimeout))
	defer cancel()
	hello := new(acp.InitializeResponse)
	var more unstable.InitializeResponse
	err := unstable.Call(ctx, c.conn, acp.MethodInitialize, &acp.InitializeRequest{
		ProtocolVersion: acp.Version, ClientCapabilities: c.capabilities(),
		ClientInfo: &acp.Implementation{Name: c.config.Name, Version: c.config.Version},
	}, unstable.InitializeRequest{}, hello, &more)
	if err != nil {
		return c.failed(ctx, acp.MethodInitialize, err)
	}
	if hello.ProtocolVersion != acp.Version {
		return &ProtocolError{Method: acp.MethodInitialize, Problem: fmt.Sprintf(
			"it speaks version %d of the protocol, and this client version %d", hello.ProtocolVersion, acp.Version)}
	}
	c.hello = hello
	if can := more.AgentCapabilities; can != nil && can.SessionCapabilities != nil {
		c.forks = can.SessionCapabilities.Fork != nil
	}
	return nil
}

func (c *Client) capabilities() acp.ClientCapabilities {
	caps := acp.ClientCapabilities{
		Auth: acp.AuthCapabilities{Terminal: c.config.TerminalLogin && c.process != nil},
		Session: &acp.ClientSessionCapabilities{
			Compaction: &acp.CompactionCapabilities{}, Notices: &acp.NoticeCapabilities{},
			ConfigOptions: &acp.SessionConfigOptionsCapabilities{Boolean: &acp.BooleanConfigOptionCapabilities{}},
		},
	}
	if c.config.Elicitation != nil {
		caps.Elicitation = &acp.ElicitationCapabilities{Form: &acp.ElicitationFormCapabilities{}, URL: &acp.ElicitationURLCapabilities{}}
	}
	if w := c.config.Workspace; w != nil {
		f := w.Features()
		caps.FS = acp.FileSystemCapabilities{ReadTextFile: f.Read, WriteTextFile: f.Write}
		caps.Terminal = f.Commands
		if c.config.Trusted && f.Sandboxed {
			caps.Meta = boxmeta.Announce(f.Unsandboxed)
		}
	}
	if c.config.Turns {
		meta := maps.Clone(caps.Meta)
		if meta == nil {
			meta = map[string]json.RawMessage{}
		}
		meta[acpview.MetaTurns] = json.RawMessage("true")
		caps.Meta = meta
	}
	return caps
}

// Agent returns what the agent has said of itself in its answer to initialize. It must not be
// changed.
func (c *Client) Agent() *acp.InitializeResponse { return c.hello }

// name is the agent's, empty if it has not told it.
func (c *Client) name() string {
	if c.hello == nil || c.hello.AgentInfo == nil {
		return ""
	}
	return c.hello.AgentInfo.Name
}

func (c *Client) unsupported(what string) error {
	return &UnsupportedError{What: what, Agent: c.name()}
}

// Conn returns the connection, for methods that this package does not have, such as extensions.
func (c *Client) Conn() *acp.ClientConn { return c.conn }

// Done is closed when the connection has ended, by Close or by the agent.
func (c *Client) Done() <-chan struct{} { return c.served }

// Err returns nil while the connection is open. Afterwards it is [ErrClosed] or describes how the
// agent ended.
func (c *Client) Err() error {
	if c.conn.Err() == nil {
		return nil
	}
	return c.lost("", c.conn.Err())
}

// Close ends all turns and terminals, the connection, and the agent's process with everything that
// it has started. It waits until nothing is left, for at most a few seconds, and may be called
// several times. It always returns nil.
func (c *Client) Close() error {
	c.once.Do(func() {
		c.mu.Lock()
		c.closed = true
		c.mu.Unlock()
		_ = c.conn.Close()
		c.cancel(ErrClosed)
		if c.process != nil {
			c.process.close()
		}
		<-c.served
		c.work.Wait()
	})
	<-c.served
	return nil
}

// disconnected ends what was open when the connection ended.
func (c *Client) disconnected() {
	c.cancel(ErrClosed)
	for _, s := range c.allSessions() {
		s.end(nil)
	}
}

// watch ends the connection soon after the process has ended, although one of its children may hold
// the output open.
func (c *Client) watch() {
	select {
	case <-c.process.guarded.Exited():
	case <-c.ctx.Done():
		return
	}
	select {
	case <-time.After(500 * time.Millisecond):
		_ = c.conn.Close()
	case <-c.served:
	}
}

// lost returns the reason why a call has no answer.
func (c *Client) lost(method string, err error) error {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	noAnswer := errors.Is(err, ErrNoAnswer)
	switch {
	case closed && !noAnswer:
		return fmt.Errorf("%w: %s", ErrClosed, cmp.Or(method, "connection"))
	case c.process == nil && noAnswer:
		return &ProtocolError{Method: method, Problem: oneLine(err.Error()) + c.garbageText(), err: err}
	case c.process == nil:
		return &ProtocolError{Method: method, Problem: "the connection has ended" + c.garbageText(), err: err}
	}
	e := &ProcessError{Command: c.process.command.String(), Method: method, Garbage: c.garbage.all(), err: err}
	patience := time.Second
	if noAnswer {
		patience = 0
	}
	if exit, ok := c.process.exit(patience); ok {
		e.Ended, e.ExitCode, e.Signal = true, exit.Code, exit.Signal
	}
	e.Stderr = c.process.last.all()
	return e
}

func (c *Client) garbageText() string {
	all := c.garbage.all()
	if len(all) == 0 {
		return ""
	}
	return "; it printed " + all[len(all)-1]
}

// maxProblems is how many problems are kept.
const maxProblems = 100

// Problems returns what the agent did that it should not have, and that could be overlooked: the
// first hundred of it.
func (c *Client) Problems() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := append([]error(nil), c.problems...)
	if c.more > 0 {
		all = append(all, fmt.Errorf("acpclient: and %d more", c.more))
	}
	return all
}

func (c *Client) problem(method, format string, args ...any) {
	c.report(&ProtocolError{Method: method, Problem: fmt.Sprintf(format, args...)})
}

func (c *Client) report(err error) {
	c.mu.Lock()
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, err)
	} else {
		c.more++
	}
	c.mu.Unlock()
	if c.config.OnProblem != nil {
		c.config.OnProblem(err)
	}
}

// trace reports messages that were dropped or refused.
func (c *Client) trace(next func(acp.Event)) func(acp.Event) {
	return func(e acp.Event) {
		if e.Problem != "" && e.Direction == acp.Received && c.conn.Err() == nil {
			c.problem(e.Method, "%s", e.Problem)
		}
		if next != nil {
			next(e)
		}
	}
}

// tap keeps lines that are not messages.
func (c *Client) tap(next func(acp.Direction, []byte)) func(acp.Direction, []byte) {
	return func(d acp.Direction, line []byte) {
		if d == acp.Received {
			if text := bytes.TrimSpace(line); len(text) > 0 && text[0] != '{' && text[0] != '[' {
				c.garbage.add(text)
			}
		}
		if next != nil {
			next(d, line)
		}
	}
}
