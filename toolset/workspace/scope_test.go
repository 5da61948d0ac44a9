// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// "Always" covers what the option says. A link is judged by what it leads to in the workspace,
// and not on this machine.
func TestAlwaysCoversScope(t *testing.T) {
	r, ws := inMemory(t, workspace.MemoryConfig{Files: map[string]string{"a": "1\n", "b": "1\n"}, Command: func(workspace.Command) workspace.MemoryScript { return workspace.MemoryPrint("", 0) }})
	require.NoError(t, ws.Disk().Symlink("/etc/passwd", "/project/out"))
	var asked []string
	person := toolset.AskerFuncs{OnApprove: func(_ context.Context, req toolset.ApprovalRequest) (toolset.Decision, error) {
		asked = append(asked, req.Approval.Title+": "+req.Approval.ScopeTitle)
		return toolset.Decision{Verdict: toolset.VerdictAllow, Always: true}, nil
	}}
	r.asker = approval.Remember(new(approval.Policy), person)
	r.calls(
		command("go test ./a"), command("go test ./b -run X"), command("go test -exec x ./a"), command("cat a"), command("cat b"), command("cat out"), command("cat a", "env", args{"X": "1"}),
		edit("a", "1", "2"), edit("a", "2", "3"), edit("b", "1", "2"),
	)
	require.Len(t, asked, 7, "%q", asked)
	require.Contains(t, asked[0], "Run go test ./a: `go test`")
	require.Contains(t, asked[1], "Run go test -exec x ./a")
	require.Contains(t, asked[2], "Run cat a")
	require.Contains(t, asked[3], "Run cat out")
	require.Contains(t, asked[4], "X=1 cat a")
	require.Equal(t, []string{"Edit a: changes to a", "Edit b: changes to b"}, asked[5:])
}

// WithScope replaces what "always" covers: here all changes, by whichever tool, and nothing of
// commands.
func TestScopeOfTheProgram(t *testing.T) {
	changes := func(_ context.Context, _ workspace.Workspace, tool string, a *toolset.Approval) {
		if tool == "run_command" {
			return
		}
		require.NotNil(t, a.Preview[0].Diff)
		a.Scope, a.ScopeTitle = "changes", "all changes"
	}
	r, _ := inMemory(t, workspace.MemoryConfig{
		Files:   map[string]string{"a": "1\n", "b": "1\n"},
		Command: func(workspace.Command) workspace.MemoryScript { return workspace.MemoryPrint("", 0) },
	}, workspace.WithScope(nil), workspace.WithScope(changes))
	r.calls(edit("a", "1", "2"), edit("b", "1", "2"), command("go test ./a"))
	require.Len(t, r.asked, 3)
	for _, asked := range r.asked[:2] {
		require.Equal(t, "changes", asked.Approval.Scope)
		require.Equal(t, "all changes", asked.Approval.ScopeTitle)
		require.Empty(t, asked.Approval.Covers)
	}
	require.Empty(t, r.asked[2].Approval.Scope)
}
