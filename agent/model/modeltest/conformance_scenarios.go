package modeltest

import "github.com/ponte-go/ponte/agent/model"

// The scenarios of most rules.
var (
	text       = Scenario{Case: "text", Answer: longText}
	calls      = Scenario{Case: "calls", Answer: twoCalls}
	nothing    = Scenario{Case: "no answer", Silent: true}
	halfText   = Scenario{Case: "half an answer", Answer: longText, Silent: true}
	brokenText = Scenario{
		Case: "overloaded", Answer: longText,
		Error: &model.APIError{Status: 503, Code: "overloaded", Message: "too busy to go on"},
	}
	repeatedID = Scenario{Case: "the provider repeats an id", Answer: equalIDs}
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
			// White space, a long integer and an odd float are what decoding and encoding would change.
			model.ToolCall("call_a", "weather", "{ \"city\" : \"Bergen\",\n \"id\": 9223372036854775807, \"f\": 1.0 }"),
			model.ToolCall("call_b", "time", `{}`),
		},
	}
	equalIDs = &model.Message{
		Kind: model.KindResponse, Finish: model.FinishToolCalls, Usage: someUsage,
		Parts: []model.Part{model.ToolCall("call_a", "weather", `{"city":"Oslo"}`), model.ToolCall("call_a", "time", `{}`)},
	}
)

var answers = []Scenario{
	text,
	calls,
	{Case: "text and a call", Answer: &model.Message{
		Kind: model.KindResponse, Finish: model.FinishToolCalls, Usage: someUsage,
		Parts: []model.Part{model.Text("Let me look."), model.ToolCall("call_a", "weather", `{"city":"Oslo"}`)},
	}},
	{Case: "thinking", Answer: &model.Message{
		Kind: model.KindResponse, Finish: model.FinishStop,
		Usage: model.Usage{InputTokens: 21, OutputTokens: 13, ReasoningTokens: 4},
		Parts: []model.Part{model.Thinking("What would be best?"), model.Text("This is best.")},
	}},
	{Case: "cut off", Answer: &model.Message{
		Kind: model.KindResponse, Finish: model.FinishLength, Usage: someUsage,
		Parts: []model.Part{model.Text("It is rai")},
	}},
	{Case: "cut off in a call", Answer: &model.Message{
		Kind: model.KindResponse, Finish: model.FinishLength, Usage: someUsage,
		Parts: []model.Part{model.ToolCall("call_a", "weather", `{"city":"Os`)},
	}},
}

var refusals = []Scenario{
	{Case: "no key", Error: &model.APIError{Status: 401, Code: "invalid_api_key", Message: "that key opens nothing"}},
	{Case: "too many requests", Error: &model.APIError{Status: 429, Code: "rate_limit_exceeded", Message: "slow down please", Retryable: true}},
	{Case: "too long", Error: &model.APIError{Status: 400, Code: "context_length_exceeded", Message: "the conversation is too long"}},
	{Case: "bad request", Error: &model.APIError{Status: 400, Code: "invalid_request_error", Message: "this makes no sense"}},
	{Case: "server error", Error: &model.APIError{Status: 500, Code: "server_error", Message: "something fell over", Retryable: true}},
}
