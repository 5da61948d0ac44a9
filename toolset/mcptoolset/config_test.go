// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

func lookup(name string) (string, bool) {
	v, ok := map[string]string{"HOME": "/home/ada", "TOKEN": "sk-secret-123", "EMPTY": ""}[name]
	return v, ok
}

func TestParseConfig(t *testing.T) {
	servers, err := mcptoolset.ParseConfig([]byte(`{
		"theme": "dark",
		"mcpServers": {
			"my files": {"command": "npx", "args": ["-y", "fs", "${HOME}/x"], "env": {"B": "${EMPTY:-b}", "A": "${TOKEN}"}, "cwd": "${HOME}"},
			"issues": {"type": "http", "url": "https://${HOST:-example.com}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
			"old": {"type": "sse", "url": "http://example.com/sse"},
			"off": {"command": "x", "args": ["${UNSET}"], "disabled": true}
		}
	}`), lookup)
	require.NoError(t, err)
	require.Len(t, servers, 4)
	require.Equal(t, "issues", servers[0].Name)
	require.Equal(t, mcptoolset.HTTP{URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer sk-secret-123"}}, servers[0].Transport)
	require.Equal(t, "my_files", servers[1].Name)
	require.Equal(t, mcptoolset.Command{Path: "npx", Args: []string{"-y", "fs", "/home/ada/x"}, Env: []string{"A=sk-secret-123", "B=b"}, Dir: "/home/ada"}, servers[1].Transport)
	require.True(t, servers[2].Disabled)
	require.Equal(t, mcptoolset.SSE{URL: "http://example.com/sse"}, servers[3].Transport)

	opened, err := mcptoolset.Open(servers, mcptoolset.Config{})
	require.NoError(t, err)
	require.Len(t, opened, 3)
	require.NoError(t, mcptoolset.Close(opened...))
}

func TestConfigErrorsHelp(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{\n\"mcpServers\": {,}}", "line 2: not valid JSON"},
		{`[]`, "must be a JSON object"},
		{`{"mcpservers": {}}`, `"mcpServers" is missing: did you mean it by "mcpservers"?`},
		{`{"mcpServers": []}`, `"mcpServers" must be an object`},
		{`{"mcpServers": {"a": {"comand": "x"}}}`, `server "a": unknown member "comand": did you mean "command"?`},
		{`{"mcpServers": {"a": {"command": "x", "autoApprove": ["y"]}}}`, `unknown member "autoApprove": the members are`},
		{`{"mcpServers": {"a": {"command": "x", "args": "sk-secret-123"}}}`, "args must be a list of strings"},
		{`{"mcpServers": {"a": {"command": "x", "url": "http://y"}}}`, "has both command and url"},
		{`{"mcpServers": {"a": {}}}`, "needs command or url"},
		{`{"mcpServers": {"a": {"type": "http", "command": "x"}}}`, `type "http" does not go with its other members`},
		{`{"mcpServers": {"a": {"type": "carrier", "url": "http://x"}}}`, `type "carrier" is not known`},
		{`{"mcpServers": {"a": {"command": "x", "headers": {}}}}`, "headers need url"},
		{`{"mcpServers": {"a": {"url": "http://x", "env": {}}}}`, "need command"},
		{`{"mcpServers": {"a": {"url": "x"}}}`, "must begin with http"},
		{`{"mcpServers": {"a": {"command": "x", "env": {"K": "${UNSET}"}}}}`, "env.K: the environment variable UNSET is not set"},
		{`{"mcpServers": {"a": {"command": "${"}}}`, `"${" has no "}"`},
		{`{"mcpServers": {"a": {"command": "${a b}"}}}`, "must have the name"},
		{`{"mcpServers": {"a b": {"command": "x"}, "a_b": {"command": "x"}}}`, `its name becomes "a_b", the same as that of "a b"`},
		{`{"mcpServers": {"": {"command": "x"}}}`, "has no name"},
	} {
		_, err := mcptoolset.ParseConfig([]byte(c.text), lookup)
		require.ErrorContains(t, err, c.want, c.text)
		require.NotContains(t, err.Error(), "sk-secret")
	}
}

func TestConfigIsPrintedWithoutSecrets(t *testing.T) {
	servers, err := mcptoolset.ParseConfig([]byte(`{"mcpServers": {
		"a": {"command": "run", "args": ["--key", "${TOKEN}"], "env": {"K": "${TOKEN}"}},
		"b": {"url": "https://x/?k=${TOKEN}", "headers": {"K": "${TOKEN}"}}}}`), lookup)
	require.NoError(t, err)
	var b bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&b, verb, servers)
		fmt.Fprintf(&b, verb, &servers[0])
	}
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "servers", servers, "one", servers[0])
	data, err := json.Marshal(servers)
	require.NoError(t, err)
	require.NotContains(t, b.String()+string(data), "sk-secret-123")
	require.NotContains(t, b.String(), "736b2d73", "in hexadecimal")
	require.Equal(t, `["a (run)","b (https://x/)"]`, string(data))
}

func TestLoadConfig(t *testing.T) {
	_, err := mcptoolset.LoadConfig(filepath.Join(t.TempDir(), "none.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
	name := filepath.Join(t.TempDir(), "mcp.json")
	require.NoError(t, os.WriteFile(name, []byte(`{"mcpServers": {"a": {"command": "${PONTE_TEST_COMMAND}"}}}`), 0o600))
	t.Setenv("PONTE_TEST_COMMAND", "run")
	servers, err := mcptoolset.LoadConfig(name)
	require.NoError(t, err)
	require.Equal(t, "a (run)", servers[0].String())
}
