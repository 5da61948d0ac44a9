// SPDX-License-Identifier: Apache-2.0

package conformance

// rule is a rule of the contract with its cases and its test.
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
	{"Usage is what the provider counted", usages, testUsage},
	{"An answer that is held back says so", heldBack, testCompleteAnswer},
	{"Media in an answer is kept", cases(image), testCompleteAnswer},
	{"Call ids are unique", cases(repeatedID, noID), testCallIDs},
	{"Arguments that are no JSON object are kept", oddArguments, testAnswer},
	{"Streamed arguments that are no JSON object are kept", oddArguments, testStreamedArguments},
	{"Long arguments are exact, and cost no more than their length", cases(longCall), testLongArguments},
	{"What the provider wants back goes back to it, byte for byte, and to nobody else", wantedBack, testWantedBack},

	{"An error of the sink ends the request and is returned as it is", cases(text, calls), testSinkError},
	{"An error of the sink does not wait for the provider", cases(halfText), testSinkErrorAtOnce},
	{"The sink is called by the caller's goroutine, and not after Generate", cases(text, halfText), testSinkGoroutine},

	{"A context that has ended is the answer", cases(text), testContextEnded},
	{"Generate ends with its context while it waits", cases(nothing, halfText), testContextWaiting},
	{"Generate ends with its context within a stream", cases(text, halfText), testContextStreaming},

	{"A refusal is an APIError", refusals, testRefusal},
	{"An error within a stream is an APIError, and the stream is not begun again", cases(brokenText, brokenCall), testErrorWithinStream},
	{"A truncated answer is an error that may pass", truncated, testTruncated},
	{"A truncated stream is an error that may pass", truncated, testTruncatedStream},
	{"An answer without a response is an error that may pass", cases(empty), testEmpty},
	{"A finish reason that nobody knows is no error", cases(oddFinish), testCompleteAnswer},
	{"Forbidden requests are not made", cases(text), testForbidden},

	{"A request is only read", cases(text), testRequestUnchanged},
	{"Equal requests are sent as equal bytes, with the tools in their order", cases(text), bothWays(testDeterminism)},
	{"Every kind of history is taken", cases(text), testHistories},
	{"Nothing is lost or given away on the wire", cases(text), bothWays(testWire)},
	{"A tool's schema may be any that Go types have", casesOf(schemas), bothWays(testSchema)},
	{"A long integer in a history is sent to the last digit", cases(text), bothWays(testLongInteger)},
	{"What the model cannot do is refused", cases(text), testUnsupported},
	{"Media is sent as it is, or refused", mediaKinds, bothWays(testMedia)},
	{"Media by URL is sent as a URL, or refused", mediaKinds, bothWays(testMediaURL)},
	{"A setting reaches the provider, or is refused", casesOf(settings), testSetting},
	{"A tool choice reaches the provider, or is refused", casesOf(toolChoices), bothWays(testToolChoice)},
	{"A schema for the output reaches the provider, or is refused", casesOf(outputs), bothWays(testOutput)},
	{"A request that makes no sense is an error, and is not sent", casesOf(nonsense), bothWays(testNonsense)},
	{"Requests may be made at the same time", cases(text, calls), testConcurrency},
}

func cases(s ...Scenario) []Scenario { return s }

// named is one of the things a rule tests with a model that answers with text.
type named[T any] struct {
	name  string
	value T
}

func casesOf[T any](all []named[T]) []Scenario {
	var cases []Scenario
	for _, n := range all {
		cases = append(cases, Scenario{Case: n.name, Answer: longText})
	}
	return cases
}

// find returns the item that the scenario names.
func find[T any](s *subject, all []named[T]) T {
	s.t.Helper()
	for _, n := range all {
		if n.name == s.scenario.Case {
			return n.value
		}
	}
	panic("conformance: no case " + s.scenario.Case)
}
