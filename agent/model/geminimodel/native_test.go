// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
)

// combined is a response as Google's documentation of combined tools has it.
const combined = `{"candidates":[{"content":{"role":"model","parts":[` +
	`{"toolCall":{"toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["northernmost city"]},"id":"b1"},"thoughtSignature":"AAEC"},` +
	`{"toolResponse":{"toolType":"GOOGLE_SEARCH_WEB","response":{"search_suggestions":"<div>"},"id":"b1"},"thoughtSignature":"AwQF"},` +
	`{"text":"It is Utqiaġvik."}]},"finishReason":"STOP",` +
	`"groundingMetadata":{"webSearchQueries":["northernmost city"],"groundingChunks":[{"web":{"uri":"https://r.test/x","title":"alaska.test"}}],` +
	`"groundingSupports":[{"segment":{"startIndex":0,"endIndex":17,"text":"It is Utqiaġvik."},"groundingChunkIndices":[0]}]}}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":4}}`

func asking(s model.Settings) *model.Request {
	req := hello()
	req.Settings = &s
	return req
}

func gemini(name string) func(*geminimodel.Config) {
	return func(c *geminimodel.Config) { c.Name = name }
}

func TestNativeSearchGoesBackUnchanged(t *testing.T) {
	server := serve(t, answer{Body: combined}, answer{Body: events(combined)}, answer{Body: combined})
	m := newModel(t, server.URL, gemini("gemini-3.5-flash"))
	req := asking(model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebSearch}, {Kind: model.NativeWebFetch}}})
	req.Tools = []model.ToolDef{{Name: "weather", Schema: json.RawMessage(`{"type":"object"}`)}}
	plain, err := m.Generate(t.Context(), req, nil)
	require.NoError(t, err)
	_, body := server.Last()
	require.Contains(t, body, `"tools":[{"googleSearch":{}},{"urlContext":{}},{"functionDeclarations":[{`)
	var sent struct {
		Config json.RawMessage `json:"toolConfig"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &sent))
	require.JSONEq(t, `{"functionCallingConfig":{"mode":"VALIDATED"},"includeServerSideToolInvocations":true}`, string(sent.Config))
	msg, err := stream(t, m, req)
	require.NoError(t, err)
	require.Equal(t, plain.Parts, msg.Parts)
	require.Equal(t, []model.NativeCall{{Tool: "web_search", Input: "northernmost city"}}, model.NativeCalls(msg))
	require.Equal(t, []model.NativeSource{{URL: "https://r.test/x", Title: "alaska.test", Spans: []model.NativeSpan{{Start: 0, End: 17}}}}, model.NativeSources(msg))

	stored, err := json.Marshal(msg)
	require.NoError(t, err)
	var read model.Message
	require.NoError(t, json.Unmarshal(stored, &read))
	next := asking(model.Settings{})
	next.Messages = append(next.Messages, &read, model.UserText("and the weather?"))
	_, err = m.Generate(t.Context(), next, nil)
	require.NoError(t, err)
	_, body = server.Last()
	parts := combined[strings.Index(combined, `{"toolCall"`):strings.Index(combined, `,{"text"`)]
	require.Contains(t, body, parts)
	require.NotContains(t, body, "groundingMetadata")
}

func TestNativeToolsNeedNoOtherTools(t *testing.T) {
	server := serve(t, answer{Body: combined})
	m := newModel(t, server.URL, gemini("gemini-2.5-flash"))
	require.False(t, m.Info().NativeSearch, "it cannot be combined with tools")
	_, err := m.Generate(t.Context(), asking(model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebSearch}}}), nil)
	require.NoError(t, err)
	_, body := server.Last()
	require.Contains(t, body, `"tools":[{"googleSearch":{}}]`)
	require.NotContains(t, body, "toolConfig")

	vertex := serve(t, answer{Body: combined})
	m = newModel(t, vertex.URL, onVertex, gemini("gemini-3.5-flash"))
	_, err = m.Generate(t.Context(), asking(model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebSearch, Blocked: []string{"bad.test"}}}}), nil)
	require.NoError(t, err)
	_, body = vertex.Last()
	require.Contains(t, body, `"tools":[{"googleSearch":{"excludeDomains":["bad.test"]}}]`)
}

func TestUnsupportedNativeToolsAreRefused(t *testing.T) {
	tools := []model.ToolDef{{Name: "f", Schema: json.RawMessage(`{"type":"object"}`)}}
	search := func(change func(*model.NativeTool)) model.Settings {
		n := model.NativeTool{Kind: model.NativeWebSearch}
		change(&n)
		return model.Settings{NativeTools: []model.NativeTool{n}}
	}
	for name, test := range map[string]struct {
		model string
		s     model.Settings
		tools []model.ToolDef
		out   *model.OutputSchema
	}{
		"with tools":    {"gemini-2.5-flash", search(func(*model.NativeTool) {}), tools, nil},
		"with a schema": {"gemini-2.5-flash", search(func(*model.NativeTool) {}), nil, &model.OutputSchema{Schema: json.RawMessage(`{"type":"object"}`)}},
		"an old model":  {"gemini-1.5-pro", search(func(*model.NativeTool) {}), nil, nil},
		"allowed hosts": {"gemini-3.5-flash", search(func(n *model.NativeTool) { n.Allowed = []string{"a"} }), nil, nil},
		"blocked hosts": {"gemini-3.5-flash", search(func(n *model.NativeTool) { n.Blocked = []string{"a"} }), nil, nil},
		"uses":          {"gemini-3.5-flash", search(func(n *model.NativeTool) { n.MaxUses = 1 }), nil, nil},
		"unknown":       {"gemini-3.5-flash", search(func(n *model.NativeTool) { n.Kind = "dance" }), nil, nil},
		"compaction":    {"gemini-3.5-flash", model.Settings{CompactAt: 1000}, nil, nil},
	} {
		req := asking(test.s)
		req.Tools, req.Output = test.tools, test.out
		_, err := newModel(t, "http://x.test", gemini(test.model)).Generate(t.Context(), req, nil)
		require.ErrorIs(t, err, model.ErrUnsupported, name)
	}
}
