// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpproxy_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/acpbridge/acpmcp"
	"github.com/ponte-go/ponte/acpbridge/acpproxy"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// A toolset of this program is added to an agent that knows nothing of it.
func TestToolsetIsAddedToAnAgent(t *testing.T) {
	asked := make(chan string, 1)
	price := toolset.Func("price", "Returns the price of an article.", func(_ context.Context, _ *toolset.RunContext[struct{}], in struct {
		Article string `json:"article"`
	}) (string, error) {
		asked <- in.Article
		return in.Article + " costs 7", nil
	})
	shop, err := mcptoolset.Export(t.Context(), toolset.Of(price), mcptoolset.ExportConfig[struct{}]{Name: "shop"})
	require.NoError(t, err)
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return shop }, &mcp.StreamableHTTPOptions{Stateless: true}))
	defer func() {
		web.CloseClientConnections()
		web.Close()
	}()

	servers := acpmcp.New(acpmcp.Config{})
	a := agent.Must(agent.New(agent.Config[deps.ACPDeps, string]{
		Model:    modeltest.Script(modeltest.Say(model.ToolCall("1", "shop_price", `{"article":"tea"}`)), modeltest.SayText("done")),
		Toolsets: []toolset.Toolset[deps.ACPDeps]{acpmcp.Toolset(servers, mcptoolset.Options[deps.ACPDeps]{})},
	}))
	editorReads, toEditor := acp.Pipe()
	fromEditor, editorWrites := acp.Pipe()
	agentReads, toAgent := acp.Pipe()
	fromAgent, agentWrites := acp.Pipe()
	ended := make(chan error, 2)
	go func() {
		ended <- acpbridge.Serve(t.Context(), acpbridge.Config[deps.ACPDeps, string]{Host: host.Config[deps.ACPDeps, string]{Agent: a, Logger: slog.New(slog.DiscardHandler)}, Options: acpbridge.Options{MCP: servers, In: agentReads, Out: agentWrites}})
		_ = agentWrites.Close()
	}()
	go func() {
		ended <- acpproxy.Serve(t.Context(), fromEditor, toEditor, fromAgent, toAgent, acpproxy.Config{
			MCPServers: []acp.MCPServer{{HTTP: &acp.MCPServerHTTP{Name: "shop", URL: web.URL, Headers: []acp.HTTPHeader{}}}},
		})
	}()
	c, err := acpclient.Connect(t.Context(), editorReads, editorWrites, acpclient.Config{Permission: acpclient.AllowAll})
	require.NoError(t, err)
	s, err := c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: t.TempDir()})
	require.NoError(t, err)
	turn, err := s.Say(t.Context(), "What is tea?")
	require.NoError(t, err)
	require.Equal(t, "done", turn.Text())
	require.Equal(t, "tea", <-asked)
	require.NoError(t, c.Close())
	require.NoError(t, <-ended)
	require.NoError(t, <-ended)
}
