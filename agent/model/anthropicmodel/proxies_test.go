// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// Proxies count input in one of two events, with 0 in the other, and may write numbers otherwise.
func TestZerosDoNotReplaceUsage(t *testing.T) {
	body := func(first, last string) string {
		return event(`{"type":"message_start","message":{"id":"msg_1","type":"message","model":"m","content":[],"usage":`+first+`}}`) + strings.Join(say("x"), "") +
			event(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":`+last+`}`) + event(`{"type":"message_stop"}`)
	}
	for _, test := range []struct{ first, last string }{
		{`{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":1}`, `{"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":2}`},
		{`{"input_tokens":0,"output_tokens":0}`, `{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":2}`},
		{`{"input_tokens":10.0,"cache_read_input_tokens":"5","output_tokens":null}`, `{"output_tokens":"2"}`},
		{`{"input_tokens":10,"cache_read_input_tokens":5}`, `{"input_tokens":-1,"cache_read_input_tokens":{},"output_tokens":2}`},
	} {
		msg, err := stream(t, newModel(t, serve(t, answer{Body: body(test.first, test.last)}).URL), hello())
		require.NoError(t, err)
		require.Equal(t, model.Usage{InputTokens: 15, OutputTokens: 2, CacheReadTokens: 5}, msg.Usage, test)
	}
}

// LiteLLM writes its errors as OpenAI does, and other proxies as they would without a stream.
func TestErrorsOfProxiesWithinAStreamAreRead(t *testing.T) {
	first := begin() + strings.Join(say("x"), "")
	for _, body := range []string{
		first + "data: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"too busy\"}}\n\n",
		first + "data: {\"error\":\"too busy\"}\n\n",
		first + `{"type":"error","error":{"type":"overloaded_error","message":"too busy"}}`,
		first + "{\n \"error\": {\n \"message\": \"too busy\"\n}\n}\n",
	} {
		_, err := stream(t, newModel(t, serve(t, answer{Body: body}).URL), hello())
		require.ErrorContains(t, err, "too busy", body)
		apiError(t, err)
	}
}

func TestTextInsteadOfAStreamIsQuoted(t *testing.T) {
	e := serve(t, answer{Body: "Please log in.\n\nThank you."})
	_, err := stream(t, newModel(t, e.URL), hello())
	require.ErrorContains(t, err, "is no message but Please log in. (is Config.BaseURL right? it is "+e.URL)
	require.False(t, apiError(t, err).Retryable)
	_, err = stream(t, newModel(t, serve(t, answer{Body: begin() + "data: Busy\n\n"}).URL), hello())
	require.ErrorContains(t, err, ": Busy")
	for _, body := range []string{"ev", ": ping\n\n", ""} {
		_, err := stream(t, newModel(t, serve(t, answer{Body: body}).URL), hello())
		require.ErrorContains(t, err, "broke off")
	}
}

// MiniMax ends a stream with the whole message.
func TestAMessageAtTheEndOfAStreamIsNotAnother(t *testing.T) {
	none := event(`{"type":"message_delta","delta":{"stop_reason":null},"error":null}`)
	whole := none + event(`{"type":"message","id":"msg_2","role":"assistant","content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn"}`)
	msg, err := stream(t, newModel(t, serve(t, answer{Body: begin() + strings.Join(say("Hello"), "") + whole + strings.Join(end("end_turn", `{"output_tokens":2}`), "")}).URL), hello())
	require.NoError(t, err)
	require.Equal(t, []model.Part{model.Text("Hello")}, msg.Parts)
}
