// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

func TestSubjectOfCalls(t *testing.T) {
	rig, _ := inMemory(t, workspace.MemoryConfig{Commands: map[string]workspace.MemoryScript{"serve": workspace.MemoryPrint("", 0)}})
	rig.call("run_command", args{"command": "serve", "background": true})
	run := &toolset.RunContext[deps]{Deps: deps{rig.session}}
	in, err := workspace.Tools(deps.Session).Open(t.Context(), run)
	require.NoError(t, err)
	listing, err := in.Tools(t.Context(), run)
	require.NoError(t, err)
	tools := map[string]*toolset.Tool[deps]{}
	for _, tool := range listing.Tools {
		tools[tool.Def.Name] = tool
	}
	for _, c := range []struct {
		tool string
		args args
		want workspace.Subject
	}{
		{"read_file", args{"path": "a/../b"}, workspace.Subject{Title: "Read b", Path: "/project/b"}},
		{"read_file", args{"path": "b", "line": 2, "limit": 3}, workspace.Subject{Title: "Read b (lines 2 to 4)", Path: "/project/b", Line: 2}},
		{"read_file", args{"path": "b", "limit": 3}, workspace.Subject{Title: "Read b (lines 1 to 3)", Path: "/project/b"}},
		{"read_file", args{"path": "b", "line": 1}, workspace.Subject{Title: "Read b (from line 1)", Path: "/project/b", Line: 1}},
		{"read_file", args{"path": "b", "line": 2}, workspace.Subject{Title: "Read b (from line 2)", Path: "/project/b", Line: 2}},
		{"read_file", args{"path": "../b"}, workspace.Subject{Title: "Read /b", Path: "/b"}},
		{"read_file", args{"path": "a\x00b"}, workspace.Subject{Title: `Read "a\x00b"`, Path: "a\x00b"}},
		{"write_file", args{"path": "b", "content": ""}, workspace.Subject{Title: "Write b", Path: "/project/b", Changes: true}},
		{"edit_file", args{"path": "b", "edits": []args{{"old_text": "a", "new_text": "b"}}}, workspace.Subject{Title: "Edit b", Path: "/project/b", Changes: true}},
		{"list_files", args{}, workspace.Subject{Title: "List files", Listing: true}},
		{"list_files", args{"pattern": "*.go", "path": "lib"}, workspace.Subject{Title: "List *.go in lib", Listing: true}},
		{"search_files", args{"pattern": "a b"}, workspace.Subject{Title: `Search "a b"`, Listing: true}},
		{"run_command", args{"command": "go", "args": []string{"test", "a b"}, "cwd": "lib"}, workspace.Subject{Title: "go test 'a b' (in lib)", Output: true, Runs: true}},
		{"run_command", args{"command": "a b", "args": []string{"c"}}, workspace.Subject{Title: "a b c", Output: true, Runs: true}},
		{"get_terminal_output", args{"terminal_id": "terminal-1"}, workspace.Subject{Title: "Look at serve", Output: true}},
		{"wait_for_terminal_exit", args{"terminal_id": "terminal-1"}, workspace.Subject{Title: "Wait for serve", Output: true}},
		{"kill_terminal", args{"terminal_id": "terminal-1"}, workspace.Subject{Title: "Stop serve"}},
		{"release_terminal", args{"terminal_id": "terminal-2"}, workspace.Subject{Title: "Close terminal-2"}},
	} {
		raw, err := json.Marshal(c.args)
		require.NoError(t, err)
		decoded, err := tools[c.tool].Decode(raw)
		require.NoError(t, err)
		got, ok := rig.session.Subject(decoded)
		require.True(t, ok, c.tool)
		require.Equal(t, c.want, got)
	}
	_, ok := rig.session.Subject(struct{}{})
	require.False(t, ok)
}
