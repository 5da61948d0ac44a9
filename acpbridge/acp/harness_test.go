// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// TestMain fails if a goroutine is left when all tests are over. Tests in a synctest bubble check that for themselves.
func TestMain(m *testing.M) {
	before := runtime.NumGoroutine()
	code := m.Run()
	fuzzing := flag.Lookup("test.fuzz").Value.String() != "" // the fuzzing engine has goroutines of its own
	if code == 0 && !fuzzing && !settled(before) {
		buf := make([]byte, 1<<20)
		fmt.Fprintf(os.Stderr, "goroutines left behind:\n%s\n", buf[:runtime.Stack(buf, true)])
		code = 1
	}
	os.Exit(code)
}

func settled(want int) bool {
	for end := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// fakeAgent is an agent whose methods are fields. What is not set has a harmless default.
type fakeAgent struct {
	acp.UnimplementedAgent
	conn       *acp.AgentConn
	initialize func(ctx context.Context) (*acp.InitializeResponse, error)
	newSession func(ctx context.Context) (*acp.NewSessionResponse, error)
	prompt     func(ctx context.Context, p *acp.PromptRequest) (*acp.PromptResponse, error)
	setMode    func(ctx context.Context, p *acp.SetSessionModeRequest) error
	cancel     func(ctx context.Context, p *acp.CancelNotification) error
	list       func(ctx context.Context) error
}

func (a *fakeAgent) Initialize(ctx context.Context, _ *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	if a.initialize != nil {
		return a.initialize(ctx)
	}
	return &acp.InitializeResponse{ProtocolVersion: acp.Version}, nil
}

func (a *fakeAgent) NewSession(ctx context.Context, _ *acp.NewSessionRequest) (*acp.NewSessionResponse, error) {
	if a.newSession != nil {
		return a.newSession(ctx)
	}
	return &acp.NewSessionResponse{SessionID: "s1"}, nil
}

func (a *fakeAgent) Prompt(ctx context.Context, p *acp.PromptRequest) (*acp.PromptResponse, error) {
	if a.prompt != nil {
		return a.prompt(ctx, p)
	}
	return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
}

func (a *fakeAgent) Cancel(ctx context.Context, p *acp.CancelNotification) error {
	if a.cancel != nil {
		return a.cancel(ctx, p)
	}
	return nil
}

func (a *fakeAgent) SetSessionMode(ctx context.Context, p *acp.SetSessionModeRequest) (*acp.SetSessionModeResponse, error) {
	if a.setMode != nil {
		return nil, a.setMode(ctx, p)
	}
	return nil, nil
}

func (a *fakeAgent) ListSessions(ctx context.Context, _ *acp.ListSessionsRequest) (*acp.ListSessionsResponse, error) {
	if a.list != nil {
		return &acp.ListSessionsResponse{}, a.list(ctx)
	}
	return &acp.ListSessionsResponse{}, nil
}

// fakeClient is the same for a client.
type fakeClient struct {
	acp.UnimplementedClient
	update   func(ctx context.Context, n *acp.SessionNotification) error
	readFile func(ctx context.Context, p *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error)
}

func (c *fakeClient) SessionUpdate(ctx context.Context, n *acp.SessionNotification) error {
	if c.update != nil {
		return c.update(ctx, n)
	}
	return nil
}

func (c *fakeClient) ReadTextFile(ctx context.Context, p *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	if c.readFile != nil {
		return c.readFile(ctx, p)
	}
	return &acp.ReadTextFileResponse{}, nil
}

// peer is the other end of an agent's connection, at the level of lines.
type peer struct {
	t     *testing.T
	conn  *acp.AgentConn
	w     io.WriteCloser
	r     io.ReadCloser
	lines *bufio.Reader
	serve chan error // Serve's result
}

// servedAgent serves the agent and returns its peer. Nothing has been sent yet.
func servedAgent(t *testing.T, agent *fakeAgent, opts *acp.ConnOptions) *peer {
	t.Helper()
	r, w := acp.Pipe()
	pr, pw := acp.Pipe()
	conn := acp.NewAgentConn(r, pw, func(c *acp.AgentConn) acp.Agent {
		agent.conn = c
		return agent
	}, opts)
	p := &peer{t: t, conn: conn, w: w, r: pr, lines: bufio.NewReaderSize(pr, 64<<10), serve: make(chan error, 1)}
	go func() { p.serve <- conn.Serve(t.Context()) }()
	t.Cleanup(p.stop)
	return p
}

// initializedAgent is servedAgent behind an initialize.
func initializedAgent(t *testing.T, agent *fakeAgent, opts *acp.ConnOptions) *peer {
	t.Helper()
	p := servedAgent(t, agent, opts)
	p.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":1}}`)
	require.Contains(t, p.line(), `"protocolVersion":1`)
	return p
}

// stop ends the connection and waits for it.
func (p *peer) stop() {
	p.conn.Close()
	p.r.Close()
	<-p.conn.Done()
}

// send writes lines in one write.
func (p *peer) send(lines ...string) {
	p.t.Helper()
	_, err := io.WriteString(p.w, strings.Join(lines, "\n")+"\n")
	require.NoError(p.t, err)
}

// line returns the next line.
func (p *peer) line() string {
	p.t.Helper()
	line, err := p.lines.ReadString('\n')
	require.NoError(p.t, err)
	return strings.TrimSuffix(line, "\n")
}

// message is a line taken apart.
type message struct {
	JSONRPC string
	ID      json.RawMessage
	Method  string
	Params  json.RawMessage
	Result  json.RawMessage
	Error   *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

func (p *peer) next() message {
	p.t.Helper()
	return parseLine(p.t, p.line())
}

func parseLine(t *testing.T, line string) message {
	t.Helper()
	var m message
	require.NoError(t, json.Unmarshal([]byte(line), &m), line)
	require.Equal(t, "2.0", m.JSONRPC)
	return m
}

// expect compares the next lines.
func (p *peer) expect(want ...string) {
	p.t.Helper()
	for _, w := range want {
		require.Equal(p.t, w, p.line())
	}
}

// failure asserts that the next line is an error answer, and returns its message.
func (p *peer) failure(id string, code int) string {
	p.t.Helper()
	line := p.line()
	m := parseLine(p.t, line)
	require.NotNil(p.t, m.Error, line)
	require.Equal(p.t, code, m.Error.Code, line)
	require.Contains(p.t, line, `"id":`+id+`,`)
	return m.Error.Message
}

// bubble runs a test in a synctest bubble, which also fails if a goroutine outlives it.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func request(id any, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":%q,"params":%s}`, id, method, params)
}

func notification(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)
}

func promptLine(id any, session string) string {
	return request(id, "session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[]}`, session))
}

func cancelLine(session string) string {
	return notification("session/cancel", fmt.Sprintf(`{"sessionId":%q}`, session))
}

func modeLine(id any, session, mode string) string {
	return request(id, "session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":%q}`, session, mode))
}

func text(s string) *acp.SessionNotification {
	return &acp.SessionNotification{SessionID: "s", Update: acp.TextChunk(s)}
}

// blockedWriter blocks every write until it is closed.
type blockedWriter struct{ closed chan struct{} }

func (w blockedWriter) Write([]byte) (int, error) {
	<-w.closed
	return 0, io.ErrClosedPipe
}

func (w blockedWriter) Close() error {
	close(w.closed)
	return nil
}
