// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/config"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// server is an MCP server with two tools.
func server() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	for _, name := range []string{"one", "two"} {
		sdk.AddTool(s, &sdk.Tool{Name: name}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return nil, nil, nil
		})
	}
	return s
}

// TestMain also makes the test binary a server.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "server" {
		_ = server().Run(context.Background(), &sdk.StdioTransport{})
		return
	}
	os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	os.Exit(m.Run())
}

// TestDoctorConnectsToServers also keeps that each problem has what mends it.
func TestDoctorConnectsToServers(t *testing.T) {
	good := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server() }, nil))
	t.Cleanup(good.Close)
	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(locked.Close)
	entries := map[string]any{
		"a_program": map[string]any{"command": os.Args[0], "args": []string{"server"}},
		"b_address": map[string]any{"url": good.URL},
		"c_off":     map[string]any{"command": "no-such-program", "disabled": true},
		"d_missing": map[string]any{"command": "no-such-program"},
		"e_dies":    map[string]any{"command": "false"},
		"f_locked":  map[string]any{"url": locked.URL},
	}
	text, err := json.Marshal(map[string]any{"mcpServers": entries})
	require.NoError(t, err)
	user, err := config.ParseUser("f", text)
	require.NoError(t, err)
	found := checkServers(t.Context(), &app.Env{Name: "ideagent", Config: user, Logger: slog.New(slog.DiscardHandler)})
	require.Len(t, found, len(entries))
	for i, want := range []string{"has 2 tools", "has 2 tools", "is turned off"} {
		require.NoError(t, found[i].Err, found[i].Name)
		require.Equal(t, want, found[i].Found)
	}
	for i, mend := range map[int]string{3: "install the program", 4: "run its command yourself", 5: "check the address and the headers"} {
		require.Error(t, found[i].Err, found[i].Name)
		require.Contains(t, found[i].Mend, mend)
	}
}

func TestDoctorDoesNotWaitForSilentServers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // it accepts, and says nothing
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	e := &app.Env{Name: "ideagent", Logger: slog.New(slog.DiscardHandler)}
	c := checkServer(t.Context(), e, mcptoolset.ServerConfig{Name: "silent", Transport: mcptoolset.HTTP{URL: "http://" + l.Addr().String()}}, 50*time.Millisecond)
	require.Error(t, c.Err)
	require.NotEmpty(t, c.Mend)
}
