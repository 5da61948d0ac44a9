// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
)

// saying returns the body that is sent for a request, or why nothing is.
func saying(t testing.TB, req *model.Request, change ...func(*geminimodel.Config)) string {
	var sent string
	m := inMemory(t, answer{Body: chunk("STOP", `{"text":"ok"}`)}, &sent, change...)
	if _, err := m.Generate(t.Context(), req, nil); err != nil {
		if sent != "" {
			t.Errorf("sent %s, but %v", sent, err)
		}
		return asError(err)
	}
	return sent
}

// tested are models with different profiles.
var tested = map[string]func(*geminimodel.Config){
	"3.5": named("gemini-3.5-flash"), "2.5": named("gemini-2.5-flash"), "2.0": named("gemini-2.0-flash"),
	"vertex": func(c *geminimodel.Config) { onVertex(c); c.Name = "gemini-3.5-flash" },
}

func TestSettingsMatchTheGoldenFile(t *testing.T) {
	one, two := model.ToolDef{Name: "f"}, model.ToolDef{Name: "g", Description: "d", Schema: json.RawMessage(`{"type":"object"}`), Strict: true}
	native := func(tools ...model.NativeTool) *model.Settings { return &model.Settings{NativeTools: tools} }
	search, fetch := model.NativeTool{Kind: model.NativeWebSearch}, model.NativeTool{Kind: model.NativeWebFetch}
	bound := &model.OutputSchema{Name: "o", Description: "An answer.", Schema: json.RawMessage(`{"type":"object"}`)}
	replace := func(names ...string) *model.Settings {
		extra := map[string]json.RawMessage{}
		for _, name := range names {
			extra[name] = json.RawMessage(`[1, 2]`)
		}
		return &model.Settings{ExtraBody: extra, MaxTokens: 5, ServiceTier: "flex"}
	}
	var told story
	for _, test := range []struct {
		name string
		req  model.Request
	}{
		{"no settings", model.Request{}},
		{"empty settings", model.Request{Settings: &model.Settings{}}},
		{"instructions", model.Request{Instructions: "Be <brief>."}},
		{"instructions and a system prompt", model.Request{Instructions: "i", Messages: []*model.Message{request(model.System("s"), model.User("u"), model.System("")), model.Response(model.Text("t")), request(model.System("r"))}}},
		{"a system prompt in an answer", model.Request{Messages: []*model.Message{model.UserText("u"), model.Response(model.System("s"))}}},
		{"one token", model.Request{Settings: &model.Settings{MaxTokens: 1}}},
		{"as many tokens as fit", model.Request{Settings: &model.Settings{MaxTokens: math.MaxInt32}}},
		{"one token too many", model.Request{Settings: &model.Settings{MaxTokens: math.MaxInt32 + 1}}},
		{"temperature", model.Request{Settings: &model.Settings{Temperature: new(0.0)}}},
		{"top p", model.Request{Settings: &model.Settings{TopP: new(0.5)}}},
		{"no stops", model.Request{Settings: &model.Settings{Stop: []string{}}}},
		{"a stop", model.Request{Settings: &model.Settings{Stop: []string{"<end>"}}}},
		{"the least seed", model.Request{Settings: &model.Settings{Seed: new(int64(math.MinInt32))}}},
		{"a seed below the least", model.Request{Settings: &model.Settings{Seed: new(int64(math.MinInt32 - 1))}}},
		{"the greatest seed", model.Request{Settings: &model.Settings{Seed: new(int64(math.MaxInt32))}}},
		{"a seed above the greatest", model.Request{Settings: &model.Settings{Seed: new(int64(math.MaxInt32 + 1))}}},
		{"parallel calls", model.Request{Tools: []model.ToolDef{one}, Settings: &model.Settings{ParallelToolCalls: new(true)}}},
		{"no parallel calls, without tools", model.Request{Settings: &model.Settings{ParallelToolCalls: new(false)}}},
		{"no parallel calls", model.Request{Tools: []model.ToolDef{one}, Settings: &model.Settings{ParallelToolCalls: new(false)}}},
		{"thinking off", model.Request{Settings: &model.Settings{Thinking: "off"}}},
		{"thinking minimal", model.Request{Settings: &model.Settings{Thinking: "minimal"}}},
		{"thinking low", model.Request{Settings: &model.Settings{Thinking: "low"}}},
		{"thinking medium", model.Request{Settings: &model.Settings{Thinking: "medium"}}},
		{"thinking high", model.Request{Settings: &model.Settings{Thinking: "high"}}},
		{"thinking of another word", model.Request{Settings: &model.Settings{Thinking: "a\nlot"}}},
		{"a tier", model.Request{Settings: &model.Settings{ServiceTier: "flex"}}},
		{"compaction", model.Request{Settings: &model.Settings{CompactAt: 1}}},
		{"an extra field", model.Request{Settings: &model.Settings{ExtraBody: map[string]json.RawMessage{"z": json.RawMessage(`1`), "a \"b\"": json.RawMessage(`{"c": 2}`)}}}},
		{"replaced instructions", model.Request{Instructions: "i", Settings: replace("systemInstruction")}},
		{"replaced tools", model.Request{Tools: []model.ToolDef{two}, Settings: replace("tools")}},
		{"a replaced choice", model.Request{Tools: []model.ToolDef{two}, Settings: replace("toolConfig")}},
		{"replaced settings", model.Request{Settings: replace("generationConfig", "serviceTier", "contents")}},
		{"a tool", model.Request{Tools: []model.ToolDef{one}}},
		{"a strict tool", model.Request{Tools: []model.ToolDef{two}}},
		{"a strict tool and another", model.Request{Tools: []model.ToolDef{two, one}}},
		{"no call", model.Request{Tools: []model.ToolDef{one, two}, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceNone}}},
		{"any call", model.Request{Tools: []model.ToolDef{one, two}, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceRequired}}},
		{"one call", model.Request{Tools: []model.ToolDef{one, two}, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "f"}}},
		{"a call without tools", model.Request{ToolChoice: model.ToolChoice{Mode: model.ToolChoiceRequired}}},
		{"search", model.Request{Settings: native(search)}},
		{"fetch", model.Request{Settings: native(fetch)}},
		{"search and fetch", model.Request{Settings: native(search, fetch)}},
		{"search with a tool", model.Request{Tools: []model.ToolDef{one}, Settings: native(search)}},
		{"search with a choice", model.Request{Tools: []model.ToolDef{one}, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceRequired}, Settings: native(search)}},
		{"search with output", model.Request{Output: bound, Settings: native(search)}},
		{"a tool with output", model.Request{Output: bound, Tools: []model.ToolDef{one}}},
		{"output", model.Request{Output: bound}},
		{"output without a description", model.Request{Output: &model.OutputSchema{Schema: json.RawMessage(`{"type":"object"}`)}}},
		{"output that describes itself", model.Request{Output: &model.OutputSchema{Description: "d", Schema: json.RawMessage(`{"type":"object","description":"own"}`)}}},
		{"output of anything", model.Request{Output: &model.OutputSchema{Description: "d", Schema: json.RawMessage(`true`)}}},
		{"output of a const", model.Request{Output: &model.OutputSchema{Name: "n", Schema: json.RawMessage(`{"const":1,"title":"t"}`)}}},
		{"output with a wrong schema", model.Request{Output: &model.OutputSchema{Name: "n", Schema: json.RawMessage(`{"title":"t","properties":1}`)}}},
		{"one search", model.Request{Settings: native(model.NativeTool{Kind: model.NativeWebSearch, MaxUses: 1})}},
		{"one fetch", model.Request{Settings: native(model.NativeTool{Kind: model.NativeWebFetch, MaxUses: 1})}},
		{"blocked in search", model.Request{Settings: native(model.NativeTool{Kind: model.NativeWebSearch, Blocked: []string{"a.test", "b.test"}})}},
		{"allowed in search", model.Request{Settings: native(model.NativeTool{Kind: model.NativeWebSearch, Allowed: []string{"a.test"}})}},
		{"blocked in fetch", model.Request{Settings: native(model.NativeTool{Kind: model.NativeWebFetch, Blocked: []string{"a.test"}})}},
		{"allowed in fetch", model.Request{Settings: native(model.NativeTool{Kind: model.NativeWebFetch, Allowed: []string{"a.test"}})}},
		{"another native tool", model.Request{Settings: native(model.NativeTool{Kind: "dance"})}},
	} {
		if test.req.Messages == nil {
			test.req.Messages = hello().Messages
		}
		told.ways(test.name, []string{"3.5", "2.5", "2.0", "vertex"}, func(way string) []string {
			return []string{saying(t, &test.req, tested[way])}
		})
	}
	told.compare(t, "settings.txt")
}

// parts are what a history may have, of every kind and in odd forms.
func oddParts() []model.Part {
	opaque := func(provider, data string) model.Part {
		return model.Part{Kind: model.PartOpaque, Provider: provider, Data: []byte(data)}
	}
	const signed = `{"thoughtSignature":"c2ln"}`
	return []model.Part{
		model.User("u"), model.User(""), model.System("s"), model.Text("t"), model.Text(""), model.Text(" "),
		model.Media("image/png", []byte("p")), {Kind: model.PartMedia, Provider: "google", MediaType: "image/png", Data: []byte("p")},
		{Kind: model.PartMedia, Provider: "google", MediaType: "image/png", Name: "a.png"}, {Kind: model.PartMedia},
		model.ToolReturn("c", "f", "r"), model.ToolReturn("", "f", "r"), model.ToolReturn("c", "", "r"), model.Retry("c", "f", "why"), model.Retry("", "", "why"),
		{Kind: model.PartToolReturn, CallID: "c", Tool: "f", Text: "r", Outcome: model.OutcomeFailed},
		{Kind: model.PartToolReturn, CallID: "c", Tool: "f", Text: "r", Outcome: model.OutcomeSkipped},
		model.Thinking("h"), {Kind: model.PartThinking, Text: "h", Provider: "google"}, {Kind: model.PartThinking, Text: "h", Provider: "google", Signature: []byte("sig")},
		{Kind: model.PartThinking, Text: "h", Provider: "other", Signature: []byte("sig")},
		model.ToolCall("c", "f", `{"a":1}`), model.ToolCall("", "f", ""), model.ToolCall("c", "", "[1]"), model.ToolCall("c", "1st", "null"), model.ToolCall("c", "ø", `{`),
		model.ToolCall("c", strings.Repeat("n", 64), "{}"), model.ToolCall("c", strings.Repeat("n", 65), "{}"), model.ToolCall("c", "1"+strings.Repeat("n", 63), "{}"),
		{Kind: model.PartToolCall, CallID: "c", Tool: "f", Provider: "google", Signature: []byte("sig")},
		{Kind: model.PartToolCall, CallID: "c", Tool: "f", Provider: "other", Signature: []byte("sig")},
		{Kind: model.PartToolCall, CallID: "c", Tool: "f", Provider: "google"},
		{Kind: model.PartCitation, Provider: "google", URL: "u"},
		opaque("google", signed), opaque("other", signed), opaque("google", ` {"x": 1} `), opaque("google", `{"custom":{"x":1}}`), opaque("google", `{"custom":[1]}`),
		opaque("google", `{"custom":{}}`), opaque("google", `{"custom":{"x":1}}`+"x"), opaque("google", `{"metadata":{}}`), opaque("google", `{}`), opaque("google", `[1]`), opaque("google", `{"":1}`),
		opaque("google", `{"thoughtSignature":"c2ln","x":1}`), opaque("google", `{"thoughtSignature":"c2\"n"}`), opaque("google", `{"thoughtSignature":"c2\\n"}`), opaque("google", ""),
		{Kind: "dance"},
	}
}

func TestHistoriesMatchTheGoldenFile(t *testing.T) {
	var told story
	ways := []string{"alone", "after text", "after an image", "before text", "twice"}
	text, image := model.Text("t"), model.Part{Kind: model.PartMedia, Provider: "google", MediaType: "image/png", Data: []byte("p")}
	for _, p := range oddParts() {
		name := string(p.Kind) + " " + asJSON(p)
		told.tell("in a request: "+name, saying(t, &model.Request{Messages: []*model.Message{request(p)}}, named("gemini-3.5-flash")))
		told.ways("in an answer: "+name, ways, func(way string) []string {
			parts := map[string][]model.Part{
				"alone": {p}, "after text": {text, p}, "after an image": {image, p}, "before text": {p, text}, "twice": {p, p},
			}[way]
			answer := &model.Message{Kind: model.KindResponse, Provider: "google", Parts: parts}
			return []string{saying(t, &model.Request{Messages: []*model.Message{model.UserText("u"), answer, model.UserText("v")}}, named("gemini-3.5-flash"))}
		})
	}
	call, other := model.ToolCall("c", "f", "{}"), model.ToolCall("d", "g", "{}")
	for _, test := range []struct {
		name    string
		history []*model.Message
	}{
		{"an answer first", []*model.Message{model.Response(model.Text("t")), model.UserText("u")}},
		{"two answers first", []*model.Message{model.Response(model.Text("t")), model.Response(model.Text("s")), model.UserText("u")}},
		{"two requests", []*model.Message{model.UserText("u"), request(model.ToolReturn("c", "f", "r")), model.UserText("v")}},
		{"two answers with calls", []*model.Message{model.UserText("u"), model.Response(call), model.Response(other), request(model.ToolReturn("c", "f", "r"), model.ToolReturn("d", "g", "r"))}},
		{"two calls", []*model.Message{model.UserText("u"), model.Response(call, other), request(model.ToolReturn("d", "g", "r"), model.User("x"), model.ToolReturn("c", "f", "r"))}},
		{"a result that names no tool", []*model.Message{model.UserText("u"), model.Response(call, other), request(model.ToolReturn("d", "", "r"), model.ToolReturn("x", "", "r"))}},
		{"a later call of the same id", []*model.Message{model.UserText("u"), model.Response(call), request(model.ToolReturn("c", "", "r")), model.Response(model.ToolCall("c", "later", "{}")), request(model.ToolReturn("c", "", "s"))}},
		{"thoughts alone", []*model.Message{model.UserText("u"), model.Response(model.Part{Kind: model.PartThinking, Provider: "google", Text: "h", Signature: []byte("s")}), model.UserText("v")}},
		{"a foreign answer of nothing", []*model.Message{model.UserText("u"), model.Response(model.Part{Kind: model.PartOpaque, Provider: "other", Data: []byte(`{"x":1}`)}), model.UserText("v")}},
		{"thoughts and metadata", []*model.Message{model.UserText("u"), model.Response(
			model.Part{Kind: model.PartThinking, Provider: "google", Text: "h", Signature: []byte("s")}, model.Part{Kind: model.PartOpaque, Provider: "google", Data: []byte(`{"metadata":{}}`)}), model.UserText("v")}},
		{"an empty request at the end", []*model.Message{model.UserText("u"), model.Response(model.Text("t")), request()}},
	} {
		told.ways(test.name, []string{"3.5", "2.5"}, func(way string) []string {
			return []string{saying(t, &model.Request{Messages: test.history}, tested[way])}
		})
	}
	told.compare(t, "histories.txt")
}

func TestMediaInRequestsMatchTheGoldenFile(t *testing.T) {
	var told story
	for _, mediaType := range []string{
		"", "image/png", "IMAGE/JPG ; a=b", "audio/wav", "video/mp4", "application/pdf", "application/json", "text/plain", "text/html", "font/ttf",
	} {
		for _, p := range []model.Part{
			{Data: []byte("x")}, {URL: "https://a.test/x"}, {}, {Data: []byte("x"), URL: "https://youtu.be/x"},
			{URL: "https://youtu.be/x"}, {URL: "https://YouTube.com/x"}, {URL: "https://www.youtube.com/x"}, {URL: "http://youtu.be/x"}, {URL: "https://youtu.be:%/x"},
			{URL: "https://generativelanguage.googleapis.com/v1beta/files/x"}, {URL: "https://my.youtube.com/x"},
		} {
			p.Kind, p.MediaType = model.PartMedia, mediaType
			told.ways(fmt.Sprintf("%q %q %q", mediaType, p.Data, p.URL), []string{"3.5", "2.0", "vertex"}, func(way string) []string {
				return []string{saying(t, &model.Request{Messages: []*model.Message{request(p)}}, tested[way])}
			})
		}
	}
	told.compare(t, "media.txt")
}

func TestToolNamesMatchTheGoldenFile(t *testing.T) {
	var told story
	for _, name := range []string{"a", "z", "A", "Z", "_", "m9", "9m", "-m", "@", "[", "`", "{", "ø", "", strings.Repeat("n", 64), strings.Repeat("n", 65)} {
		told.tell(fmt.Sprintf("%q", name), saying(t, &model.Request{Messages: hello().Messages, Tools: []model.ToolDef{{Name: name}}}))
	}
	told.compare(t, "tool-names.txt")
}
