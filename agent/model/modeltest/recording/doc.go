// SPDX-License-Identifier: Apache-2.0

// Package recording records exchanges with a real model to a file, and replays them in tests.
//
// [Model] does both. If PONTE_RECORD=1 is set, the test talks to the real model and writes the file. Otherwise the file
// provides the responses, at no cost and always the same:
//
//	func TestForecast(t *testing.T) {
//		m := recording.Model(t, "testdata/forecast.json", func() (model.Model, error) {
//			return openaimodel.New(openaimodel.Config{Name: "gpt-5", APIKey: os.Getenv("OPENAI_API_KEY")})
//		})
//		res, err := forecaster.Run(t.Context(), deps, "Oslo tomorrow?", agent.WithModel(m))
//		…
//	}
//
// Use [model.ForbidRequests] to make sure that no other model is asked. [Record] and [Replay] are the two halves, for
// programs and for tests that need only one of them. The models of this package are safe for concurrent use.
package recording
