package modeltest

import (
	"testing"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// Harness is how [Conformance] gets at an implementation of [model.Model].
type Harness struct {
	// New returns a model whose provider does what the scenario says: for an adapter this is a fake server on the
	// loopback interface or an http.RoundTripper, for a model in the process the function behind it. The provider does
	// the same for every request of the scenario; there may be many, and several at once. The model must not retry, so
	// that tests are quick and see every failure.
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
	// ArgsAsJSON says that the provider sends arguments as JSON values rather than as text: they are compared as JSON,
	// in which white space and the order of members mean nothing and every digit of a number does.
	ArgsAsJSON bool
	// Known has what the model is known to fail and why, by "rule" or "rule/case". Such a subtest is run, must fail, and
	// is then skipped with the reason; if it passes, it fails, so that the list stays true.
	Known map[string]string
}

// Scenario is what the provider behind a model does in a subtest. It is only read.
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
	// Fault is what goes wrong on the wire beside that.
	Fault Fault
}

// Fault is a way in which a provider's answer is broken.
type Fault string

const (
	// FaultTruncated ends the connection, as if all were well, before the answer's end: within the body of an unstreamed
	// answer, before the last events of a streamed one.
	FaultTruncated Fault = "truncated"
	// FaultEmpty answers with status 200 and an answer in which there is no response at all: no choice, no candidate, no
	// message.
	FaultEmpty Fault = "empty"
	// FaultFinish ends the answer with a finish reason that nobody has heard of.
	FaultFinish Fault = "unknown finish reason"
)

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
	{"Info is complete, quick and always the same", cases(text), testInfo},
	{"An answer is what the provider said", answers, testAnswer},
	{"A streamed answer is the same message", answers, testStreamedAnswer},
	{"Deltas add up to the message", answers, testDeltas},
	{"Call ids are unique", cases(repeatedID), testCallIDs},

	{"An error of the sink ends the request and is returned as it is", cases(text, calls), testSinkError},
	{"An error of the sink does not wait for the provider", cases(halfText), testSinkErrorAtOnce},
	{"The sink is called by the caller's goroutine, and not after Generate", cases(text, halfText), testSinkGoroutine},

	{"A context that has ended is the answer", cases(text), testContextEnded},
	{"Generate ends with its context while it waits", cases(nothing, halfText), testContextWaiting},
	{"Generate ends with its context within a stream", cases(text, halfText), testContextStreaming},

	{"A refusal is an APIError", refusals, testRefusal},
	{"An error within a stream is an APIError, and the stream is not begun again", cases(brokenText), testErrorWithinStream},
	{"Forbidden requests are not made", cases(text), testForbidden},

	{"A request is only read", cases(text), testRequestUnchanged},
	{"Every kind of history is taken", cases(text), testHistories},
	{"Nothing is lost or given away on the wire", cases(text), testWire},
	{"What the model cannot do is refused", cases(text), testUnsupported},
	{"Requests may be made at the same time", cases(text, calls), testConcurrency},
}

func cases(s ...Scenario) []Scenario { return s }
