// SPDX-License-Identifier: Apache-2.0

package program

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	sessions "github.com/ponte-go/ponte/agent/session"
)

// requestOf returns what a model is sent for a prompt in a directory.
func requestOf(t *testing.T, dir string, files map[string]string, store sessions.Store, args ...string) *model.Request {
	t.Helper()
	m := modeltest.Script(modeltest.SayText("done"))
	client := acptest.New(acptest.Options{Files: files})
	t.Cleanup(client.Close)
	conn := acptest.Connect(t, client, serve(m, store, args...))
	id, err := conn.Start(t.Context(), dir)
	require.NoError(t, err)
	_, err = conn.Say(t.Context(), id, "hello")
	require.NoError(t, err)
	require.Empty(t, client.Violations())
	return m.Requests()[0]
}

func TestCapabilitiesReachTheModel(t *testing.T) {
	dir := workDir(t)
	files := map[string]string{
		filepath.Join(dir, "AGENTS.md"):                                "Write tests first.\n",
		filepath.Join(dir, ".agents", "skills", "release", "SKILL.md"): "---\nname: release\ndescription: How to release.\n---\nTag it.\n",
	}
	for path, text := range files { // the editor has them, and so has the disk, where they are listed
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	own := []string{"update_plan", "ask_user", "save_note", "search_notes", "load_skill", "delegate", "web_fetch"}

	tools := func(req *model.Request) (names []string) {
		for i := range req.Tools {
			names = append(names, req.Tools[i].Name)
		}
		return names
	}
	req := requestOf(t, dir, files, nil)
	require.Subset(t, tools(req), own)
	require.Contains(t, req.Instructions, "You are a coding agent in the user's editor.")
	require.Contains(t, req.Instructions, "Write tests first.")
	require.Contains(t, req.Instructions, "How to release.")

	require.NotContains(t, tools(req), "search_conversations", "sessions are not kept")
	req = requestOf(t, dir, files, new(sessions.Memory))
	require.Subset(t, tools(req), append(own, "search_conversations", "read_conversation"))

	req = requestOf(t, dir, files, nil, "-bare")
	for _, name := range own {
		require.NotContains(t, tools(req), name)
	}
	require.Contains(t, tools(req), "read_file")
	require.NotContains(t, req.Instructions, "Write tests first.")
}

func TestUndoLeavesNotes(t *testing.T) {
	e := openIDE(t, map[string]string{"a.txt": "one\n"}, nil)
	e.say("replace one with two in a.txt")
	asked := len(e.Permissions())
	e.say(`use save_note {"name": "style", "text": "Use tabs."}`)
	require.Len(t, e.Permissions(), asked+1, "a note is asked about")
	note := filepath.Join(".agents", "memory", "style.md")
	require.Contains(t, e.file(note), "Use tabs.")
	said, _ := e.say("use list_changes {}")
	require.NotContains(t, said, "style.md")
	e.say("undo")
	require.Equal(t, "one\n", e.file("a.txt"))
	require.Contains(t, e.file(note), "Use tabs.")
	require.Empty(t, e.Violations())
}

// The explorer can look at everything and change nothing.
func TestExplorerOnlyReads(t *testing.T) {
	dir := workDir(t)
	m := modeltest.Script(
		modeltest.Say(model.ToolCall("call1", "delegate", `{"agent":"explorer","task":"look"}`)),
		modeltest.SayText("seen"), modeltest.SayText("done"),
	)
	client := acptest.New(acptest.Options{})
	t.Cleanup(client.Close)
	conn := acptest.Connect(t, client, serve(m, nil))
	id, err := conn.Start(t.Context(), dir)
	require.NoError(t, err)
	_, err = conn.Say(t.Context(), id, "hello")
	require.NoError(t, err)
	require.Len(t, m.Requests(), 3)
	var tools []string
	for _, tool := range m.Requests()[1].Tools {
		tools = append(tools, tool.Name)
	}
	require.Subset(t, tools, []string{"read_file", "search_files", "list_files"})
	for _, name := range []string{"write_file", "edit_file", "run_command", "rename_symbol", "edit_symbol", "code_actions"} {
		require.NotContains(t, tools, name)
	}
}
