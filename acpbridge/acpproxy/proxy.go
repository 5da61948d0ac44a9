// SPDX-License-Identifier: Apache-2.0

package acpproxy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/internal/hide"
)

// Config configures a proxy. The zero value passes everything on.
type Config struct {
	// Record receives a recording, one line per message, before the message is passed on. Secrets
	// are taken out: the values of Secrets, of this process's environment variables that look like
	// secrets, of variables and headers in messages, and of members such as "apiKey". What people
	// and agents say and what files hold stays in it. If writing fails, the recording ends, and the
	// session continues.
	Record io.Writer
	// Secrets are more values to take out of the recording. Values of fewer than 6 bytes are
	// ignored.
	Secrets []string
	// Policy decides about the agent's requests. Nil passes them on.
	Policy Policy
	// MCPServers are added to each session that the editor opens, loads, resumes or forks. A server
	// over HTTP is left out if the agent does not support that. A server whose name the editor uses
	// already gets a number.
	MCPServers []acp.MCPServer
	// Log gets a line for each message, at [slog.LevelDebug], and one for each decision of the
	// policy, at [slog.LevelInfo]. It gets no content of messages. Nil logs nothing.
	Log *slog.Logger
	// OnProblem is called with what the proxy could not do, such as to record or to add a server.
	// It must be quick, and safe for concurrent use.
	OnProblem func(error)
	// MaxLine is the longest message, in bytes; 0 means 64 MiB.
	MaxLine int
	// Grace is how long the agent may run after the editor has ended, and the editor may take to
	// read what is left after the agent has; 0 means 5 s.
	Grace time.Duration
}

// ErrAgentEnded is the error of [Serve] if the agent has ended before the editor.
var ErrAgentEnded = errors.New("acpproxy: the agent has ended")

// proxy is a running proxy.
type proxy struct {
	config            Config
	ctx               context.Context
	toAgent, toEditor *queue
	record            *recorder
	policy            *enforcer

	mu       sync.Mutex
	asked    map[acp.RequestID]string // requests of the editor that are open, with their methods
	overHTTP bool                     // the agent supports MCP servers over HTTP
}

// complete reports numbers out of range, and fills in the default of Grace.
func (c *Config) complete() error {
	if c.MaxLine < 0 || c.Grace < 0 {
		return errors.New("acpproxy: config: MaxLine and Grace must not be negative")
	}
	c.Grace = cmp.Or(c.Grace, 5*time.Second)
	return nil
}

// maxAsked bounds the open requests that the proxy would answer itself.
const maxAsked = 10_000

// Serve carries messages between an editor, which writes to fromEditor and reads toEditor, and an
// agent, which reads toAgent and writes to fromAgent. It returns nil when the editor has ended and
// the agent after it, [ErrAgentEnded] if the agent ended first, ctx's cause, or the error of a
// stream. Streams that are [io.Closer]s are closed.
func Serve(ctx context.Context, fromEditor io.Reader, toEditor io.Writer, fromAgent io.Reader, toAgent io.Writer, config Config) error {
	if err := config.complete(); err != nil {
		return err
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	p := &proxy{config: config, ctx: ctx, toAgent: newQueue(toAgent), toEditor: newQueue(toEditor), asked: map[acp.RequestID]string{}}
	if config.Record != nil {
		p.record = newRecorder(config.Record, config.Secrets)
	}
	if config.Policy != nil {
		p.policy = &enforcer{policy: config.Policy}
	}
	editor, agent := make(chan error, 1), make(chan error, 1)
	go func() { editor <- p.pump(fromEditor, p.toAgent, FromClient, p.fromEditor) }()
	go func() { agent <- p.pump(fromAgent, p.toEditor, FromAgent, p.fromAgent) }()
	err := p.wait(ctx, editor, agent)
	for _, stream := range []any{fromEditor, fromAgent} {
		if c, ok := stream.(io.Closer); ok {
			_ = c.Close()
		}
	}
	p.toAgent.abort()
	p.toEditor.abort()
	return err
}

// wait waits for the ends of both sides.
func (p *proxy) wait(ctx context.Context, editor, agent <-chan error) error {
	select {
	case err := <-agent:
		if p.toEditor.failure() != nil {
			return p.editorGone(ctx, editor)
		}
		return p.agentEnded(ctx, err)
	case err := <-editor:
		if err != nil { // the agent does not read any more: it says what it has to say, and ends
			select {
			case err := <-agent:
				return p.agentEnded(ctx, err)
			case <-time.After(p.config.Grace):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			return err
		}
	case <-p.toEditor.done:
		return p.editorGone(ctx, editor)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	// The editor has ended. The agent may finish.
	grace := time.After(p.config.Grace)
	p.toAgent.finish()
	select {
	case <-agent:
		p.toEditor.finish()
		select {
		case <-p.toEditor.done:
		case <-grace:
		case <-ctx.Done():
		}
	case <-grace:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// editorGone returns why the editor has stopped reading.
func (p *proxy) editorGone(ctx context.Context, editor <-chan error) error {
	select {
	case <-editor: // it has gone in both directions, as editors do
		return nil
	case <-time.After(100 * time.Millisecond):
	case <-ctx.Done():
	}
	return fmt.Errorf("acpproxy: write to the editor: %w", p.toEditor.failure())
}

// agentEnded answers what the agent will not answer any more.
func (p *proxy) agentEnded(ctx context.Context, err error) error {
	p.mu.Lock()
	asked := p.asked
	p.asked = nil
	p.mu.Unlock()
	for id, method := range asked {
		p.answer(p.toEditor, FromAgent, id, nil, acp.Errorf(acp.CodeInternal, "%s: the agent has ended", method))
	}
	p.toEditor.finish()
	select {
	case <-p.toEditor.done:
	case <-time.After(p.config.Grace):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err == nil {
		err = ErrAgentEnded
	}
	return err
}

// pump carries the lines of one direction. handle returns the line to pass on, or nil. The error is
// nil at the end of the stream, and otherwise a stream's error.
func (p *proxy) pump(from io.Reader, to *queue, who Side, handle func(line []byte, h *acp.Header) []byte) error {
	lines := acp.NewLineReader(from, p.config.MaxLine)
	for {
		line, err := lines.Next()
		if long, ok := errors.AsType[*acp.LongLineError](err); ok {
			p.tooLong(who, long)
			continue
		}
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) || p.ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("acpproxy: read from the %s: %w", who.name(), err)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			h := acp.ParseHeader(line)
			p.config.Log.Debug("acp message", "from", string(who), "kind", h.Kind.String(), "method", h.Method, "id", h.ID.String(), "size", len(line))
			if line = handle(line, &h); line == nil {
				continue
			}
			p.keep(who, line)
		}
		if err := to.send(line); err != nil {
			return fmt.Errorf("acpproxy: pass on a message of the %s: %w", who.name(), err)
		}
	}
}

// keep records a line.
func (p *proxy) keep(who Side, line []byte) {
	if p.record == nil {
		return
	}
	if err := p.record.add(who, line); err != nil {
		p.problem(fmt.Errorf("acpproxy: the recording has ended: %w", err))
	}
}

func (p *proxy) problem(err error) {
	p.config.Log.Warn("acp proxy", "problem", err.Error())
	if p.config.OnProblem != nil {
		p.config.OnProblem(err)
	}
}

// answer answers a request in the place of who it was sent to.
func (p *proxy) answer(to *queue, who Side, id acp.RequestID, result json.RawMessage, failure *acp.Error) {
	line := acp.ResponseLine(id, result, failure)
	p.keep(who, line)
	if err := to.inject(line); err != nil {
		p.problem(fmt.Errorf("acpproxy: answer in the place of the %s: %w", who.name(), err))
	}
}

// tooLong answers a message that was skipped, or fails the request that waits for it.
func (p *proxy) tooLong(who Side, long *acp.LongLineError) {
	p.problem(fmt.Errorf("acpproxy: from the %s: %w", who.name(), long))
	back, forth, other := p.toEditor, p.toAgent, FromAgent
	if who == FromAgent {
		back, forth, other = forth, back, FromClient
	}
	failure := acp.Errorf(acp.CodeInvalidRequest, "the message is longer than %d bytes", long.Limit)
	switch {
	case long.ID.IsNull():
	case long.Kind == acp.KindRequest:
		p.answer(back, other, long.ID, nil, failure)
	case long.Kind == acp.KindResponse:
		p.answered(who, long.ID)
		p.answer(forth, who, long.ID, nil, failure)
	}
}

// fromEditor handles what the editor says.
func (p *proxy) fromEditor(line []byte, h *acp.Header) []byte {
	if h.Kind != acp.KindRequest {
		return line
	}
	p.mu.Lock()
	if p.asked != nil && len(p.asked) < maxAsked && len(h.ID.String()) < 256 {
		p.asked[h.ID] = h.Method
	}
	p.mu.Unlock()
	switch h.Method {
	case acp.MethodNewSession, acp.MethodLoadSession, acp.MethodResumeSession, "session/fork":
		return p.addServers(line)
	}
	return line
}

// answered notes that a request of the editor has been answered, and returns its method.
func (p *proxy) answered(who Side, id acp.RequestID) string {
	if who != FromAgent {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	method := p.asked[id]
	delete(p.asked, id)
	return method
}

// fromAgent handles what the agent says.
func (p *proxy) fromAgent(line []byte, h *acp.Header) []byte {
	if h.Kind == acp.KindResponse || h.Kind == acp.KindError {
		if p.answered(FromAgent, h.ID) == acp.MethodInitialize && h.Kind == acp.KindResponse {
			var hello acp.InitializeResponse
			if acp.Unmarshal(h.Result, &hello) == nil {
				p.mu.Lock()
				p.overHTTP = hello.AgentCapabilities.MCPCapabilities.HTTP
				p.mu.Unlock()
			}
		}
	}
	if p.policy == nil {
		return line
	}
	return p.enforce(line, h)
}

// Format implements [fmt.Formatter]. It hides Secrets.
func (c Config) Format(f fmt.State, verb rune) { hide.Format(f, verb, c.shown()) }

type shownConfig Config

func (c Config) shown() shownConfig {
	c.Secrets = hide.Texts(c.Secrets)
	return shownConfig(c)
}
