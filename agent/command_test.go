// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
)

func commander(t *testing.T) *agent.Agent[deps, string] {
	return newAgent(t, cfg{Name: "clerk", Commands: []agent.Command[deps]{
		{Name: "review", Description: "Review the changes.", Prompt: "Review the uncommitted changes."},
		{Name: "explain", Description: "Explain a file.", Hint: "path", Prompt: "Explain this file:"},
		{Name: "forget", Description: "Forget the conversation.", Run: func(_ context.Context, call agent.CommandCall[deps]) (agent.CommandResult, error) {
			return agent.CommandResult{Notice: "Forgotten.", Messages: call.Messages[:0]}, nil
		}},
		{Name: "repeat", Hint: "text", Run: func(_ context.Context, call agent.CommandCall[deps]) (agent.CommandResult, error) {
			return agent.CommandResult{Prompt: call.Args + " " + call.Args, Parts: []model.Part{model.User("twice")}}, nil
		}},
		{Name: "fail", Run: func(context.Context, agent.CommandCall[deps]) (agent.CommandResult, error) {
			return agent.CommandResult{Prompt: "dropped"}, errBoom
		}},
		{Name: "panic", Run: func(context.Context, agent.CommandCall[deps]) (agent.CommandResult, error) { panic("oops") }},
	}})
}

func TestCommandMakesAPrompt(t *testing.T) {
	a := commander(t)
	for text, want := range map[string]agent.CommandResult{
		"/review":              {Prompt: "Review the uncommitted changes."},
		"/review \n":           {Prompt: "Review the uncommitted changes."},
		"/explain  a b.go ":    {Prompt: "Explain this file:\n\na b.go"},
		"/explain":             {Prompt: "Explain this file:"},
		"/explain\na.go\nb.go": {Prompt: "Explain this file:\n\na.go\nb.go"},
		"/repeat me":           {Prompt: "me me", Parts: []model.Part{model.User("twice")}},
	} {
		res, ok, err := a.Command(t.Context(), deps{}, text, nil)
		require.NoError(t, err, text)
		require.True(t, ok, text)
		require.Equal(t, want, res, text)
	}
}

func TestCommandSeesAndReplacesTheHistory(t *testing.T) {
	res, ok, err := commander(t).Command(t.Context(), deps{}, "/forget", []*model.Message{model.UserText("hi")})
	require.NoError(t, err)
	require.True(t, ok)
	require.NotNil(t, res.Messages)
	require.Empty(t, res.Messages)
	require.Equal(t, "Forgotten.", res.Notice)
}

func TestTextWithoutACommandIsAPrompt(t *testing.T) {
	for _, text := range []string{"", "/", "review", " /review", "/reviewer", "/usr/bin/env is a file", "/ review", "//review"} {
		res, ok, err := commander(t).Command(t.Context(), deps{}, text, nil)
		require.NoError(t, err, text)
		require.False(t, ok, text)
		require.Zero(t, res, text)
	}
}

func TestCommandErrorsNameTheCommand(t *testing.T) {
	a := commander(t)
	for text, want := range map[string]string{
		"/fail":       "agent clerk: /fail: boom",
		"/panic":      "agent clerk: /panic: panic: oops (command_test.go:",
		"/review all": "agent clerk: /review: the command takes no arguments",
	} {
		res, ok, err := a.Command(t.Context(), deps{}, text, nil)
		require.ErrorContains(t, err, want)
		require.True(t, ok, text)
		require.Zero(t, res, text)
	}
	_, _, err := a.Command(t.Context(), deps{}, "/review all", nil)
	require.ErrorIs(t, err, agent.ErrCommandArgs)
}
