// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpmcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acp/unstable"
	"github.com/ponte-go/ponte/acpbridge/acpmcp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// hosting is an editor that has an MCP server in its own process.
type hosting struct {
	unstable.UnsupportedClient
	*editor
	server  mcp.Connection // the client's side of a connection to it
	servers *acpmcp.Servers

	mu        sync.Mutex
	waiting   map[string]chan *jsonrpc.Response // by the inner identifier
	methods   []string
	cancelled int
}

// MessageMCP implements [unstable.Client].
func (h *hosting) MessageMCP(ctx context.Context, r *unstable.MessageMCPRequest) (*unstable.MessageMCPResponse, error) {
	acp.Async(ctx)
	if r.ServerID != "its-own" {
		return nil, acp.Errorf(acp.CodeInvalidParams, "there is no server %q", r.ServerID)
	}
	id, err := jsonrpc.MakeID(string(r.RequestID))
	if err != nil {
		return nil, err
	}
	params, err := json.Marshal(r.Params)
	if err != nil {
		return nil, err
	}
	answer := make(chan *jsonrpc.Response, 1)
	h.mu.Lock()
	h.methods = append(h.methods, r.Method)
	h.waiting[string(r.RequestID)] = answer
	h.mu.Unlock()
	if err := h.server.Write(ctx, &jsonrpc.Request{ID: id, Method: r.Method, Params: params}); err != nil {
		return nil, err
	}
	select {
	case a := <-answer:
		if wire, ok := a.Error.(*jsonrpc.Error); ok {
			return &unstable.MessageMCPResponse{Error: &unstable.MCPError{Code: int32(wire.Code), Message: wire.Message, Data: wire.Data}}, nil
		}
		return &unstable.MessageMCPResponse{Result: a.Result}, nil
	case <-ctx.Done():
		h.mu.Lock()
		h.cancelled++
		h.mu.Unlock()
		note, _ := json.Marshal(map[string]any{"requestId": string(r.RequestID)})
		_ = h.server.Write(context.WithoutCancel(ctx), &jsonrpc.Request{Method: "notifications/cancelled", Params: note})
		return nil, context.Cause(ctx)
	}
}

// pump passes on what the server says.
func (h *hosting) pump(ctx context.Context) {
	for {
		msg, err := h.server.Read(ctx)
		if err != nil {
			return
		}
		switch m := msg.(type) {
		case *jsonrpc.Response:
			h.mu.Lock()
			answer := h.waiting[m.ID.Raw().(string)]
			delete(h.waiting, m.ID.Raw().(string))
			h.mu.Unlock()
			if answer != nil {
				answer <- m
			}
		case *jsonrpc.Request:
			var params map[string]json.RawMessage
			_ = json.Unmarshal(m.Params, &params)
			h.mu.Lock()
			var of string // the only one in progress
			for id := range h.waiting {
				of = id
			}
			h.mu.Unlock()
			_ = unstable.CallAgent(h.ClientConn).MessageMCP(ctx, &unstable.MessageMCPNotification{
				ServerID: "its-own", RequestID: unstable.MCPRequestID(of), Method: m.Method, Params: params,
			})
		}
	}
}

// serveHost serves an agent to an editor that hosts a server. isUnstable is acpbridge.Config.Unstable.
func serveHost(t *testing.T, m model.Model, server *mcp.Server, isUnstable bool) *hosting {
	t.Helper()
	servers := acpmcp.New(acpmcp.Config{Base: mcptoolset.Config{Wait: time.Minute}})
	a, err := agent.New(agent.Config[deps.ACPDeps, string]{
		Model: m, Toolsets: []toolset.Toolset[deps.ACPDeps]{acpmcp.Toolset(servers, mcptoolset.Options[deps.ACPDeps]{})},
	})
	require.NoError(t, err)
	near, far := mcp.NewInMemoryTransports()
	running, err := server.Connect(t.Context(), far, nil)
	require.NoError(t, err)
	h := &hosting{editor: &editor{}, waiting: map[string]chan *jsonrpc.Response{}, servers: servers}
	fromAgent, agentOut := io.Pipe()
	agentIn, toAgent := io.Pipe()
	served, connected, pumped := make(chan error, 1), make(chan error, 1), make(chan struct{})
	go func() {
		served <- acpbridge.Serve(context.WithoutCancel(t.Context()), acpbridge.Config[deps.ACPDeps, string]{
			Host: host.Config[deps.ACPDeps, string]{
				Agent:  a,
				Logger: slog.New(slog.DiscardHandler),
			},
			Options: acpbridge.Options{
				MCP:             servers,
				Unstable:        isUnstable,
				In:              agentIn,
				Out:             agentOut,
				ShutdownTimeout: time.Minute,
			},
		})
	}()
	h.server, err = near.Connect(t.Context())
	require.NoError(t, err)
	opts := &acp.ConnOptions{}
	unstable.ServeClient(opts, h)
	h.ClientConn = acp.NewClientConn(fromAgent, toAgent, func(*acp.ClientConn) acp.Client { return h.editor }, opts)
	go func() { connected <- h.Serve(context.Background()) }()
	go func() { defer close(pumped); h.pump(context.Background()) }()
	t.Cleanup(func() {
		require.NoError(t, toAgent.Close())
		require.NoError(t, <-served)
		<-connected
		require.NoError(t, h.server.Close())
		<-pumped
		_ = running.Close()
	})
	return h
}

// own is the server that the editor hosts.
func own(name string) acp.MCPServer {
	s, err := (&unstable.MCPServer{ACP: &unstable.MCPServerACP{Name: name, ServerID: "its-own"}}).Stable()
	if err != nil {
		panic(err)
	}
	return s
}

// start opens a session with the servers.
func (h *hosting) start(t *testing.T, servers ...acp.MCPServer) (acp.SessionID, *unstable.MCPCapabilities) {
	t.Helper()
	var more unstable.InitializeResponse
	err := unstable.Call(t.Context(), h.ClientConn, acp.MethodInitialize, &acp.InitializeRequest{ProtocolVersion: acp.Version}, nil, nil, &more)
	require.NoError(t, err)
	resp, err := h.NewSession(t.Context(), &acp.NewSessionRequest{Cwd: "/repo", MCPServers: servers})
	require.NoError(t, err)
	return resp.SessionID, more.AgentCapabilities.MCPCapabilities
}

func (h *hosting) prompt(t *testing.T, id acp.SessionID) acp.StopReason {
	t.Helper()
	resp, err := h.Prompt(t.Context(), &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{acp.TextBlock("go")}})
	require.NoError(t, err)
	return resp.StopReason
}

// answering calls a tool of the hosted server and says what came of it.
func answering(tool, args string) model.Model {
	return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		last := req.Messages[len(req.Messages)-1]
		if p := last.Parts[len(last.Parts)-1]; p.Kind != model.PartUser {
			return model.Response(model.Text(p.Text)), nil
		}
		return model.Response(model.ToolCall("c", tool, args)), nil
	})
}

func TestServerThatTheClientHosts(t *testing.T) {
	h := serveHost(t, answering("mine_echo", `{"x":1}`), mcpServer(), true)
	id, can := h.start(t, own("mine"))
	require.True(t, can.ACP)
	require.Equal(t, acp.StopReasonEndTurn, h.prompt(t, id))
	require.Contains(t, h.said(), `{"x":1}`)
	require.Len(t, h.asked, 1, "its tools need approval like those of any server")
	require.Contains(t, h.methods, "tools/call")
}

func TestErrorsOfAServerThatTheClientHosts(t *testing.T) {
	server := mcpServer()
	server.AddTool(&mcp.Tool{Name: "fail", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: -32099, Message: "out of paper"}
	})
	h := serveHost(t, answering("mine_fail", `{}`), server, true)
	id, _ := h.start(t, own("mine"))
	h.prompt(t, id)
	require.Contains(t, h.said(), "out of paper")
}

// Two sessions use one server at the same time, and the identifiers of their requests differ.
func TestSessionsShareAServerThatTheClientHosts(t *testing.T) {
	h := serveHost(t, answering("mine_echo", `{"x":1}`), mcpServer(), true)
	var all sync.WaitGroup
	for range 4 {
		id, _ := h.start(t, own("mine"))
		all.Go(func() {
			resp, err := h.Prompt(t.Context(), &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{acp.TextBlock("go")}})
			if err != nil || resp.StopReason != acp.StopReasonEndTurn {
				t.Error(resp, err)
			}
		})
	}
	all.Wait()
}

func TestCancelReachesAServerThatTheClientHosts(t *testing.T) {
	called, ended := make(chan struct{}), make(chan struct{})
	server := mcpServer()
	server.AddTool(&mcp.Tool{Name: "wait", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(called)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	})
	h := serveHost(t, answering("mine_wait", `{}`), server, true)
	id, _ := h.start(t, own("mine"))
	stopped := make(chan acp.StopReason, 1)
	go func() {
		resp, err := h.Prompt(context.Background(), &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{acp.TextBlock("go")}})
		if err != nil {
			t.Error(err)
			resp = &acp.PromptResponse{}
		}
		stopped <- resp.StopReason
	}()
	<-called
	require.NoError(t, h.Cancel(t.Context(), &acp.CancelNotification{SessionID: id}))
	require.Equal(t, acp.StopReasonCancelled, <-stopped)
	<-ended
}

func TestProgressOfAServerThatTheClientHosts(t *testing.T) {
	server, more := mcpServer(), make(chan struct{})
	server.AddTool(&mcp.Tool{Name: "slow", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 2, Message: "half of it"})
		<-more
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(err)}}}, nil
	})
	m := answering("mine_slow", `{}`)
	h := serveHost(t, m, server, true)
	id, _ := h.start(t, own("mine"))
	allowed := mcptoolset.Options[deps.ACPDeps]{Policy: func(context.Context, *toolset.RunContext[deps.ACPDeps], mcptoolset.Call) (toolset.Verdict, error) {
		return toolset.VerdictAllow, nil
	}}
	a := agent.Must(agent.New(agent.Config[deps.ACPDeps, string]{Model: m, Toolsets: []toolset.Toolset[deps.ACPDeps]{acpmcp.Toolset(h.servers, allowed)}}))
	stream := a.Stream(t.Context(), deps.ACPDeps{Session: &deps.Session{ID: id}}, "go")
	for e := range stream.Events() {
		if p, ok := e.Value.(mcptoolset.Progress); ok {
			require.Equal(t, mcptoolset.Progress{Server: "mine", Tool: "slow", Progress: 1, Total: 2, Message: "half of it"}, p)
			close(more)
		}
	}
	_, err := stream.Result()
	require.NoError(t, err)
}

// A server that the client does not have is left out, and the user is told.
func TestUnknownServerOfTheClient(t *testing.T) {
	h := serveHost(t, modeltest.Script(modeltest.SayText("done")), mcpServer(), true)
	other, err := (&unstable.MCPServer{ACP: &unstable.MCPServerACP{Name: "other", ServerID: "nobody"}}).Stable()
	require.NoError(t, err)
	id, _ := h.start(t, other)
	require.Equal(t, acp.StopReasonEndTurn, h.prompt(t, id))
	require.Contains(t, h.said(), `there is no server`)
}

// Without Config.Unstable nothing is announced, and such a server is one of a kind that is not known.
func TestHostedServersAreUnstable(t *testing.T) {
	h := serveHost(t, modeltest.Script(modeltest.SayText("done")), mcpServer(), false)
	id, can := h.start(t, own("mine"))
	require.False(t, can != nil && can.ACP)
	h.prompt(t, id)
	require.Contains(t, h.said(), "cannot be used: its kind is unknown")
	require.Empty(t, h.methods)
}
