// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/replay"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// portTools are the tools of [port].
var portTools = []string{"port_look", "port_fail", "port_pay"}

// port returns the tools of an MCP server, whose results are drawn. The last one needs approval.
// The server and the connection end with the test.
func port(t testing.TB, d *dice) toolset.Toolset[none] {
	server := mcp.NewServer(&mcp.Implementation{Name: "port", Version: "1"}, nil)
	for _, name := range []string{"look", "fail", "pay"} {
		tool := &mcp.Tool{Name: name, Description: "It will " + name + ".", InputSchema: json.RawMessage(
			`{"type":"object","properties":{"depth":{"type":"integer"}}}`)}
		server.AddTool(tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text := &mcp.TextContent{Text: fmt.Sprint(name, " ", d.n(1000))}
			return &mcp.CallToolResult{Content: []mcp.Content{text}, IsError: name == "fail"}, nil
		})
	}
	connect := func(ctx context.Context) (mcp.Transport, error) {
		ours, peer := mcp.NewInMemoryTransports()
		_, err := server.Connect(context.WithoutCancel(ctx), peer, nil)
		return ours, err
	}
	client, err := mcptoolset.New(mcptoolset.Config{
		Name: "port", Transport: mcptoolset.Func(connect), Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return mcptoolset.Tools(client, mcptoolset.Options[none]{Policy: func(_ context.Context,
		_ *toolset.RunContext[none], c mcptoolset.Call) (toolset.Verdict, error) {
		if c.Name == "pay" {
			return toolset.VerdictDefer, nil
		}
		return toolset.VerdictAllow, nil
	}})
}

type forecast struct {
	City string `json:"city"`
	Rain bool   `json:"rain"`
}

// TestToolsOfServersAreReplayedWithoutThem has a session with the tool of an MCP server and a typed
// output, and plays it with the server, and without any.
func TestToolsOfServersAreReplayedWithoutThem(t *testing.T) {
	calls := new(atomic.Int64)
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "look", Description: "Look.", InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			calls.Add(1)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "It rains."}}}, nil
		})
	weather, err := mcptoolset.New(mcptoolset.Config{Name: "weather", Transport: mcptoolset.Func(func(ctx context.Context) (mcp.Transport, error) {
		client, peer := mcp.NewInMemoryTransports()
		_, err := server.Connect(context.WithoutCancel(ctx), peer, nil)
		return client, err
	})})
	require.NoError(t, err)
	defer weather.Close()
	allow := mcptoolset.Options[none]{Policy: func(context.Context, *toolset.RunContext[none], mcptoolset.Call) (toolset.Verdict, error) {
		return toolset.VerdictAllow, nil
	}}
	forecaster := func(m model.Model, set toolset.Toolset[none]) *agent.Agent[none, forecast] {
		return agent.Must(agent.New(agent.Config[none, forecast]{Model: m, Toolsets: []toolset.Toolset[none]{set}}))
	}
	st := new(session.Memory)
	_, err = st.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), st, "s", session.Claim{})
	require.NoError(t, err)
	c, err := transcript.Open(t.Context(), w, transcript.Options{})
	require.NoError(t, err)
	turn, err := c.Begin(t.Context(), model.User("Oslo?"))
	require.NoError(t, err)
	m := modeltest.Script(
		modeltest.Say(model.ToolCall("1", "weather_look", `{"city":"Oslo"}`)),
		modeltest.Say(model.ToolCall("2", "final_result", `{"city":"Oslo","rain":true}`)),
	)
	res, err := forecaster(m, mcptoolset.Tools(weather, allow)).Run(t.Context(), none{}, "Oslo?", turn.Options()...)
	require.NoError(t, err)
	require.NoError(t, transcript.End(t.Context(), turn, res, err))
	require.EqualValues(t, 1, calls.Load())

	r, err := replay.Make(t.Context(), st, "s", replay.Options{})
	require.NoError(t, err)
	s := r.Stage(0)
	_, err = replay.ToolsOf[none](s, "weather_look")
	require.ErrorContains(t, err, "fill it")
	require.NoError(t, replay.Fill(t.Context(), r, 0, forecaster(s.Model(), mcptoolset.Tools(weather, allow)), none{}, replay.PlayOptions{}))
	require.EqualValues(t, 1, calls.Load(), "its result is the session's")
	require.JSONEq(t, `{"city":"Oslo","rain":true}`, string(r.Turns[0].Checked.Output))
	file := filepath.Join(t.TempDir(), "r.json")
	require.NoError(t, r.Save(file))
	r, err = replay.Load(file)
	require.NoError(t, err)
	s = r.Stage(0)
	tools, err := replay.ToolsOf[none](s, "weather_look")
	require.NoError(t, err)
	require.NoError(t, replay.Play(t.Context(), r, 0, forecaster(s.Model(), toolset.Of(tools...)), none{}, replay.PlayOptions{}))
	more := agent.Must(agent.New(agent.Config[none, struct {
		forecast
		Wind int `json:"wind,omitempty"`
	}]{Model: s.Model(), Tools: tools}))
	require.ErrorContains(t, replay.Play(t.Context(), r, 0, more, none{}, replay.PlayOptions{}), "schema")
	require.ErrorContains(t, replay.Play(t.Context(), r, 0, forecaster(s.Model(), toolset.Of(tools...)), none{},
		replay.PlayOptions{Real: []string{"weather_look"}}), "cannot be called")
}
