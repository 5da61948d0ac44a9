// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// Programs learn from the Meta of a result what the call came to.
func TestMetaSaysWhatCallsCameTo(t *testing.T) {
	rig, _ := inMemory(t, workspace.MemoryConfig{Files: map[string]string{"a": "one\ntwo"}, Commands: map[string]workspace.MemoryScript{
		"fails": workspace.MemoryPrint("no\n", 3), "long": workspace.MemoryPrint(strings.Repeat("line\n", 30_000), 0),
		"waits": func(ctx context.Context, _ *workspace.MemoryShell) int {
			<-ctx.Done()
			return 0
		},
	}})
	told := rig.calls(
		toolCall{"read_file", args{"path": "a"}},
		toolCall{"write_file", args{"path": "b", "content": "new"}},
		toolCall{"write_file", args{"path": "b", "content": "new"}},
		toolCall{"edit_file", args{"path": "a", "edits": []args{{"old_text": "one", "new_text": "1"}}}},
		toolCall{"run_command", args{"command": "fails"}},
		toolCall{"run_command", args{"command": "waits", "timeout_seconds": 1}},
		toolCall{"run_command", args{"command": "long"}},
		toolCall{"run_command", args{"command": "waits", "background": true}},
		toolCall{"get_terminal_output", args{"terminal_id": "terminal-4"}},
		toolCall{"get_terminal_output", args{"terminal_id": "terminal-3", "from": 5}},
		toolCall{"kill_terminal", args{"terminal_id": "terminal-4"}},
		toolCall{"wait_for_terminal_exit", args{"terminal_id": "terminal-4"}},
		toolCall{"read_file", args{"path": "missing"}},
	)
	for i, want := range []string{
		`{"lines":2,"bytes":7}`,
		`{"bytes":3,"created":true,"changed":true}`,
		`{"bytes":3,"changed":false}`,
		`{"bytes":5,"changed":true}`,
		`{"exit":{"code":3}}`,
		`{"timedOut":true}`,
		`{"exit":{"code":0},"terminalId":"terminal-3","truncated":true}`,
		`{"terminalId":"terminal-4","running":true}`,
		`{"terminalId":"terminal-4","running":true}`,
		`{"terminalId":"terminal-3","exit":{"code":0},"truncated":true}`,
		"",
		`{"terminalId":"terminal-4","exit":{"code":-1,"signal":"killed"}}`,
		"",
	} {
		if want == "" {
			require.Empty(t, told[i].Meta)
			continue
		}
		require.JSONEq(t, want, string(told[i].Meta), "%d", i)
	}
}

// mute is a workspace that loses the output of its commands.
type mute struct{ workspace.Workspace }

type muteProcess struct{ workspace.Process }

func (m mute) Start(ctx context.Context, c workspace.Command) (workspace.Process, error) {
	p, err := m.Workspace.Start(ctx, c)
	return muteProcess{p}, err
}

func (p muteProcess) Output(context.Context, int64, int) (workspace.Chunk, error) {
	return workspace.Chunk{}, &workspace.CommandError{Op: "output", Ref: p.Ref(), Err: errors.New("disk full")}
}

// How a command ended is worth knowing, also if its output cannot be read.
func TestExitIsToldWithoutOutput(t *testing.T) {
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Commands: map[string]workspace.MemoryScript{"make": workspace.MemoryPrint("made\n", 2)}})
	require.NoError(t, err)
	told := newRig(t, mute{ws}).calls(toolCall{"run_command", args{"command": "make"}})[0]
	require.Equal(t, "[Could not read the output of make: disk full]\n[exit code 2]", told.Text)
	require.Empty(t, told.Outcome)
}

func TestArgv(t *testing.T) {
	for _, c := range []struct {
		style workspace.Style
		line  string
		want  []string
	}{
		{workspace.Slash, "go  test ./...", []string{"sh", "-c", "go  test ./..."}},
		{workspace.Slash, "touch a\u00a0b", []string{"sh", "-c", "touch a\u00a0b"}},
		{workspace.Slash, "go test | tail", []string{"sh", "-c", "go test | tail"}},
		{workspace.Slash, "A=1 make", []string{"sh", "-c", "A=1 make"}},
		{workspace.Slash, "echo $HOME", []string{"sh", "-c", "echo $HOME"}},
		{workspace.Slash, "-x", []string{"sh", "-c", " -x"}},
		{workspace.Slash, "+x", []string{"sh", "-c", " +x"}},
		{workspace.Windows, "dir", []string{"cmd", "/C", "dir"}},
	} {
		require.Equal(t, c.want, (&workspace.Command{Line: c.line}).Argv(c.style))
	}
	require.Equal(t, []string{"a b", "$c"}, (&workspace.Command{Args: []string{"a b", "$c"}}).Argv(workspace.Windows))
}

// savedOnly is a workspace whose files can be searched but not read, as in an editor that offers
// no files.
type savedOnly struct{ workspace.Workspace }

func (w savedOnly) Features() workspace.Features { return workspace.Features{Walk: true, Saved: true} }

func (w savedOnly) Read(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
	if !r.Saved {
		return workspace.File{}, errors.ErrUnsupported
	}
	return w.Workspace.Read(ctx, path, r)
}

func TestSearchReadsSavedText(t *testing.T) {
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Files: map[string]string{"a.txt": "word\n", "b.log": "word\n", ".gitignore": "*.log\n"}})
	require.NoError(t, err)
	rig := newRig(t, savedOnly{ws})
	require.Equal(t, "a.txt:1: word\n", rig.call("search_files", args{"pattern": "word"}))
	require.Equal(t, ".gitignore\na.txt\n", rig.call("list_files", args{}))
}
