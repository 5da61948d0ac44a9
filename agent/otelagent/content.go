// SPDX-License-Identifier: Apache-2.0

package otelagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/agent/model"
)

// content configures whether content is recorded, and how many bytes of it an attribute holds. It
// writes messages in the form of the JSON schemas of the conventions: attributes of spans are
// strings.
type content struct {
	on    bool
	limit int
}

// text returns a text as a separate attribute.
func (c content) text(s string) string { return c.share(1).cut(s) }

// share returns the bound of an attribute, to be shared out among a number of parts.
func (c content) share(parts int) *share { return &share{c.limit, parts} }

// share tracks the space left in an attribute. Each part gets an equal share. Unused space goes to
// later parts.
type share struct{ left, parts int }

func (s *share) next() int {
	if s.left < 0 {
		return -1
	}
	n := s.left / max(1, s.parts)
	s.parts--
	return n
}

// cut returns the beginning of a text that fits the next part.
func (s *share) cut(text string) string {
	n := s.next()
	if n < 0 {
		return text
	}
	if len(text) <= n {
		s.left -= len(text)
		return text
	}
	s.left -= n
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return fmt.Sprintf("%s… (%d bytes)", text[:n], len(text))
}

// The parts of messages, as the conventions have them.
type (
	message struct {
		Role   string `json:"role"`
		Parts  []any  `json:"parts"`
		Finish string `json:"finish_reason,omitempty"`
	}
	textPart struct {
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	callPart struct {
		Type      string `json:"type"`
		ID        string `json:"id,omitempty"`
		Name      string `json:"name"`
		Arguments any    `json:"arguments,omitempty"`
	}
	returnPart struct {
		Type     string `json:"type"`
		ID       string `json:"id,omitempty"`
		Response string `json:"response"`
	}
	uriPart struct {
		Type      string `json:"type"`
		MediaType string `json:"mime_type,omitempty"`
		Modality  string `json:"modality"`
		URI       string `json:"uri"`
	}
	// mediaPart describes data, which is not recorded.
	mediaPart struct {
		Type      string `json:"type"`
		MediaType string `json:"mime_type,omitempty"`
		Modality  string `json:"modality,omitempty"`
		Size      int    `json:"size"`
	}
)

func (c content) instructions(text string) string {
	return encode([]textPart{{"text", c.text(text)}})
}

func (c content) messages(messages []*model.Message) string {
	n := 0
	for _, m := range messages {
		n += len(m.Parts)
	}
	share := c.share(n)
	all := make([]message, 0, len(messages))
	for _, m := range messages {
		first := len(all)
		if m.Kind == model.KindResponse {
			all = append(all, message{Role: "assistant", Parts: []any{}, Finish: finishReason(m.Finish)})
		}
		for i := range m.Parts {
			// A request is split into one message for each role.
			p := &m.Parts[i]
			if role := roleOf(p); m.Kind == model.KindRequest && (len(all) == first || all[len(all)-1].Role != role) {
				all = append(all, message{Role: role})
			}
			last := &all[len(all)-1]
			last.Parts = append(last.Parts, share.part(p))
		}
	}
	return encode(all)
}

func finishReason(f model.FinishReason) string {
	switch f {
	case "":
		return string(model.FinishOther) // the field is required
	case model.FinishToolCalls:
		return "tool_call"
	}
	return string(f)
}

// roleOf returns the role of a part of a request.
func roleOf(p *model.Part) string {
	switch {
	case p.Kind == model.PartSystem:
		return "system"
	case p.Kind == model.PartToolReturn, p.Kind == model.PartRetry && p.CallID != "":
		return "tool"
	}
	return "user"
}

func (s *share) part(p *model.Part) any {
	switch p.Kind {
	case model.PartToolCall:
		return callPart{"tool_call", p.CallID, p.Tool, s.arguments(p.Args)}
	case model.PartToolReturn:
		return returnPart{"tool_call_response", p.CallID, s.cut(p.Text)}
	case model.PartRetry:
		if p.CallID != "" {
			return returnPart{"tool_call_response", p.CallID, s.cut(p.Text)}
		}
	case model.PartThinking:
		return textPart{"reasoning", s.cut(p.Text)}
	case model.PartMedia:
		if p.Data == nil && p.URL != "" {
			return uriPart{"uri", p.MediaType, modality(p.MediaType), s.cut(p.URL)}
		}
		s.cut("")
		return mediaPart{"media", p.MediaType, modality(p.MediaType), len(p.Data)}
	case model.PartCitation:
		return textPart{"citation", s.cut(p.URL)}
	case model.PartOpaque:
		s.cut("")
		return mediaPart{Type: "opaque", Size: len(p.Data)}
	}
	return textPart{"text", s.cut(p.Text)}
}

// arguments returns an object if the arguments are one and fit, otherwise a text.
func (s *share) arguments(args model.RawArgs) any {
	if len(args) == 0 {
		s.cut("")
		return nil
	}
	text := s.cut(string(args))
	if len(text) == len(args) && json.Valid(args) {
		return json.RawMessage(args)
	}
	return text
}

func modality(mediaType string) string {
	top, _, _ := strings.Cut(mediaType, "/")
	switch top {
	case "image", "audio", "video":
		return top
	}
	return "document"
}

// encode writes what cannot fail to be written, without escapes for HTML.
func encode(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n")
}
