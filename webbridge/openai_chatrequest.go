// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/agent/view"
)

const openaiOwnTools = "the agent has its own tools, and runs them itself"

// openaiChatRules are about parameters of chat completions that would make the answer another one.
var openaiChatRules = []openaiRule{
	{"tools", openaiIsEmpty, openaiOwnTools},
	{"functions", openaiIsEmpty, openaiOwnTools},
	{"tool_choice", openaiIs(`"none"`, `"auto"`), openaiOwnTools},
	{"function_call", openaiIs(`"none"`, `"auto"`), openaiOwnTools},
	{"n", openaiIs("1"), "there is one answer"},
	{"response_format", openaiHasType("", "text"), "the agent decides about the form of its answer"},
	{"modalities", openaiIs(`["text"]`), "answers are text"},
	{"audio", openaiIsEmpty, "answers are text"},
	{"logprobs", openaiIs("false"), "there are none"},
	{"top_logprobs", openaiIs("0"), "there are none"},
	{"store", openaiIs("false"), "nothing is stored"},
	{"web_search_options", openaiIsEmpty, openaiOwnTools},
}

// openaiChatParams are the parameters of chat completions that are taken, or have no effect that a client could miss.
var openaiChatParams = []string{
	"model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "stop",
	"user", "metadata", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "service_tier", "parallel_tool_calls",
}

// openaiChatMessage is a message of a chat.
type openaiChatMessage struct {
	Role         string            `json:"role"`
	Content      json.RawMessage   `json:"content"`
	Refusal      string            `json:"refusal"`
	ToolCalls    []json.RawMessage `json:"tool_calls"`
	FunctionCall json.RawMessage   `json:"function_call"`
}

// readChat reads a request for a chat completion.
func (p *openaiProtocol) readChat(all openaiParams) (*openaiInput, map[string]string, error) {
	in := new(openaiInput)
	settings, err := p.begin(all, in, "max_tokens", "max_completion_tokens")
	if err != nil {
		return nil, nil, err
	}
	if err := all.check(in, openaiChatRules, openaiChatParams); err != nil {
		return nil, nil, err
	}
	var options struct {
		Usage bool `json:"include_usage"`
	}
	if err := openaiTake(all, "stream_options", &options, "an object"); err != nil {
		return nil, nil, err
	}
	in.usage = options.Usage
	if in.stop, err = openaiStops(all); err != nil {
		return nil, nil, err
	}
	var messages []openaiChatMessage
	if err := openaiTake(all, "messages", &messages, "a list of messages"); err != nil {
		return nil, nil, err
	}
	if len(messages) > openaiMaxMessages {
		return nil, nil, openaiInvalid("messages", "There are %d messages: send at most %d.", len(messages), openaiMaxMessages)
	}
	for i := range messages {
		if err := p.chatMessage(in, &messages[i], fmt.Sprintf("messages[%d]", i)); err != nil {
			return nil, nil, err
		}
	}
	return in, settings, in.end("messages", p.o.Strict)
}

func (p *openaiProtocol) chatMessage(in *openaiInput, m *openaiChatMessage, at string) error {
	switch m.Role {
	case "system", "developer":
		in.warn("%s is left out: the agent has its own instructions", at)
		return nil
	case "user", "assistant":
	case "tool", "function":
		return openaiUnsupported(at, "%s: results of tools are not taken from clients: %s.", at, openaiOwnTools)
	default:
		return openaiInvalid(at+".role", "%s has the role %.40q: use user or assistant.", at, m.Role)
	}
	if len(m.ToolCalls) > 0 || len(m.FunctionCall) > 0 && string(m.FunctionCall) != "null" {
		return openaiUnsupported(at+".tool_calls", "%s: calls are not taken from clients: %s.", at, openaiOwnTools)
	}
	role := view.User
	if m.Role == "assistant" {
		role = view.Assistant
	}
	parts, err := p.content(role, m.Content, at+".content")
	if err != nil {
		return err
	}
	if role == view.Assistant && len(parts) == 0 {
		parts = openaiText(role, m.Refusal)
	}
	in.add(role, parts)
	return nil
}

// openaiStops reads the texts at which the answer ends.
func openaiStops(all openaiParams) ([]string, error) {
	var one string
	var list []string
	raw, ok := all["stop"]
	switch {
	case !ok:
		return nil, nil
	case json.Unmarshal(raw, &one) == nil:
		list = []string{one}
	case json.Unmarshal(raw, &list) != nil:
		return nil, openaiInvalid("stop", "stop must be a string or a list of strings.")
	}
	if len(list) > openaiMaxStops {
		return nil, openaiInvalid("stop", "stop has %d strings: use at most %d.", len(list), openaiMaxStops)
	}
	for _, s := range list {
		if s == "" || len(s) > 1000 || strings.ContainsRune(s, 0) {
			return nil, openaiInvalid("stop", "The strings of stop must have 1 to 1000 bytes.")
		}
	}
	return list, nil
}
