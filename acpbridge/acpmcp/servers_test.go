// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpmcp_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acp/unstable"
	"github.com/ponte-go/ponte/acpbridge/acpmcp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/internal/leaktest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv("ACPMCP_TEST_MODE"); mode != "" {
		os.Exit(child(mode))
	}
	leaktest.Main(m)
}

// patient is for servers that are all there soon, on a machine that may be busy.
var patient = mcptoolset.Config{Wait: 2 * time.Minute, ConnectTimeout: 2 * time.Minute}

// child is an MCP server of one kind.
func child(mode string) int {
	switch mode {
	case "hang":
		select {}
	case "crash":
		fmt.Fprintln(os.Stderr, "no database")
		return 3
	}
	s := mcpServer()
	s.AddTool(&mcp.Tool{Name: "die", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		os.Exit(7)
		return nil, nil
	})
	if s.Run(context.Background(), &mcp.StdioTransport{}) != nil {
		return 1
	}
	return 0
}

func mcpServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "echo", InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
	})
	return s
}

// stdio is a server that an editor would name.
func stdio(name, mode string) acp.MCPServer {
	return acp.MCPServer{Stdio: &acp.MCPServerStdio{Name: name, Command: os.Args[0], Args: []string{}, Env: []acp.EnvVariable{{Name: "ACPMCP_TEST_MODE", Value: mode}}}}
}

// editor is a client that allows everything and keeps what it is told.
type editor struct {
	acp.UnimplementedClient
	*acp.ClientConn
	mu    sync.Mutex
	text  strings.Builder
	asked []string
}

func (e *editor) RequestPermission(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, *p.ToolCall.Title)
	return &acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{Selected: &acp.SelectedPermissionOutcome{OptionID: p.Options[0].OptionID}}}, nil
}

func (e *editor) SessionUpdate(_ context.Context, n *acp.SessionNotification) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := n.Update.AgentMessageChunk; c != nil && c.Content.Text != nil {
		e.text.WriteString(c.Content.Text.Text)
	}
	return nil
}

func (e *editor) said() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.text.String()
}

// serve serves an agent that has the tools of the editor's MCP servers.
func serve(t *testing.T, m model.Model, servers *acpmcp.Servers) *editor {
	return serveStored(t, m, servers, nil)
}

// serveStored is serve with sessions that are kept.
func serveStored(t *testing.T, m model.Model, servers *acpmcp.Servers, store session.Store) *editor {
	t.Helper()
	a, err := agent.New(agent.Config[deps.ACPDeps, string]{
		Model: m, Toolsets: []toolset.Toolset[deps.ACPDeps]{acpmcp.Toolset(servers, mcptoolset.Options[deps.ACPDeps]{})},
	})
	require.NoError(t, err)
	fromAgent, agentOut := io.Pipe()
	agentIn, toAgent := io.Pipe()
	served, connected := make(chan error, 1), make(chan error, 1)
	go func() {
		served <- acpbridge.Serve(context.WithoutCancel(t.Context()), acpbridge.Config[deps.ACPDeps, string]{
			Host: host.Config[deps.ACPDeps, string]{
				Agent:  a,
				Store:  store,
				Logger: slog.New(slog.DiscardHandler),
			},
			Options: acpbridge.Options{
				MCP:             servers,
				Unstable:        store != nil,
				In:              agentIn,
				Out:             agentOut,
				ShutdownTimeout: time.Minute,
			},
		})
	}()
	e := &editor{}
	e.ClientConn = acp.NewClientConn(fromAgent, toAgent, func(*acp.ClientConn) acp.Client { return e }, nil)
	go func() { connected <- e.Serve(context.Background()) }()
	t.Cleanup(func() {
		require.NoError(t, toAgent.Close())
		require.NoError(t, <-served)
		<-connected
	})
	return e
}

func (e *editor) prompt(t *testing.T, id acp.SessionID, text string) {
	t.Helper()
	res, err := e.Prompt(t.Context(), &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{{Text: &acp.TextContent{Text: text}}}})
	require.NoError(t, err)
	require.Equal(t, acp.StopReasonEndTurn, res.StopReason)
}

// TestEditorsServersOfWhichThreeAreBroken has one that hangs, one that crashes at the start, and one that dies in the middle of a call.
func TestEditorsServersOfWhichThreeAreBroken(t *testing.T) {
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return mcpServer() }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		web.Close()
	})
	m := modeltest.Script(
		modeltest.Say(model.ToolCall("1", "dies_die", `{}`), model.ToolCall("2", "one_echo", `{"n":1}`), model.ToolCall("3", "two_words_echo", `{"n":2}`)),
		modeltest.SayText("Done."), modeltest.SayText("Again."))
	attempts := make(attempts, 1000)
	e := serve(t, m, acpmcp.New(acpmcp.Config{Base: mcptoolset.Config{Wait: time.Millisecond, ConnectTimeout: time.Hour, Logger: slog.New(attempts)}}))
	init, err := e.Initialize(t.Context(), &acp.InitializeRequest{ProtocolVersion: acp.Version})
	require.NoError(t, err)
	require.True(t, init.AgentCapabilities.MCPCapabilities.HTTP && init.AgentCapabilities.MCPCapabilities.SSE)

	session, err := e.NewSession(t.Context(), &acp.NewSessionRequest{Cwd: t.TempDir(), MCPServers: []acp.MCPServer{
		stdio("hangs", "hang"), stdio("crashes", "crash"), stdio("dies", "serve"), stdio("one", "serve"),
		{HTTP: &acp.MCPServerHTTP{Name: "two words", URL: web.URL, Headers: []acp.HTTPHeader{}}}, {Unknown: []byte(`{"type":"carrier","name":"pigeon"}`)},
	}})
	require.NoError(t, err, "the session does not depend on its servers")
	attempts.of(t, "crashes", "dies", "one", "two_words")
	e.prompt(t, session.SessionID, "go")
	messages := m.Requests()[1].Messages
	returns := messages[len(messages)-1].Parts
	require.Contains(t, returns[0].Text, `The connection to the MCP server "dies" was lost during this call.`)
	require.Equal(t, `{"n":1}`, returns[1].Text)
	require.Equal(t, `{"n":2}`, returns[2].Text)
	require.Len(t, e.asked, 3, "the user is asked, as for any other tool")
	require.Contains(t, e.asked[1], "Call echo of the MCP server one")
	said := e.said()
	for _, want := range []string{
		`The MCP server "crashes" is not available: the server exited with code 3: no database`,
		`The MCP server "hangs" has not answered yet.`,
		`The MCP server "unknown" cannot be used: its kind is unknown.`,
	} {
		require.Contains(t, said, want)
	}
	e.prompt(t, session.SessionID, "again")
	require.Equal(t, 1, strings.Count(e.said(), `"crashes"`), "news are told once")
}

// reopened are the ways to come to a session that is there already, with servers for it.
func reopened() map[string]func(ctx context.Context, e *editor, id acp.SessionID, dir string, servers []acp.MCPServer) (acp.SessionID, error) {
	return map[string]func(ctx context.Context, e *editor, id acp.SessionID, dir string, servers []acp.MCPServer) (acp.SessionID, error){
		"load": func(ctx context.Context, e *editor, id acp.SessionID, dir string, servers []acp.MCPServer) (acp.SessionID, error) {
			_, err := e.LoadSession(ctx, &acp.LoadSessionRequest{SessionID: id, Cwd: dir, MCPServers: servers})
			return id, err
		},
		"resume": func(ctx context.Context, e *editor, id acp.SessionID, dir string, servers []acp.MCPServer) (acp.SessionID, error) {
			_, err := e.ResumeSession(ctx, &acp.ResumeSessionRequest{SessionID: id, Cwd: dir, MCPServers: servers})
			return id, err
		},
		"fork": func(ctx context.Context, e *editor, id acp.SessionID, dir string, servers []acp.MCPServer) (acp.SessionID, error) {
			res, err := unstable.CallAgent(e.ClientConn).ForkSession(ctx, &unstable.ForkSessionRequest{SessionID: id, Cwd: dir, MCPServers: servers})
			if err != nil {
				return "", err
			}
			return res.SessionID, nil
		},
	}
}

// attempts are the servers that have been connected, or could not be, as they are logged.
type attempts chan string

func (a attempts) Enabled(context.Context, slog.Level) bool { return true }
func (a attempts) WithAttrs([]slog.Attr) slog.Handler       { return a }
func (a attempts) WithGroup(string) slog.Handler            { return a }

// Handle implements [slog.Handler].
func (a attempts) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(attr slog.Attr) bool {
		if attr.Key == "server" {
			a <- attr.Value.String()
		}
		return true
	})
	return nil
}

// of waits for the first attempts to connect servers.
func (a attempts) of(t *testing.T, servers ...string) {
	t.Helper()
	for len(servers) > 0 {
		select {
		case name := <-a:
			servers = slices.DeleteFunc(servers, func(s string) bool { return s == name })
		case <-time.After(2 * time.Minute):
			t.Fatalf("no attempt to connect %v has ended", servers)
		}
	}
}

// TestServersOfReopenedSessions has a server that hangs and one that crashes in front of one that works: the answer waits for none of them,
// and a turn for what hangs no longer than it may. If they were connected one after another, the last one would never be there. A session
// that is open gets the servers that are named now.
func TestServersOfReopenedSessions(t *testing.T) {
	for how, reopen := range reopened() {
		for _, closed := range []bool{true, false} {
			if !closed && how == "fork" {
				continue
			}
			t.Run(fmt.Sprintf("%s closed=%t", how, closed), func(t *testing.T) {
				t.Parallel()
				m := modeltest.Script(modeltest.SayText("First."), modeltest.Say(model.ToolCall("1", "works_echo", `{"n":1}`)), modeltest.SayText("Done."))
				attempts := make(attempts, 1000)
				base := mcptoolset.Config{Wait: time.Millisecond, ConnectTimeout: time.Hour, Logger: slog.New(attempts)}
				e := serveStored(t, m, acpmcp.New(acpmcp.Config{Base: base}), new(session.Memory))
				_, err := e.Initialize(t.Context(), &acp.InitializeRequest{ProtocolVersion: acp.Version})
				require.NoError(t, err)
				dir := t.TempDir()
				first, err := e.NewSession(t.Context(), &acp.NewSessionRequest{Cwd: dir, MCPServers: []acp.MCPServer{}})
				require.NoError(t, err)
				e.prompt(t, first.SessionID, "first")
				if closed && how != "fork" {
					_, err = e.CloseSession(t.Context(), &acp.CloseSessionRequest{SessionID: first.SessionID})
					require.NoError(t, err)
				}
				servers := []acp.MCPServer{stdio("crashes", "crash"), stdio("works", "serve")}
				if closed {
					servers = append([]acp.MCPServer{stdio("hangs", "hang")}, servers...)
				}
				id, err := reopen(t.Context(), e, first.SessionID, dir, servers)
				require.NoError(t, err)
				attempts.of(t, "crashes", "works")
				e.prompt(t, id, "go")
				messages := m.Requests()[2].Messages
				require.Equal(t, `{"n":1}`, messages[len(messages)-1].Parts[0].Text)
				require.Len(t, messages, 5, "the conversation goes on")
				require.Contains(t, e.said(), `The MCP server "crashes" is not available: the server exited with code 3`)
				require.Equal(t, closed, strings.Contains(e.said(), `The MCP server "hangs" has not answered yet.`))
			})
		}
	}
}

func TestSessionsHaveServersOfTheirOwn(t *testing.T) {
	m := modeltest.Script(modeltest.SayText("One."), modeltest.SayText("Two."))
	e := serve(t, m, acpmcp.New(acpmcp.Config{Base: patient}))
	_, err := e.Initialize(t.Context(), &acp.InitializeRequest{ProtocolVersion: acp.Version})
	require.NoError(t, err)
	one, err := e.NewSession(t.Context(), &acp.NewSessionRequest{Cwd: t.TempDir(), MCPServers: []acp.MCPServer{stdio("a", "serve"), stdio("a", "serve")}})
	require.NoError(t, err)
	two, err := e.NewSession(t.Context(), &acp.NewSessionRequest{Cwd: t.TempDir(), MCPServers: []acp.MCPServer{}})
	require.NoError(t, err)
	e.prompt(t, one.SessionID, "go")
	e.prompt(t, two.SessionID, "go")
	var names []string
	for _, tool := range m.Requests()[0].Tools {
		names = append(names, tool.Name)
	}
	require.Equal(t, []string{"a_die", "a_echo", "a_2_die", "a_2_echo"}, names, "equal names are told apart")
	require.Empty(t, m.Requests()[1].Tools)
	_, err = e.CloseSession(t.Context(), &acp.CloseSessionRequest{SessionID: one.SessionID})
	require.NoError(t, err)
}

func TestEditorsServersWithEqualToolNames(t *testing.T) {
	m := modeltest.Script(modeltest.SayText("One."))
	base := patient
	base.Unprefixed = true
	e := serve(t, m, acpmcp.New(acpmcp.Config{Base: base}))
	_, err := e.Initialize(t.Context(), &acp.InitializeRequest{ProtocolVersion: acp.Version})
	require.NoError(t, err)
	s, err := e.NewSession(t.Context(), &acp.NewSessionRequest{Cwd: t.TempDir(), MCPServers: []acp.MCPServer{stdio("a", "serve"), stdio("b", "serve")}})
	require.NoError(t, err)
	e.prompt(t, s.SessionID, "go")
	var names []string
	for _, tool := range m.Requests()[0].Tools {
		require.Regexp(t, "^(die|echo)_[0-9a-f]{8}$", tool.Name)
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	require.Len(t, slices.Compact(names), 4)
	_, err = e.CloseSession(t.Context(), &acp.CloseSessionRequest{SessionID: s.SessionID})
	require.NoError(t, err)
}

func TestProgramHasServersOfItsOwn(t *testing.T) {
	own := func(name, mode string) mcptoolset.ServerConfig {
		return mcptoolset.ServerConfig{Name: name, Transport: mcptoolset.Command{Path: os.Args[0], Env: []string{"ACPMCP_TEST_MODE=" + mode}}}
	}
	off := own("off", "serve")
	off.Disabled = true
	m := modeltest.Script(modeltest.SayText("One."), modeltest.SayText("Two."))
	e := serve(t, m, acpmcp.New(acpmcp.Config{Base: patient, Servers: []mcptoolset.ServerConfig{own("own", "serve"), own("same", "crash"), off}}))
	_, err := e.Initialize(t.Context(), &acp.InitializeRequest{ProtocolVersion: acp.Version})
	require.NoError(t, err)
	for i, c := range []struct {
		servers []acp.MCPServer
		tools   []string
	}{{[]acp.MCPServer{stdio("same", "serve")}, []string{"same_die", "same_echo", "own_die", "own_echo"}}, {[]acp.MCPServer{}, []string{"own_die", "own_echo"}}} {
		s, err := e.NewSession(t.Context(), &acp.NewSessionRequest{Cwd: t.TempDir(), MCPServers: c.servers})
		require.NoError(t, err)
		e.prompt(t, s.SessionID, "go")
		var names []string
		for _, tool := range m.Requests()[i].Tools {
			names = append(names, tool.Name)
		}
		require.Equal(t, c.tools, names)
		_, err = e.CloseSession(t.Context(), &acp.CloseSessionRequest{SessionID: s.SessionID})
		require.NoError(t, err)
	}
}

func TestRunWithoutASessionHasNoTools(t *testing.T) {
	m := modeltest.Script(modeltest.SayText("Hi."))
	a := agent.Must(agent.New(agent.Config[deps.ACPDeps, string]{
		Model: m, Toolsets: []toolset.Toolset[deps.ACPDeps]{acpmcp.Toolset(acpmcp.New(acpmcp.Config{}), mcptoolset.Options[deps.ACPDeps]{})},
	}))
	_, err := a.Run(t.Context(), deps.ACPDeps{}, "hi")
	require.NoError(t, err)
	_, err = agent.New(agent.Config[deps.ACPDeps, string]{Model: m, Toolsets: []toolset.Toolset[deps.ACPDeps]{acpmcp.Toolset[deps.ACPDeps](nil, mcptoolset.Options[deps.ACPDeps]{})}})
	require.ErrorContains(t, err, "the servers are nil")
}
