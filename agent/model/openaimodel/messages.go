// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// appendMessages appends the conversation as an array. The encoding of a message depends only on
// the message and on its neighbours of the same kind. Responses with nothing to send are left out.
// Adjacent responses become one assistant message. For adjacent requests, the tool results come
// first, because they must directly follow the message with the calls. The other parts become one
// user message for each run of user, media and retry parts.
func (m *Model) appendMessages(dst []byte, req *model.Request) ([]byte, error) {
	e := messageEncoder{m: m, dst: append(dst, '['), sep: "", ids: adapter.WireIDs{Rule: m.profile.callIDs(), Provider: m.info.Provider, Messages: req.Messages}}
	if req.Instructions != "" {
		e.system(req.Instructions)
	}
	for turn := range adapter.Turns(adapter.Without(req.Messages, says)) {
		var err error
		if turn[0].Kind == model.KindResponse {
			e.ids.Turn()
			err = e.assistant(turn)
		} else {
			err = eachOfRequests(turn, &e.run, &e)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(e.dst, ']'), nil
}

// says reports whether a response has something to send. Thoughts alone are nothing: "Assistant
// message must have either content or tool_calls" (Mistral).
func says(msg *model.Message) bool {
	for i := range msg.Parts {
		if adapter.Says(&msg.Parts[i]) {
			return true
		}
	}
	return false
}

type messageEncoder struct {
	m   *Model
	dst []byte
	sep string
	// last is the role of the previous message.
	last string
	ids  adapter.WireIDs
	run  []*model.Part
}

// put appends s. Not inlined, it keeps programs smaller.
//
//go:noinline
func (e *messageEncoder) put(s string) { e.dst = append(e.dst, s...) }

func (e *messageEncoder) begin(role string) {
	if e.m.profile.AssistantAfterTools && e.last == "tool" && role != "tool" && role != "assistant" {
		e.put(`,{"role":"assistant","content":"OK."}`)
	}
	e.last = role
	e.put(e.sep)
	e.sep = ","
	e.put(`{"role":"`)
	e.put(role)
	e.dst = append(e.dst, '"')
}

func (e *messageEncoder) system(text string) {
	e.begin(e.m.profile.SystemRole)
	e.put(`,"content":`)
	e.dst = append(adapter.AppendJSONString(e.dst, text), '}')
}

func (e *messageEncoder) answer(p *model.Part) {
	e.begin("tool")
	e.put(`,"tool_call_id":`)
	e.dst = adapter.AppendJSONString(e.dst, e.ids.Result(p.CallID))
	e.put(`,"content":"`)
	e.dst = appendText(e.dst, p)
	e.put(`"}`)
}

func (e *messageEncoder) user(parts []*model.Part, hasMedia bool) error {
	e.begin("user")
	e.put(`,"content":`)
	dst, err := appendContent(e.dst, parts, hasMedia, "text", e.m)
	e.dst = append(dst, '}')
	return err
}

// assistant writes adjacent responses as one message. Media is replaced by a note, unless the
// provider takes it back. Thinking and opaque parts are sent only to the provider that made them,
// and only if the profile says so. They are never sent as text.
func (e *messageEncoder) assistant(messages []*model.Message) error {
	var hasText, hasCalls, hasThinking, hasDetails, hasImages bool
	for _, msg := range messages {
		for i := range msg.Parts {
			switch p := &msg.Parts[i]; p.Kind {
			case model.PartText, model.PartMedia:
				image := e.isOwnImage(p)
				hasImages = hasImages || image
				hasText = hasText || !image && adapter.Says(p)
			case model.PartToolCall:
				hasCalls = true
			case model.PartThinking:
				hasThinking = hasThinking || e.isOwn(p) && p.Text != ""
			case model.PartOpaque:
				hasDetails = hasDetails || e.isOwnDetails(p)
			case model.PartCitation: // not sent back to any provider
			default:
				return e.m.unsupported(fmt.Sprintf("a part of kind %q in a response", p.Kind))
			}
		}
	}

	e.begin("assistant")
	e.put(`,"content":`)
	if hasText {
		e.dst = append(e.dst, '"')
		for _, msg := range messages {
			for i := range msg.Parts {
				switch p := &msg.Parts[i]; p.Kind {
				case model.PartText:
					e.dst = adapter.AppendJSONChars(e.dst, p.Text)
				case model.PartMedia: // most endpoints do not allow it in an assistant message
					if !e.isOwnImage(p) {
						e.dst = adapter.AppendJSONChars(e.dst, adapter.MediaNote(p))
					}
				}
			}
		}
		e.dst = append(e.dst, '"')
	} else {
		e.put("null")
	}
	if s := e.m.profile.SendReasoning; s == SendReasoningAlways && hasThinking || s == SendReasoningWithCalls && hasCalls {
		e.reasoning(messages)
	}
	if hasDetails {
		e.reasoningDetails(messages)
	}
	e.extraContent(messages)
	if hasImages {
		e.images(messages)
	}
	if hasCalls {
		sep := `,"tool_calls":[`
		for _, msg := range messages {
			for i := range msg.Parts {
				if p := &msg.Parts[i]; p.Kind == model.PartToolCall {
					e.dst = append(e.dst, sep...)
					e.toolCall(p, msg.Provider)
					sep = ","
				}
			}
		}
		e.dst = append(e.dst, ']')
	}
	e.dst = append(e.dst, '}')
	return nil
}

func (e *messageEncoder) isOwn(p *model.Part) bool {
	return p.Provider == e.m.info.Provider
}

func (e *messageEncoder) isOwnDetails(p *model.Part) bool {
	return e.m.profile.ReasoningDetails && p.Kind == model.PartOpaque && e.isOwn(p) && isNonEmptyArray(p.Data)
}

func (e *messageEncoder) isOwnImage(p *model.Part) bool {
	return e.m.profile.ResponseImages && p.Kind == model.PartMedia && e.isOwn(p) && strings.HasPrefix(p.MediaType, "image/")
}

func (e *messageEncoder) images(messages []*model.Message) {
	sep := `,"images":[`
	for _, msg := range messages {
		for i := range msg.Parts {
			if p := &msg.Parts[i]; e.isOwnImage(p) {
				e.dst = appendImageURL(append(e.dst, sep...), p.MediaType, p)
				sep = ","
			}
		}
	}
	e.dst = append(e.dst, ']')
}

func (e *messageEncoder) reasoning(messages []*model.Message) {
	e.put(`,"`)
	e.put(e.m.profile.ReasoningField)
	e.put(`":"`)
	for _, msg := range messages {
		for i := range msg.Parts {
			if p := &msg.Parts[i]; p.Kind == model.PartThinking && e.isOwn(p) {
				e.dst = adapter.AppendJSONChars(e.dst, p.Text)
			}
		}
	}
	e.dst = append(e.dst, '"')
}

// reasoningDetails joins the arrays of all parts.
func (e *messageEncoder) reasoningDetails(messages []*model.Message) {
	sep := `,"reasoning_details":[`
	for _, msg := range messages {
		for i := range msg.Parts {
			if p := &msg.Parts[i]; e.isOwnDetails(p) {
				inner := bytes.TrimSpace(p.Data)
				e.dst = append(e.dst, sep...)
				e.dst = append(e.dst, inner[1:len(inner)-1]...)
				sep = ","
			}
		}
	}
	e.dst = append(e.dst, ']')
}

// extraContent writes what Google wants back with a message. If there are several, the last one is
// used.
func (e *messageEncoder) extraContent(messages []*model.Message) {
	var extra []byte
	for _, msg := range messages {
		for i := range msg.Parts {
			if p := &msg.Parts[i]; p.Kind == model.PartOpaque && e.isOwn(p) {
				if members := inside(p.Data, extraPrefix); members != nil {
					extra = members
				}
			}
		}
	}
	if extra != nil {
		e.dst = append(append(e.dst, ','), extra...)
	}
}

func isNonEmptyArray(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 2 && data[0] == '[' && len(bytes.TrimSpace(data[1:len(data)-1])) > 0 && json.Valid(data)
}

func (e *messageEncoder) toolCall(p *model.Part, provider string) {
	e.put(`{"id":`)
	e.dst = adapter.AppendJSONString(e.dst, e.ids.Call(p.CallID, provider))
	e.put(`,"type":"function","function":{"name":`)
	e.dst = adapter.AppendJSONString(e.dst, adapter.ToolName(p.Tool))
	e.put(`,"arguments":"`)
	e.dst = adapter.AppendJSONChars(e.dst, adapter.Arguments(p.Args))
	e.put(`"}`)
	switch {
	case len(p.Signature) == 0, !e.isOwn(p), !json.Valid(p.Signature):
	case inside(p.Signature, namespacePrefix, callerPrefix) != nil: // made by the Responses protocol
	case inside(p.Signature, specificPrefix) != nil:
		e.dst = append(append(e.dst, ','), inside(p.Signature, specificPrefix)...)
	default:
		e.put(`,"extra_content":`)
		e.dst = append(e.dst, p.Signature...)
	}
	e.dst = append(e.dst, '}')
}
