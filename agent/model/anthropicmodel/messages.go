// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// setConversation sets instructions and messages. The encoding of a message depends only on the
// message and on its neighbours of the same kind, so a longer conversation starts with the blocks
// of the shorter one. The API does not accept conversations that start or end with an assistant
// message, and text of only white space.
func (m *Model) setConversation(params *anthropic.MessageNewParams, req *model.Request) error {
	c := conversation{m: m, params: params, system: true, ids: adapter.WireIDs{Rule: callIDs, Messages: req.Messages}}
	c.addSystem(req.Instructions)
	for turn := range adapter.Turns(req.Messages) {
		var err error
		if turn[0].Kind == model.KindResponse {
			c.ids.Turn()
			err = c.response(turn)
		} else {
			err = c.request(turn)
		}
		if err != nil {
			return err
		}
	}
	n := len(req.Messages)
	if len(params.Messages) == 0 || n > 0 && req.Messages[n-1].Kind == model.KindRequest && c.ends() == anthropic.MessageParamRoleAssistant {
		c.add(anthropic.MessageParamRoleUser, anthropic.NewTextBlock(adapter.NoText))
	}
	return nil
}

// conversation builds the messages of a request.
type conversation struct {
	m      *Model
	params *anthropic.MessageNewParams
	// system is true until there is something other than a system prompt. Until then, system
	// prompts belong to the instructions.
	system bool
	ids    adapter.WireIDs
}

// callIDs is the rule for call ids. The API has a pattern for them (^[a-zA-Z0-9_-]+$), and no
// documented limit.
var callIDs = adapter.IDRule{Max: 64}

func (c *conversation) add(role anthropic.MessageParamRole, blocks ...anthropic.ContentBlockParamUnion) {
	if len(blocks) == 0 {
		return
	}
	if len(c.params.Messages) == 0 && role == anthropic.MessageParamRoleAssistant {
		c.add(anthropic.MessageParamRoleUser, anthropic.NewTextBlock(adapter.NoText))
	}
	if role == anthropic.MessageParamRoleUser && c.ends() == anthropic.MessageParamRoleSystem {
		c.demoteSystem() // the API requires a response to a system message; here the response has nothing to send
	}
	c.params.Messages = append(c.params.Messages, anthropic.MessageParam{Role: role, Content: blocks})
}

// demoteSystem converts the last message, a system message, to user text.
func (c *conversation) demoteSystem() {
	last := &c.params.Messages[len(c.params.Messages)-1]
	last.Role = anthropic.MessageParamRoleUser
	for i := range last.Content {
		last.Content[i] = systemAsText(last.Content[i].OfText.Text)
	}
}

// ends returns the role of the last message, or "".
func (c *conversation) ends() anthropic.MessageParamRole {
	if n := len(c.params.Messages); n > 0 {
		return c.params.Messages[n-1].Role
	}
	return ""
}

func (c *conversation) addSystem(text string) {
	if !isBlank(text) {
		c.params.System = append(c.params.System, anthropic.TextBlockParam{Text: text})
	}
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// request writes adjacent requests as one user message, results first, because they must directly
// follow the calls. System prompts before the conversation are added to the instructions. A later
// one becomes a system message after the user's if the model supports that, otherwise marked user
// text in its place.
func (c *conversation) request(messages []*model.Message) error {
	var results, content, system []anthropic.ContentBlockParamUnion
	for _, msg := range messages {
		for i := range msg.Parts {
			p := &msg.Parts[i]
			switch {
			case adapter.AnswersCall(p):
				results = append(results, c.toolResult(p))
			case p.Kind == model.PartSystem && c.system:
				c.addSystem(p.Text)
				continue
			case p.Kind == model.PartSystem && isBlank(p.Text):
			case p.Kind == model.PartSystem && c.m.profile.SystemMessages:
				system = append(system, anthropic.NewTextBlock(p.Text))
			case p.Kind == model.PartSystem:
				content = append(content, systemAsText(p.Text))
			case p.Kind == model.PartMedia:
				block, err := c.m.media(p)
				if err != nil {
					return err
				}
				content = append(content, block)
			case adapter.IsUserContent(p):
				if text := adapter.Text(p); !isBlank(text) {
					content = append(content, anthropic.NewTextBlock(text))
				}
			default:
				return fmt.Errorf("a request cannot hold a part of kind %q", p.Kind)
			}
			c.system = false
		}
	}
	content = append(results, content...)
	c.add(anthropic.MessageParamRoleUser, content...)
	c.add(anthropic.MessageParamRoleSystem, system...)
	if len(content) == 0 && len(system) > 0 { // a system message must follow a user message
		c.demoteSystem()
	}
	return nil
}

func systemAsText(text string) anthropic.ContentBlockParamUnion {
	return anthropic.NewTextBlock("<system>\n" + text + "\n</system>")
}

func (c *conversation) toolResult(p *model.Part) anthropic.ContentBlockParamUnion {
	result := &anthropic.ToolResultBlockParam{ToolUseID: c.ids.Result(p.CallID)}
	text := adapter.Text(p)
	if adapter.Failed(p) {
		result.IsError = anthropic.Bool(true)
		if isBlank(text) { // the API requires a description of the error
			text = "(" + string(p.Outcome) + ")"
		}
	}
	if !isBlank(text) {
		result.Content = []anthropic.ToolResultBlockParamContentUnion{{OfText: &anthropic.TextBlockParam{Text: text}}}
	}
	return anthropic.ContentBlockParamUnion{OfToolResult: result}
}

// said returns the index of the last part of a response that may stand at its end, or -1: "The
// final block in an assistant message cannot be `thinking`".
func (c *conversation) said(msg *model.Message) int {
	for i := len(msg.Parts) - 1; i >= 0; i-- {
		p := &msg.Parts[i]
		if adapter.Says(p) || p.Kind == model.PartOpaque && p.Provider == c.m.info.Provider && !bytes.Contains(p.Data, redactedThinking) {
			return i
		}
	}
	return -1
}

var redactedThinking = []byte(`"redacted_thinking"`)

// response writes adjacent responses as one assistant message, with the blocks in order, but
// without thinking at the end of a response. Thinking, opaque parts and signatures are sent only to
// the provider that made them. They are never sent as text.
func (c *conversation) response(messages []*model.Message) error {
	c.system = false
	var blocks []anthropic.ContentBlockParamUnion
	for _, msg := range messages {
		said := c.said(msg)
		for i := range msg.Parts[:said+1] {
			p := &msg.Parts[i]
			own := p.Provider == c.m.info.Provider
			switch p.Kind {
			case model.PartText:
				if !isBlank(p.Text) {
					blocks = append(blocks, c.textBlock(p.Text, msg.Parts[i+1:]))
				}
			case model.PartCitation: // written with its text
			case model.PartThinking:
				if own && len(p.Signature) > 0 {
					blocks = append(blocks, anthropic.NewThinkingBlock(string(p.Signature), p.Text))
				}
			case model.PartOpaque:
				if own {
					blocks = appendOpaque(blocks, p.Data)
				}
			case model.PartToolCall:
				blocks = append(blocks, c.toolUse(p, own))
			case model.PartMedia:
				blocks = append(blocks, anthropic.NewTextBlock(adapter.MediaNote(p)))
			default:
				return fmt.Errorf("a response cannot hold a part of kind %q", p.Kind)
			}
		}
	}
	c.add(anthropic.MessageParamRoleAssistant, blocks...)
	return nil
}

// textBlock writes a text with its citations, which its own provider wants back.
func (c *conversation) textBlock(text string, following []model.Part) anthropic.ContentBlockParamUnion {
	var block []byte
	for i := range following {
		p := &following[i]
		if p.Kind != model.PartCitation {
			break
		}
		if p.Provider != c.m.info.Provider || !isObject(p.Data) {
			continue
		}
		if block == nil {
			block = adapter.AppendJSONString([]byte(`{"type":"text","text":`), text)
			block = append(block, `,"citations":[`...)
		} else {
			block = append(block, ',')
		}
		block = append(block, p.Data...)
	}
	if block == nil {
		return anthropic.NewTextBlock(text)
	}
	return param.Override[anthropic.ContentBlockParamUnion](json.RawMessage(append(block, "]}"...)))
}

// appendOpaque appends a block as the provider wrote it.
func appendOpaque(blocks []anthropic.ContentBlockParamUnion, data []byte) []anthropic.ContentBlockParamUnion {
	if !isObject(data) {
		return blocks // not made by this package
	}
	return append(blocks, param.Override[anthropic.ContentBlockParamUnion](json.RawMessage(data)))
}

// toolUse writes a call. Its signature holds the provider's additional members, as an object.
func (c *conversation) toolUse(p *model.Part, own bool) anthropic.ContentBlockParamUnion {
	use := &anthropic.ToolUseBlockParam{ID: c.ids.Call(p.CallID, ""), Name: adapter.ToolName(p.Tool), Input: json.RawMessage(adapter.Arguments(p.Args))}
	block := anthropic.ContentBlockParamUnion{OfToolUse: use}
	if !own || !isObject(p.Signature) {
		return block
	}
	data, err := appendBlock(nil, &block)
	if err != nil { // encoding a call never fails
		return block
	}
	for name, value := range members(extraOf(p.Signature)) { // in order; the SDK's extra fields have none
		data = withMember(data, name, value)
	}
	return param.Override[anthropic.ContentBlockParamUnion](json.RawMessage(data))
}
