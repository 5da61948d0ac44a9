// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// What an agent says after a hand-over is shown once, while it is written, in this turn and in the next one.
func TestHandOverIsShown(t *testing.T) {
	inner, err := agent.New(agent.Config[bare, string]{Name: "expert", Model: modeltest.Script(
		modeltest.Say(model.Text("Let me look."), model.ToolCall("1", "forecast", `{"city":"Oslo"}`)), modeltest.SayText("21 degrees."), modeltest.SayText("Cold."),
	), Tools: []*toolset.Tool[bare]{forecast()}})
	require.NoError(t, err)
	outer := modeltest.Script(modeltest.Say(model.Text("Wait."), model.ToolCall("1", "ask", `{"prompt":"Oslo?"}`)))
	c := config(t, outer)
	c.Host.Agent, err = agent.New(agent.Config[bare, string]{Model: outer, Alternatives: []agent.Alternative[bare, string]{
		agent.HandOver("ask", "", inner, func(d bare) bare { return d }, agent.Stay()),
		agent.Text(func(_ context.Context, _ *toolset.RunContext[bare], text string) (string, error) { return text, nil }),
	}})
	require.NoError(t, err)
	e, id := start(t, c)
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "Weather in Oslo?"))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "And tomorrow?"))
	shown := map[acp.MessageID]string{}
	var order []acp.MessageID
	for _, u := range e.updates(id) {
		if c := u.AgentMessageChunk; c != nil {
			if shown[c.MessageID] == "" {
				order = append(order, c.MessageID)
			}
			shown[c.MessageID] += c.Content.Text.Text
		}
	}
	var texts []string
	for _, id := range order {
		texts = append(texts, shown[id])
	}
	require.Equal(t, []string{"Wait.", "Let me look.", "21 degrees.", "Cold."}, texts)
	require.Len(t, outer.Requests(), 1)
}
