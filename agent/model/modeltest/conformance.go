package modeltest

import (
	"testing"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// Harness is how [Conformance] gets at an implementation of [model.Model].
type Harness struct {
	// New returns a model whose provider does what the scenario says: for an adapter this is a fake server on the
	// loopback interface or an http.RoundTripper, for a model in the process the function behind it. The provider does the same for
	// every request of the scenario; there may be many, and several at once. The model must not retry, so that tests are
	// quick and see every failure.
	//
	// New may be called with any scenario. It calls t.Skip, with the reason, where the provider cannot do that, or the
	// rule does not apply. What it starts it ends by t.Cleanup.
	New func(t testing.TB, s Scenario) model.Model

	// Sent returns, as text, all that the models that New made with this t have sent so far. It may be nil if that cannot
	// be known; with it the suite checks what reaches the wire, and what must not.
	Sent func(t testing.TB) string

	// Provider says that the model talks to a provider, so that [model.ForbidRequests] applies.
	Provider bool
	// Unscripted says that the model decides itself what it answers, whatever the scenario's answer is: only what holds
	// for every answer is checked, and it is not asked to try again.
	Unscripted bool
}

// Scenario is what the provider behind a model does in a subtest.
type Scenario struct {
	// Rule is the rule that is tested, Case tells the scenarios of a rule apart. They name the subtest.
	Rule, Case string
	// Answer is what the provider answers: parts of text, thinking and tool calls, a finish reason and usage. A
	// streaming provider sends text, thinking and arguments in several pieces. It is nil if there is no answer.
	Answer *model.Message
	// Error, if not nil, is what the provider reports: Status, Code and Message are set. With an Answer it reports it in
	// the middle of a stream, when it has sent all but the end of the answer.
	Error *model.APIError
	// Silent says that the provider never comes to an end: it sends what Answer says, if anything, but not the end of
	// it, and keeps the connection open until the client leaves.
	Silent bool
}

// patience is how long something may take that must happen at once. It is long because test machines are slow.
const patience = 10 * time.Second

// Conformance tests that an implementation keeps the contract of [model.Model], each rule in a subtest: complete and
// streamed answers, deltas, sinks, cancellation, errors, requests, concurrency. Run it with the race detector.
// An adapter's test looks like this:
//
//	func TestConformance(t *testing.T) {
//		modeltest.Conformance(t, modeltest.Harness{
//			Provider: true,
//			New: func(t testing.TB, s modeltest.Scenario) model.Model {
//				server := httptest.NewServer(fake(s)) // answers in the provider's protocol
//				t.Cleanup(server.Close)
//				return newModel(server.URL)
//			},
//		})
//	}
//
// The test must not be parallel to others: while it runs, requests are forbidden for a moment.
func Conformance(t *testing.T, h Harness) {
	t.Helper()
	conform(t, h, func(t testing.TB, name string, f func(testing.TB)) {
		t.Helper()
		t.(*testing.T).Run(name, func(t *testing.T) { f(t) })
	})
}

// runner runs a subtest.
type runner func(t testing.TB, name string, f func(testing.TB))

func conform(t testing.TB, h Harness, run runner) {
	t.Helper()
	if h.New == nil {
		t.Fatal("modeltest: conformance: Harness.New is nil")
	}
	for _, r := range rules {
		run(t, r.name, func(t testing.TB) {
			for _, s := range r.cases {
				s.Rule = r.name
				run(t, s.Case, func(t testing.TB) { r.test(&subject{t: t, h: h, scenario: s, runner: run}) })
			}
		})
	}
}

// rule is a rule of the contract and how it is tested, in each of some cases.
type rule struct {
	name  string
	cases []Scenario
	test  func(*subject)
}

var rules = []rule{
	{"Info is complete, quick and always the same", []Scenario{{Case: "text", Answer: longText}}, testInfo},
	{"An answer is what the provider said", answers, testAnswer},
	{"A streamed answer is the same message", answers, testStreamedAnswer},
	{"Deltas add up to the message", answers, testDeltas},
	{"Call ids are unique", []Scenario{{Case: "provider repeats an id", Answer: equalIDs}}, testCallIDs},

	{"An error of the sink ends the request and is returned as it is", []Scenario{{Case: "text", Answer: longText}, {Case: "calls", Answer: twoCalls}}, testSinkError},
	{"An error of the sink does not wait for the provider", []Scenario{{Case: "silent after text", Answer: longText, Silent: true}}, testSinkErrorAtOnce},
	{"The sink is called by the caller's goroutine, and not after Generate", []Scenario{{Case: "text", Answer: longText}, {Case: "stopped", Answer: longText, Silent: true}}, testSinkGoroutine},

	{"A context that has ended is the answer", []Scenario{{Case: "text", Answer: longText}}, testContextEnded},
	{"Generate ends with its context while it waits", []Scenario{{Case: "no answer", Silent: true}, {Case: "half an answer", Answer: longText, Silent: true}}, testContextWaiting},
	{"Generate ends with its context within a stream", []Scenario{{Case: "whole answer", Answer: longText}, {Case: "half an answer", Answer: longText, Silent: true}}, testContextStreaming},

	{"A refusal is an APIError", refusals, testRefusal},
	{"An error within a stream is an APIError, and the stream is not begun again", []Scenario{{Case: "overloaded", Answer: longText, Error: &model.APIError{Status: 503, Code: "overloaded", Message: "too busy to go on"}}}, testErrorWithinStream},
	{"Forbidden requests are not made", []Scenario{{Case: "text", Answer: longText}}, testForbidden},

	{"A request is only read", []Scenario{{Case: "text", Answer: longText}}, testRequestUnchanged},
	{"Every kind of history is taken", []Scenario{{Case: "text", Answer: longText}}, testHistories},
	{"Nothing is lost or given away on the wire", []Scenario{{Case: "text", Answer: longText}}, testWire},
	{"What the model cannot do is refused", []Scenario{{Case: "text", Answer: longText}}, testUnsupported},
	{"Requests may be made at the same time", []Scenario{{Case: "text", Answer: longText}, {Case: "calls", Answer: twoCalls}}, testConcurrency},
}

// Answers of providers.
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
	{Case: "text", Answer: longText},
	{Case: "calls", Answer: twoCalls},
	{Case: "text and a call", Answer: &model.Message{
		Kind: model.KindResponse, Finish: model.FinishToolCalls, Usage: someUsage,
		Parts: []model.Part{model.Text("Let me look."), model.ToolCall("call_a", "weather", `{"city":"Oslo"}`)},
	}},
	{Case: "thinking", Answer: &model.Message{
		Kind: model.KindResponse, Finish: model.FinishStop, Usage: model.Usage{InputTokens: 21, OutputTokens: 13, ReasoningTokens: 4},
		Parts: []model.Part{model.Thinking("What would be best?"), model.Text("This is best.")},
	}},
	{Case: "cut off", Answer: &model.Message{
		Kind: model.KindResponse, Finish: model.FinishLength, Usage: someUsage, Parts: []model.Part{model.Text("It is rai")},
	}},
	{Case: "cut off in a call", Answer: &model.Message{
		Kind: model.KindResponse, Finish: model.FinishLength, Usage: someUsage, Parts: []model.Part{model.ToolCall("call_a", "weather", `{"city":"Os`)},
	}},
}

var refusals = []Scenario{
	{Case: "no key", Error: &model.APIError{Status: 401, Code: "invalid_api_key", Message: "that key opens nothing"}},
	{Case: "too many requests", Error: &model.APIError{Status: 429, Code: "rate_limit_exceeded", Message: "slow down please", Retryable: true}},
	{Case: "too long", Error: &model.APIError{Status: 400, Code: "context_length_exceeded", Message: "the conversation is too long"}},
	{Case: "bad request", Error: &model.APIError{Status: 400, Code: "invalid_request_error", Message: "this makes no sense"}},
	{Case: "server error", Error: &model.APIError{Status: 500, Code: "server_error", Message: "something fell over", Retryable: true}},
}
