// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"encoding/json"
	"strconv"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// appendRequest returns the body of a request. As in Chat Completions, the bytes depend only on the
// arguments, and the conversation comes last.
func (m *Responses) appendRequest(req *model.Request, settings *model.Settings, stream bool) ([]byte, error) {
	if settings == nil {
		settings = &model.Settings{}
	}
	b, err := m.beginBody(req, settings)
	if err != nil {
		return nil, err
	}
	if stream && b.field("stream") {
		b.put("true")
	}
	if b.field("store") {
		b.put("false")
	}
	if m.reasons && b.field("include") {
		b.put(`["reasoning.encrypted_content"]`)
	}
	for i := range settings.NativeTools {
		switch t := &settings.NativeTools[i]; {
		case len(t.Blocked) > 0:
			return nil, m.unsupported("blocked hosts")
		case t.MaxUses > 0 && b.field("max_tool_calls"):
			b.dst = strconv.AppendInt(b.dst, int64(t.MaxUses), 10)
		}
	}
	if m.offersTools(req) || len(settings.NativeTools) > 0 {
		if err := m.appendTools(&b, req, settings.NativeTools); err != nil {
			return nil, err
		}
	}
	if settings.CompactAt > 0 && b.field("context_management") {
		b.put(`[{"type":"compaction","compact_threshold":`)
		b.dst = append(strconv.AppendInt(b.dst, int64(settings.CompactAt), 10), "}]"...)
	}
	if err := m.appendOutput(&b, req.Output); err != nil {
		return nil, err
	}
	if err := m.appendSettings(&b, settings, m.offersTools(req)); err != nil {
		return nil, err
	}
	b.extra()
	if req.Instructions != "" && b.field("instructions") {
		b.dst = adapter.AppendJSONString(b.dst, req.Instructions)
	}
	if b.field("input") {
		if b.dst, err = m.appendInput(b.dst, req.Messages); err != nil {
			return nil, err
		}
	}
	return append(b.dst, '}'), nil
}

func (m *Responses) appendTools(b *bodyBuilder, req *model.Request, native []model.NativeTool) error {
	if b.field("tools") {
		sep := byte('[')
		for i := range native { // web searches: there is no other kind
			tool := `{"type":"web_search"}`
			if hosts, err := json.Marshal(native[i].Allowed); err == nil && len(native[i].Allowed) > 0 {
				tool = `{"type":"web_search","filters":{"allowed_domains":` + string(hosts) + `}}`
			}
			b.dst = append(append(b.dst, sep), tool...)
			sep = ','
		}
		for i := range req.Tools {
			t := &req.Tools[i]
			b.dst = append(b.dst, sep)
			sep = ','
			b.put(`{"type":"function",`)
			b.dst = appendTool(b.dst, t)
			if m.profile.Strict { // unlike in Chat Completions, the default is true
				b.put(`,"strict":`)
				b.dst = strconv.AppendBool(b.dst, t.Strict)
			}
			b.dst = append(b.dst, '}')
		}
		b.dst = append(b.dst, ']')
	}
	choice, err := m.toolChoice(req)
	if err != nil || choice.Mode == model.ToolChoiceAuto || !b.field("tool_choice") {
		return err
	}
	if choice.Mode == model.ToolChoiceTool {
		b.put(`{"type":"function","name":`)
		b.dst = append(adapter.AppendJSONString(b.dst, choice.Tool), '}')
		return nil
	}
	b.dst = adapter.AppendJSONString(b.dst, choice.Mode)
	return nil
}

func (m *Responses) appendOutput(b *bodyBuilder, out *model.OutputSchema) error {
	if out == nil {
		return nil
	}
	if !m.profile.NativeOutput {
		return m.unsupported("output bound to a JSON schema")
	}
	if !b.field("text") {
		return nil
	}
	b.put(`{"format":{"type":"json_schema",`)
	b.dst = appendSchema(b.dst, out)
	if m.profile.Strict {
		b.put(`,"strict":`)
		b.dst = strconv.AppendBool(b.dst, out.Strict)
	}
	b.put("}}")
	return nil
}

// effortOf returns the name of a level of thinking in the protocol, or "" if it has none.
func effortOf(level string) string {
	switch level {
	case "off":
		return "none"
	case "minimal", "low", "medium", "high":
		return level
	}
	return ""
}

// appendSettings writes the settings in the order of [model.Settings].
func (m *Responses) appendSettings(b *bodyBuilder, s *model.Settings, hasTools bool) error {
	if s.MaxTokens > 0 && b.field("max_output_tokens") {
		b.dst = strconv.AppendInt(b.dst, int64(s.MaxTokens), 10)
	}
	if err := m.appendFloat(b, "temperature", s.Temperature); err != nil {
		return err
	}
	if err := m.appendFloat(b, "top_p", s.TopP); err != nil {
		return err
	}
	if len(s.Stop) > 0 {
		return m.unsupported("the setting stop")
	}
	if s.Seed != nil {
		return m.unsupported("the setting seed")
	}
	if err := m.appendParallel(b, s, hasTools); err != nil {
		return err
	}
	if s.Thinking != "" {
		effort := effortOf(s.Thinking)
		if _, known := m.profile.Thinking[s.Thinking]; !known || effort == "" {
			return m.unsupported("thinking " + strconv.Quote(s.Thinking))
		}
		if m.reasons && b.field("reasoning") {
			b.put(`{"effort":"`)
			b.put(effort)
			if effort != "none" {
				b.put(`","summary":"auto`)
			}
			b.put(`"}`)
		}
	}
	return m.appendServiceTier(b, s)
}
