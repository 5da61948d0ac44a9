// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

func TestPromptsAreSlashCommands(t *testing.T) {
	f := library()
	f.AddPrompt(&mcp.Prompt{Name: "see it", Description: "Look.\u202e"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
			{Role: "user", Content: &mcp.ImageContent{MIMEType: "image/png", Data: []byte("png")}},
			{Role: "user", Content: &mcp.TextContent{Text: "What is it?"}},
		}}, nil
	})
	commands, err := mcptoolset.Commands[none](t.Context(), serve(t, f))
	require.NoError(t, err)
	a := agent.Must(agent.New(agent.Config[none, string]{
		Model: modeltest.Script(), Capabilities: []agent.Capability[none]{{Name: "prompts", Commands: commands}},
	}))
	require.Equal(t, "s:greet", a.Commands()[0].Name)
	require.Equal(t, "who [how]", a.Commands()[0].Hint)
	require.Equal(t, "s:see_it", a.Commands()[1].Name)
	require.Equal(t, `Look.\u202e`, a.Commands()[1].Description)

	for typed, want := range map[string]string{
		"/s:greet Ada": "Greet Ada", `/s:greet "Ada L" with a hat`: "Greet Ada Lwith a hat", "/s:greet 'A B' \" c\"": "Greet A B c",
	} {
		res, ok, err := a.Command(t.Context(), none{}, typed, nil)
		require.True(t, ok)
		require.NoError(t, err)
		require.Equal(t, want, res.Prompt)
	}
	_, _, err = a.Command(t.Context(), none{}, "/s:greet", nil)
	require.ErrorContains(t, err, `the argument "who" is missing`)
	res, _, err := a.Command(t.Context(), none{}, "/s:see_it", nil)
	require.NoError(t, err)
	require.Equal(t, []byte("png"), res.Parts[0].Data)
	require.Contains(t, res.Parts[1].Text, "What is it?")
}

func TestCommandsOfAServerWithoutPrompts(t *testing.T) {
	f := newFake(nil)
	f.tool("echo", echo)
	commands, err := mcptoolset.Commands[none](t.Context(), serve(t, f))
	require.NoError(t, err)
	require.Empty(t, commands)
}
