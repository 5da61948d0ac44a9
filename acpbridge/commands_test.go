// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// TestCommandsOfTheAgent: they are announced after session/new, those of capabilities too, and carried out in prompts.
func TestCommandsOfTheAgent(t *testing.T) {
	m := modeltest.Script(modeltest.SayText("It adds."), modeltest.SayText("Hello."))
	c := config(t, m)
	var err error
	c.Host.Agent, err = agent.New(agent.Config[bare, string]{
		Model:    m,
		Commands: []agent.Command[bare]{{Name: "explain", Description: "Explain a file.", Hint: "path", Prompt: "Explain this file:"}},
		Capabilities: []agent.Capability[bare]{{Name: "memory", Commands: []agent.Command[bare]{
			{Name: "forget", Description: "Forget what was said.", Run: func(context.Context, agent.CommandCall[bare]) (agent.CommandResult, error) {
				return agent.CommandResult{Notice: "Forgotten.", Messages: []*model.Message{}}, nil
			}},
			{Name: "broken", Description: "Fail.", Run: func(context.Context, agent.CommandCall[bare]) (agent.CommandResult, error) {
				return agent.CommandResult{}, errors.New("no disk")
			}},
		}}},
	})
	require.NoError(t, err)
	e, id := start(t, c)
	e.awaitUpdate(func(u *acp.SessionUpdate) bool { return u.AvailableCommandsUpdate != nil })
	for _, prompt := range []string{"/explain add.go", "/forget", "hello", "/forget me", "/broken", "/unknown"} {
		requireStop(t, acp.StopReasonEndTurn, e.prompt(id, prompt))
	}
	require.Len(t, m.Requests(), 2, "an unknown command does not go to the model")
	require.Equal(t, "Explain this file:\n\nadd.go", m.Requests()[0].Messages[0].Parts[0].Text)
	require.Len(t, m.Requests()[1].Messages, 1, "all was forgotten")

	got, golden := wireText(e.all()), filepath.Join("testdata", "serve_commands.jsonl")
	if *updateGolden {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestAgentWithoutCommandsAnnouncesNone(t *testing.T) {
	e, id := start(t, config(t, modeltest.Script(modeltest.SayText("/not a command"))))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "/explain"))
	for _, u := range e.updates(id) {
		require.Nil(t, u.AvailableCommandsUpdate)
	}
	require.Equal(t, "/not a command", e.text(id))
}

// A prompt after a turn that was left pending denies its calls, as the model is told.
func TestPromptAfterAPendingTurnDeniesItsCalls(t *testing.T) {
	m := modeltest.Script(modeltest.Say(model.ToolCall("1", "elsewhere", "{}")), modeltest.SayText("Then not."))
	external := tool("elsewhere", func(context.Context, *toolset.RunContext[bare]) (string, error) { panic("called") }, func(o *toolset.Options) { o.External = true })
	e, id := start(t, config(t, m, external))
	e.prompt(id, "a")
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "b"))
	answer := m.Requests()[1].Messages[2].Parts[0]
	require.Equal(t, model.OutcomeDenied, answer.Outcome)
	require.Equal(t, "Not executed: the user wrote a message instead of answering.", answer.Text)
	require.Equal(t, "b", m.Requests()[1].Messages[3].Parts[0].Text)
}
