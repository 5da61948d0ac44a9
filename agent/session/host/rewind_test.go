// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

func TestRewindTakesFilesAlong(t *testing.T) {
	files, err := workspace.NewMemory(workspace.MemoryConfig{Files: map[string]string{"a.txt": "one\n"}})
	require.NoError(t, err)
	recorder := checkpoint.New(files, checkpoint.Options{})
	turns := checkpoint.NewTurns(recorder)
	write := toolset.Func("write", "Write.", func(ctx context.Context, _ *toolset.RunContext[none], in payment) (string, error) {
		_, err := recorder.Write(ctx, "a.txt", []byte(in.To), workspace.AnyVersion)
		return "ok", err
	})
	step := func(text string) modeltest.Step {
		return modeltest.Say(model.ToolCall("c", "write", `{"to":"`+text+`\n"}`))
	}
	s := create(t, newHost(t, host.Config[none, string]{
		Agent: newAgent(modeltest.Script(step("two"), modeltest.SayText("ok"), step("three"), modeltest.SayText("ok"), modeltest.SayText("ok")), write),
		Files: func(none) host.Files { return turns }, Commands: host.BuiltIns(nil),
	}))
	content := func() string {
		f, err := files.Read(t.Context(), "a.txt", workspace.Range{})
		require.NoError(t, err)
		return string(f.Data)
	}
	first := prompt(t, s, "Write two.")
	prompt(t, s, "Write three.")
	require.Equal(t, "three\n", content())
	prompt(t, s, "/undo")
	require.Equal(t, "two\n", content())
	require.Contains(t, shown(t, s), "Files taken back: a.txt")
	note, err := s.Rewind(t.Context(), transcript.PromptID(first.Turn))
	require.NoError(t, err)
	require.Equal(t, "Files taken back: a.txt", note)
	require.Equal(t, "one\n", content())
	_, err = checkpoint.NewTurns(checkpoint.New(files, checkpoint.Options{})).Undo(t.Context(), first.Turn)
	require.ErrorIs(t, err, checkpoint.ErrNotRecorded)
	require.ErrorContains(t, err, "their changes are not recorded")
}
