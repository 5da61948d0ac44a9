// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/leaktest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

// child is what this program does as a server that another test starts. It is nil where such tests do not run.
var child func(mode string) int

func TestMain(m *testing.M) {
	if mode := os.Getenv("MCPTOOLSET_TEST_MODE"); mode != "" && child != nil {
		os.Exit(child(mode))
	}
	leaktest.Main(m)
}

type none = struct{}

// fake is an MCP server in this process. Each connection is a session of it.
type fake struct {
	*mcp.Server
	mu       sync.Mutex
	sessions []*mcp.ServerSession
	methods  []string // that clients have called
	dials    int
	refuse   error // of the next connections
}

func newFake(options *mcp.ServerOptions) *fake {
	f := &fake{Server: mcp.NewServer(&mcp.Implementation{Name: "fake", Version: "1"}, options)}
	f.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			f.mu.Lock()
			f.methods = append(f.methods, method)
			f.mu.Unlock()
			return next(ctx, method, req)
		}
	})
	return f
}

// dial is a transport to the server.
func (f *fake) dial(ctx context.Context) (mcp.Transport, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dials++
	if f.refuse != nil {
		return nil, f.refuse
	}
	client, server := mcp.NewInMemoryTransports()
	session, err := f.Connect(context.WithoutCancel(ctx), server, nil)
	if err != nil {
		return nil, err
	}
	f.sessions = append(f.sessions, session)
	return client, nil
}

// drop ends all connections.
func (f *fake) drop() {
	f.mu.Lock()
	sessions := f.sessions
	f.sessions = nil
	f.mu.Unlock()
	for _, s := range sessions {
		go s.Close()
	}
}

func (f *fake) count(method string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.methods {
		if m == method {
			n++
		}
	}
	return n
}

// tool adds a tool that returns a result.
func (f *fake) tool(name string, handle func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
	f.AddTool(&mcp.Tool{Name: name, Description: "The tool " + name + ".", InputSchema: json.RawMessage(`{"type":"object"}`)}, handle)
}

func say(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// echo returns the arguments.
func echo(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return say(string(r.Params.Arguments)), nil
}

// serve returns a connected server named "s".
func serve(t testing.TB, f *fake, change ...func(*mcptoolset.Config)) *mcptoolset.Server {
	t.Helper()
	config := mcptoolset.Config{Name: "s", Transport: mcptoolset.Func(f.dial)}
	for _, c := range change {
		c(&config)
	}
	s, err := mcptoolset.New(config)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		for session := range f.Sessions() { // the SDK keeps those of HTTP
			_ = session.Close()
		}
	})
	return s
}

// legacy speaks the last version of the protocol with a handshake.
func legacy(c *mcptoolset.Config) { c.ProtocolVersion = "2025-11-25" }

// list returns the tools of a server in a run of their own.
func list(t testing.TB, s *mcptoolset.Server, options mcptoolset.Options[none]) []*toolset.Tool[none] {
	t.Helper()
	return listing(t, s, options).Tools
}

func listing(t testing.TB, s *mcptoolset.Server, options mcptoolset.Options[none]) toolset.Listing[none] {
	t.Helper()
	run := &toolset.RunContext[none]{}
	instance, err := mcptoolset.Tools(s, options).Open(t.Context(), run)
	require.NoError(t, err)
	l, err := instance.Tools(t.Context(), run)
	require.NoError(t, err)
	require.NoError(t, instance.Close(t.Context()))
	return l
}

func names(tools []*toolset.Tool[none]) []string {
	all := make([]string, len(tools))
	for i, t := range tools {
		all[i] = t.Def.Name
	}
	return all
}

// call calls an approved tool in a run with a host.
func call(t testing.TB, s *mcptoolset.Server, host toolset.Host, runID, tool, args string) (toolset.Result, error) {
	t.Helper()
	return callIn(t.Context(), s, host, runID, tool, args)
}

func callIn(ctx context.Context, s *mcptoolset.Server, host toolset.Host, runID, tool, args string) (toolset.Result, error) {
	run := &toolset.RunContext[none]{Host: host}
	run.RunID, run.Call.Approved = runID, true
	run.Model = &model.Info{Name: "test-model", Media: []string{"image"}}
	return toolsettest.Call(ctx, mcptoolset.Tools(s, mcptoolset.Options[none]{}), run, tool, args)
}

// person answers all questions alike and remembers them.
type person struct {
	mu        sync.Mutex
	questions []toolset.Question
	reply     toolset.Reply
}

func (p *person) Approve(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
	return toolset.Allow(), nil
}

func (p *person) Answer(_ context.Context, q toolset.Question) (toolset.Reply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.questions = append(p.questions, q)
	return p.reply, nil
}

func (p *person) asked() []toolset.Question {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]toolset.Question(nil), p.questions...)
}

// failed requires an error that the model is told.
func failed(t testing.TB, res toolset.Result, err error) string {
	t.Helper()
	if err != nil {
		var f *toolset.FailedError
		require.ErrorAs(t, err, &f)
		return f.Message
	}
	require.Equal(t, model.OutcomeFailed, res.Outcome, fmt.Sprint(res))
	return res.Text
}

// patience bounds how long a test waits for something that must happen. It proves nothing.
const (
	patience = 2 * time.Minute
	tick     = time.Millisecond
)

func jsonOf(text string) json.RawMessage { return json.RawMessage(text) }
