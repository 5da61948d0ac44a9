// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/app/ask"
	"github.com/ponte-go/ponte/toolset/workspace"
)

func TestCoderMendsAProject(t *testing.T) {
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/repo"}, Files: map[string]string{
		"AGENTS.md": "Use tabs.", "greet.go": "package greet\n\nconst Text = \"Helo\"\n",
		".agents/skills/spell/SKILL.md": "---\nname: spell\ndescription: Correct spelling.\n---\nLook twice.\n",
	}})
	require.NoError(t, err)
	work := workspace.NewSession(ws)
	defer work.Close(t.Context())
	script := modeltest.Script(
		modeltest.Say(model.ToolCall("1", "update_plan", `{"plan":[{"step":"Find it","status":"in_progress"}]}`), model.ToolCall("2", "load_skill", `{"name":"spell"}`)),
		modeltest.Say(model.ToolCall("3", "delegate", `{"agent":"explorer","task":"Where is the greeting?"}`)),
		modeltest.SayText("greet.go:3"), // the explorer
		modeltest.Say(model.ToolCall("4", "ask_user", `{"question":"How many l?","options":["one","two"]}`)),
		modeltest.Say(model.ToolCall("5", "edit_file", `{"path":"greet.go","edits":[{"old_text":"Helo","new_text":"Hello"}]}`)),
		modeltest.Say(model.ToolCall("6", "save_note", `{"name":"spelling","text":"Hello has two l.\u001b[2J"}`)),
		modeltest.SayText("Mended."), modeltest.SayText("They mended the greeting."),
	)
	var out bytes.Buffer
	in := strings.NewReader("Correct the greeting.\ntwo\ny\nn\n/memory\n/skill\n/compact\n")
	messages := ask.Converse(t.Context(), ask.New(in, &out), newCoder(script), Deps{work})
	require.NotEmpty(t, messages)
	text, err := ws.Disk().ReadFile("/repo/greet.go")
	require.NoError(t, err)
	require.Contains(t, string(text), "Hello")
	first := script.Requests()[0]
	require.Contains(t, first.Instructions, "Use tabs.")
	require.Contains(t, first.Instructions, "- spell: Correct spelling.")
	require.Contains(t, out.String(), "Edit greet.go")
	require.Contains(t, out.String(), "Mended.")
	require.Contains(t, out.String(), "There are no notes.", "the user did not want it")
	require.Contains(t, out.String(), "Summarised")
	require.NotContains(t, out.String(), "\x1b")
	require.Len(t, script.Requests()[2].Tools, 3, "the explorer reads, lists and searches")
}

// TestOfflineModelMendsTheDemo does what the README's first command does, in memory.
func TestOfflineModelMendsTheDemo(t *testing.T) {
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/demo"}, Files: map[string]string{"temperature.go": "package temperature\n\nconst zero = 23\n"}})
	require.NoError(t, err)
	d := Deps{workspace.NewSession(ws)}
	defer d.Work.Close(t.Context())
	coder, err := open(t.Context(), "offline")
	require.NoError(t, err)
	const prompt = `search "= 23" and replace "= 23" with "= 32" in temperature.go`

	var out bytes.Buffer
	messages, err := ask.Turn(t.Context(), ask.New(strings.NewReader(""), &out), newCoder(coder), d, prompt, nil)
	require.NoError(t, err)
	require.NotEmpty(t, messages)
	text, err := ws.Disk().ReadFile("/demo/temperature.go")
	require.NoError(t, err)
	require.Contains(t, string(text), "= 23", "nobody has allowed it")

	out.Reset()
	yes := ask.New(strings.NewReader(""), &out)
	yes.Yes = true
	_, err = ask.Turn(t.Context(), yes, newCoder(coder), d, prompt, nil)
	require.NoError(t, err)
	text, err = ws.Disk().ReadFile("/demo/temperature.go")
	require.NoError(t, err)
	require.Contains(t, string(text), "= 32")
	require.Contains(t, out.String(), "+const zero = 32", "what is allowed is shown")
}

func TestFailedTurnIsAnError(t *testing.T) {
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/demo"}})
	require.NoError(t, err)
	d := Deps{workspace.NewSession(ws)}
	defer d.Work.Close(t.Context())
	broken := modeltest.Script() // has no answers
	messages, err := ask.Turn(t.Context(), ask.New(strings.NewReader(""), new(bytes.Buffer)), newCoder(broken), d, "Hello.", nil)
	require.Error(t, err)
	require.NotEmpty(t, messages, "the conversation goes on from there")
}

func TestCodeagentIsShort(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	lines := 0
	for _, f := range files {
		if !strings.HasSuffix(f, "_test.go") {
			text, err := os.ReadFile(f)
			require.NoError(t, err)
			lines += strings.Count(string(text), "\n")
		}
	}
	require.Less(t, lines, 200)
}
