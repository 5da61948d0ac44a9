// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

func exhaustiveMessages() []*model.Message {
	return []*model.Message{
		{Kind: model.KindRequest},
		{Kind: model.KindRequest, Parts: []model.Part{}},
		{
			Kind: model.KindRequest, RunID: "r1", ConversationID: "c1", Instructions: "Be <brief> & exact.",
			Interrupted: true, Time: time.Date(2026, 11, 21, 8, 30, 0, 123456789, time.UTC), Metadata: map[string]string{"k": ""},
			Parts: []model.Part{
				model.User(""), model.System("s"), model.User("héllo\u2028 \x00"),
				model.Media("image/png", []byte{0, 255, 1}), model.Media("image/png", []byte{}),
				{Kind: model.PartMedia, URL: "https://example.org/x.pdf", MediaType: "application/pdf", Name: "x.pdf"},
				{Kind: model.PartToolReturn, CallID: "1", Tool: "t", Text: "no", Outcome: model.OutcomeDenied, Meta: json.RawMessage(`{"n":9007199254740993}`)},
				model.Retry("2", "t", "again"),
			},
		},
		{
			Kind: model.KindResponse, Provider: "p", Model: "m", ResponseID: "x", Finish: model.FinishToolCalls,
			Usage: model.Usage{InputTokens: 1 << 60, OutputTokens: 2, CacheReadTokens: 3, CacheWriteTokens: 4, ReasoningTokens: 5},
			Parts: []model.Part{
				model.Text(""), model.Thinking(""),
				{Kind: model.PartThinking, Text: "hm", Provider: "p", ID: "rs_1", Signature: []byte{1, 2, 0, 255}},
				{Kind: model.PartThinking, Signature: []byte{}},
				{Kind: model.PartOpaque, Provider: "p", Data: []byte("redacted")},
				model.ToolCall("1", "t", ` { "id" : 9223372036854775807, "f": 1.0 } `),
				model.ToolCall("2", "t", `{"broken`),
				model.ToolCall("3", "t", ""),
				{Kind: model.PartToolCall, CallID: "4", Tool: "t"},
			},
		},
	}
}

func TestMessageJSONRoundTripsExactly(t *testing.T) {
	for _, m := range exhaustiveMessages() {
		data, err := json.Marshal(m)
		require.NoError(t, err)
		var back model.Message
		require.NoError(t, json.Unmarshal(data, &back))
		require.Equal(t, m, &back)
		again, err := json.Marshal(&back)
		require.NoError(t, err)
		require.Equal(t, string(data), string(again))
	}
}

func TestMessageJSONIsVersioned(t *testing.T) {
	data, err := json.Marshal(model.UserText("hi"))
	require.NoError(t, err)
	require.Equal(t, `{"v":1,"kind":"request","parts":[{"kind":"user","text":"hi"}]}`, string(data))

	var m model.Message
	err = json.Unmarshal([]byte(`{"v":2,"kind":"request"}`), &m)
	require.ErrorIs(t, err, model.ErrMessageVersion)
	require.ErrorContains(t, err, "2, this program reads up to 1")
}

func TestMessageJSONReportsInvalidMessages(t *testing.T) {
	for in, want := range map[string]string{
		`{"kind":"other"}`:                `kind is "other"`,
		`{}`:                              `kind is ""`,
		`{"kind":"request","parts":[{}]}`: "part 0 has no kind",
		`{"kind":"request","parts":7}`:    "parts",
		`[]`:                              "cannot unmarshal array",
		`{"kind":"request","v":"one"}`:    "cannot unmarshal string",
	} {
		m := model.Message{Kind: model.KindResponse, Model: "kept"}
		err := json.Unmarshal([]byte(in), &m)
		require.ErrorContains(t, err, want, in)
		require.Equal(t, "kept", m.Model, "a failed decode does not change the message")
	}
	_, err := json.Marshal(&model.Message{})
	require.ErrorContains(t, err, "kind")
}

func FuzzMessageJSON(f *testing.F) {
	for _, m := range exhaustiveMessages() {
		data, err := json.Marshal(m)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m model.Message
		if json.Unmarshal(data, &m) != nil {
			return
		}
		once, err := json.Marshal(&m)
		require.NoError(t, err)
		var back model.Message
		require.NoError(t, json.Unmarshal(once, &back))
		twice, err := json.Marshal(&back)
		require.NoError(t, err)
		require.Equal(t, string(once), string(twice))
	})
}
