// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
)

// saying returns what is sent for a request, or why nothing is.
func saying(t testing.TB, req *model.Request, change func(*anthropicmodel.Config)) []string {
	var sent []sending
	m := inMemory(t, &sent, change, answer{Body: whole(`{"type":"text","text":"ok"}`)})
	if _, err := m.Generate(t.Context(), req, nil); err != nil {
		require.Empty(t, sent)
		return []string{asError(err)}
	}
	require.Len(t, sent, 1)
	require.True(t, json.Valid([]byte(sent[0].body)))
	head := strings.TrimPrefix(sent[0].head, "POST http://endpoint.test/v1/messages, X-Api-Key: "+testKey)
	return []string{head + sent[0].body}
}

// tested are models with different profiles.
func tested(name string) func(*anthropicmodel.Config) {
	return func(c *anthropicmodel.Config) { c.Name, c.Cache = name, anthropicmodel.CacheOff }
}

var testedNames = []string{"claude-3-5-haiku", "claude-sonnet-4", "claude-opus-4-5", "claude-opus-4-7", "claude-opus-5", "claude-opus-5-5", "other"}

func TestSettingsMatchTheGoldenFile(t *testing.T) {
	one, two := model.ToolDef{Name: "f"}, model.ToolDef{Name: "g", Description: "<d>", Schema: json.RawMessage(`{"type":"object","minProperties":1}`), Strict: true}
	settings := func(s model.Settings) model.Request { return model.Request{Settings: &s} }
	native := func(tools ...model.NativeTool) model.Request {
		return model.Request{Settings: &model.Settings{NativeTools: tools}}
	}
	choosing := func(mode model.ToolChoiceMode, tool string, s model.Settings) model.Request {
		return model.Request{Tools: []model.ToolDef{one, two}, ToolChoice: model.ToolChoice{Mode: mode, Tool: tool}, Settings: &s}
	}
	cases := map[string]model.Request{
		"no settings":                      {},
		"instructions":                     {Instructions: "Be <brief>."},
		"blank instructions":               {Instructions: " \n"},
		"a token":                          settings(model.Settings{MaxTokens: 1}),
		"the longest answer unstreamed":    settings(model.Settings{MaxTokens: 8192}),
		"the shortest answer streamed":     settings(model.Settings{MaxTokens: 8193}),
		"no temperature":                   settings(model.Settings{Temperature: new(0.0)}),
		"a temperature of one":             settings(model.Settings{Temperature: new(1.0)}),
		"a temperature below":              settings(model.Settings{Temperature: new(-0.1)}),
		"a temperature above":              settings(model.Settings{Temperature: new(1.1)}),
		"a temperature while thinking":     settings(model.Settings{Temperature: new(0.5), Thinking: "low"}),
		"one while thinking":               settings(model.Settings{Temperature: new(1.0), Thinking: "low"}),
		"top p":                            settings(model.Settings{TopP: new(0.5)}),
		"top p and temperature":            settings(model.Settings{TopP: new(0.5), Temperature: new(0.5)}),
		"top p while thinking":             settings(model.Settings{TopP: new(0.949), Thinking: "low"}),
		"a great top p while thinking":     settings(model.Settings{TopP: new(0.95), Thinking: "low"}),
		"a seed":                           settings(model.Settings{Seed: new(int64(0))}),
		"stops":                            settings(model.Settings{Stop: []string{"a", "<b>"}}),
		"no stops":                         settings(model.Settings{Stop: []string{}}),
		"a blank stop":                     settings(model.Settings{Stop: []string{"a", "\n"}}),
		"a tier":                           settings(model.Settings{ServiceTier: "auto"}),
		"negative tokens":                  settings(model.Settings{MaxTokens: -1}),
		"the least compaction":             settings(model.Settings{CompactAt: 50_000}),
		"less compaction":                  settings(model.Settings{CompactAt: 49_999}),
		"replaced compaction":              settings(model.Settings{CompactAt: 60_000, ExtraBody: map[string]json.RawMessage{"context_management": json.RawMessage(`{"x":1}`)}}),
		"extra fields":                     settings(model.Settings{ExtraBody: map[string]json.RawMessage{"b": json.RawMessage(`[1]`), "a.b": json.RawMessage(`"x"`), "max_tokens": json.RawMessage(`7`)}}),
		"extra headers":                    settings(model.Settings{ExtraHeaders: map[string]string{"X-One": "1", "ANTHROPIC-BETA": "mine"}}),
		"extra headers and compaction":     settings(model.Settings{CompactAt: 60_000, ExtraHeaders: map[string]string{"anthropic-beta": "mine"}}),
		"a budget that does not fit":       settings(model.Settings{MaxTokens: 4096, Thinking: "low"}),
		"a budget that just fits":          settings(model.Settings{MaxTokens: 4097, Thinking: "low"}),
		"half a budget of the least":       settings(model.Settings{MaxTokens: 2000, Thinking: "low"}),
		"the least tokens for a budget":    settings(model.Settings{MaxTokens: 1025, Thinking: "low"}),
		"too few tokens for a budget":      settings(model.Settings{MaxTokens: 1024, Thinking: "low"}),
		"tools":                            {Tools: []model.ToolDef{one, two}},
		"parallel calls":                   choosing("", "", model.Settings{ParallelToolCalls: new(true)}),
		"one call at a time":               choosing("", "", model.Settings{ParallelToolCalls: new(false)}),
		"one call at a time without tools": settings(model.Settings{ParallelToolCalls: new(false)}),
		"no call":                          choosing(model.ToolChoiceNone, "", model.Settings{ParallelToolCalls: new(false)}),
		"any call":                         choosing(model.ToolChoiceRequired, "", model.Settings{}),
		"any call, one at a time":          choosing(model.ToolChoiceRequired, "", model.Settings{ParallelToolCalls: new(false)}),
		"any call while thinking":          choosing(model.ToolChoiceRequired, "", model.Settings{Thinking: "low"}),
		"one tool":                         choosing(model.ToolChoiceTool, "g", model.Settings{}),
		"one tool, one call at a time":     choosing(model.ToolChoiceTool, "g", model.Settings{ParallelToolCalls: new(false)}),
		"one tool while thinking":          choosing(model.ToolChoiceTool, "g", model.Settings{Thinking: "high"}),
		"one tool that is not offered":     choosing(model.ToolChoiceTool, "h", model.Settings{}),
		"output":                           {Output: &model.OutputSchema{Name: "o", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","minimum":3}}}`)}},
		"search":                           native(model.NativeTool{Kind: model.NativeWebSearch}),
		"search with limits":               native(model.NativeTool{Kind: model.NativeWebSearch, MaxUses: 3, Allowed: []string{"a.test"}}),
		"fetch":                            native(model.NativeTool{Kind: model.NativeWebFetch}),
		"fetch with limits":                native(model.NativeTool{Kind: model.NativeWebFetch, MaxUses: 3, Blocked: []string{"a.test"}}),
		"both hosts":                       native(model.NativeTool{Kind: model.NativeWebFetch, Allowed: []string{"b.test"}, Blocked: []string{"a.test"}}),
		"another native tool":              native(model.NativeTool{Kind: "dance"}),
	}
	for _, level := range []string{"off", "minimal", "low", "medium", "high", "xhigh", "max", "lots"} {
		cases["thinking "+level] = settings(model.Settings{Thinking: level})
	}
	search := native(model.NativeTool{Kind: model.NativeWebSearch})
	search.Tools = []model.ToolDef{one}
	cases["search and a tool"] = search
	search.Tools = []model.ToolDef{{Name: "web_search"}}
	cases["search and a tool of that name"] = search
	var told story
	for name, req := range sorted(cases) {
		req.Messages = hello().Messages
		told.ways(name, testedNames, func(way string) []string { return saying(t, &req, tested(way)) })
	}
	told.compare(t, "settings.txt")
}

// oddParts are what a history may have, of every kind and in odd forms.
func oddParts() []model.Part {
	opaque := func(provider, data string) model.Part {
		return model.Part{Kind: model.PartOpaque, Provider: provider, Data: []byte(data)}
	}
	cite := func(provider, data string) model.Part {
		return model.Part{Kind: model.PartCitation, Provider: provider, Data: []byte(data)}
	}
	return []model.Part{
		model.User("<u>"), model.User(" "), model.System("s"), model.System(" "), model.Text("t"), model.Text(""), model.Text(" "),
		model.Media("image/png", []byte("p")), {Kind: model.PartMedia, MediaType: "image/png", Name: "a.png"}, {Kind: model.PartMedia},
		model.ToolReturn("c", "f", "r"), model.ToolReturn("c", "f", ""), model.ToolReturn("", "f", "r"), model.Retry("c", "f", "why"), model.Retry("", "", "why"), model.Retry("c", "f", " "),
		{Kind: model.PartToolReturn, CallID: "c", Tool: "f", Outcome: model.OutcomeFailed}, {Kind: model.PartToolReturn, CallID: "c", Tool: "f", Text: "r", Outcome: model.OutcomeDenied},
		{Kind: model.PartToolReturn, CallID: "c", Tool: "f", Text: " ", Outcome: model.OutcomeSkipped}, {Kind: model.PartToolReturn, CallID: "c", Tool: "f", Outcome: model.OutcomeInterrupted},
		model.Thinking("h"), {Kind: model.PartThinking, Text: "h", Provider: "anthropic"}, {Kind: model.PartThinking, Text: "<h>", Provider: "anthropic", Signature: []byte("sig")},
		{Kind: model.PartThinking, Provider: "anthropic", Signature: []byte("sig")}, {Kind: model.PartThinking, Text: "h", Provider: "other", Signature: []byte("sig")},
		model.ToolCall("c", "f", `{"a": 1}`), model.ToolCall("c", "f", `{ "a" : "<&>" }`), model.ToolCall("", "f", ""), model.ToolCall("c", "", "[1]"), model.ToolCall("a b", "ø", `{`), model.ToolCall(strings.Repeat("i", 65), strings.Repeat("n", 65), "null"),
		model.ToolCall(strings.Repeat("i", 64), strings.Repeat("n", 64), "{}"),
		{Kind: model.PartToolCall, CallID: "c", Tool: "f", Provider: "anthropic", Signature: []byte(`{"caller":{"type":"direct"},"b":1,"type":"x","name":"y"}`)},
		{Kind: model.PartToolCall, CallID: "c", Tool: "f", Provider: "other", Signature: []byte(`{"caller":1}`)},
		{Kind: model.PartToolCall, CallID: "c", Tool: "f", Provider: "anthropic", Signature: []byte(`[1]`)}, {Kind: model.PartToolCall, CallID: "c", Tool: "f", Provider: "anthropic", Signature: []byte(`{}`)},
		cite("anthropic", `{"url":"u"}`), cite("other", `{"url":"u"}`), cite("anthropic", `7`), cite("anthropic", ""),
		opaque("anthropic", `{"type":"x","html":"<b>"}`), opaque("other", `{"type":"x"}`), opaque("anthropic", `{"type":"redacted_thinking","data":"d"}`),
		opaque("anthropic", `[1]`), opaque("anthropic", `null`), opaque("anthropic", `{`), opaque("anthropic", ""), {Kind: "dance"},
	}
}

func TestHistoriesMatchTheGoldenFile(t *testing.T) {
	var told story
	text, thought := model.Text("t"), model.Part{Kind: model.PartThinking, Text: "h", Provider: "anthropic", Signature: []byte("s")}
	for _, p := range oddParts() {
		name := string(p.Kind) + " " + asJSON(p)
		told.ways("in a request: "+name, []string{"claude-opus-5", "claude-haiku-4-5"}, func(way string) []string {
			first := saying(t, &model.Request{Messages: []*model.Message{request(p)}}, tested(way))
			return append(first, saying(t, &model.Request{Messages: []*model.Message{model.UserText("u"), model.Response(text), request(p), model.Response(text)}}, tested(way))...)
		})
		told.ways("in an answer: "+name, []string{"alone", "after text", "before text", "after thinking", "twice"}, func(way string) []string {
			parts := map[string][]model.Part{"alone": {p}, "after text": {text, p}, "before text": {p, text}, "after thinking": {thought, p}, "twice": {p, p}}[way]
			answer := &model.Message{Kind: model.KindResponse, Provider: "anthropic", Parts: parts}
			return saying(t, &model.Request{Messages: []*model.Message{model.UserText("u"), answer, model.UserText("v")}}, tested("claude-opus-5"))
		})
	}
	system, call, cited := request(model.System("s")), model.ToolCall("c", "f", "{}"), model.Part{Kind: model.PartCitation, Provider: "anthropic", Data: []byte(`{"url":"u"}`)}
	for name, history := range sorted(map[string][]*model.Message{
		"nothing":                           {},
		"an empty request":                  {request()},
		"a system prompt alone":             {system},
		"system prompts first":              {system, request(model.System("r"), model.User("u"), model.System("q"))},
		"an answer first":                   {model.Response(text), model.UserText("u")},
		"an answer last":                    {model.UserText("u"), model.Response(text)},
		"an empty request last":             {model.UserText("u"), model.Response(text), request()},
		"an empty answer last":              {model.UserText("u"), model.Response()},
		"a system prompt after an answer":   {model.UserText("u"), model.Response(text), system},
		"a system prompt before an answer":  {model.UserText("u"), model.Response(text), request(model.User("v"), model.System("s")), model.Response(text), model.UserText("w")},
		"a system prompt, a silent answer":  {model.UserText("u"), model.Response(text), request(model.User("v"), model.System("s")), model.Response(model.Thinking("h")), model.UserText("w")},
		"two system prompts after results":  {model.UserText("u"), model.Response(call), request(model.ToolReturn("c", "f", "r"), model.System("s"), model.System("q"))},
		"two answers":                       {model.UserText("u"), model.Response(text), model.Response(call), request(model.ToolReturn("c", "f", "r"))},
		"results after what the user says":  {model.UserText("u"), model.Response(call, model.ToolCall("d", "g", "{}")), model.UserText("v"), request(model.ToolReturn("d", "g", "r"), model.ToolReturn("c", "f", "q"))},
		"one id in two answers":             {model.UserText("u"), model.Response(call), request(model.ToolReturn("c", "f", "r")), model.Response(call), request(model.ToolReturn("c", "f", "q"))},
		"cited text":                        {model.UserText("u"), model.Response(text, cited, model.Part{Kind: model.PartCitation, Provider: "other", Data: []byte(`{}`)}, cited, model.Text("<b>"), cited), model.UserText("v")},
		"thinking at the end of an answer":  {model.UserText("u"), model.Response(text, thought), model.UserText("v")},
		"thinking between the calls":        {model.UserText("u"), model.Response(thought, call, thought, call, thought), request(model.ToolReturn("c", "f", "r"))},
		"answers of thoughts, and then one": {model.UserText("u"), model.Response(thought), model.Response(thought, text), model.UserText("v")},
	}) {
		told.ways(name, []string{"claude-opus-5", "claude-haiku-4-5"}, func(way string) []string { return saying(t, &model.Request{Messages: history}, tested(way)) })
	}
	told.compare(t, "histories.txt")
}

func TestMediaInRequestsMatchTheGoldenFile(t *testing.T) {
	var told story
	for _, mediaType := range []string{
		"", "image", "image/*", "image/png", "image/jpeg", "IMAGE/JPG ; a=b", "image/gif", "image/webp", "image/tiff", "audio/wav", "application/pdf", "application/json", "text/plain", "text/html",
	} {
		for _, p := range []model.Part{
			{Data: []byte("x")}, {Data: []byte("x"), Name: "n.x"}, {Data: []byte("\xff")}, {URL: "https://a.test/x?<&"}, {URL: "https://a.test/x", Name: "n.x"}, {}, {Data: []byte("x"), URL: "https://a.test/x"},
		} {
			p.Kind, p.MediaType = model.PartMedia, mediaType
			told.tell(fmt.Sprintf("%q %q %q %q", mediaType, p.Data, p.URL, p.Name), saying(t, &model.Request{Messages: []*model.Message{request(p)}}, uncached)...)
		}
	}
	told.compare(t, "media.txt")
}

// TestCacheMarksMatchTheGoldenFile checks where the breakpoints of each kind of cache are.
func TestCacheMarksMatchTheGoldenFile(t *testing.T) {
	tools := []model.ToolDef{{Name: "f"}, {Name: "g"}}
	call := model.ToolCall("c", "f", "{}")
	var told story
	for name, req := range sorted(map[string]model.Request{
		"nothing but a message":    {Messages: hello().Messages},
		"tools":                    {Tools: tools, Messages: hello().Messages},
		"instructions and a tool":  {Tools: tools[:1], Instructions: "i", Messages: []*model.Message{request(model.System("s"), model.User("u"))}},
		"a native tool alone":      {Settings: &model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebSearch}}}, Messages: hello().Messages},
		"a long conversation":      {Messages: []*model.Message{model.UserText("1"), model.Response(call), request(model.ToolReturn("c", "f", "r")), model.Response(model.Text("t")), request(model.User("3"), model.User("4"))}},
		"an image at the end":      {Messages: []*model.Message{model.UserText("1"), model.Response(model.Text("t")), request(model.User("2"), model.Media("image/png", []byte("p")))}},
		"documents":                {Messages: []*model.Message{request(model.Media("application/pdf", []byte("p")))}},
		"an empty result":          {Messages: []*model.Message{model.UserText("1"), model.Response(call), request(model.ToolReturn("c", "f", ""))}},
		"a system message at last": {Messages: []*model.Message{model.UserText("1"), model.Response(model.Text("t")), request(model.User("2"), model.System("s"))}},
		"an answer at last":        {Messages: []*model.Message{model.UserText("1"), model.Response(model.Text("t"))}},
	}) {
		ways := map[string]func(*anthropicmodel.Config){
			"conversation": func(*anthropicmodel.Config) {}, "an hour": func(c *anthropicmodel.Config) { c.CacheTTL = "1h" }, "five minutes": func(c *anthropicmodel.Config) { c.CacheTTL = "5m" },
			"prefix": func(c *anthropicmodel.Config) { c.Cache = anthropicmodel.CachePrefix }, "off": uncached,
		}
		told.ways(name, []string{"conversation", "an hour", "five minutes", "prefix", "off"}, func(way string) []string {
			return saying(t, &req, func(c *anthropicmodel.Config) { c.Name = "claude-opus-5"; ways[way](c) })
		})
	}
	told.compare(t, "cache.txt")
}

func TestSchemasMatchTheGoldenFile(t *testing.T) {
	schemas := []string{
		``, ` `, `{}`, `true`, `7`, ` {"type":"object"} `, `{"type":"string"}`, `{"type":["object","null"]}`, `{"properties":{}}`, `{"type":"object","additionalProperties":true}`,
		`{"type":"object","additionalProperties":{"type":"integer","minimum":1}}`, `{"type":"object","properties":{"a":{"type":"object"}},"additionalProperties":{"type":"integer"}}`, `{"additionalProperties":{}}`,
		`{"$schema":"s","$id":"i","$comment":"c","type":"string"}`, `{"$ref":"#/$defs/a","type":"string","description":"d","minLength":1,"$defs":{"a":{"minimum":1}}}`, `{"definitions":{"a":{"type":"object"}},"$ref":"#/definitions/a"}`,
		`{"type":"string","minLength":1,"maxLength":2,"description":"d"}`, `{"type":"string","minLength":1}`, `{"type":"string","minLength":1,"description":""}`, `{"type":"string","minLength":1,"description":7}`, `{"description":7}`, `{"description":"<b>","maximum":1}`,
		`{"title":"t","type":"string","enum":["a"],"const":"a","required":["x"],"pattern":"p"}`, `{"unknown":{"type":"object"}}`,
		`{"anyOf":[{"type":"object"},{"minimum":1},true]}`, `{"oneOf":[{"type":"object"},{"minimum":1}]}`, `{"allOf":[{"type":"object"}]}`, `{"anyOf":[{"type":"string"}],"oneOf":[{"type":"integer"}]}`, `{"anyOf":7}`, `{"anyOf":[]}`,
		`{"type":"array","items":{"type":"object"}}`, `{"type":"array","items":[{"type":"object"}]}`, `{"items":true}`, `{"type":"object","properties":{"a":{"minimum":1},"b":true,"minimum":{"type":"object"}}}`, `{"properties":7}`,
	}
	for _, n := range []string{"0", "1", "2", `"1"`} {
		schemas = append(schemas, `{"type":"array","minItems":`+n+`}`)
	}
	for _, format := range []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid", "int64", "uri-reference"} {
		schemas = append(schemas, `{"type":"string","format":"`+format+`"}`)
	}
	var told story
	for _, schema := range schemas {
		told.ways(schema, []string{"strict", "loose", "output"}, func(way string) []string {
			req := &model.Request{Messages: hello().Messages, Tools: []model.ToolDef{{Name: "f", Schema: json.RawMessage(schema), Strict: way == "strict"}}}
			if way == "output" {
				req.Tools, req.Output = nil, &model.OutputSchema{Name: "o", Schema: json.RawMessage(schema)}
			}
			sent := saying(t, req, uncached)[0]
			_, rest, found := strings.Cut(sent, `"input_schema":`)
			if !found {
				_, rest, found = strings.Cut(sent, `"schema":`)
			}
			if !found {
				return []string{sent}
			}
			rest, _, _ = strings.Cut(rest, `,"messages"`)
			return []string{rest}
		})
	}
	told.compare(t, "schemas.txt")
}
