// SPDX-License-Identifier: Apache-2.0

package subagents_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/subagents"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset/workspace"
)

func TestDefinitionsAreParsed(t *testing.T) {
	d, err := subagents.Parse("---\nname: code-reviewer\ndescription: Reviews.\nmodel: small\ntools: read_file, search_files,\ncolor: red\n---\nYou review.\n")
	require.NoError(t, err)
	require.Equal(t, subagents.Definition{Name: "code-reviewer", Description: "Reviews.", Model: "small", Tools: []string{"read_file", "search_files"}, Instructions: "You review.\n"}, d)
	d, err = subagents.Parse("---\nname: a\ndescription: b\ntools: [x, y]\n---\nz")
	require.NoError(t, err)
	require.Equal(t, []string{"x", "y"}, d.Tools)
	for text, want := range map[string]string{
		"": "first line", "---\nname: ../a\ndescription: b\n---\nx": "must have 1 to 64", "---\nname: a\n---\nx": "description is missing",
		"---\nname: a\ndescription: b\n---\n \n": "no instructions", "---\nname: a\ndescription: b\ntools: {a: b}\n---\nx": "must be a list",
		"---\nname: a\ndescription: b\ntools: [1]\n---\nx": "must be names", "---\nname: a\ndescription: b\n---\nx\x00": "not UTF-8 text",
		"---\nname: a\ndescription: " + strings.Repeat("x", 1025) + "\n---\nx": "more than 1024",
	} {
		_, err := subagents.Parse(text)
		require.ErrorContains(t, err, want)
	}
}

func TestDefinitionsAreLoaded(t *testing.T) {
	good := func(name string) string { return "---\nname: " + name + "\ndescription: d\n---\nx" }
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/repo"}, Files: map[string]string{
		".agents/agents/b.md": good("b"), ".agents/agents/a.md": good("z"), ".agents/agents/c.md": good("b"), ".agents/agents/bad.md": "x",
		".agents/agents/big.md": good("big") + strings.Repeat("x", 200<<10), ".agents/agents/notes.txt": "x", ".agents/agents/sub/d.md": good("d"),
	}})
	require.NoError(t, err)
	require.NoError(t, ws.Disk().WriteFile("/secret.md", []byte(good("secret")), 0o644))
	require.NoError(t, ws.Disk().Symlink("/secret.md", "/repo/.agents/agents/out.md"))
	all, wrong, err := subagents.Load(t.Context(), ws, ".agents/agents")
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, []string{"b", ".agents/agents/b.md", "z"}, []string{all[0].Name, all[0].Path, all[1].Name})
	var problems []string
	for _, p := range wrong {
		problems = append(problems, strings.TrimPrefix(p.Path, ".agents/agents/")+": "+p.Err.Error())
	}
	require.Equal(t, []string{
		`bad.md: it does not begin with front matter: the first line must be "---"`, "big.md: it is larger than 131072 bytes",
		`c.md: another file defines the agent "b"`, `out.md: workspace: read ".agents/agents/out.md": outside of the workspace`,
	}, problems)
	all, wrong, err = subagents.Load(t.Context(), ws, "gone")
	require.NoError(t, err)
	require.Empty(t, all)
	require.Empty(t, wrong)
	windows, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{`C:\repo`}, Files: map[string]string{`C:\repo\agents\a.md`: good("a")}})
	require.NoError(t, err)
	all, wrong, err = subagents.Load(t.Context(), windows, "agents")
	require.NoError(t, err)
	require.Empty(t, wrong)
	require.Equal(t, []subagents.Definition{{Name: "a", Description: "d", Instructions: "x", Path: "agents/a.md"}}, all)
	_, _, err = subagents.Load(t.Context(), ws, "../x")
	require.ErrorContains(t, err, "outside")
}

func ExampleNew() {
	researcher := agent.Must(agent.New(agent.Config[none, string]{
		Name: "researcher", Model: modeltest.Script(modeltest.SayText("The server listens on 8080.")),
	}))
	a := agent.Must(agent.New(agent.Config[none, string]{
		Model: modeltest.Script(
			modeltest.Say(model.ToolCall("1", "delegate", `{"agent":"researcher","task":"Which port does the server use?","background":true}`)),
			modeltest.Say(model.ToolCall("2", "wait_for_agents", `{}`)),
			modeltest.SayText("Port 8080."),
		),
		Capabilities: []agent.Capability[none]{subagents.New(subagents.Options[none]{Agents: []subagents.Agent[none]{
			subagents.Of("researcher", "Finds out how things are.", researcher, func(d none) none { return d }),
		}})},
	}))
	res, err := a.Run(context.Background(), none{}, "Which port?")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Messages[2].Parts[0].Text)
	fmt.Println(res.Messages[4].Parts[0].Text)
	// Output:
	// researcher works in the background. Its handle is researcher-1: get the result with wait_for_agents.
	// # researcher-1 (researcher)
	// The server listens on 8080.
}
