// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var deskPeers = sync.OnceValues(func() (string, error) { return pythonPackages("pydantic-desk", "desk-requirements.txt") })

// The program that docs/app.md compares examples/desk with is an agent for editors, an MCP server and a
// terminal, as it says.
func TestProgramOfThePeerStarts(t *testing.T) {
	deepTier(t)
	python := filepath.Join(installed(t, deskPeers), "bin", "python")
	for command, c := range map[string]struct{ in, want string }{
		"acp":  {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`, `"protocolVersion":1`},
		"mcp":  {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, `"serverInfo"`},
		"chat": {"/exit", "Exiting"},
	} {
		cmd := exec.CommandContext(t.Context(), python, filepath.Join("python", "pydantic_desk.py"), command)
		cmd.Stdin = strings.NewReader(c.in + "\n")
		out, err := cmd.CombinedOutput()
		if !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
}
