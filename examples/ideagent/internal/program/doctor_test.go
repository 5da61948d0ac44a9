// SPDX-License-Identifier: Apache-2.0

package program

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDoctorFindsWhatIsWrong(t *testing.T) {
	at := filepath.Join(t.TempDir(), "sessions")
	stdout, stderr, code := ideagent(t, "doctor", "-model", "offline", "-store", at)
	require.Zero(t, code, stdout+stderr)
	for _, name := range []string{"configuration", "model", "store", "editors", "commands", "language servers"} {
		require.Contains(t, stdout, "ok     "+name+": ")
	}
	list, _, code := ideagent(t, "sessions", "list", "-store", at)
	require.Zero(t, code)
	require.Empty(t, list, "the session of the check is gone")

	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for want, args := range map[string][]string{
		"wrong  configuration: ":        {"-config", configFile(t, `{"modell": "x"}`)},
		"wrong  model: ":                {"-model", "openai:x"},
		"wrong  store: ":                {"-store", filepath.Join(file, "sessions")},
		"wrong  MCP server nowhere: ":   {"-config", configFile(t, `{"mcpServers": {"nowhere": {"command": "no-such-program"}}}`)},
		"login openai\" in a terminal":  {"-model", "openai:x"},
		"or name another place with -s": {"-store", filepath.Join(file, "sessions")},
	} {
		stdout, stderr, code := ideagent(t, append([]string{"doctor", "-no-request"}, args...)...)
		require.Equal(t, 1, code, stdout+stderr)
		require.Contains(t, stdout, want)
	}
}
