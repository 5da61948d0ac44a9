// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

// answering sets a client that answers every request with body.
func answering(status int, body func() io.Reader) func(*geminimodel.Config) {
	return func(c *geminimodel.Config) {
		c.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			return adaptertest.Respond(r, status, io.NopCloser(body())), nil
		})}
	}
}

// FuzzStream feeds arbitrary responses. The result must be a message or an error. The deltas must match the message,
// which can be stored and sent back.
func FuzzStream(f *testing.F) {
	f.Add([]byte(events(chunk("", `{"text":"a"}`), chunk("STOP", `{"text":"b","thoughtSignature":"c2ln"}`))))
	f.Add([]byte(events(chunk("", `{"text":"a","thought":true}`, `{"text":"","thought":true,"thoughtSignature":"c2ln"}`, `{"executableCode":{}}`),
		chunk("STOP", `{"functionCall":{"id":"a","name":"f","args":{"n":9007199254740993}},"thoughtSignature":"c2ln"}`, `{"functionCall":{"id":"a","name":"f"}}`))))
	f.Add([]byte(events(chunk("STOP", `{"inlineData":{"mimeType":"image/png","data":"cG5n"},"thoughtSignature":"c2ln"}`, `{"thoughtSignature":"c2ln"}`))))
	f.Add([]byte(`data: {"promptFeedback":{"blockReason":"SAFETY"}}`))
	f.Add([]byte("[" + chunk("", `{"text":"a"}`) + "\n," + chunk("MAX_TOKENS") + "]"))
	for _, e := range errorCases {
		f.Add([]byte(e.Body))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		rec := &recorder{T: t}
		m := newModel(t, "http://fuzz.test", answering(200, func() io.Reader { return bytes.NewReader(in) }))
		msg, err := m.Generate(context.Background(), hello(), rec.Sink)
		again, err2 := newModel(t, "http://fuzz.test", answering(200, func() io.Reader { return iotest.OneByteReader(bytes.NewReader(in)) })).
			Generate(context.Background(), hello(), func(model.Delta) error { return nil })
		require.Equal(t, err == nil, err2 == nil, "how the bytes arrive makes no difference: %v, %v", err, err2)
		if err != nil {
			require.Nil(t, msg)
			var api *model.APIError
			require.ErrorAs(t, err, &api)
			return
		}
		require.Equal(t, len(msg.Parts), len(again.Parts))
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
		sent := ""
		history := []*model.Message{model.UserText("hi"), msg, model.UserText("go on")}
		_, _ = newModel(t, "http://fuzz.test", func(c *geminimodel.Config) {
			c.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
				body, err := io.ReadAll(r.Body)
				require.NoError(t, err)
				sent = string(body)
				return adaptertest.Respond(r, 200, adaptertest.Text(`{}`)), nil
			})}
		}).Generate(context.Background(), &model.Request{Messages: history}, nil)
		require.True(t, json.Valid([]byte(sent)), "%s", sent)
	})
}

func FuzzSchema(f *testing.F) {
	f.Add(`{"$schema":"x","type":"object","properties":{"a":{"const":1,"title":"t","exclusiveMinimum":0,"format":"date"}}}`)
	f.Add(`{"anyOf":[{"const":"a"},{"type":"string","format":"date","description":"d"}],"items":[true,{"title":"x"}],"properties":7}`)
	f.Add(`{"titl\u0065":"x","const":{"title":"kept"},"const":1}`)
	f.Fuzz(func(t *testing.T, schema string) {
		if !json.Valid([]byte(schema)) {
			return
		}
		sent := ""
		_, _ = newModel(t, "http://fuzz.test", func(c *geminimodel.Config) {
			c.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
				body, err := io.ReadAll(r.Body)
				require.NoError(t, err)
				sent = string(body)
				return adaptertest.Respond(r, 200, adaptertest.Text(`{}`)), nil
			})}
		}).Generate(context.Background(), &model.Request{
			Messages: hello().Messages, Tools: []model.ToolDef{{Name: "f", Schema: json.RawMessage(schema)}},
		}, nil)
		require.True(t, sent == "" || json.Valid([]byte(sent)), "%s", sent)
	})
}
