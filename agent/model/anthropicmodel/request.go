// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// maxUnstreamed is the largest max_tokens for an unstreamed response. The API requires a stream for
// responses that may take longer than ten minutes. The SDK assumes 128,000 tokens an hour, and less
// for some models.
const maxUnstreamed = 8192

// body returns the body of a request, without the members of ExtraBody, and whether it asks for a
// stream.
func (m *Model) body(req *model.Request, s *model.Settings, stream bool, container string) ([]byte, bool, error) {
	params, err := m.params(req, s)
	if err != nil {
		return nil, false, fmt.Errorf("anthropicmodel: %w", err)
	}
	if container != "" {
		params.Container = anthropic.String(container)
	}
	stream = stream || params.MaxTokens > maxUnstreamed
	body, err := encode(params, stream)
	if err != nil {
		return nil, false, fmt.Errorf("anthropicmodel: %w", err)
	}
	return body, stream, nil
}

// params translates a request.
func (m *Model) params(req *model.Request, s *model.Settings) (params anthropic.MessageNewParams, err error) {
	params.Model = m.info.Name
	params.MaxTokens = int64(s.MaxTokens)
	if s.MaxTokens == 0 {
		params.MaxTokens = int64(m.profile.MaxTokens)
	}
	thinking, err := m.setThinking(&params, s.Thinking)
	if err != nil {
		return params, err
	}
	if err := m.setSettings(&params, s, thinking); err != nil {
		return params, err
	}
	if err := m.setTools(&params, req, s, thinking); err != nil {
		return params, err
	}
	if req.Output != nil {
		params.OutputConfig.Format = param.Override[anthropic.JSONOutputFormatParam](outputFormat{"json_schema", fitSchema(req.Output.Schema)})
	}
	if err := m.setConversation(&params, req); err != nil {
		return params, err
	}
	m.mark(&params)
	return params, nil
}

// outputFormat keeps the order of the schema's members, which the model follows.
type outputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// wireThinking has fields that the SDK's types lack.
type wireThinking struct {
	Type         string        `json:"type"`
	BudgetTokens int64         `json:"budget_tokens,omitempty"`
	Display      string        `json:"display,omitempty"`
	BlockBinding *blockBinding `json:"block_binding,omitempty"`
}

type blockBinding struct {
	PrefixMismatchBehavior string `json:"prefix_mismatch_behavior"`
}

// setThinking sets the parameters for a level and returns them.
func (m *Model) setThinking(params *anthropic.MessageNewParams, level string) (Thinking, error) {
	t, ok := m.profile.Thinking[level]
	if !ok && level != "" {
		return t, adapter.Unsupported(m.info, "thinking "+strconv.Quote(level))
	}
	if t.Effort != "" {
		params.OutputConfig.Effort = anthropic.OutputConfigEffort(t.Effort)
	}
	if t.Type == "" {
		return t, nil
	}
	w := wireThinking{Type: t.Type, Display: t.Display}
	if t.Budget > 0 {
		w.BudgetTokens = int64(t.Budget)
		if w.BudgetTokens >= params.MaxTokens {
			w.BudgetTokens = max(params.MaxTokens/2, minBudget)
		}
		if w.BudgetTokens >= params.MaxTokens {
			return Thinking{}, adapter.Unsupported(m.info, fmt.Sprintf("thinking %q with a MaxTokens of %d, which must be above %d",
				level, params.MaxTokens, minBudget))
		}
	}
	if m.profile.DropStaleThinking && t.Type == "adaptive" {
		w.BlockBinding = &blockBinding{"drop_block"}
	}
	params.Thinking = param.Override[anthropic.ThinkingConfigParamUnion](w)
	return t, nil
}

func (m *Model) setSettings(params *anthropic.MessageNewParams, s *model.Settings, thinking Thinking) error {
	refuse := func(format string, args ...any) error {
		return adapter.Unsupported(m.info, fmt.Sprintf(format, args...))
	}
	if s.Temperature != nil {
		switch t := *s.Temperature; {
		case m.profile.Sampling == SamplingNone:
			return refuse("the setting temperature")
		case thinking.thinks() && t != 1:
			return refuse("the setting temperature while the model thinks")
		case t < 0 || t > 1:
			return refuse("a temperature of %v outside of 0 to 1", t)
		}
		params.Temperature = anthropic.Float(*s.Temperature)
	}
	if s.TopP != nil {
		switch p := *s.TopP; {
		case m.profile.Sampling == SamplingNone:
			return refuse("the setting top_p")
		case m.profile.Sampling == SamplingOne && s.Temperature != nil:
			return refuse("both temperature and top_p")
		case thinking.thinks() && p < 0.95:
			return refuse("a top_p below 0.95 while the model thinks")
		}
		params.TopP = anthropic.Float(*s.TopP)
	}
	if s.Seed != nil {
		return refuse("the setting seed")
	}
	for _, stop := range s.Stop {
		if strings.TrimSpace(stop) == "" {
			return refuse("a stop sequence of white space (%q)", stop)
		}
	}
	if len(s.Stop) > 0 {
		params.StopSequences = s.Stop
	}
	params.ServiceTier = anthropic.MessageNewParamsServiceTier(s.ServiceTier)
	return nil
}

func (m *Model) setTools(params *anthropic.MessageNewParams, req *model.Request, s *model.Settings, thinking Thinking) error {
	for _, tool := range m.serverTools {
		params.Tools = append(params.Tools, param.Override[anthropic.ToolUnionParam](tool))
	}
	for i := range s.NativeTools {
		if t := &s.NativeTools[i]; !m.hasServerTool(t.Kind) {
			params.Tools = append(params.Tools, param.Override[anthropic.ToolUnionParam](m.nativeTool(t)))
		}
	}
	for i := range req.Tools {
		t := &req.Tools[i]
		schema := t.Schema
		tool := &anthropic.ToolParam{Name: t.Name}
		if t.Description != "" {
			tool.Description = anthropic.String(t.Description)
		}
		if t.Strict && m.profile.Strict {
			tool.Strict = anthropic.Bool(true)
			schema = fitSchema(schema)
		}
		tool.InputSchema = inputSchema(schema)
		params.Tools = append(params.Tools, anthropic.ToolUnionParam{OfTool: tool})
	}
	if len(params.Tools) == 0 {
		return nil
	}
	one := param.Opt[bool]{}
	if s.ParallelToolCalls != nil {
		one = anthropic.Bool(!*s.ParallelToolCalls)
	}
	choice := req.ToolChoice
	if choice.Mode == model.ToolChoiceRequired || choice.Mode == model.ToolChoiceTool {
		switch {
		case m.profile.ForcedTools == ForcedToolsNever:
			return adapter.Unsupported(m.info, "a tool choice that requires a call")
		case m.profile.ForcedTools == ForcedToolsUnthinking && thinking.thinks():
			return adapter.Unsupported(m.info, "a tool choice that requires a call while the model thinks")
		}
	}
	switch choice.Mode {
	case model.ToolChoiceNone:
		none := anthropic.NewToolChoiceNoneParam()
		params.ToolChoice.OfNone = &none
	case model.ToolChoiceRequired:
		params.ToolChoice.OfAny = &anthropic.ToolChoiceAnyParam{DisableParallelToolUse: one}
	case model.ToolChoiceTool:
		params.ToolChoice.OfTool = &anthropic.ToolChoiceToolParam{Name: choice.Tool, DisableParallelToolUse: one}
	default:
		if one.Valid() {
			params.ToolChoice.OfAuto = &anthropic.ToolChoiceAutoParam{DisableParallelToolUse: one}
		}
	}
	return nil
}

// inputSchema sends a schema unchanged, with its members in order.
func inputSchema(schema json.RawMessage) anthropic.ToolInputSchemaParam {
	if len(bytes.TrimSpace(schema)) == 0 {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return param.Override[anthropic.ToolInputSchemaParam](schema)
}
