// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

// FuzzResponses feeds arbitrary responses. The result must be a message or an error. The deltas must match the message,
// which can be sent back after being read from JSON.
func FuzzResponses(f *testing.F) {
	for _, p := range responseCases {
		f.Add([]byte(p.stream))
		f.Add([]byte(p.plain))
	}
	f.Add([]byte(itemEvents(
		`{"type":"response.reasoning_summary_text.delta","output_index":3,"summary_index":7,"delta":"a"}`,
		`{"type":"response.reasoning_text.delta","output_index":3,"content_index":-1,"delta":"b"}`,
		`{"type":"response.reasoning_summary_text.delta","output_index":3,"summary_index":2,"delta":"c"}`,
		`{"type":"response.output_item.added","output_index":-1,"item":{"type":"function_call","call_id":"x"}}`,
		`{"type":"response.function_call_arguments.delta","output_index":-1,"delta":"{"}`,
		`{"type":"response.output_item.done","output_index":3,"item":{"type":"reasoning","summary":[{"text":"z"}],"content":[{}]}}`,
		`{"type":"response.done","response":{"status":"incomplete","output":[{"type":"odd"},{"type":"function_call"}]}}`)))
	f.Fuzz(func(t *testing.T, in []byte) {
		m := newResponses(t, "http://fuzz.test", func(c *openaimodel.Config) {
			c.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
				return adaptertest.Respond(r, 200, io.NopCloser(bytes.NewReader(in))), nil
			})}
		})
		rec := &recorder{T: t}
		req := hello()
		msg, err := m.Generate(t.Context(), req, rec.Sink)
		if err != nil {
			require.Nil(t, msg)
			var api *model.APIError
			require.ErrorAs(t, err, &api)
			return
		}
		rec.Agrees(msg)
		require.NotEmpty(t, msg.Finish)
		ids := map[string]bool{}
		for _, p := range msg.Parts {
			if p.Kind == model.PartToolCall {
				require.NotEmpty(t, p.CallID)
				require.False(t, ids[p.CallID], "an id twice")
				ids[p.CallID] = true
			}
		}
		data, err := json.Marshal(msg)
		require.NoError(t, err)
		var read model.Message
		require.NoError(t, json.Unmarshal(data, &read))
		req.Messages = append(req.Messages, &read, model.UserText("go on"))
		body, err := openaimodel.ResponsesBody(m, req, true)
		require.NoError(t, err)
		require.True(t, json.Valid(body), "%s", body)
	})
}
