// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
)

// searchBlocks is a response as Anthropic's documentation of web search has it.
var searchBlocks = []string{
	`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"claude shannon birth date"}}`,
	`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://s.test/","title":"Claude Shannon","encrypted_content":"EqgfCioIARgBIiQ3YTAw==","page_age":"April 30, 2025"}]}`,
	`{"type":"text","text":"Born 1916.","citations":[{"type":"web_search_result_location","url":"https://s.test/","title":"Claude Shannon","encrypted_index":"Eo8BCioIAhgB","cited_text":"Shannon (April 30, 1916"}]}`,
}

func wholeMessage(blocks ...string) string {
	return `{"id":"msg_1","type":"message","role":"assistant","model":"claude-haiku-4-5","stop_reason":"end_turn","content":[` + strings.Join(blocks, ",") +
		`],"usage":{"input_tokens":6,"output_tokens":7}}`
}

// streamedMessage streams blocks in pieces, as the API does.
func streamedMessage(events ...string) string {
	all := append([]string{`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-haiku-4-5","content":[],"usage":{"input_tokens":6,"output_tokens":1}}}`}, events...)
	all = append(all, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}`, `{"type":"message_stop"}`)
	var b strings.Builder
	for _, e := range all {
		var kind struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal([]byte(e), &kind)
		b.WriteString("event: " + kind.Type + "\ndata: " + e + "\n\n")
	}
	return b.String()
}

func asking(s model.Settings) *model.Request {
	req := hello()
	req.Settings = &s
	return req
}

func TestNativeSearchGoesBackUnchanged(t *testing.T) {
	server := serve(t, answer{Body: wholeMessage(searchBlocks...)}, answer{Body: streamedMessage(
		`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"claude"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":" shannon birth date\"}"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":`+searchBlocks[1]+`}`, `{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"","citations":[]}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Born 1916."}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"https://s.test/","title":"Claude Shannon","encrypted_index":"Eo8BCioIAhgB","cited_text":"Shannon (April 30, 1916"}}}`,
		`{"type":"content_block_stop","index":2}`,
	)}, answer{Body: wholeMessage(`{"type":"text","text":"ok"}`)})
	m := newModel(t, server.URL)
	req := asking(model.Settings{NativeTools: []model.NativeTool{
		{Kind: model.NativeWebSearch, Blocked: []string{"bad.test"}, MaxUses: 2}, {Kind: model.NativeWebFetch, Allowed: []string{"s.test"}},
	}})
	plain, err := m.Generate(t.Context(), req, nil)
	require.NoError(t, err)
	_, body := server.Last()
	var sent struct {
		Tools []json.RawMessage `json:"tools"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &sent))
	require.Len(t, sent.Tools, 2)
	require.JSONEq(t, `{"type":"web_search_20260318","name":"web_search","allowed_callers":["direct"],"max_uses":2,"blocked_domains":["bad.test"]}`, string(sent.Tools[0]))
	var fetch map[string]any
	require.NoError(t, json.Unmarshal(sent.Tools[1], &fetch))
	require.Equal(t, "web_fetch_20260318", fetch["type"])
	require.Equal(t, []any{"direct"}, fetch["allowed_callers"])
	require.Equal(t, []any{"s.test"}, fetch["allowed_domains"])
	require.Equal(t, map[string]any{"enabled": true}, fetch["citations"])

	msg, err := stream(t, m, req)
	require.NoError(t, err)
	require.Equal(t, plain, msg)
	require.Equal(t, []model.NativeCall{{Tool: "web_search", Input: "claude shannon birth date"}}, model.NativeCalls(msg))
	require.Equal(t, []model.NativeSource{{URL: "https://s.test/", Title: "Claude Shannon", Quote: "Shannon (April 30, 1916", Spans: []model.NativeSpan{{Start: 0, End: 10}}}}, model.NativeSources(msg))

	stored, err := json.Marshal(msg)
	require.NoError(t, err)
	var read model.Message
	require.NoError(t, json.Unmarshal(stored, &read))
	next := asking(model.Settings{})
	next.Messages = append(next.Messages, &read, model.UserText("and where?"))
	_, err = m.Generate(t.Context(), next, nil)
	require.NoError(t, err)
	_, body = server.Last()
	for _, block := range searchBlocks[:2] {
		require.Contains(t, body, block)
	}
	require.Contains(t, body, `"encrypted_index":"Eo8BCioIAhgB"`)
}

func TestVersionOfNativeToolsIsOneThatTheModelHas(t *testing.T) {
	const current = `"tools":[{"type":"web_search_20260318","name":"web_search","allowed_callers":["direct"]},` +
		`{"type":"web_fetch_20260318","name":"web_fetch","allowed_callers":["direct"],"citations":{"enabled":true}}]`
	const basic = `"tools":[{"type":"web_search_20250305","name":"web_search"},{"type":"web_fetch_20250910","name":"web_fetch","citations":{"enabled":true}}]`
	for name, want := range map[string]string{
		"claude-opus-5-5": current, "claude-haiku-5-5": current, "claude-sonnet-4-6": current, "claude-haiku-4-5-20251001": current,
		"claude-sonnet-4-5": current, "claude-story-9": current, "claude-opus-4-1": basic, "claude-sonnet-4-20250514": basic,
		"claude-sonnet-5@20260301": basic, "us.anthropic.claude-opus-4-6-v1:0": basic, "anthropic/claude-story-9": basic,
	} {
		server := serve(t, answer{Body: wholeMessage(`{"type":"text","text":"ok"}`)})
		m := newModel(t, server.URL, func(c *anthropicmodel.Config) {
			p := anthropicmodel.ProfileFor(name)
			p.NativeTools = true // also on platforms where it is not the default
			c.Name, c.Profile = name, &p
		})
		_, err := m.Generate(t.Context(), asking(model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebSearch}, {Kind: model.NativeWebFetch}}}), nil)
		require.NoError(t, err)
		_, body := server.Last()
		require.Contains(t, body, want, name)
	}
}

func TestServerToolsTakeThePlaceOfNativeTools(t *testing.T) {
	server := serve(t, answer{Body: wholeMessage(`{"type":"text","text":"ok"}`)})
	m := newModel(t, server.URL, func(c *anthropicmodel.Config) {
		c.ServerTools = []json.RawMessage{json.RawMessage(`{"type":"web_search_20260209","name":"web_search"}`)}
	})
	_, err := m.Generate(t.Context(), asking(model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebSearch}}}), nil)
	require.NoError(t, err)
	_, body := server.Last()
	require.Contains(t, body, `"tools":[{"type":"web_search_20260209","name":"web_search"}]`)
}

func TestCompactionIsSentAndGoesBack(t *testing.T) {
	block := `{"type":"compaction","content":"They drank tea."}`
	usage := `"usage":{"input_tokens":20,"output_tokens":7,"iterations":[{"type":"compaction","input_tokens":60000,"output_tokens":100},{"type":"message","input_tokens":20,"output_tokens":7}]}`
	whole := strings.Replace(wholeMessage(block, `{"type":"text","text":"Go on."}`), `"usage":{"input_tokens":6,"output_tokens":7}`, usage, 1)
	server := serve(t, answer{Body: whole}, answer{Body: strings.Replace(streamedMessage(
		`{"type":"content_block_start","index":0,"content_block":{"type":"compaction","content":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","content":"They drank tea."}}`, `{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Go on."}}`, `{"type":"content_block_stop","index":1}`,
	), `"usage":{"output_tokens":7}`, usage, 1)}, answer{Body: wholeMessage(`{"type":"text","text":"ok"}`)})
	m := newModel(t, server.URL, func(c *anthropicmodel.Config) { c.Name, c.Betas = "claude-sonnet-4-6", []string{"other-beta"} })
	require.True(t, m.Info().NativeCompaction)
	plain, err := m.Generate(t.Context(), asking(model.Settings{CompactAt: 60_000}), nil)
	require.NoError(t, err)
	r, body := server.Last()
	require.Contains(t, body, `"context_management":{"edits":[{"type":"compact_20260112","trigger":{"type":"input_tokens","value":60000}}]}`)
	require.Equal(t, "other-beta,compact-2026-01-12", r.Header.Get("anthropic-beta"))
	require.Equal(t, model.Usage{InputTokens: 60_020, OutputTokens: 107}, plain.Usage, "the summary is paid for")

	msg, err := stream(t, m, asking(model.Settings{CompactAt: 60_000}))
	require.NoError(t, err)
	require.Equal(t, plain.Parts, msg.Parts)
	summary, ok := model.NativeCompaction(&msg.Parts[0])
	require.True(t, ok)
	require.Equal(t, "They drank tea.", summary)

	next := asking(model.Settings{CompactAt: 60_000})
	next.Messages = append(next.Messages, msg, model.UserText("go on"))
	_, err = m.Generate(t.Context(), next, nil)
	require.NoError(t, err)
	_, body = server.Last()
	require.Contains(t, body, block)
}

func TestUnsupportedNativeToolsAreRefused(t *testing.T) {
	haiku := newModel(t, "http://x.test")
	old := newModel(t, "http://x.test", func(c *anthropicmodel.Config) { c.Name = "claude-3-haiku-20240307" })
	bedrock := newModel(t, "http://x.test", func(c *anthropicmodel.Config) { c.Name = "us.anthropic.claude-opus-4-6-v1:0" })
	sonnet := newModel(t, "http://x.test", func(c *anthropicmodel.Config) { c.Name = "claude-sonnet-4-6" })
	search := []model.NativeTool{{Kind: model.NativeWebSearch}}
	for name, test := range map[string]struct {
		m model.Model
		s model.Settings
	}{
		"unknown":           {haiku, model.Settings{NativeTools: []model.NativeTool{{Kind: "dance"}}}},
		"both lists":        {haiku, model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebSearch, Allowed: []string{"a"}, Blocked: []string{"b"}}}}},
		"an old model":      {old, model.Settings{NativeTools: search}},
		"another platform":  {bedrock, model.Settings{NativeTools: search}},
		"compaction before": {haiku, model.Settings{CompactAt: 100_000}},
		"too early":         {sonnet, model.Settings{CompactAt: 49_999}},
	} {
		_, err := test.m.Generate(t.Context(), asking(test.s), nil)
		require.ErrorIs(t, err, model.ErrUnsupported, name)
	}
}
