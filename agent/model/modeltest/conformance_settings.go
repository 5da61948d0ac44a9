// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"encoding/json"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// setting is a setting with a value that occurs nowhere else in a request.
type setting struct {
	settings model.Settings
	// value must occur in what is sent. If it is empty, what is sent must differ from what is sent
	// without the setting.
	value string
	// against, if not nil, is the opposite setting. The provider's default may equal the setting,
	// so nothing need be sent for it, but it cannot equal both.
	against *model.Settings
	// can, if not nil, reports whether Info says that the model has the setting.
	can func(*model.Info) bool
}

var settings = []named[setting]{
	{"MaxTokens", setting{settings: model.Settings{MaxTokens: 4321}, value: "4321"}},
	{"Temperature", setting{settings: model.Settings{Temperature: new(0.6875)}, value: "0.6875"}},
	{"TopP", setting{settings: model.Settings{TopP: new(0.8125)}, value: "0.8125"}},
	{"Stop", setting{settings: model.Settings{Stop: []string{"halt-here", "and-here"}}, value: "and-here"}},
	{"Seed", setting{settings: model.Settings{Seed: new(int64(271828))}, value: "271828"}},
	{"ParallelToolCalls: true", setting{
		settings: model.Settings{ParallelToolCalls: new(true)}, against: &model.Settings{ParallelToolCalls: new(false)},
	}},
	{"ParallelToolCalls: false", setting{settings: model.Settings{ParallelToolCalls: new(false)}}},
	{"Thinking: off", setting{settings: model.Settings{Thinking: "off"}, against: &model.Settings{Thinking: "high"}}},
	{"Thinking: minimal", setting{settings: model.Settings{Thinking: "minimal"}}},
	{"Thinking: low", setting{settings: model.Settings{Thinking: "low"}}},
	{"Thinking: medium", setting{settings: model.Settings{Thinking: "medium"}}},
	{"Thinking: high", setting{settings: model.Settings{Thinking: "high"}}},
	{"ServiceTier", setting{settings: model.Settings{ServiceTier: "priority"}, value: "priority"}},
	{"NativeTools: web_search", setting{
		settings: model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebSearch}}}, can: func(i *model.Info) bool { return i.NativeSearch },
	}},
	{"NativeTools: web_fetch", setting{
		settings: model.Settings{NativeTools: []model.NativeTool{{Kind: model.NativeWebFetch}}}, can: func(i *model.Info) bool { return i.NativeFetch },
	}},
	{"CompactAt", setting{settings: model.Settings{CompactAt: 61_803}, value: "61803", can: func(i *model.Info) bool { return i.NativeCompaction }}},
	{"ExtraHeaders", setting{settings: model.Settings{ExtraHeaders: map[string]string{extraHeader: "rain"}}}},
	{"ExtraBody", setting{
		settings: model.Settings{ExtraBody: map[string]json.RawMessage{"x_conformance": json.RawMessage(`[9007199254740993]`)}},
		value:    "9007199254740993",
	}},
}

const extraHeader = "X-Conformance"

// withSettings returns a request with settings, which may be nil.
func withSettings(settings *model.Settings) *model.Request {
	req := question("How is the weather?")
	req.Settings = settings
	return req
}

func testSetting(s *subject) {
	s.needsSent()
	if want := find(s, settings).settings; want.ExtraHeaders != nil && s.h.SentHeader == nil {
		if _, ok := s.sentOrRefused("the setting "+s.scenario.Case, withSettings(&want)); ok {
			s.t.Skip("the harness has no SentHeader")
		}
	}
	bothWays(settingIsSent)(s)
}

func settingIsSent(s *subject) {
	want := find(s, settings)
	sent, ok := s.sentOrRefused("the setting "+s.scenario.Case, withSettings(&want.settings))
	if !ok {
		if info := s.m.Info(); want.can != nil && want.can(&info) {
			s.t.Error("Info says that the model has the setting, but the request was an error")
		}
		return
	}
	if want.settings.ExtraHeaders != nil {
		s.extraHeader()
		return
	}
	without := s.mustSend(withSettings(nil))
	switch {
	case !strings.Contains(sent, want.value):
		s.t.Errorf("%s was not sent: %.2000s", want.value, sent)
	case sent != without:
	case want.against == nil:
		s.t.Errorf("sent the same as without the setting, and no error: %.2000s", sent)
	default:
		if opposite, ok := s.sentOrRefused("the opposite", withSettings(want.against)); ok && opposite == sent {
			s.t.Errorf("sent the same as with the opposite setting, and no error: %.2000s", sent)
		}
	}
}

// extraHeader checks the header of the last request.
func (s *subject) extraHeader() {
	s.t.Helper()
	if got := s.h.SentHeader(s.origin).Get(extraHeader); got != "rain" {
		s.t.Errorf("extra header has the value %q, want %q", got, "rain")
	}
}

var toolChoices = []named[model.ToolChoice]{
	{"none", model.ToolChoice{Mode: model.ToolChoiceNone}},
	{"required", model.ToolChoice{Mode: model.ToolChoiceRequired}},
	{"one tool", model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "time"}},
}

// testToolChoice checks that different choices are sent differently.
func testToolChoice(s *subject) {
	want := find(s, toolChoices)
	req := question("How is the weather?")
	req.ToolChoice = want
	sent, ok := s.sentOrRefused("the tool choice", req)
	switch forced := want.Mode != model.ToolChoiceNone; {
	case ok && forced && s.m.Info().NoForcedCalls:
		s.t.Error("Info says that no call can be required, but the request was accepted")
	case !ok && want.Mode == model.ToolChoiceRequired && !s.m.Info().NoForcedCalls:
		s.t.Error("Info says that a call can be required, but the request was an error")
	}
	if !ok {
		return
	}
	for _, other := range append(toolChoices[:len(toolChoices):len(toolChoices)], named[model.ToolChoice]{name: "auto"}) {
		if other.value == want {
			continue
		}
		req.ToolChoice = other.value
		if same, ok := s.sentOrRefused("the tool choice "+other.name, req); ok && same == sent {
			s.t.Errorf("sent the same as with tool choice %q: %.2000s", other.name, sent)
		}
	}
}

// schemas lists tool schemas as package toolset and other libraries make them.
var schemas = []named[string]{
	{"closed object", `{"type":"object","properties":{"umbrella_kind":{"type":"string","enum":["black","yellow"]}},` +
		`"required":["umbrella_kind"],"additionalProperties":false}`},
	{"nested", `{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":` +
		`{"umbrella_kind":{"type":"string","minLength":1,"maxLength":20}},"additionalProperties":false}}}}`},
	{"nullable", `{"type":"object","properties":{"umbrella_kind":{"type":["string","null"]},` +
		`"size":{"anyOf":[{"type":"integer","minimum":1},{"type":"null"}]}}}`},
	{"references", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"one":{"$ref":"#/$defs/one"}},` +
		`"$defs":{"one":{"type":"object","properties":{"umbrella_kind":{"type":"string"}}}}}`},
	{"map", `{"type":"object","properties":{"umbrella_kind":{"type":"object","additionalProperties":{"type":"number"}}}}`},
	{"none", ``},
}

// testSchema looks for a member of the schema in what was sent. The form of the rest is up to the
// provider.
func testSchema(s *subject) {
	schema := find(s, schemas)
	req := question("How is the weather?")
	tool := model.ToolDef{Name: "umbrella", Description: "Lends an umbrella."}
	if schema != "" {
		tool.Schema = json.RawMessage(schema)
	}
	req.Tools = append(req.Tools, tool)
	sent := s.mustSend(req)
	for _, part := range []string{"umbrella", "Lends an umbrella.", "umbrella_kind"} {
		if !strings.Contains(sent, part) && (schema != "" || part != "umbrella_kind") {
			s.t.Errorf("%q, from a tool, was not sent: %.2000s", part, sent)
		}
	}
}

var outputs = []named[bool]{{"alone", false}, {"with tools", true}}

// testOutput looks for a member of the schema in what was sent.
func testOutput(s *subject) {
	req := question("How is the weather?")
	if withTools := find(s, outputs); !withTools {
		req.Tools = nil
	}
	req.Output = &model.OutputSchema{Name: "verdict", Description: "What to wear.", Schema: json.RawMessage(
		`{"type":"object","properties":{"umbrella_needed":{"type":"boolean"}},"required":["umbrella_needed"],"additionalProperties":false}`)}
	sent, ok := s.sentOrRefused("output bound to a schema", req)
	switch {
	case ok && !s.m.Info().NativeOutput:
		s.t.Error("Info says there is no native output, but the request was accepted")
	case ok && !strings.Contains(sent, "umbrella_needed"):
		s.t.Errorf("schema was not sent: %.2000s", sent)
	case !ok && s.m.Info().NativeOutput && len(req.Tools) == 0:
		s.t.Error("Info says there is native output, but the request was an error")
	}
}
