// SPDX-License-Identifier: Apache-2.0

package genkitdev

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/firebase/genkit/go/ai"

	"github.com/ponte-go/ponte/agent/model"
)

// maxMedia is the largest media part shown, in bytes. Larger ones are only named, because a trace
// contains them in every request.
const maxMedia = 256 << 10

// requestOf returns a request in Genkit's form, which its tools can show.
func requestOf(req *model.Request) *ai.ModelRequest {
	r := &ai.ModelRequest{Config: configOf(req.Settings), ToolChoice: choiceOf(req.ToolChoice)}
	if req.Instructions != "" {
		r.Messages = append(r.Messages, ai.NewSystemTextMessage(req.Instructions))
	}
	r.Messages = append(r.Messages, messagesOf(req.Messages)...)
	for i := range req.Tools {
		t := &req.Tools[i]
		r.Tools = append(r.Tools, &ai.ToolDefinition{Name: t.Name, Description: t.Description, InputSchema: objectOf(t.Schema)})
	}
	if req.Output != nil {
		r.Output = &ai.ModelOutputConfig{Format: "json", Schema: objectOf(req.Output.Schema), Constrained: true}
	}
	return r
}

// configOf returns the settings without secrets: extra headers may contain keys.
func configOf(s *model.Settings) any {
	if s == nil {
		return nil
	}
	config := object{}
	if s.MaxTokens != 0 {
		config["maxOutputTokens"] = s.MaxTokens
	}
	if s.Temperature != nil {
		config["temperature"] = *s.Temperature
	}
	if s.TopP != nil {
		config["topP"] = *s.TopP
	}
	if len(s.Stop) > 0 {
		config["stopSequences"] = s.Stop
	}
	if s.Seed != nil {
		config["seed"] = *s.Seed
	}
	if s.Thinking != "" {
		config["thinking"] = s.Thinking
	}
	if len(config) == 0 {
		return nil
	}
	return config
}

func choiceOf(c model.ToolChoice) ai.ToolChoice {
	switch c.Mode {
	case model.ToolChoiceNone:
		return ai.ToolChoiceNone
	case model.ToolChoiceRequired, model.ToolChoiceTool:
		return ai.ToolChoiceRequired
	}
	return ""
}

// objectOf returns a schema as a map, or nil if it is not an object.
func objectOf(schema json.RawMessage) object {
	var o object
	_ = json.Unmarshal(schema, &o)
	return o
}

// responseOf returns a response in Genkit's form.
func responseOf(m *model.Message) *ai.ModelResponse {
	finish := map[model.FinishReason]ai.FinishReason{
		"": ai.FinishReasonUnknown, model.FinishStop: ai.FinishReasonStop, model.FinishToolCalls: ai.FinishReasonStop,
		model.FinishLength: ai.FinishReasonLength, model.FinishContentFilter: ai.FinishReasonBlocked,
		model.FinishRefusal: ai.FinishReasonBlocked,
	}
	reason, known := finish[m.Finish]
	if !known {
		reason = ai.FinishReasonOther
	}
	messages := messagesOf([]*model.Message{m})
	if len(messages) == 0 {
		messages = []*ai.Message{ai.NewModelMessage()}
	}
	r := &ai.ModelResponse{FinishReason: reason, Message: messages[0]}
	if u := m.Usage; u != (model.Usage{}) {
		r.Usage = &ai.GenerationUsage{
			InputTokens: int(u.InputTokens), OutputTokens: int(u.OutputTokens), TotalTokens: int(u.InputTokens + u.OutputTokens),
			CachedContentTokens: int(u.CacheReadTokens), ThoughtsTokens: int(u.ReasoningTokens),
		}
	}
	return r
}

// messagesOf returns messages in Genkit's form, in which each has one role.
func messagesOf(messages []*model.Message) []*ai.Message {
	all := []*ai.Message{}
	for _, m := range messages {
		var last *ai.Message
		for i := range m.Parts {
			role := roleOf(m.Kind, &m.Parts[i])
			if last == nil || last.Role != role {
				last = ai.NewMessage(role, nil)
				all = append(all, last)
			}
			last.Content = append(last.Content, partOf(&m.Parts[i]))
		}
	}
	return all
}

func roleOf(kind model.Kind, p *model.Part) ai.Role {
	switch {
	case kind == model.KindResponse:
		return ai.RoleModel
	case p.Kind == model.PartSystem:
		return ai.RoleSystem
	case p.Kind == model.PartToolReturn, p.Kind == model.PartRetry && p.CallID != "":
		return ai.RoleTool
	}
	return ai.RoleUser
}

func partOf(p *model.Part) *ai.Part {
	switch p.Kind {
	case model.PartToolCall:
		return ai.NewToolRequestPart(&ai.ToolRequest{Name: p.Tool, Ref: p.CallID, Input: arguments(p.Args)})
	case model.PartToolReturn:
		return ai.NewToolResponsePart(&ai.ToolResponse{Name: p.Tool, Ref: p.CallID, Output: p.Text})
	case model.PartRetry:
		if p.CallID != "" {
			return ai.NewToolResponsePart(&ai.ToolResponse{Name: p.Tool, Ref: p.CallID, Output: p.Text})
		}
	case model.PartThinking:
		return &ai.Part{Kind: ai.PartReasoning, Text: p.Text} // without its signature
	case model.PartMedia:
		switch {
		case p.Data == nil:
			return ai.NewMediaPart(p.MediaType, p.URL)
		case len(p.Data) <= maxMedia:
			return ai.NewMediaPart(p.MediaType, "data:"+p.MediaType+";base64,"+base64.StdEncoding.EncodeToString(p.Data))
		}
		return ai.NewTextPart(fmt.Sprintf("[%s, %d bytes]", p.MediaType, len(p.Data)))
	case model.PartCitation:
		return ai.NewTextPart(fmt.Sprintf("[source: %s %s]", p.Name, p.URL))
	case model.PartOpaque:
		return ai.NewTextPart(fmt.Sprintf("[opaque data of %s, %d bytes]", p.Provider, len(p.Data)))
	}
	return ai.NewTextPart(p.Text)
}
