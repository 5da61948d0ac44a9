// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"context"
	"errors"
	"strings"
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

// What a server says of prompts is what people read and type: names that would be one have an end of
// their own, errors are one line, and what the server has the assistant say is marked.
func TestPromptsOfMessyServers(t *testing.T) {
	f := newFake(nil)
	says := func(name string, messages ...*mcp.PromptMessage) {
		f.AddPrompt(&mcp.Prompt{Name: name}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			if len(messages) == 0 {
				return nil, errors.New("out\nof \u202eorder")
			}
			return &mcp.GetPromptResult{Messages: messages}, nil
		})
	}
	text := func(role mcp.Role, text string) *mcp.PromptMessage {
		return &mcp.PromptMessage{Role: role, Content: &mcp.TextContent{Text: text}}
	}
	says("a b", text("user", "one"))
	says("a_b", text("user", "two"), text("assistant", "three"), text("user", "four"))
	says("broken")
	s := serve(t, f)
	commands, err := mcptoolset.Commands[none](t.Context(), s)
	require.NoError(t, err)
	require.Len(t, commands, 3)
	require.Equal(t, []string{"s:a_b", "s:broken"}, []string{commands[0].Name, commands[2].Name})
	require.Regexp(t, "^s:a_b.+", commands[1].Name)
	run := func(i int) (string, error) {
		res, err := commands[i].Run(t.Context(), agent.CommandCall[none]{})
		return res.Prompt, err
	}
	for i, want := range []string{"one", "two\n[assistant]\nthree\nfour"} {
		got, err := run(i)
		require.NoError(t, err)
		require.Equal(t, want, strings.TrimSpace(got))
	}
	_, err = run(2)
	require.ErrorContains(t, err, "of \\u202eorder")
	require.NotContains(t, err.Error(), "\n")
	require.NoError(t, s.Close())
	_, err = run(0)
	require.Error(t, err)
	_, err = mcptoolset.Commands[none](t.Context(), s)
	require.ErrorContains(t, err, `mcptoolset: commands of server "s": `)
}

func TestCommandsOfAServerWithoutPrompts(t *testing.T) {
	f := newFake(nil)
	f.tool("echo", echo)
	commands, err := mcptoolset.Commands[none](t.Context(), serve(t, f))
	require.NoError(t, err)
	require.Empty(t, commands)
}
