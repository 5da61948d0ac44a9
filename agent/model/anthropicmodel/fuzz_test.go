// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

// FuzzStream feeds arbitrary responses. The result must be a message or an error. The deltas must match the message,
// whose JSON must round-trip, and which can be sent back.
func FuzzStream(f *testing.F) {
	f.Add([]byte(searched.stream))
	f.Add([]byte(searched.whole))
	f.Add([]byte(events(say("x")...)))
	f.Add([]byte(finished("pause_turn", start(0, `{"type":"x","a":1,"a":"b"}`), delta(0, `{"type":"x_delta","a":"c"}`), delta(0, `{"type":"input_json_delta","partial_json":"[1"}`))))
	f.Add([]byte(begin() + event(wireErrorOf("overloaded_error", "busy"))))
	f.Add([]byte(finished("end_turn", start(0, `{"type":"tool_use","id":"a","name":"b","input":{}}`), start(0, `{"type":"tool_use","id":"a","name":"b","input":null}`), delta(0, `{"type":"input_json_delta","partial_json":"{\"a"}`))))
	f.Add([]byte("data: {\"type\":\"message_stop\"}\r\n\r\n: c\revent: error\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		m := inProcess(t, adaptertest.Canned(string(in)), once)
		req := hello()
		rec := &recorder{T: t}
		msg, err := m.Generate(context.Background(), req, rec.Sink)
		if err != nil {
			require.Nil(t, msg)
			apiError(t, err)
			return
		}
		rec.Agrees(msg)
		ids := map[string]bool{}
		for _, p := range msg.Parts {
			if p.Kind == model.PartToolCall {
				require.NotEmpty(t, p.CallID)
				require.NotEmpty(t, p.Tool)
				require.False(t, ids[p.CallID], "an id twice")
				ids[p.CallID] = true
			}
		}
		// Whatever a model said can be sent back.
		req.Messages = append(req.Messages, msg, model.UserText("go on"))
		body, err := anthropicmodel.RequestBody(m, req)
		require.NoError(t, err)
		require.True(t, json.Valid(body), "%s", body)
	})
}

func FuzzErrorBody(f *testing.F) {
	f.Add([]byte(wireErrorOf("api_error", "x")))
	f.Add([]byte(`{"error":"x"}`))
	f.Add([]byte(`{"error":{"type":7,"message":"x"},"request_id":[]}`))
	f.Add([]byte(`<title>x`))
	f.Fuzz(func(t *testing.T, in []byte) {
		m := inProcess(t, func(r *http.Request) (*http.Response, error) {
			return adaptertest.Respond(r, 400, io.NopCloser(bytes.NewReader(in))), nil
		}, once)
		_, err := m.Generate(context.Background(), hello(), nil)
		e := apiError(t, err)
		require.Equal(t, 400, e.Status)
		require.False(t, e.Retryable)
		require.LessOrEqual(t, len(e.Message), 4000)
	})
}

// FuzzSchema checks that fitting keeps valid JSON valid, and changes nothing the second time.
func FuzzSchema(f *testing.F) {
	f.Add([]byte(citySchema))
	f.Add([]byte(`{"oneOf":[{"$ref":"#"},true],"anyOf":7,"properties":[],"items":{"minItems":3},"description":1,"type":{}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		if !json.Valid(in) {
			return
		}
		out := anthropicmodel.FitSchema(in)
		require.True(t, json.Valid(out), "%s", out)
		require.Equal(t, string(out), string(anthropicmodel.FitSchema(out)))
	})
}
