// SPDX-License-Identifier: Apache-2.0

// Package modeltest provides test doubles for models. They keep the contract of [model.Model] and
// stream when asked to. Apart from [Capture], which passes requests on to another model, they run
// in the process.
//
//	Func      answers with a function
//	Script    answers with a list of responses and records its requests
//	Auto      calls every tool with generated arguments, then returns a generated output
//	Capture   passes requests on to another model and records them
//	Recorded  replays the responses of a real model from a file
//
// Use Auto to check that an agent works with all of its tools. Use Script and Func to test how it
// reacts to a certain response. [Emit] passes a complete response to a sink, for use in other
// doubles.
//
// # Conformance
//
// [Conformance] tests that an implementation of [model.Model] keeps its contract. It covers
// responses and streams, sinks, contexts, errors, faults on the wire, and what is sent or reported
// as an error, rule by rule. The author of an implementation provides a [Harness], which plays each
// [Scenario] with a fake provider and skips what that provider cannot do:
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
// Known failures are listed in [Harness.Known]. They are still run, and a known failure that passes
// is an error. The results tell how each case ended. The adapters of this module store them in
// files, from which docs/models.md has its table.
//
// # Recordings
//
// [Recorded] records exchanges with a real model to a file, and replays them in tests. If
// PONTE_RECORD=1 is set, the test talks to the real model and writes the file. Otherwise the file
// provides the responses, at no cost and always the same:
//
//	func TestForecast(t *testing.T) {
//		m := modeltest.Recorded(t, "testdata/forecast.json", func() (model.Model, error) {
//			return openaimodel.New(openaimodel.Config{Name: "gpt-5", APIKey: os.Getenv("OPENAI_API_KEY")})
//		})
//		res, err := forecaster.Run(t.Context(), deps, "Oslo tomorrow?", agent.WithModel(m))
//		…
//	}
//
// Use [model.ForbidRequests] to make sure that no other model is asked. [Record] and [Replay] are
// the two halves, for programs and for tests that need only one of them.
//
// # Concurrency
//
// All models in this package are safe for concurrent use. A Script takes its steps in the order of
// the requests, whoever makes them. Auto has no state. Functions and steps must be safe for
// concurrent use if requests are concurrent.
package modeltest
