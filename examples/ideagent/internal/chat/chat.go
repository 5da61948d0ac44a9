// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// Config says whom to talk to, about what, and where.
type Config struct {
	// Agent is the command that starts the agent.
	Agent []string
	// Dir is the session's directory, absolute.
	Dir string
	// Prompt is the one thing to ask. Empty means to ask the user for prompts until the input ends.
	Prompt string
	// AllowAll allows whatever the agent asks permission for.
	AllowAll bool
	// Verbose shows what the agent writes to its standard error.
	Verbose bool
	// Version is what this client says it is.
	Version string

	// In is where prompts and answers come from; Interactive says that a person is there.
	In          io.Reader
	Interactive bool
	// Out and Err are where everything goes, and where errors go.
	Out, Err io.Writer
	// TTY says that Out is a terminal, on which a line may be written again; Color that it may be coloured.
	TTY, Color bool
	// Interrupts receives a value for each Ctrl-C.
	Interrupts <-chan struct{}
}

// Exit codes.
const (
	ExitOK          = 0
	ExitError       = 1 // an error, or a turn that the agent did not end by itself
	ExitInterrupted = 130
)

// errQuit means that the user has had enough.
var errQuit = errors.New("interrupted")

// Run holds the conversation and returns the exit code. It ends early when ctx does. Errors have been shown then, and
// nothing of what was started is left.
func Run(ctx context.Context, config Config) int {
	err := run(ctx, &config)
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, errQuit), ctx.Err() != nil:
		return ExitInterrupted
	}
	fmt.Fprintf(config.Err, "ideagent: %s\n", explain(err))
	return ExitError
}

// explain returns an error as users like it: on one line, without the name of a package in front.
func explain(err error) string {
	text := oneLine(err.Error())
	for _, name := range []string{"guard: ", "workspace: ", "acp: "} {
		text = strings.TrimPrefix(text, name)
	}
	return text
}

func run(ctx context.Context, config *Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dir, err := local.Open(local.Config{Roots: []string{config.Dir}, NoCommands: true})
	if err != nil {
		return err
	}
	defer dir.Close()
	s := newScreen(config.Out, config.TTY, config.Color, config.Dir)
	p, err := startProcess(config.Agent, config.Dir, func(line string) {
		if config.Verbose {
			s.note("agent: " + line)
		}
	})
	if err != nil {
		return fmt.Errorf("%w (agent command: %s)", err, strings.Join(config.Agent, " "))
	}
	defer p.close()
	in := newInput(config.In)
	t := &terminals{dir: config.Dir, screen: s}
	defer t.releaseAll()

	c := &client{
		config: config, screen: s, files: dir, terminals: t,
		permissions: permissions{screen: s, input: in, allowAll: config.AllowAll, interactive: config.Interactive},
	}
	conn := acp.NewClientConn(p.stdout, p.stdin, func(*acp.ClientConn) acp.Client { return c }, nil)
	served := make(chan error, 1)
	go func() { served <- conn.Serve(ctx) }()
	defer func() {
		conn.Close()
		<-served
	}()
	talk := &talk{config: config, conn: conn, client: c, screen: s, input: in}
	if err := talk.hold(ctx); err != nil {
		if errors.Is(err, acp.ErrClosed) && ctx.Err() == nil {
			return p.died()
		}
		return err
	}
	return nil
}

// talk is a conversation.
type talk struct {
	config  *Config
	conn    *acp.ClientConn
	client  *client
	screen  *screen
	input   *input
	session acp.SessionID
}

// patience is how long the agent may take to answer initialize and session/new.
const patience = 30 * time.Second

func (t *talk) hold(ctx context.Context) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	if t.config.Prompt != "" {
		return t.turn(ctx, t.config.Prompt)
	}
	for {
		if t.config.Interactive {
			t.screen.ask(prompt)
		}
		select {
		case line, ok := <-t.input.read():
			switch {
			case !ok:
				t.screen.end()
				return nil
			case strings.TrimSpace(line) == "":
				continue
			}
			t.screen.answered()
			if err := t.turn(ctx, line); err != nil {
				if errors.Is(err, acp.ErrClosed) || errors.Is(err, errQuit) || ctx.Err() != nil {
					return err
				}
				t.screen.fail(explain(err))
			}
		case <-t.config.Interrupts:
			t.screen.end()
			return errQuit
		case <-t.conn.Done():
			return t.conn.Err()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// begin gets to know the agent and opens a session.
func (t *talk) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the agent has not answered for %v; is it an ACP agent?", patience))
	defer cancel()
	title := "Ponte chat"
	return t.interruptible(ctx, func(ctx context.Context) error {
		hello, err := t.conn.Initialize(ctx, &acp.InitializeRequest{
			ProtocolVersion: acp.Version,
			ClientCapabilities: acp.ClientCapabilities{
				FS: acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}, Terminal: true,
			},
			ClientInfo: &acp.Implementation{Name: "ideagent-chat", Title: &title, Version: t.config.Version},
		})
		if err != nil {
			return err
		}
		if hello.ProtocolVersion != acp.Version {
			return fmt.Errorf("the agent speaks version %d of the protocol, this client version %d", hello.ProtocolVersion, acp.Version)
		}
		session, err := t.conn.NewSession(ctx, &acp.NewSessionRequest{Cwd: t.config.Dir, MCPServers: []acp.MCPServer{}})
		if err != nil {
			if errors.Is(err, acp.ErrAuthRequired) {
				return fmt.Errorf("the agent wants you to log in first: %w", err)
			}
			return err
		}
		t.session = session.SessionID
		if t.config.Interactive && t.config.Prompt == "" && hello.AgentInfo != nil {
			t.screen.note(fmt.Sprintf("%s %s in %s. Ctrl-C cancels a turn, Ctrl-D ends.", hello.AgentInfo.Name, hello.AgentInfo.Version, t.config.Dir))
		}
		return nil
	})
}

// interruptible calls f and ends it at the first interrupt.
func (t *talk) interruptible(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	for {
		select {
		case err := <-done:
			return err
		case <-t.config.Interrupts:
			cancel(errQuit)
		}
	}
}

// turn asks one thing, and shows the answer until the turn has ended. The first interrupt cancels the turn, the second one
// ends the conversation.
func (t *talk) turn(ctx context.Context, request string) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	turn := t.client.beginTurn()
	defer t.client.endTurn()
	type result struct {
		answer *acp.PromptResponse
		err    error
	}
	done := make(chan result, 1)
	go func() {
		answer, err := t.conn.Prompt(ctx, &acp.PromptRequest{SessionID: t.session, Prompt: []acp.ContentBlock{acp.TextBlock(request)}})
		done <- result{answer, err}
	}()
	cancelled := false
	for {
		select {
		case r := <-done:
			t.screen.end()
			if r.err != nil {
				return r.err
			}
			return t.stopped(r.answer.StopReason)
		case <-t.config.Interrupts:
			if cancelled {
				stop(errQuit)
				continue
			}
			cancelled = true
			turn.cancel()
			if err := t.conn.Cancel(ctx, &acp.CancelNotification{SessionID: t.session}); err != nil {
				stop(err)
			}
			t.screen.note("Cancelling. Ctrl-C again quits.")
		}
	}
}

// stopped says how a turn has ended, unless that is as it should be.
func (t *talk) stopped(why acp.StopReason) error {
	switch why {
	case acp.StopReasonEndTurn:
		return nil
	case acp.StopReasonCancelled:
		t.screen.note("Cancelled.")
		if t.config.Prompt != "" {
			return errQuit
		}
		return nil
	case acp.StopReasonMaxTokens:
		return errors.New("the model has reached its limit of tokens; ask for less at a time")
	case acp.StopReasonMaxTurnRequests:
		return errors.New("the agent has reached its limit of requests in a turn; ask it to go on")
	case acp.StopReasonRefusal:
		return errors.New("the agent refuses to answer that")
	}
	return fmt.Errorf("the turn has ended for a reason that this client does not know: %s", why)
}
