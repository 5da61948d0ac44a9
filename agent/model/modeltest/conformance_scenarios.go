// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"strconv"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// The scenarios of most rules.
var (
	text       = Scenario{Case: "text", Answer: longText}
	calls      = Scenario{Case: "calls", Answer: twoCalls}
	nothing    = Scenario{Case: "no answer", Silent: true}
	halfText   = Scenario{Case: "half an answer", Answer: longText, Silent: true}
	overloaded = &model.APIError{Status: 503, Code: "overloaded", Message: "too busy to go on", Retryable: true}
	brokenText = Scenario{Case: "text", Answer: longText, Error: overloaded}
	brokenCall = Scenario{Case: "call", Answer: twoCalls, Error: overloaded}
	truncated  = cases(
		Scenario{Case: "text", Answer: longText, Fault: FaultTruncated},
		Scenario{Case: "call", Answer: twoCalls, Fault: FaultTruncated},
	)
	empty      = Scenario{Case: "empty", Fault: FaultEmpty}
	oddFinish  = Scenario{Case: "text", Answer: finished(longText, model.FinishOther), Fault: FaultFinish}
	repeatedID = Scenario{Case: "the provider repeats an id", Answer: callsWithIDs("call_a", "call_a")}
	noID       = Scenario{Case: "the provider gives no ids", Answer: callsWithIDs("", "")}
)

var (
	someUsage = model.Usage{InputTokens: 21, OutputTokens: 13}

	longText = &model.Message{
		Kind: model.KindResponse, Finish: model.FinishStop, Usage: someUsage,
		Parts: []model.Part{model.Text("It is raining in Bergen, as ever:\n\"nøye\" <b>&amp; wet</b> \u2028 🌧.")},
	}
	twoCalls = &model.Message{
		Kind: model.KindResponse, Finish: model.FinishToolCalls, Usage: someUsage,
		Parts: []model.Part{
			// Decoding and encoding would change the white space and the float.
			model.ToolCall("call_a", "weather", "{ \"city\" : \"Bergen\",\n \"id\": 7, \"f\": 1.0 }"),
			model.ToolCall("call_b", "time", `{}`),
		},
	}
)

func finished(m *model.Message, reason model.FinishReason) *model.Message {
	m = m.Clone()
	m.Finish = reason
	return m
}

func saying(finish model.FinishReason, parts ...model.Part) *model.Message {
	return &model.Message{Kind: model.KindResponse, Finish: finish, Usage: someUsage, Parts: parts}
}

func callsWithIDs(a, b string) *model.Message {
	return saying(model.FinishToolCalls, model.ToolCall(a, "weather", `{"city":"Oslo"}`), model.ToolCall(b, "time", `{}`))
}

var answers = []Scenario{
	text,
	calls,
	{Case: "text and a call", Answer: saying(model.FinishToolCalls,
		model.Text("Let me look."), model.ToolCall("call_a", "weather", `{"city":"Oslo"}`))},
	{Case: "a long integer", Answer: saying(model.FinishToolCalls, model.ToolCall("call_a", "weather", `{"id": 9223372036854775807}`))},
	{Case: "thinking", Answer: saying(model.FinishStop, model.Thinking("What would be best?"), model.Text("This is best."))},
	{Case: "cut off", Answer: saying(model.FinishLength, model.Text("It is rai"))},
}

var usages = []Scenario{
	{Case: "input and output", Answer: longText},
	{Case: "read from a cache", Answer: counted(model.Usage{InputTokens: 1021, OutputTokens: 13, CacheReadTokens: 1000})},
	{Case: "written to a cache", Answer: counted(model.Usage{InputTokens: 1021, OutputTokens: 13, CacheWriteTokens: 1000})},
	{Case: "reasoning", Answer: counted(model.Usage{InputTokens: 21, OutputTokens: 113, ReasoningTokens: 100})},
}

func counted(u model.Usage) *model.Message {
	m := longText.Clone()
	m.Usage = u
	return m
}

var heldBack = []Scenario{
	{Case: "with text", Answer: saying(model.FinishContentFilter, model.Text("I cannot say more."))},
	{Case: "without text", Answer: saying(model.FinishContentFilter)},
}

// image is an image made by the model.
var image = Scenario{Case: "image", Answer: saying(model.FinishStop,
	model.Text("Here it is."), model.Media("image/png", []byte(pngData)))}

var oddArguments = []Scenario{
	{Case: "cut off", Answer: saying(model.FinishLength, model.ToolCall("call_a", "weather", `{"city": "Os`))},
	{Case: "not JSON", Answer: saying(model.FinishToolCalls, model.ToolCall("call_a", "weather", `{city: Oslo, "id": 1}`))},
	{Case: "not an object", Answer: saying(model.FinishToolCalls, model.ToolCall("call_a", "weather", `["Oslo", 1]`))},
}

// longCall has arguments of 1 MiB in pieces of 1 KiB.
var longCall = Scenario{Case: "1 MiB", Answer: longArguments(1 << 20)}

func longArguments(size int) *model.Message {
	var b strings.Builder
	b.WriteString(`{"id": 7, "city": "`)
	for n := 0; b.Len() < size-1100; n++ {
		word := strconv.Itoa(n)
		b.WriteString(word + strings.Repeat("-", 1023-len(word)) + " ")
	}
	b.WriteString(strings.Repeat("-", size-2-b.Len()) + `"}`)
	return saying(model.FinishToolCalls, model.ToolCall("call_a", "weather", b.String()))
}

// ours is what the provider wants back. Because it consists of digits, it is a valid string, number
// and base64.
const ours = "271828182845904523536028"

var wantedBack = []Scenario{
	{Case: "signature of thinking", Answer: saying(model.FinishToolCalls,
		model.Part{Kind: model.PartThinking, Text: "I should look.", Signature: []byte(ours)},
		model.ToolCall("call_a", "weather", `{"city":"Oslo"}`))},
	{Case: "signature of a call", Answer: saying(model.FinishToolCalls, model.Part{
		Kind: model.PartToolCall, CallID: "call_a", Tool: "weather", Args: model.RawArgs(`{"city":"Oslo"}`), Signature: []byte(ours),
	})},
	{Case: "opaque part", Answer: saying(model.FinishToolCalls,
		model.Part{Kind: model.PartOpaque, Data: []byte(ours)}, model.ToolCall("call_a", "weather", `{"city":"Oslo"}`))},
}

var refusals = []Scenario{
	{Case: "401, no key", Error: &model.APIError{Status: 401, Code: "invalid_api_key", Message: "that key opens nothing"}},
	{Case: "403, not allowed", Error: &model.APIError{Status: 403, Code: "permission_denied", Message: "that key does not open this"}},
	{Case: "404, no such model", Error: &model.APIError{Status: 404, Code: "model_not_found", Message: "no model of that name"}},
	{Case: "400, bad request", Error: &model.APIError{Status: 400, Code: "invalid_request_error", Message: "this makes no sense"}},
	{Case: "400, too long", Error: &model.APIError{
		Status: 400, Code: "context_length_exceeded", Message: "prompt is too long: 200001 tokens, the maximum context length is 200000",
	}},
	{Case: "429, too many requests", Error: &model.APIError{
		Status: 429, Code: "rate_limit_exceeded", Message: "slow down please", Retryable: true,
	}},
	{Case: "429, with Retry-After", Error: &model.APIError{
		Status: 429, Code: "rate_limit_exceeded", Message: "slow down please", Retryable: true, RetryAfter: 7 * time.Second,
	}},
	{Case: "429, quota used up", Error: &model.APIError{Status: 429, Code: "insufficient_quota", Message: "the money is gone"}},
	{Case: "500, server error", Error: &model.APIError{Status: 500, Code: "server_error", Message: "something fell over", Retryable: true}},
	{Case: "503, unavailable", Error: overloaded},
	{Case: "503, with Retry-After", Error: &model.APIError{
		Status: 503, Code: "overloaded", Message: "too busy for now", Retryable: true, RetryAfter: 7 * time.Second,
	}},
	{Case: "529, overloaded", Error: &model.APIError{Status: 529, Code: "overloaded_error", Message: "too busy for all", Retryable: true}},
	{Case: "529, with Retry-After", Error: &model.APIError{
		Status: 529, Code: "overloaded_error", Message: "too busy for all", Retryable: true, RetryAfter: 7 * time.Second,
	}},
}
