// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

// searched is a response as OpenAI's documentation of web search has it.
var searched = []string{
	`{"type":"web_search_call","id":"ws_67c9","status":"completed","action":{"type":"search","query":"tea","sources":[{"type":"url","url":"https://tea.test/"}]}}`,
	`{"id":"msg_67c9","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Größe: tea (tea.test).",` +
		`"annotations":[{"type":"url_citation","start_index":7,"end_index":21,"url":"https://tea.test/?utm_source=openai","title":"On tea"}]}]}`,
}

var searchedStream = itemEvents(
	`{"type":"response.output_item.added","output_index":0,"item":{"type":"web_search_call","id":"ws_67c9","status":"in_progress"}}`,
	`{"type":"response.web_search_call.in_progress","output_index":0,"item_id":"ws_67c9"}`,
	`{"type":"response.web_search_call.searching","output_index":0,"item_id":"ws_67c9"}`,
	`{"type":"response.web_search_call.completed","output_index":0,"item_id":"ws_67c9"}`,
	`{"type":"response.output_item.done","output_index":0,"item":`+searched[0]+`}`,
	`{"type":"response.output_text.delta","output_index":1,"content_index":0,"item_id":"msg_67c9","delta":"Größe: tea (tea.test)."}`,
	`{"type":"response.output_text.annotation.added","output_index":1,"content_index":0,"annotation_index":0,"item_id":"msg_67c9",`+
		`"annotation":{"type":"url_citation","start_index":7,"end_index":21,"url":"https://tea.test/?utm_source=openai","title":"On tea"}}`,
	`{"type":"response.output_item.done","output_index":1,"item":`+searched[1]+`}`,
	completed(finalResponse(searched...)),
)

func asking(s model.Settings) *model.Request {
	req := hello()
	req.Settings = &s
	return req
}

func TestNativeSearchGoesBackUnchanged(t *testing.T) {
	server := serve(t, answer{Body: finalResponse(searched...)}, answer{Body: searchedStream}, answer{Body: finalResponse(aMessage)})
	m := newResponses(t, server.URL)
	req := asking(model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebSearch, Allowed: []string{"tea.test", "a.test"}, MaxUses: 3}}})
	plain, err := m.Generate(t.Context(), req, nil)
	require.NoError(t, err)
	_, body := server.Last()
	require.Contains(t, body, `"tools":[{"type":"web_search","filters":{"allowed_domains":["tea.test","a.test"]}}]`)
	require.Contains(t, body, `"max_tool_calls":3`)
	msg, err := stream(t, m, req)
	require.NoError(t, err)
	require.Equal(t, plain, msg)
	require.Equal(t, []model.NativeCall{{Tool: "web_search", Input: "tea"}}, model.NativeCalls(msg))
	require.Equal(t, []model.NativeSource{{URL: "https://tea.test/?utm_source=openai", Title: "On tea", Spans: []model.NativeSpan{{Start: 9, End: 23}}}}, model.NativeSources(msg))
	require.Equal(t, "tea (tea.test)", msg.Text()[9:23])

	stored, err := json.Marshal(msg)
	require.NoError(t, err)
	var read model.Message
	require.NoError(t, json.Unmarshal(stored, &read))
	next := asking(model.Settings{})
	next.Messages = append(next.Messages, &read, model.UserText("and coffee?"))
	_, err = m.Generate(t.Context(), next, nil)
	require.NoError(t, err)
	_, body = server.Last()
	require.Contains(t, body, searched[0]+`,{"type":"message","role":"assistant","content":"Größe: tea (tea.test)."}`)
}

func TestNativeToolsStandBesideTools(t *testing.T) {
	req := asking(model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebSearch}}})
	req.Tools = []model.ToolDef{{Name: "f", Schema: json.RawMessage(`{"type":"object"}`)}}
	m := newResponses(t, "http://x.test")
	body := func() string {
		b, err := openaimodel.ResponsesBody(m, req, false)
		require.NoError(t, err)
		return string(b)
	}
	require.Contains(t, body(), `"tools":[{"type":"web_search"},{"type":"function","name":"f"`)
	req.ToolChoice.Mode = model.ToolChoiceNone
	require.Contains(t, body(), `"tool_choice":"none"`)
	req.Tools = nil
	require.Contains(t, body(), `"tools":[{"type":"web_search"}],"tool_choice":"none"`)
	req.Settings.ExtraBody = map[string]json.RawMessage{"tools": json.RawMessage(`[{"type":"web_search_preview"}]`)}
	require.Contains(t, body(), `"tools":[{"type":"web_search_preview"}]`)
}

func TestCompactionIsSentAndGoesBack(t *testing.T) {
	item := `{"type":"compaction","id":"cmp_1","encrypted_content":"gAAA+/="}`
	server := serve(t, answer{Body: finalResponse(item, aMessage)}, answer{Body: itemEvents(
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"compaction","id":"cmp_1","encrypted_content":""}}`,
		`{"type":"response.output_item.done","output_index":0,"item":`+item+`}`,
		`{"type":"response.output_item.done","output_index":1,"item":`+aMessage+`}`, completed(finalResponse(item, aMessage)),
	)}, answer{Body: finalResponse(aMessage)})
	m := newResponses(t, server.URL)
	plain, err := m.Generate(t.Context(), asking(model.Settings{CompactAt: 200_000}), nil)
	require.NoError(t, err)
	_, body := server.Last()
	require.Contains(t, body, `"context_management":[{"type":"compaction","compact_threshold":200000}]`)
	msg, err := stream(t, m, asking(model.Settings{CompactAt: 200_000}))
	require.NoError(t, err)
	require.Equal(t, plain, msg)
	_, compacted := model.NativeCompaction(&msg.Parts[0])
	require.True(t, compacted)
	next := asking(model.Settings{CompactAt: 200_000})
	next.Messages = append(next.Messages, msg, model.UserText("go on"))
	_, err = m.Generate(t.Context(), next, nil)
	require.NoError(t, err)
	_, body = server.Last()
	require.Contains(t, body, item)
}

func TestUnsupportedNativeToolsAreRefused(t *testing.T) {
	responses, chat := newResponses(t, "http://x.test"), newModel(t, "http://x.test", "openai")
	other := newResponses(t, "http://x.test", func(c *openaimodel.Config) { c.Provider = "vllm" })
	for name, test := range map[string]struct {
		m model.Model
		s model.Settings
	}{
		"fetch":         {responses, model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebFetch}}}},
		"unknown":       {responses, model.Settings{NativeTools: []model.NativeTool{{Kind: "dance"}}}},
		"blocked hosts": {responses, model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebSearch, Blocked: []string{"a.test"}}}}},
		"chat":          {chat, model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebSearch}}}},
		"chat compacts": {chat, model.Settings{CompactAt: 1000}},
		"vLLM":          {other, model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebSearch}}}},
		"vLLM compacts": {other, model.Settings{CompactAt: 1000}},
	} {
		_, err := test.m.Generate(t.Context(), asking(test.s), nil)
		require.ErrorIs(t, err, model.ErrUnsupported, name)
	}
	req := asking(model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebSearch}}})
	req.Tools = []model.ToolDef{{Name: "web_search"}}
	_, err := responses.Generate(t.Context(), req, nil)
	require.ErrorContains(t, err, "web_search")
}
