// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// long is a configuration with a tool whose result is too long for a history, and the result.
func long(t *testing.T) (file, result string) {
	t.Helper()
	result = strings.Repeat("a line of the report\n", 4_000)
	server := mcp.NewServer(&mcp.Implementation{Name: "reports"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "report"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: result}}}, nil, nil
	})
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(s.Close)
	return configFile(t, fmt.Sprintf(`{"mcpServers": {"reports": {"url": %q}}, "permissions": {"rules": [{"decision": "allow", "tool": "*report"}]}}`, s.URL)), result
}

// The agent writes long results for itself. Nobody is asked about that as if the model had changed a file.
func TestSpilledResultsAreNotAskedAbout(t *testing.T) {
	file, result := long(t)
	work := workDir(t)
	stdout, stderr, code := ideagent(t, "chat", "-model", "offline", "-config", file, "-dir", work, "use reports_report {}")
	require.Equal(t, 0, code, stdout+stderr)
	require.NotContains(t, stdout, "The agent has not asked about this.")
	require.NotContains(t, stdout, "Rejected")
	kept, err := filepath.Glob(filepath.Join(work, ".agents", "results", "*.txt"))
	require.NoError(t, err)
	require.Len(t, kept, 1, stdout)
	data, err := os.ReadFile(kept[0])
	require.NoError(t, err)
	require.Equal(t, result, string(data))
	ignored, err := os.ReadFile(filepath.Join(work, ".agents", "results", ".gitignore"))
	require.NoError(t, err)
	require.Equal(t, "*\n", string(ignored))

	// The model can read it.
	name, err := json.Marshal(".agents/results/" + filepath.Base(kept[0]))
	require.NoError(t, err)
	stdout, stderr, code = ideagent(t, "chat", "-model", "offline", "-config", file, "-dir", work, `use read_file {"path": `+string(name)+`, "limit": 2}`)
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stdout, "a line of the report")
}
