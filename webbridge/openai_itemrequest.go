// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/agent/view"
)

const openaiNotStored = "nothing is stored here: send the whole conversation as input"

// openaiItemRules are about parameters of responses that would make the answer another one.
var openaiItemRules = []openaiRule{
	{"tools", openaiIsEmpty, openaiOwnTools},
	{"tool_choice", openaiIs(`"none"`, `"auto"`), openaiOwnTools},
	{"text", openaiHasType("format", "text"), "the agent decides about the form of its answer"},
	{"previous_response_id", openaiIs(), openaiNotStored},
	{"conversation", openaiIs(), openaiNotStored},
	{"prompt", openaiIs(), openaiNotStored},
	{"store", openaiIs("false"), "nothing is stored"},
	{"background", openaiIs("false"), "nothing is stored, so the answer would be lost"},
	{"top_logprobs", openaiIs("0"), "there are none"},
}

// openaiItemParams are the parameters of responses that are taken, or have no effect that a client could miss.
var openaiItemParams = []string{
	"model", "input", "stream", "max_output_tokens",
	"user", "metadata", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "service_tier", "parallel_tool_calls", "stream_options", "truncation", "include",
}

// openaiItem is an item of the input of a response.
type openaiItem struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// readResponse reads a request for a response.
func (p *openaiProtocol) readResponse(all openaiParams) (*openaiInput, map[string]string, error) {
	in := new(openaiInput)
	settings, err := p.begin(all, in, "max_output_tokens")
	if err != nil {
		return nil, nil, err
	}
	if _, given := all["instructions"]; given {
		delete(all, "instructions")
		in.warn("instructions are left out: the agent has its own")
	}
	if err := all.check(in, openaiItemRules, openaiItemParams); err != nil {
		return nil, nil, err
	}
	var text string
	var items []openaiItem
	switch raw := all["input"]; {
	case raw == nil:
		return nil, nil, openaiInvalid("input", "input is missing.")
	case json.Unmarshal(raw, &text) == nil:
		in.add(view.User, openaiText(view.User, text))
	case json.Unmarshal(raw, &items) != nil:
		return nil, nil, openaiInvalid("input", "input must be a string or a list of items.")
	}
	if len(items) > openaiMaxMessages {
		return nil, nil, openaiInvalid("input", "There are %d items: send at most %d.", len(items), openaiMaxMessages)
	}
	for i := range items {
		if err := p.item(in, &items[i], fmt.Sprintf("input[%d]", i)); err != nil {
			return nil, nil, err
		}
	}
	return in, settings, in.end("input", p.o.Strict)
}

func (p *openaiProtocol) item(in *openaiInput, it *openaiItem, at string) error {
	switch it.Type {
	case "", "message":
	case "reasoning", "mcp_call", "mcp_list_tools", "image_generation_call": // what answers have, sent back
		in.warn("%s is left out: items of the type %s are not taken from clients", at, it.Type)
		return nil
	case "item_reference":
		return openaiUnsupported(at, "%s: %s.", at, openaiNotStored)
	default:
		return openaiUnsupported(at, "%s: items of the type %.40q are not taken from clients: %s.", at, it.Type, openaiOwnTools)
	}
	role := view.User
	switch it.Role {
	case "user":
	case "assistant":
		role = view.Assistant
	case "system", "developer":
		in.warn("%s is left out: the agent has its own instructions", at)
		return nil
	default:
		return openaiInvalid(at+".role", "%s has the role %.40q: use user or assistant.", at, it.Role)
	}
	parts, err := p.content(role, it.Content, at+".content")
	if err != nil {
		return err
	}
	in.add(role, parts)
	return nil
}
