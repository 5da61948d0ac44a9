// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpmcp_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpmcp"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// opened opens the servers of the session "s".
func opened(t *testing.T, config acpmcp.Config, cwd string, servers ...acp.MCPServer) *acpmcp.Servers {
	t.Helper()
	all := acpmcp.New(config)
	all.Open(&deps.Session{ID: "s", Cwd: cwd}, servers)
	t.Cleanup(func() { all.Close("s") })
	return all
}

// news waits until there are so many news, and returns them.
func news(t *testing.T, s *acpmcp.Servers, n int) (all []string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); len(all) < n && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		all = append(all, s.News("s")...)
	}
	require.Len(t, all, n)
	return all
}

func TestServersOfASessionAreBounded(t *testing.T) {
	unknown := func(n int) (all []acp.MCPServer) {
		for range n {
			all = append(all, acp.MCPServer{Unknown: []byte(`{"type":"carrier"}`)})
		}
		return all
	}
	for _, c := range []struct{ max, servers, used int }{{2, 1, 1}, {2, 2, 2}, {2, 3, 2}, {0, 50, 50}, {0, 51, 50}, {-1, 51, 50}} {
		got := opened(t, acpmcp.Config{Max: c.max}, "", unknown(c.servers)...).News("s")
		if c.servers > c.used {
			require.Equal(t, fmt.Sprintf("Only the first %d MCP servers are used.", c.used), got[len(got)-1])
			got = got[:len(got)-1]
		}
		require.Len(t, got, c.used)
		require.Contains(t, got[0], `"unknown" cannot be used: its kind is unknown.`)
		if c.used > 1 {
			require.Contains(t, got[1], `"unknown_2" cannot be used`)
			require.Contains(t, got[c.used-1], fmt.Sprintf(`"unknown_%d"`, c.used))
		}
	}
}

// What is wrong with one server does not keep the session from the others.
func TestServersThatCannotBeMadeAreTold(t *testing.T) {
	s := opened(t, acpmcp.Config{Servers: []mcptoolset.ServerConfig{{Name: "own", Transport: mcptoolset.Command{}}}}, "",
		acp.MCPServer{Stdio: &acp.MCPServerStdio{Name: "theirs"}})
	got := news(t, s, 2)
	require.Contains(t, got[0], `The MCP server "theirs" cannot be used: mcptoolset: `)
	require.Contains(t, got[1], `The MCP server "own" cannot be used: mcptoolset: `)
	require.Empty(t, s.News("s"))
	require.Empty(t, s.News("another"))
	s.Close("another")
}

// A server on the web is asked with the headers that the client names.
func TestHeadersOfTheClientAreSent(t *testing.T) {
	var mu sync.Mutex
	saw := map[string][]string{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		saw[r.URL.Path] = append(saw[r.URL.Path], r.Method+" "+r.Header.Get("X-One")+r.Header.Get("X-Two"))
		mu.Unlock()
		http.Error(w, "no", http.StatusTeapot)
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		web.Close()
	})
	headers := []acp.HTTPHeader{{Name: "X-One", Value: "1"}, {Name: "X-Two", Value: "2"}}
	s := opened(t, acpmcp.Config{Base: patient}, "",
		acp.MCPServer{HTTP: &acp.MCPServerHTTP{Name: "http", URL: web.URL + "/http", Headers: headers}},
		acp.MCPServer{SSE: &acp.MCPServerSSE{Name: "sse", URL: web.URL + "/sse", Headers: headers}})
	for _, text := range news(t, s, 2) {
		require.Regexp(t, `^The MCP server "(http|sse)" is not available: `, text)
	}
	mu.Lock()
	defer mu.Unlock()
	require.Contains(t, saw["/http"], "POST 12")
	require.Contains(t, saw["/sse"], "GET 12")
}

// A program is started in the session's directory, unless it has another.
func TestProgramsAreStartedInTheSessionsDirectory(t *testing.T) {
	cwd, other := t.TempDir(), t.TempDir()
	own := func(name, dir string) mcptoolset.ServerConfig {
		return mcptoolset.ServerConfig{Name: name, Transport: mcptoolset.Command{Path: "/bin/sh", Args: []string{"-c", "pwd >&2; exit 3"}, Dir: dir}}
	}
	s := opened(t, acpmcp.Config{Base: patient, Servers: []mcptoolset.ServerConfig{own("here", ""), own("there", other)}}, cwd,
		acp.MCPServer{Stdio: &acp.MCPServerStdio{Name: "client", Command: "/bin/sh", Args: []string{"-c", `pwd >&2; echo "$A$B" >&2; exit 3`}, Env: []acp.EnvVariable{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}}})
	got := map[string]string{}
	for _, text := range news(t, s, 3) {
		var name string
		_, err := fmt.Sscanf(text, "The MCP server %q is not available:", &name)
		require.NoError(t, err, text)
		got[name] = text
	}
	require.Contains(t, got["here"], "code 3: "+cwd)
	require.Contains(t, got["there"], "code 3: "+other)
	require.Contains(t, got["client"], cwd)
	require.Contains(t, got["client"], "12")
}

// The user is told when a server that was late is there.
func TestLateServerIsTold(t *testing.T) {
	there := make(chan struct{})
	server := mcpServer()
	late := mcptoolset.ServerConfig{Name: "late", Transport: mcptoolset.Func(func(ctx context.Context) (mcp.Transport, error) {
		select {
		case <-there:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		near, far := mcp.NewInMemoryTransports()
		if _, err := server.Connect(context.WithoutCancel(ctx), far, nil); err != nil {
			return nil, err
		}
		return near, nil
	})}
	s := opened(t, acpmcp.Config{Base: mcptoolset.Config{Wait: 50 * time.Millisecond, ConnectTimeout: 2 * time.Minute}, Servers: []mcptoolset.ServerConfig{late}}, "")
	require.Equal(t, []string{`The MCP server "late" has not answered yet.`}, news(t, s, 1))
	require.Empty(t, s.News("s"), "once")
	close(there)
	require.Equal(t, []string{`The MCP server "late" is available now.`}, news(t, s, 1))
	require.Empty(t, s.News("s"))
}

// Tools that cannot be offered as they are are told with the first reason.
func TestToolsThatCannotBeOfferedAreTold(t *testing.T) {
	for want, names := range map[string][]string{"": {"a_b"}, `1 tools of the MCP server "odd" cannot be offered as they are. The first one: tool "a.b": its name would be "odd_a_b", which another tool has: it is offered as "odd_a_b_2e7336dc"`: {"a_b", "a.b"}} {
		server := mcp.NewServer(&mcp.Implementation{Name: "odd", Version: "1"}, nil)
		for _, name := range names {
			server.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
		}
		ready := make(chan struct{})
		transport := mcptoolset.Func(func(ctx context.Context) (mcp.Transport, error) {
			theirs, ours := mcp.NewInMemoryTransports()
			go func() {
				_ = server.Run(context.WithoutCancel(ctx), theirs)
				close(ready)
			}()
			return ours, nil
		})
		s := opened(t, acpmcp.Config{Base: mcptoolset.Config{Logger: slog.New(slog.DiscardHandler)}, Servers: []mcptoolset.ServerConfig{{Name: "odd", Transport: transport}, {Name: "off", Transport: transport, Disabled: true}}}, "")
		if want != "" {
			require.Equal(t, []string{want}, news(t, s, 1))
		}
		require.Empty(t, s.News("s"), "it is told once")
		s.Close("s")
		if want != "" {
			<-ready
		}
	}
}
