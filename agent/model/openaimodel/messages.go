// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// appendMessages appends the conversation as an array. The encoding of a message depends only on the message and on its
// neighbours of the same kind. Adjacent responses become one assistant message. For adjacent requests, the tool results
// come first, because they must directly follow the message with the calls. Other parts of a request become one user
// message for each run of user, media and retry parts.
func (m *Model) appendMessages(dst []byte, req *model.Request) ([]byte, error) {
	e := messageEncoder{m: m, dst: append(dst, '['), sep: "", ids: adapter.WireIDs{
		Rule: m.profile.callIDs(), Provider: m.info.Provider, Messages: req.Messages,
	}}
	if req.Instructions != "" {
		e.system(req.Instructions)
	}
	for turn := range adapter.Turns(req.Messages) {
		var err error
		if turn[0].Kind == model.KindResponse {
			err = e.assistant(turn)
		} else {
			err = eachOfRequests(turn, &e)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(e.dst, ']'), nil
}

type messageEncoder struct {
	m   *Model
	dst []byte
	sep string
	// last is the role of the previous message.
	last string
	ids  adapter.WireIDs
}

func (e *messageEncoder) begin(role string) {
	if e.m.profile.AssistantAfterTools && e.last == "tool" && role != "tool" && role != "assistant" {
		e.dst = append(e.dst, `,{"role":"assistant","content":"OK."}`...)
	}
	e.last = role
	e.dst = append(e.dst, e.sep...)
	e.sep = ","
	e.dst = append(e.dst, `{"role":"`...)
	e.dst = append(e.dst, role...)
	e.dst = append(e.dst, '"')
}

func (e *messageEncoder) system(text string) {
	e.begin(e.m.profile.SystemRole)
	e.dst = append(e.dst, `,"content":`...)
	e.dst = append(adapter.AppendJSONString(e.dst, text), '}')
}

func (e *messageEncoder) answer(p *model.Part) {
	e.begin("tool")
	e.dst = append(e.dst, `,"tool_call_id":`...)
	e.dst = adapter.AppendJSONString(e.dst, e.ids.Of(p.CallID))
	e.dst = append(e.dst, `,"content":"`...)
	e.dst = appendText(e.dst, p)
	e.dst = append(e.dst, `"}`...)
}

func (e *messageEncoder) user(parts []model.Part, hasMedia bool) error {
	e.begin("user")
	e.dst = append(e.dst, `,"content":`...)
	dst, err := appendContent(e.dst, parts, hasMedia, "text", e.m)
	e.dst = append(dst, '}')
	return err
}

// assistant writes adjacent responses as one message. Media is replaced by a note. Thinking and opaque parts are sent
// only to the provider that made them, and only if the profile says so. They are never sent as text.
func (e *messageEncoder) assistant(messages []*model.Message) error {
	var hasText, hasCalls, hasThinking, hasDetails bool
	for _, msg := range messages {
		for i := range msg.Parts {
			switch p := &msg.Parts[i]; p.Kind {
			case model.PartText, model.PartMedia:
				hasText = true
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
	e.dst = append(e.dst, `,"content":`...)
	if hasText || !hasCalls {
		e.dst = append(e.dst, '"')
		for _, msg := range messages {
			for i := range msg.Parts {
				switch p := &msg.Parts[i]; p.Kind {
				case model.PartText:
					e.dst = adapter.AppendJSONChars(e.dst, p.Text)
				case model.PartMedia: // not allowed in an assistant message
					e.dst = adapter.AppendJSONChars(e.dst, adapter.MediaNote(p))
				}
			}
		}
		e.dst = append(e.dst, '"')
	} else {
		e.dst = append(e.dst, "null"...)
	}
	if s := e.m.profile.SendReasoning; s == SendReasoningAlways && hasThinking || s == SendReasoningWithCalls && hasCalls {
		e.reasoning(messages)
	}
	if hasDetails {
		e.reasoningDetails(messages)
	}
	e.extraContent(messages)
	if hasCalls {
		sep := `,"tool_calls":[`
		for _, msg := range messages {
			for i := range msg.Parts {
				if p := &msg.Parts[i]; p.Kind == model.PartToolCall {
					e.dst = append(e.dst, sep...)
					e.toolCall(p)
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

func (e *messageEncoder) reasoning(messages []*model.Message) {
	e.dst = append(e.dst, `,"`...)
	e.dst = append(e.dst, e.m.profile.ReasoningField...)
	e.dst = append(e.dst, `":"`...)
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

// extraContent writes what Google wants back with a message. If there are several, the last one is used.
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

func (e *messageEncoder) toolCall(p *model.Part) {
	e.dst = append(e.dst, `{"id":`...)
	e.dst = adapter.AppendJSONString(e.dst, e.ids.Of(p.CallID))
	e.dst = append(e.dst, `,"type":"function","function":{"name":`...)
	e.dst = adapter.AppendJSONString(e.dst, adapter.ToolName(p.Tool))
	e.dst = append(e.dst, `,"arguments":"`...)
	e.dst = adapter.AppendJSONChars(e.dst, adapter.Arguments(p.Args))
	e.dst = append(e.dst, `"}`...)
	switch {
	case len(p.Signature) == 0, !e.isOwn(p), !json.Valid(p.Signature):
	case inside(p.Signature, namespacePrefix, callerPrefix) != nil: // made by the Responses protocol
	case inside(p.Signature, specificPrefix) != nil:
		e.dst = append(append(e.dst, ','), inside(p.Signature, specificPrefix)...)
	default:
		e.dst = append(e.dst, `,"extra_content":`...)
		e.dst = append(e.dst, p.Signature...)
	}
	e.dst = append(e.dst, '}')
}
