// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

// FuzzStream feeds arbitrary responses. The result must be a message or an error. The deltas must match the message,
// whose JSON must round-trip.
func FuzzStream(f *testing.F) {
	for _, d := range dialects {
		for _, p := range []pair{d.text, d.calls, d.thinking} {
			f.Add([]byte(p.stream))
			f.Add([]byte(p.plain))
		}
	}
	f.Add([]byte(events(fragment(0, "a", "we", ""), fragment(0, "b", "ather", `{`), fragment(1, "", "time", `{}`), fragment(-1, "", "", `}`))))
	f.Fuzz(func(t *testing.T, in []byte) {
		m := newModel(t, "http://fuzz.test", "openrouter", func(c *openaimodel.Config) {
			c.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
				return adaptertest.Respond(r, 200, io.NopCloser(bytes.NewReader(in))), nil
			})}
		})
		req := hello()
		req.Tools = []model.ToolDef{{Name: "weather"}, {Name: "time"}}
		rec := &recorder{T: t}
		msg, err := m.Generate(context.Background(), req, rec.Sink)
		if err != nil {
			require.Nil(t, msg)
			var api *model.APIError
			require.ErrorAs(t, err, &api)
			return
		}
		rec.Agrees(msg)
		ids := map[string]bool{}
		for _, p := range msg.Parts {
			if p.Kind == model.PartToolCall {
				require.NotEmpty(t, p.CallID)
				require.False(t, ids[p.CallID], "an id twice")
				ids[p.CallID] = true
			}
		}
		// Whatever a model said can be sent back.
		req.Messages = append(req.Messages, msg, model.UserText("go on"))
		body, err := openaimodel.RequestBody(m, req, true)
		require.NoError(t, err)
		require.True(t, json.Valid(body), "%s", body)
	})
}

func FuzzErrorBody(f *testing.F) {
	for _, e := range errorCases {
		f.Add([]byte(e.body))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		openaimodel.ParseErrorBody(in)
		m := newModel(t, "http://fuzz.test", "", func(c *openaimodel.Config) {
			c.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
				return adaptertest.Respond(r, 400, io.NopCloser(bytes.NewReader(in))), nil
			})}
		})
		_, err := m.Generate(context.Background(), hello(), nil)
		e := apiError(t, err)
		require.Equal(t, 400, e.Status)
		require.False(t, e.Retryable)
		require.LessOrEqual(t, len(e.Message), 4000)
	})
}

func FuzzJSONString(f *testing.F) {
	f.Add("plain")
	f.Add("\x00\x1f\"\\\n\r\t\x7f\u2028é😀\xff\xed\xa0\x80")
	f.Fuzz(func(t *testing.T, in string) {
		out := openaimodel.AppendJSONString(nil, in)
		require.True(t, utf8.Valid(out))
		var back, want string
		require.NoError(t, json.Unmarshal(out, &back))
		std, err := json.Marshal(in)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(std, &want))
		require.Equal(t, want, back)
		require.False(t, strings.ContainsAny(string(out), "\n\r"))
	})
}
