// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// WindowExceeded is the finish reason of Anthropic and Z.ai for a conversation that fills the
// context window.
const WindowExceeded = "model_context_window_exceeded"

// OpenAIFinish maps the finish reason of OpenAI's protocols, and of servers that are compatible
// with them. If there are calls, they override a normal or unknown end, because the caller must
// answer them. They do not override a response that was cut off, withheld or failed. A refusal
// overrides every end of its response.
func OpenAIFinish(wire string, hasCalls, refused bool) model.FinishReason {
	var finish model.FinishReason
	switch strings.ToLower(wire) {
	case "", "stop", "stop_sequence", "end_turn", "eos", "tool_calls", "function_call", "tool_use":
		finish = model.FinishStop
	case "length", "max_tokens", "model_length", "max_output_tokens", WindowExceeded:
		finish = model.FinishLength
	case "content_filter", "safety":
		finish = model.FinishContentFilter
	case "refusal":
		finish = model.FinishRefusal
	case "error", "insufficient_system_resource", "incomplete":
		finish = model.FinishError
	default:
		finish = model.FinishOther
	}
	switch {
	case refused:
		return model.FinishRefusal
	case hasCalls && (finish == model.FinishStop || finish == model.FinishOther):
		return model.FinishToolCalls
	}
	return finish
}
