// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"net/http"
	"testing"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// Harness connects [Conformance] with an implementation of [model.Model].
type Harness struct {
	// New returns a model whose provider behaves as the scenario says. For an adapter, the provider
	// is a fake server on the loopback interface or an http.RoundTripper. For a model in the
	// process, it is a function. It behaves the same for every request of the scenario. There may
	// be many requests, also concurrent ones. The model must not retry, so tests are fast and see
	// every failure.
	//
	// New may be called with any scenario. If the provider cannot play it, or the rule does not
	// apply, New calls t.Skip with the reason. It registers t.Cleanup for what it starts.
	New func(t testing.TB, s Scenario) model.Model

	// Sent returns the text of all request bodies that models made by New with this t have sent so
	// far, in order. New bodies are appended to what it returned before. A request counts before it
	// is answered. If Sent is not nil, the suite checks what is sent to the provider and what is
	// not.
	Sent func(t testing.TB) string
	// SentHeader returns the headers of the last request sent by a model that New made with this t.
	// It may be nil.
	SentHeader func(t testing.TB) http.Header

	// Provider reports that the model talks to a provider, so [model.ForbidRequests] applies and
	// responses name it.
	Provider bool
	// Unscripted reports that the model decides its responses itself, whatever the scenario says.
	// Only rules that hold for every response are checked, and the model is not asked to retry.
	Unscripted bool
	// ArgsAsJSON reports that the provider sends arguments as JSON values rather than text. They
	// are then compared as JSON: white space, the order of members and the spelling of numbers are
	// ignored, but numbers must have exactly the same value.
	ArgsAsJSON bool
	// Citations reports that the provider names the sources of a response, with the passages that
	// each is for. The suite then checks that they are kept.
	Citations bool
	// Known lists known failures and their reasons, by "rule" (all cases of it) or "rule/case".
	// Such a subtest is run and must fail. It is then skipped with the reason. If it passes, it is
	// reported as a failure, so that the list stays accurate. Cases that New skips need not be
	// listed.
	Known map[string]string
}

// Scenario describes what the provider does in a subtest. It must not be modified.
type Scenario struct {
	// Rule is the rule to test. Case distinguishes the scenarios of a rule. Together they name the
	// subtest.
	Rule, Case string
	// Answer is the response of the provider, or nil if there is none: parts, a finish reason and
	// usage. A provider that streams sends text, thinking and arguments in several pieces. It
	// splits them at least after every space.
	//
	//   - A thinking part or a tool call may have a Signature, and an opaque part has Data, which the provider wants back.
	//     Both consist of ASCII digits, which every protocol can represent as a string, a number or base64. Provider and ID
	//     are not set.
	//   - A tool call without CallID is sent without an id.
	//   - A media part has Data and MediaType.
	//   - A citation has URL, Name and, in Data, the passage of the text before it, in the form of OpenAI's Responses API.
	//     Package native reads it. The provider sends it in its own form. Only harnesses with Citations get citations.
	//   - Usage has the meaning of [model.Usage]. A provider that counts cached tokens separately sends the difference.
	Answer *model.Message
	// Error, if not nil, is an error that the provider reports. Status, Code and Message are set,
	// and Retryable, which follows from the status or the code. If RetryAfter is set, the response
	// has a Retry-After header in seconds. If Answer is set too, the provider reports the error in
	// the middle of a stream, after all but the end of the response.
	Error *model.APIError
	// Silent means that the provider never finishes: it sends Answer, if set, without its end, and
	// keeps the connection open until the client closes it.
	Silent bool
	// Fault is a fault on the wire.
	Fault Fault
}

// Fault is a way in which a provider's response is broken.
type Fault string

const (
	// FaultTruncated ends the response early, without an error: an unstreamed body within its last
	// part, and a stream after some but not all pieces of the last part or, if the provider sends
	// that kind of part in one piece, before the events that end the response.
	FaultTruncated Fault = "truncated"
	// FaultEmpty sends status 200 and a body without a response: no choice, no candidate, no
	// message.
	FaultEmpty Fault = "empty"
	// FaultFinish ends the response with an unknown finish reason, whatever its Finish says.
	FaultFinish Fault = "unknown finish reason"
)

// patience is how long something may take that must happen at once. It is long because test
// machines may be slow.
const patience = 30 * time.Second

// Conformance tests that an implementation keeps the contract of [model.Model], one rule per
// subtest: complete and streamed responses, deltas, sinks, cancellation, errors, requests,
// concurrency. Run it with the race detector. A test of an adapter looks like this:
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
// The test must not run in parallel with others, because it forbids requests for a moment.
//
// Run returns the results in the order of the rules and their cases, without those that a -run flag
// excludes. Check which were skipped: a harness that skips everything has no failures.
func Conformance(t *testing.T, h Harness) []Result {
	t.Helper()
	return conform(t, h, func(t testing.TB, name string, f func(testing.TB)) {
		t.Helper()
		t.(*testing.T).Run(name, func(t *testing.T) { f(t) })
	})
}

// runner runs a subtest.
type runner func(t testing.TB, name string, f func(testing.TB))

func conform(t testing.TB, h Harness, run runner) []Result {
	t.Helper()
	if h.New == nil {
		t.Fatal("modeltest: Harness.New is nil")
	}
	checkKnown(t, h.Known)
	var results []Result
	for _, r := range rules {
		run(t, r.name, func(t testing.TB) {
			for _, s := range r.cases {
				s.Rule = r.name
				run(t, s.Case, func(t testing.TB) {
					o := observe(t, &s, func(res Result) { results = append(results, res) })
					test := func(t testing.TB, run runner) { r.test(&subject{t: t, h: h, scenario: s, runner: run, origin: t}) }
					if reason := h.known(&s); reason != "" {
						o.tryKnown(reason, test)
						return
					}
					test(o, func(t testing.TB, name string, f func(testing.TB)) { run(under(t), name, f) })
				})
			}
		})
	}
	return results
}
