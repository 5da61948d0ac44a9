// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// TestCutStreamKeepsSignedThinking cuts a response off after a complete call. The API wants signed thinking back before
// the call, so the run must have kept it.
func TestCutStreamKeepsSignedThinking(t *testing.T) {
	thinking := `{"type":"thinking","thinking":"Hm.","signature":"c2ln"}`
	redacted := `{"type":"redacted_thinking","data":"secret"}`
	cut := begin() + strings.Join([]string{
		start(0, `{"type":"thinking","thinking":"","signature":""}`), delta(0, `{"type":"thinking_delta","thinking":"Hm."}`), delta(0, `{"type":"signature_delta","signature":"c2ln"}`), stop(0),
		start(1, redacted), stop(1),
		start(2, `{"type":"text","text":""}`), delta(2, `{"type":"text_delta","text":"Let me look."}`), stop(2),
		start(3, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`), stop(3),
		start(4, `{"type":"tool_use","id":"toolu_1","name":"look","input":{}}`), delta(4, `{"type":"input_json_delta","partial_json":"{\"at\":1}"}`), stop(4),
		start(5, `{"type":"thinking","thinking":"","signature":""}`), delta(5, `{"type":"thinking_delta","thinking":"unsigned"}`),
	}, "")
	e := serve(t, answer{Body: cut}, answer{Body: events(say("ok")...)})
	m := newModel(t, e.URL)
	look := toolset.Plain[struct{}]("look", "Look.", func(_ context.Context, in struct {
		At int `json:"at"`
	}) (int, error) {
		return in.At, nil
	})
	a, err := agent.New(agent.Config[struct{}, string]{Model: m, Toolsets: []toolset.Toolset[struct{}]{toolset.Of(look)}})
	require.NoError(t, err)
	_, err = a.Stream(context.Background(), struct{}{}, "go").Result()
	var failed *agent.RunError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, model.Usage{InputTokens: 3, OutputTokens: 1}, failed.Usage.Usage, "what the stream began with")
	require.True(t, failed.Messages[1].Interrupted)

	_, err = a.Run(context.Background(), struct{}{}, "go on", agent.WithHistory(failed.Messages))
	require.NoError(t, err)
	var sent struct {
		Messages []struct {
			Role    string
			Content []json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal([]byte(e.Bodies[1]), &sent))
	require.Equal(t, "assistant", sent.Messages[1].Role)
	content := sent.Messages[1].Content
	require.Len(t, content, 4)
	require.JSONEq(t, thinking, string(content[0]))
	require.JSONEq(t, redacted, string(content[1]))
	require.JSONEq(t, `{"type":"text","text":"Let me look."}`, string(content[2]))
	require.JSONEq(t, `{"type":"tool_use","id":"toolu_1","name":"look","input":{"at":1}}`, string(content[3]))
	require.Contains(t, string(sent.Messages[2].Content[0]), "Interrupted before a result was produced.")
}
