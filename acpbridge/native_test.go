// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// Sources of an answer are links of its message, and the provider's own calls are tool calls. No HTML is made of them.
func TestClientIsShownNativeCallsAndSources(t *testing.T) {
	e := serve(t, config(t, modeltest.Script(modeltest.Say(
		model.Part{Kind: model.PartOpaque, Provider: "p", Data: []byte(`{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"tea"}}`)},
		model.Text("Tea is green."),
		model.Part{Kind: model.PartCitation, Provider: "p", URL: "https://tea.test/", Name: "<b>On tea</b>", Data: []byte(`{"type":"web_search_result_location"}`)},
	))))
	e.initialize("{}")
	id := e.newSession()
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "Tea?"))
	var links []*acp.ResourceLink
	var message, of acp.MessageID
	var calls []*acp.ToolCall
	for _, u := range e.updates(id) {
		switch {
		case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.ResourceLink != nil:
			links, of = append(links, u.AgentMessageChunk.Content.ResourceLink), u.AgentMessageChunk.MessageID
		case u.AgentMessageChunk != nil:
			message = u.AgentMessageChunk.MessageID
		case u.ToolCall != nil:
			calls = append(calls, u.ToolCall)
		}
	}
	require.Len(t, links, 1)
	require.Equal(t, message, of)
	require.Equal(t, "https://tea.test/", links[0].URI)
	require.Equal(t, "<b>On tea</b>", links[0].Name)
	require.JSONEq(t, `[{"start":0,"end":13}]`, string(links[0].Meta["ponte-go.dev/cites"]))
	require.Len(t, calls, 1)
	require.Equal(t, "Search the web: tea", calls[0].Title)
	require.Equal(t, acp.ToolCallStatusCompleted, calls[0].Status)
}
