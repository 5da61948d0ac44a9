// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"net/http"
	"testing"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// Harness is how [Run] gets at an implementation of [model.Model].
type Harness struct {
	// New returns a model whose provider does what the scenario says: for an adapter this is a fake server on the
	// loopback interface or an http.RoundTripper, for a model in the process the function behind it. The provider does
	// the same for every request of the scenario; there may be many, and several at once. The model must not retry, so
	// that tests are quick and see every failure.
	//
	// New may be called with any scenario. It calls t.Skip, with the reason, where the provider cannot do that, or the
	// rule does not apply. What it starts it ends by t.Cleanup.
	New func(t testing.TB, s Scenario) model.Model

	// Sent returns, as text, the bodies of all that the models that New made with this t have sent so far, in the order in
	// which they were sent: what it returned before, with what has been sent since behind that. A request counts before it
	// is answered. It may be nil if that cannot be known; with it the suite checks what reaches the wire, and what must not.
	Sent func(t testing.TB) string
	// SentHeader returns the headers of the last request that was sent by a model that New made with this t. It may be nil.
	SentHeader func(t testing.TB) http.Header

	// Provider says that the model talks to a provider, so that [model.ForbidRequests] applies and answers name it.
	Provider bool
	// Unscripted says that the model decides itself what it answers, whatever the scenario's answer is: only what holds
	// for every answer is checked, and it is not asked to try again.
	Unscripted bool
	// ArgsAsJSON says that the provider sends arguments as JSON values rather than as text: they are compared as JSON,
	// in which white space, the order of members and the spelling of a number mean nothing, and its value does to the last
	// digit.
	ArgsAsJSON bool
	// Known has what the model is known to fail and why, by "rule" (all cases of it) or "rule/case". Such a subtest is run,
	// must fail, and is then skipped with the reason; if it passes, it fails, so that the list stays true. What New skips
	// need not be here.
	Known map[string]string
}

// Scenario is what the provider behind a model does in a subtest. It is only read.
type Scenario struct {
	// Rule is the rule that is tested, Case tells the scenarios of a rule apart. They name the subtest.
	Rule, Case string
	// Answer is what the provider answers, or nil if there is no answer: parts, a finish reason and usage. A streaming
	// provider sends text, thinking and arguments in several pieces: it splits them at least behind every space.
	//
	//   - A thinking part or a tool call may have a Signature, an opaque part has Data: what the provider wants back. Both are
	//     ASCII digits, which every wire can carry as a string, as a number or in base64. Provider and ID are not set.
	//   - A tool call without CallID is sent without an id.
	//   - A media part has Data and MediaType.
	//   - Usage counts as [model.Usage] does: a provider that counts tokens of its cache apart sends the difference.
	Answer *model.Message
	// Error, if not nil, is what the provider reports: Status, Code and Message are set, and Retryable, which the status or
	// the code tell. If RetryAfter is set, the answer has a header Retry-After with it, in seconds. With an Answer the
	// provider reports the error in the middle of a stream, when it has sent all but the end of the answer.
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
	// FaultTruncated ends the answer too early, as if all were well: the body of an unstreamed answer within its last part,
	// a streamed one when some but not all pieces of the last part have been sent, or, if the provider sends that kind of
	// part whole, before the events that end the answer.
	FaultTruncated Fault = "truncated"
	// FaultEmpty answers with status 200 and an answer in which there is no response at all: no choice, no candidate, no
	// message.
	FaultEmpty Fault = "empty"
	// FaultFinish ends the answer, whatever its Finish says, with a finish reason that nobody has heard of.
	FaultFinish Fault = "unknown finish reason"
)

// patience is how long something may take that must happen at once. It is long because test machines are slow.
const patience = 10 * time.Second

// Run tests that an implementation keeps the contract of [model.Model], each rule in a subtest: complete and
// streamed answers, deltas, sinks, cancellation, errors, requests, concurrency. Run it with the race detector.
// An adapter's test looks like this:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, conformance.Harness{
//			Provider: true,
//			New: func(t testing.TB, s conformance.Scenario) model.Model {
//				server := httptest.NewServer(fake(s)) // answers in the provider's protocol
//				t.Cleanup(server.Close)
//				return newModel(server.URL)
//			},
//		})
//	}
//
// The test must not be parallel to others: while it runs, requests are forbidden for a moment.
//
// The results are in the order of the rules and their cases, without what a -run flag left out. Look at those that were
// skipped: a harness that skips everything fails nothing.
func Run(t *testing.T, h Harness) []Result {
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
		t.Fatal("conformance: Harness.New is nil")
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
