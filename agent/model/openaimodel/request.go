// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
	"github.com/ponte-go/ponte/internal/errs"
)

// appendRequest returns the body of a request. The bytes depend only on the arguments. The messages
// come last, so the body of a longer conversation starts with the body of the shorter one, without
// its closing brackets.
func (m *Model) appendRequest(req *model.Request, settings *model.Settings, stream bool) ([]byte, error) {
	if settings == nil {
		settings = &model.Settings{}
	}
	b, err := m.beginBody(req, settings)
	if err != nil {
		return nil, err
	}
	if stream {
		if b.field("stream") {
			b.put("true")
		}
		if m.profile.StreamUsage && b.field("stream_options") {
			b.put(`{"include_usage":true}`)
		}
	}
	if m.offersTools(req) {
		if err := m.appendTools(&b, req); err != nil {
			return nil, err
		}
	}
	if err := m.appendOutput(&b, req.Output); err != nil {
		return nil, err
	}
	if err := m.appendSettings(&b, settings, m.offersTools(req)); err != nil {
		return nil, err
	}
	b.extra()
	if b.field("messages") {
		if b.dst, err = m.appendMessages(b.dst, req); err != nil {
			return nil, err
		}
	}
	return append(b.dst, '}'), nil
}

// sizeHint estimates the length of the body, to allocate it once.
func sizeHint(req *model.Request) int {
	n := 1024 + len(req.Instructions)
	for i := range req.Tools {
		n += 128 + len(req.Tools[i].Description) + len(req.Tools[i].Schema)
	}
	for _, msg := range req.Messages {
		n += 32
		for i := range msg.Parts {
			p := &msg.Parts[i]
			// Add one eighth for escapes. Base64 makes data a third longer.
			n += 96 + (len(p.Text)+len(p.Args))*9/8 + len(p.Data)*4/3 + len(p.URL)
		}
	}
	return n
}

// bodyBuilder appends the members of an object, except those that the caller's ExtraBody replaces.
type bodyBuilder struct {
	dst  []byte
	over map[string]json.RawMessage
}

// beginBody makes the checks that apply to every endpoint, and starts the body with the model's
// name.
func (m *endpoint) beginBody(req *model.Request, settings *model.Settings) (bodyBuilder, error) {
	for _, err := range []error{adapter.CheckTools(req), settings.Check(), adapter.CheckNative(&m.info, req, settings)} {
		if err != nil {
			return bodyBuilder{}, errs.Errorf("openaimodel: %w", err)
		}
	}
	b := bodyBuilder{dst: append(make([]byte, 0, sizeHint(req)), '{'), over: settings.ExtraBody}
	if b.field("model") {
		b.dst = adapter.AppendJSONString(b.dst, m.info.Name)
	}
	return b, nil
}

// field starts a member and reports whether its value must be appended.
//
//go:noinline
func (b *bodyBuilder) field(name string) bool {
	if _, replaced := b.over[name]; replaced {
		return false
	}
	b.name(name)
	return true
}

// put appends s. Not inlined, it keeps programs smaller.
//
//go:noinline
func (b *bodyBuilder) put(s string) { b.dst = append(b.dst, s...) }

func (b *bodyBuilder) name(name string) {
	if len(b.dst) > 1 {
		b.dst = append(b.dst, ',')
	}
	b.dst = append(adapter.AppendJSONString(b.dst, name), ':')
}

// extra appends the caller's own members, sorted by name.
func (b *bodyBuilder) extra() {
	for _, name := range adapter.SortedKeys(b.over) {
		b.name(name)
		b.dst = append(b.dst, b.over[name]...)
	}
}

func (m *Model) appendTools(b *bodyBuilder, req *model.Request) error {
	if b.field("tools") {
		sep := byte('[')
		for i := range req.Tools {
			t := &req.Tools[i]
			b.dst = append(b.dst, sep)
			sep = ','
			b.put(`{"type":"function","function":{`)
			b.dst = appendTool(b.dst, t)
			if t.Strict && m.profile.Strict {
				b.put(`,"strict":true`)
			}
			b.put("}}")
		}
		b.dst = append(b.dst, ']')
	}
	return m.appendToolChoice(b, req)
}

// appendTool appends the members that describe a function in all protocols.
func appendTool(dst []byte, t *model.ToolDef) []byte {
	dst = append(dst, `"name":`...)
	dst = adapter.AppendJSONString(dst, t.Name)
	if t.Description != "" {
		dst = append(dst, `,"description":`...)
		dst = adapter.AppendJSONString(dst, t.Description)
	}
	dst = append(dst, `,"parameters":`...)
	if len(t.Schema) == 0 {
		return append(dst, `{"type":"object","properties":{}}`...)
	}
	return append(dst, t.Schema...)
}

func (m *Model) appendToolChoice(b *bodyBuilder, req *model.Request) error {
	choice, err := m.toolChoice(req)
	if err != nil || choice.Mode == model.ToolChoiceAuto || !b.field("tool_choice") {
		return err
	}
	switch choice.Mode {
	case model.ToolChoiceTool:
		b.put(`{"type":"function","function":{"name":`)
		b.dst = append(adapter.AppendJSONString(b.dst, choice.Tool), "}}"...)
	case model.ToolChoiceRequired:
		b.dst = adapter.AppendJSONString(b.dst, m.profile.RequiredToolChoice)
	default:
		b.dst = adapter.AppendJSONString(b.dst, choice.Mode)
	}
	return nil
}

// offersTools reports whether tools are sent. They are left out if they must not be called and the
// endpoint has no other way to prevent it.
func (m *endpoint) offersTools(req *model.Request) bool {
	return len(req.Tools) > 0 && (req.ToolChoice.Mode != model.ToolChoiceNone || m.profile.RequiredToolChoice != "")
}

// toolChoice returns the tool choice in a form that the endpoint supports.
func (m *endpoint) toolChoice(req *model.Request) (model.ToolChoice, error) {
	choice := req.ToolChoice
	if m.profile.RequiredToolChoice == "" && choice.Mode != model.ToolChoiceAuto {
		return choice, m.unsupported("a tool choice that requires a call")
	}
	if choice.Mode == model.ToolChoiceTool && !m.profile.NamedToolChoice {
		if len(req.Tools) > 1 {
			return choice, m.unsupported("a tool choice that names one of several tools")
		}
		choice.Mode = model.ToolChoiceRequired // equivalent if there is only one tool
	}
	return choice, nil
}

func (m *Model) appendOutput(b *bodyBuilder, out *model.OutputSchema) error {
	if out == nil {
		return nil
	}
	if !m.profile.NativeOutput {
		return m.unsupported("output bound to a JSON schema")
	}
	if !b.field("response_format") {
		return nil
	}
	b.put(`{"type":"json_schema","json_schema":{`)
	b.dst = appendSchema(b.dst, out)
	if out.Strict && m.profile.Strict {
		b.put(`,"strict":true`)
	}
	b.put("}}")
	return nil
}

// appendSchema appends the members that describe the output in all protocols.
func appendSchema(dst []byte, out *model.OutputSchema) []byte {
	dst = append(dst, `"name":`...)
	dst = adapter.AppendJSONString(dst, cmp.Or(out.Name, "output"))
	if out.Description != "" {
		dst = append(dst, `,"description":`...)
		dst = adapter.AppendJSONString(dst, out.Description)
	}
	dst = append(dst, `,"schema":`...)
	return append(dst, out.Schema...)
}

// appendSettings writes the settings in the order of [model.Settings]. The profile of the endpoint
// decides which are errors.
func (m *Model) appendSettings(b *bodyBuilder, s *model.Settings, hasTools bool) error {
	if s.MaxTokens > 0 && b.field(m.profile.MaxTokensField) {
		b.dst = strconv.AppendInt(b.dst, int64(s.MaxTokens), 10)
	}
	if err := m.appendFloat(b, "temperature", s.Temperature); err != nil {
		return err
	}
	if err := m.appendFloat(b, "top_p", s.TopP); err != nil {
		return err
	}
	if len(s.Stop) > 0 {
		if err := m.supports("stop"); err != nil {
			return err
		}
		if b.field("stop") {
			sep := byte('[')
			for _, stop := range s.Stop {
				b.dst = adapter.AppendJSONString(append(b.dst, sep), stop)
				sep = ','
			}
			b.dst = append(b.dst, ']')
		}
	}
	if s.Seed != nil {
		if err := m.supports("seed"); err != nil {
			return err
		}
		if b.field(m.profile.SeedField) {
			b.dst = strconv.AppendInt(b.dst, *s.Seed, 10)
		}
	}
	if err := m.appendParallel(b, s, hasTools); err != nil {
		return err
	}
	if s.Thinking != "" {
		members, ok := m.thinking[s.Thinking]
		if !ok {
			return m.unsupported("thinking " + strconv.Quote(s.Thinking))
		}
		for _, member := range members {
			if b.field(member.name) {
				b.dst = append(b.dst, member.value...)
			}
		}
	}
	return m.appendServiceTier(b, s)
}

func (m *endpoint) appendParallel(b *bodyBuilder, s *model.Settings, hasTools bool) error {
	if s.ParallelToolCalls == nil || !hasTools { // meaningless without tools, and an error for OpenAI
		return nil
	}
	if err := m.supports("parallel_tool_calls"); err != nil {
		return err
	}
	if b.field("parallel_tool_calls") {
		b.dst = strconv.AppendBool(b.dst, *s.ParallelToolCalls)
	}
	return nil
}

func (m *endpoint) appendServiceTier(b *bodyBuilder, s *model.Settings) error {
	if s.ServiceTier == "" {
		return nil
	}
	if err := m.supports("service_tier"); err != nil {
		return err
	}
	if b.field("service_tier") {
		b.dst = adapter.AppendJSONString(b.dst, s.ServiceTier)
	}
	return nil
}

func (m *endpoint) appendFloat(b *bodyBuilder, field string, value *float64) error {
	if value == nil {
		return nil
	}
	if err := m.supports(field); err != nil {
		return err
	}
	if b.field(field) {
		b.dst = strconv.AppendFloat(b.dst, *value, 'g', -1, 64)
	}
	return nil
}

// bodyMember is a member of the body that a profile adds for a level of thinking.
type bodyMember struct {
	name  string
	value json.RawMessage
}

// thinkingMembers returns the members of the profile's objects, sorted by name. The profile has
// been checked.
func thinkingMembers(levels map[string]json.RawMessage) map[string][]bodyMember {
	byLevel := make(map[string][]bodyMember, len(levels))
	for level, object := range levels {
		var members map[string]json.RawMessage
		_ = json.Unmarshal(object, &members)
		byLevel[level] = []bodyMember{}
		for _, name := range adapter.SortedKeys(members) {
			byLevel[level] = append(byLevel[level], bodyMember{name, members[name]})
		}
	}
	return byLevel
}
