// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// Under Serve, the calls of every toolset that need approval are asked about in the editor, with no configuration: the bridge's own tools
// under any prefix, tools that toolset.Approved guards, and those of an agent inside another.
func TestEveryToolsetIsAskedAboutInTheEditor(t *testing.T) {
	mine := toolset.Func("mine", "", func(context.Context, *toolset.RunContext[bare], none) (string, error) { return "", nil })
	inner := agent.Must(agent.New(agent.Config[bare, string]{
		Name: "worker", Toolsets: []toolset.Toolset[bare]{acpbridge.Toolset[bare]()},
		Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "write_file", `{"path":"b","content":"B"}`)), modeltest.SayText("written")),
	}))
	a := agent.Must(agent.New(agent.Config[bare, string]{
		Toolsets: []toolset.Toolset[bare]{
			toolset.Prefixed(acpbridge.Toolset[bare](), "fs_"),
			toolset.Approved(toolset.Of(mine, agent.AsTool("delegate", "", inner, same)), nil),
		},
		Model: modeltest.Script(
			modeltest.Say(model.ToolCall("1", "fs_write_file", `{"path":"a","content":"A"}`), model.ToolCall("2", "fs_run_command", `{"command":"make"}`),
				model.ToolCall("3", "mine", "{}"), model.ToolCall("4", "delegate", `{"prompt":"Write b."}`)),
			modeltest.SayText("done"),
		),
	}))
	editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a": "old"}, Programs: makeProgram})
	conn := acptest.Connect(t, editor, func(ctx context.Context, r io.Reader, w io.Writer) error {
		return acpbridge.Serve(ctx, acpbridge.Config[bare, string]{Host: host.Config[bare, string]{Agent: a, Logger: slog.New(slog.DiscardHandler)}, Options: acpbridge.Options{In: r, Out: w}})
	})
	id, err := conn.Start(t.Context(), "/project")
	require.NoError(t, err)
	stop, err := conn.Say(t.Context(), id, "go")
	require.NoError(t, err)
	require.Equal(t, acp.StopReasonEndTurn, stop)

	var asked []string
	for _, p := range editor.Permissions() {
		asked = append(asked, *p.ToolCall.Title)
		require.Equal(t, acp.ToolCallStatusPending, p.ToolCall.Status)
	}
	require.Equal(t, []string{"Edit a", "make", "mine", "delegate", "worker: Create b"}, asked)
	for path, want := range map[string]string{"/project/a": "A", "/project/b": "B"} {
		got, _ := editor.File(path)
		require.Equal(t, want, got)
	}
	var shown []string
	for _, c := range editor.State().ToolCalls {
		require.Equal(t, acp.ToolCallStatusCompleted, c.Status, c.Title)
		shown = append(shown, c.Title)
	}
	require.Equal(t, []string{"Edit a", "make", "mine", "delegate", "worker: Create b"}, shown)
	require.Empty(t, editor.Violations())
	require.Empty(t, editor.Open())
}
