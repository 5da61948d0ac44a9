// SPDX-License-Identifier: Apache-2.0

package modeltest

// rule is a rule of the contract with its cases and its test.
type rule struct {
	name  string
	cases []Scenario
	test  func(*subject)
}

var rules = []rule{
	{"Info is complete, fast and constant", cases(text), testInfo},
	{"A response is what the provider sent", answers, testAnswer},
	{"A streamed response is the same message", answers, testStreamedAnswer},
	{"Deltas add up to the message", answers, testDeltas},
	{"Usage is what the provider counted", usages, testUsage},
	{"A withheld response says so", heldBack, testCompleteAnswer},
	{"Media in a response is kept", cases(image), testCompleteAnswer},
	{"A model gets back the media that it made", cases(image), bothWays(testMediaBack)},
	{"Call ids are unique", cases(repeatedID, noID), testCallIDs},
	{"Arguments that are not a JSON object are kept", oddArguments, testAnswer},
	{"Streamed arguments that are not a JSON object are kept", oddArguments, testStreamedArguments},
	{"Long arguments are exact, at linear cost", cases(longCall), testLongArguments},
	{"Sources of a response are kept, with their passages", cited, testCitations},
	{"What the provider wants back is sent back unchanged, and to no other", wantedBack, testWantedBack},

	{"An error of the sink ends the request and is returned unwrapped", cases(text, calls), testSinkError},
	{"An error of the sink does not wait for the provider", cases(halfText), testSinkErrorAtOnce},
	{"The sink is called on the caller's goroutine, and never after Generate", cases(text, halfText), testSinkGoroutine},

	{"A request with an ended context fails", cases(text), testContextEnded},
	{"Generate ends with its context while it waits", cases(nothing, halfText), testContextWaiting},
	{"Generate ends with its context within a stream", cases(text, halfText), testContextStreaming},

	{"An error of the provider is an APIError", refusals, testRefusal},
	{"An error within a stream is an APIError, and the stream is not restarted", cases(brokenText, brokenCall), testErrorWithinStream},
	{"A truncated response is a retryable error", truncated, testTruncated},
	{"A truncated stream is a retryable error", truncated, testTruncatedStream},
	{"An empty response is a retryable error", cases(empty), testEmpty},
	{"An unknown finish reason is not an error", cases(oddFinish), testCompleteAnswer},
	{"Forbidden requests are not made", cases(text), testForbidden},

	{"A request is not modified", cases(text), testRequestUnchanged},
	{"Equal requests are sent as equal bytes, with the tools in order", cases(text), bothWays(testDeterminism)},
	{"Every kind of history is accepted", cases(text), testHistories},
	{"Nothing is lost or leaked on the wire", cases(text), bothWays(testWire)},
	{"A response without words is not sent as an empty message", cases(text), bothWays(testEmptyResponses)},
	{"Calls with the same id are sent with different ids, and so are their results", cases(text), bothWays(testRepeatedIDs)},
	{"A tool's schema may be that of any Go type", casesOf(schemas), bothWays(testSchema)},
	{"A long integer in a history is sent exactly", cases(text), bothWays(testLongInteger)},
	{"Unsupported requests are errors", cases(text), testUnsupported},
	{"Media is sent unchanged, or is an error", mediaKinds, bothWays(testMedia)},
	{"Media by URL is sent as a URL, or is an error", mediaKinds, bothWays(testMediaURL)},
	{"A setting reaches the provider, or is an error", casesOf(settings), testSetting},
	{"A tool choice reaches the provider, or is an error", casesOf(toolChoices), bothWays(testToolChoice)},
	{"A schema for the output reaches the provider, or is an error", casesOf(outputs), bothWays(testOutput)},
	{"An invalid request is an error, and is not sent", casesOf(nonsense), bothWays(testNonsense)},
	{"Requests may be concurrent", cases(text, calls), testConcurrency},
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
	panic("modeltest: no case " + s.scenario.Case)
}
