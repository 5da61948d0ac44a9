// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import (
	"encoding/json"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/ponte-go/ponte/internal/adapter"
)

// encode writes the messages last, so the body of a longer conversation starts with that of the
// shorter one, up to the cache breakpoints. The order of the SDK has no meaning.
func encode(params anthropic.MessageNewParams, stream bool) ([]byte, error) {
	messages := params.Messages
	params.Messages = nil
	head, err := params.MarshalJSON()
	if err != nil {
		return nil, err
	}
	body := make([]byte, 0, len(head)+sizeOf(messages))
	body = append(body, '{')
	if stream {
		body = append(body, `"stream":true,`...)
	}
	body = append(body, head[1:len(head)-1]...)
	body = append(body, `,"messages":`...)
	sep := byte('[')
	for i := range messages {
		if body, err = appendMessage(append(body, sep), &messages[i]); err != nil {
			return nil, err
		}
		sep = ','
	}
	return append(body, "]}"...), nil
}

// sizeOf estimates the length of messages, to allocate their memory once.
func sizeOf(messages []anthropic.MessageParam) int {
	n := 1024
	for i := range messages {
		for j := range messages[i].Content {
			n += 128
			switch block := &messages[i].Content[j]; {
			case block.OfText != nil:
				n += len(block.OfText.Text) * 9 / 8 // more than the text, for escapes
			case block.OfToolResult != nil:
				for _, c := range block.OfToolResult.Content {
					n += len(c.OfText.Text) * 9 / 8
				}
			}
		}
	}
	return n
}

func appendMessage(body []byte, message *anthropic.MessageParam) (_ []byte, err error) {
	body = append(body, `{"content":`...)
	sep := byte('[')
	for i := range message.Content {
		if body, err = appendBlock(append(body, sep), &message.Content[i]); err != nil {
			return nil, err
		}
		sep = ','
	}
	body = append(body, `],"role":"`...)
	return append(append(body, message.Role...), `"}`...), nil
}

// appendBlock writes the same as the block's own MarshalJSON, which is several times slower,
// because it checks the many variants of a union by reflection. Common blocks are written here,
// others by MarshalJSON.
func appendBlock(body []byte, block *anthropic.ContentBlockParamUnion) ([]byte, error) {
	switch {
	case block.OfText != nil:
		return appendText(body, block.OfText), nil
	case block.OfThinking != nil:
		body = adapter.AppendJSONString(append(body, `{"signature":`...), block.OfThinking.Signature)
		body = adapter.AppendJSONString(append(body, `,"thinking":`...), block.OfThinking.Thinking)
		return append(body, `,"type":"thinking"}`...), nil
	case block.OfToolUse != nil:
		if input, ok := block.OfToolUse.Input.(json.RawMessage); ok {
			body = adapter.AppendJSONString(append(body, `{"id":`...), block.OfToolUse.ID)
			body = append(append(body, `,"input":`...), input...)
			body = adapter.AppendJSONString(append(body, `,"name":`...), block.OfToolUse.Name)
			return append(body, `,"type":"tool_use"}`...), nil
		}
	case block.OfToolResult != nil:
		return appendResult(body, block.OfToolResult), nil
	}
	if override, ok := block.Overrides(); ok {
		if raw, ok := override.(json.RawMessage); ok { // byte for byte; the SDK would escape it for HTML
			return append(body, raw...), nil
		}
	}
	data, err := block.MarshalJSON()
	return append(body, data...), err
}

// appendText writes text as this package makes it. The SDK's type has no citations.
func appendText(body []byte, text *anthropic.TextBlockParam) []byte {
	body = adapter.AppendJSONString(append(body, `{"text":`...), text.Text)
	return append(appendMark(body, text.CacheControl), `,"type":"text"}`...)
}

func appendMark(body []byte, mark anthropic.CacheControlEphemeralParam) []byte {
	if mark.Type == "" {
		return body
	}
	body = append(body, `,"cache_control":{`...)
	if mark.TTL != "" {
		body = append(adapter.AppendJSONString(append(body, `"ttl":`...), mark.TTL), ',')
	}
	return append(body, `"type":"ephemeral"}`...)
}

// appendResult writes a result made by toolResult, whose content is text or empty.
func appendResult(body []byte, result *anthropic.ToolResultBlockParam) []byte {
	body = adapter.AppendJSONString(append(body, `{"tool_use_id":`...), result.ToolUseID)
	if result.IsError.Value {
		body = append(body, `,"is_error":true`...)
	}
	sep := `,"content":[`
	for _, c := range result.Content {
		body = appendText(append(body, sep...), c.OfText)
		sep = ","
	}
	if len(result.Content) > 0 {
		body = append(body, ']')
	}
	return append(appendMark(body, result.CacheControl), `,"type":"tool_result"}`...)
}
