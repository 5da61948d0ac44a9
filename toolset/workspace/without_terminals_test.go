// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// TestToolsSayThatTheyKeepCommands: the tools for commands keep the background ones in memory, so
// an engine that cannot keep that refuses them. Without terminals, nothing is kept.
func TestToolsSayThatTheyKeepCommands(t *testing.T) {
	list := func(features workspace.Features, opts ...workspace.ToolsOption) []*toolset.Tool[deps] {
		r, ws := inMemory(t, workspace.MemoryConfig{Commands: scripts})
		session := workspace.NewSession(limited{ws, features})
		t.Cleanup(func() { require.NoError(t, session.Close(t.Context())) })
		run := &toolset.RunContext[deps]{Deps: deps{session}}
		in, err := workspace.Tools(deps.Session, opts...).Open(r.t.Context(), run)
		require.NoError(t, err)
		l, err := in.Tools(t.Context(), run)
		require.NoError(t, err)
		return l.Tools
	}
	all := workspace.Features{Read: true, Write: true, Walk: true, Commands: true}
	boxed := all
	boxed.Unsandboxed = true
	for _, can := range []workspace.Features{all, boxed} {
		var keep []string
		for _, tool := range list(can) {
			if tool.InMemory != "" {
				require.Equal(t, "commands in the background", tool.InMemory)
				keep = append(keep, tool.Def.Name)
			}
		}
		slices.Sort(keep)
		require.Equal(t, []string{
			"get_terminal_output", "kill_terminal", "release_terminal", "run_command", "wait_for_terminal_exit",
		}, keep)
		var names []string
		for _, tool := range list(can, workspace.WithoutTerminals()) {
			require.Empty(t, tool.InMemory, tool.Def.Name)
			names = append(names, tool.Def.Name)
			require.NotContains(t, tool.Def.Description, "background")
			var schema struct{ Properties map[string]any }
			require.NoError(t, json.Unmarshal(tool.Def.Schema, &schema))
			require.NotContains(t, schema.Properties, "background")
			if tool.Def.Name == "run_command" {
				require.Contains(t, schema.Properties, "timeout_seconds")
				_, leaves := schema.Properties["sandbox"]
				require.Equal(t, can.Unsandboxed, leaves)
			}
		}
		require.Equal(t, []string{"read_file", "write_file", "edit_file", "list_files", "search_files", "run_command"}, names)
	}
}

// limited is a workspace with some features.
type limited struct {
	*workspace.Memory
	features workspace.Features
}

func (l limited) Features() workspace.Features { return l.features }

func TestCommandsWithoutTerminals(t *testing.T) {
	r, _ := inMemory(t, workspace.MemoryConfig{Commands: scripts}, workspace.WithoutTerminals(), workspace.WithOutputLimit(40))
	require.Equal(t, "hi\n[exit code 0]", r.call("run_command", args{"command": "echo hi"}))
	text := r.call("run_command", args{"command": "lines"})
	require.Contains(t, text, "bytes left out here. To see them, have the command write to a file.]")
	require.NotContains(t, text, "terminal")
	require.Empty(t, r.session.Terminals(), "what is too long is not kept")
}
