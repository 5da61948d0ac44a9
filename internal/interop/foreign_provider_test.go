// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// events writes events of a stream. Each is a type, which may be empty, and data.
func events(w http.ResponseWriter, all ...[2]any) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range all {
		if e[0] != "" {
			fmt.Fprintf(w, "event: %s\n", e[0])
		}
		data, _ := json.Marshal(e[1])
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
}

// offers reports whether a request offers a tool.
func offers(body []byte, name string) bool {
	var request struct{ Tools []struct{ Name string } }
	_ = json.Unmarshal(body, &request)
	for _, t := range request.Tools {
		if t.Name == name {
			return true
		}
	}
	return false
}

// anthropicProvider speaks Anthropic's Messages API.
func anthropicProvider(w http.ResponseWriter, path string, body []byte) {
	text := func(s string) [][2]any {
		return [][2]any{
			{"content_block_start", object{"type": "content_block_start", "index": 0, "content_block": object{"type": "text", "text": ""}}},
			{"content_block_delta", object{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": s}}},
		}
	}
	stop, content := "end_turn", text("All done.")
	switch {
	case strings.Contains(path, "count_tokens"):
		_, _ = io.WriteString(w, `{"input_tokens":1}`)
		return
	case !offers(body, "Bash"):
		content = text("A title")
	case !strings.Contains(string(body), `"tool_result"`):
		arguments, _ := json.Marshal(object{"command": touch, "description": "Make it"})
		stop, content = "tool_use", [][2]any{
			{"content_block_start", object{"type": "content_block_start", "index": 0, "content_block": object{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": object{}}}},
			{"content_block_delta", object{"type": "content_block_delta", "index": 0, "delta": object{"type": "input_json_delta", "partial_json": string(arguments)}}},
		}
	}
	all := append([][2]any{{"message_start", object{"type": "message_start", "message": object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": 10, "output_tokens": 1},
	}}}}, content...)
	all = append(all,
		[2]any{"content_block_stop", object{"type": "content_block_stop", "index": 0}},
		[2]any{"message_delta", object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": 5}}},
		[2]any{"message_stop", object{"type": "message_stop"}})
	events(w, all...)
}

// responsesProvider speaks OpenAI's Responses API, for Codex.
func responsesProvider(w http.ResponseWriter, path string, body []byte) {
	if !strings.HasSuffix(path, "/responses") {
		http.Error(w, `{"error":{"message":"not here"}}`, http.StatusNotFound)
		return
	}
	item := object{"type": "message", "role": "assistant", "id": "msg_1", "content": []any{object{"type": "output_text", "text": "All done."}}}
	if !strings.Contains(string(body), `"function_call_output"`) {
		name, arguments := "exec_command", object{"cmd": touch}
		switch {
		case offers(body, "shell_command"):
			name, arguments = "shell_command", object{"command": touch}
		case offers(body, "shell"):
			name, arguments = "shell", object{"command": []string{"bash", "-lc", touch}}
		}
		data, _ := json.Marshal(arguments)
		item = object{"type": "function_call", "call_id": "call_1", "name": name, "arguments": string(data)}
	}
	events(w,
		[2]any{"response.created", object{"type": "response.created", "response": object{"id": "resp_1"}}},
		[2]any{"response.output_item.done", object{"type": "response.output_item.done", "output_index": 0, "item": item}},
		[2]any{"response.completed", object{"type": "response.completed", "response": object{"id": "resp_1", "usage": object{
			"input_tokens": 10, "input_tokens_details": nil, "output_tokens": 5, "output_tokens_details": nil, "total_tokens": 15,
		}}}})
}

// chatProvider speaks OpenAI's Chat Completions.
func chatProvider(w http.ResponseWriter, path string, body []byte) {
	delta, finish := object{"role": "assistant", "content": "All done."}, "stop"
	var request struct {
		Tools    []any
		Messages []struct{ Role string }
	}
	_ = json.Unmarshal(body, &request)
	done := false
	for _, m := range request.Messages {
		done = done || m.Role == "tool"
	}
	if len(request.Tools) > 0 && !done {
		arguments, _ := json.Marshal(object{"command": touch, "description": "Make it"})
		delta, finish = object{"role": "assistant", "tool_calls": []any{object{
			"index": 0, "id": "call_1", "type": "function", "function": object{"name": "bash", "arguments": string(arguments)},
		}}}, "tool_calls"
	}
	chunk := func(delta object, finish any) [2]any {
		return [2]any{"", object{"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "fake-model", "choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}}}
	}
	usage := [2]any{"", object{"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "fake-model", "choices": []any{}, "usage": object{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}}
	events(w, chunk(delta, nil), chunk(object{}, finish), usage)
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}
