// SPDX-License-Identifier: Apache-2.0

package geminimodel

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"google.golang.org/genai"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// appendRequest returns the body of a request. The bytes depend only on the arguments. The
// conversation comes last, so the body of a longer one starts with the body of the shorter one,
// without its closing brackets.
func (m *Model) appendRequest(req *model.Request, settings *model.Settings) ([]byte, error) {
	if settings == nil {
		settings = &model.Settings{}
	}
	if err := cmp.Or(settings.Check(), adapter.CheckTools(req)); err != nil {
		return nil, err
	}
	for i := range req.Tools {
		if name := req.Tools[i].Name; !beginsName(name) {
			return nil, adapter.Unsupported(m.info, fmt.Sprintf("the tool name %q, which does not start with a letter or an underscore", name))
		}
	}
	b := bodyBuilder{dst: append(make([]byte, 0, sizeHint(req)), '{'), over: settings.ExtraBody}
	if system := systemParts(req); len(system) > 0 {
		if err := b.member("systemInstruction", genai.Content{Parts: system}); err != nil {
			return nil, err
		}
	}
	native, err := m.nativeTools(req, settings)
	if err != nil {
		return nil, err
	}
	if err := m.appendTools(&b, req, native); err != nil {
		return nil, err
	}
	generation, err := m.generationConfig(req, settings)
	if err != nil {
		return nil, err
	}
	if generation != nil {
		if err := b.member("generationConfig", generation); err != nil {
			return nil, err
		}
	}
	if settings.ServiceTier != "" {
		if err := b.member("serviceTier", settings.ServiceTier); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(settings.ExtraBody)) {
		b.name(name)
		b.dst = append(b.dst, settings.ExtraBody[name]...)
	}
	if b.field("contents") {
		if b.dst, err = m.appendContents(b.dst, req); err != nil {
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
		for i := range msg.Parts {
			p := &msg.Parts[i]
			// Add one eighth for escapes. Base64 makes data a third longer.
			n += 96 + (len(p.Text)+len(p.Args))*9/8 + (len(p.Data)+len(p.Signature))*4/3 + len(p.URL)
		}
	}
	return n
}

// bodyBuilder appends the members of an object, except those that the caller's ExtraBody replaces.
type bodyBuilder struct {
	dst  []byte
	over map[string]json.RawMessage
}

// field starts a member and reports whether its value must be appended.
func (b *bodyBuilder) field(name string) bool {
	if _, replaced := b.over[name]; replaced {
		return false
	}
	b.name(name)
	return true
}

func (b *bodyBuilder) name(name string) {
	if len(b.dst) > 1 {
		b.dst = append(b.dst, ',')
	}
	b.dst = append(adapter.AppendJSONString(b.dst, name), ':')
}

func (b *bodyBuilder) member(name string, value any) error {
	if !b.field(name) {
		return nil
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	b.dst = append(b.dst, bytes.TrimSpace(text.Bytes())...)
	return nil
}

// systemParts returns the instructions and the system prompts within the conversation. The API has
// one place for both.
func systemParts(req *model.Request) []*genai.Part {
	var parts []*genai.Part
	if req.Instructions != "" {
		parts = append(parts, &genai.Part{Text: req.Instructions})
	}
	for _, msg := range req.Messages {
		if msg.Kind != model.KindRequest {
			continue
		}
		for i := range msg.Parts {
			if p := &msg.Parts[i]; p.Kind == model.PartSystem && p.Text != "" {
				parts = append(parts, &genai.Part{Text: p.Text})
			}
		}
	}
	return parts
}

func (m *Model) appendTools(b *bodyBuilder, req *model.Request, native []*genai.Tool) error {
	if len(req.Tools) == 0 {
		if len(native) == 0 {
			return nil
		}
		return b.member("tools", native)
	}
	declared := make([]*genai.FunctionDeclaration, len(req.Tools))
	strict := m.profile.StrictTools
	for i := range req.Tools {
		t := &req.Tools[i]
		strict = strict && t.Strict
		declared[i] = &genai.FunctionDeclaration{Name: t.Name, Description: t.Description}
		if len(t.Schema) > 0 {
			schema, err := adaptSchema(t.Schema)
			if err != nil {
				return fmt.Errorf("the schema of tool %q: %w", t.Name, err)
			}
			declared[i].ParametersJsonSchema = schema
		}
	}
	if err := b.member("tools", append(native, &genai.Tool{FunctionDeclarations: declared})); err != nil {
		return err
	}
	choice := &genai.FunctionCallingConfig{}
	config := genai.ToolConfig{FunctionCallingConfig: choice}
	if len(native) > 0 {
		config.IncludeServerSideToolInvocations = new(true)
	}
	switch req.ToolChoice.Mode {
	case model.ToolChoiceNone:
		choice.Mode = genai.FunctionCallingConfigModeNone
	case model.ToolChoiceRequired:
		choice.Mode = genai.FunctionCallingConfigModeAny
	case model.ToolChoiceTool:
		choice.Mode = genai.FunctionCallingConfigModeAny
		choice.AllowedFunctionNames = []string{req.ToolChoice.Tool}
	default:
		if !strict && len(native) == 0 {
			return nil
		}
		choice.Mode = genai.FunctionCallingConfigModeValidated
	}
	return b.member("toolConfig", config)
}

// generationConfig returns the generation settings, or nil if nothing is set.
func (m *Model) generationConfig(req *model.Request, s *model.Settings) (*genai.GenerationConfig, error) {
	g := &genai.GenerationConfig{StopSequences: s.Stop, Temperature: float32Of(s.Temperature), TopP: float32Of(s.TopP)}
	set := len(s.Stop) > 0 || s.Temperature != nil || s.TopP != nil
	if s.MaxTokens > math.MaxInt32 {
		return nil, fmt.Errorf("a MaxTokens of %d above %d", s.MaxTokens, math.MaxInt32)
	}
	if s.MaxTokens > 0 {
		g.MaxOutputTokens, set = int32(s.MaxTokens), true
	}
	if s.Seed != nil {
		if *s.Seed < math.MinInt32 || *s.Seed > math.MaxInt32 {
			return nil, adapter.Unsupported(m.info, fmt.Sprintf("the seed %d, which has more than 32 bits", *s.Seed))
		}
		g.Seed, set = new(int32(*s.Seed)), true
	}
	if s.ParallelToolCalls != nil && !*s.ParallelToolCalls && len(req.Tools) > 0 { // true is the default of the API
		return nil, adapter.Unsupported(m.info, "forbidding parallel tool calls")
	}
	if s.Thinking != "" {
		thinking, ok := m.profile.Thinking[s.Thinking]
		if !ok {
			return nil, adapter.Unsupported(m.info, "thinking "+strconv.Quote(s.Thinking))
		}
		g.ThinkingConfig, set = &thinking, true
	}
	if req.Output != nil {
		switch {
		case !m.profile.NativeOutput:
			return nil, adapter.Unsupported(m.info, "output bound to a JSON schema")
		case len(req.Tools)+len(s.NativeTools) > 0 && !m.profile.OutputWithTools:
			return nil, adapter.Unsupported(m.info, "output bound to a JSON schema together with tools")
		}
		schema, err := adaptSchema(req.Output.Schema)
		if err != nil {
			return nil, fmt.Errorf("the output schema %q: %w", req.Output.Name, err)
		}
		g.ResponseMIMEType, g.ResponseJsonSchema, set = "application/json", describeSchema(schema, req.Output.Description), true
	}
	if !set {
		return nil, nil
	}
	return g, nil
}

func float32Of(f *float64) *float32 {
	if f == nil {
		return nil
	}
	return new(float32(*f))
}
