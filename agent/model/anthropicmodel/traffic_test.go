// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// Unexpected responses of Anthropic's servers, shortened.

// In a stream with server tools, the last usage includes the input from the tools: all counts are totals so far.
func TestUsageOfAStreamIsItsLast(t *testing.T) {
	body := event(`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,`+
		`"usage":{"input_tokens":2679,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":0},"output_tokens":3,"service_tier":"standard"}}}`) +
		event(`{"type":"ping"}`) + strings.Join(say("Rain."), event(`{"type":"ping"}`)) +
		event(`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":10682,`+
			`"cache_creation_input_tokens":5,"cache_read_input_tokens":7,"output_tokens":510,"server_tool_use":{"web_search_requests":1}}}`) +
		event(`{"type":"message_stop"}`)
	msg, err := stream(t, newModel(t, serve(t, answer{Body: body}).URL), hello())
	require.NoError(t, err)
	require.Equal(t, model.Usage{InputTokens: 10_694, OutputTokens: 510, CacheReadTokens: 7, CacheWriteTokens: 5}, msg.Usage)
}

func TestBlockMayStartWithContent(t *testing.T) {
	msg, err := stream(t, newModel(t, serve(t, answer{Body: finished("tool_use",
		start(0, `{"type":"thinking","thinking":"Hm","signature":"s"}`), delta(0, `{"type":"signature_delta","signature":"ig"}`), delta(0, `{"type":"thinking_delta","thinking":"."}`), stop(0),
		start(1, `{"type":"text","text":"It "}`), delta(1, `{"type":"text_delta","text":"rains."}`), stop(1),
		start(2, `{"type":"tool_use","id":"a","name":"f","input":{"zip":9007199254740993}}`), stop(2),
		start(3, `{"type":"tool_use","id":"b","name":"f","input":{}}`), delta(3, `{"type":"input_json_delta","partial_json":""}`), stop(3),
		start(4, `{"type":"tool_use","id":"c","name":"f","input":{}}`), delta(4, `{"type":"input_json_delta","partial_json":""}`),
		delta(4, `{"type":"input_json_delta","partial_json":"{\"zip\": 1"}`), delta(4, `{"type":"input_json_delta","partial_json":"}"}`), stop(4),
	)}).URL), hello())
	require.NoError(t, err)
	require.Equal(t, []model.Part{
		{Kind: model.PartThinking, Text: "Hm.", Provider: "anthropic", Signature: []byte("sig")},
		model.Text("It rains."),
		model.ToolCall("a", "f", `{"zip":9007199254740993}`), model.ToolCall("b", "f", `{}`), model.ToolCall("c", "f", `{"zip": 1}`),
	}, msg.Parts)
}

// A model that has nothing to add to the results of its tools returns no text.
func TestEmptyResponse(t *testing.T) {
	for name, body := range map[string]string{
		"whole":  `{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":7}}`,
		"stream": finished("end_turn"),
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, answer{Body: body})
			msg, err := stream(t, newModel(t, e.URL), hello())
			require.NoError(t, err)
			require.Empty(t, msg.Parts)
			require.Equal(t, model.FinishStop, msg.Finish)
			require.Equal(t, model.Usage{InputTokens: 3, OutputTokens: 7}, msg.Usage)
			require.Equal(t, 1, e.Count())
		})
	}
}

func TestRefusalKeepsEarlierText(t *testing.T) {
	body := strings.Replace(finished("refusal", say("First, ")...), `"stop_sequence":null}`, `"stop_sequence":null,"stop_details":{"type":"refusal","category":"cyber"}}`, -1)
	msg, err := stream(t, newModel(t, serve(t, answer{Body: body}).URL), hello())
	require.NoError(t, err)
	require.Equal(t, "First, ", msg.Text())
	require.Equal(t, model.FinishRefusal, msg.Finish)
}

func TestNumberOfBlocksIsLimited(t *testing.T) {
	blocks := strings.Repeat(`{"type":"text","text":"x"},`, 10_001)
	body := `{"type":"message","content":[` + blocks + `{"type":"text","text":"x"}],"stop_reason":"end_turn"}`
	_, err := stream(t, newModel(t, serve(t, answer{Body: body}).URL), hello())
	require.ErrorContains(t, err, "has more than 10000 blocks")
	require.False(t, apiError(t, err).Retryable)
}

// Arguments at the start of a call are told when its block ends.
func TestSinkErrorAboutEarlyArgumentsIsReturned(t *testing.T) {
	m := newModel(t, serve(t, answer{Body: finished("tool_use",
		start(0, `{"type":"tool_use","id":"a","name":"f","input":{"zip":1},"caller":{"type":"direct"}}`), stop(0),
	)}).URL)
	told := 0
	_, err := m.Generate(t.Context(), hello(), func(model.Delta) error { told++; return nil })
	require.NoError(t, err)
	require.GreaterOrEqual(t, told, 3, "the call, its arguments, and the whole")
	for at := range told {
		mine, n := fmt.Errorf("at %d", at), -1
		_, err := m.Generate(t.Context(), hello(), func(model.Delta) error {
			if n++; n == at {
				return mine
			}
			return nil
		})
		require.Equal(t, mine, err)
		require.Equal(t, at, n, "nothing is told behind an error")
	}
}
