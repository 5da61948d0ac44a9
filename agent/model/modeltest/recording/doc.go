// SPDX-License-Identifier: Apache-2.0

// Package recording records exchanges with a real model to a file, and replays them in tests.
//
// [Model] does either. With PONTE_RECORD=1 set, the test talks to the real model and the file is written. Otherwise the file
// answers, at no cost and always the same:
//
//	func TestForecast(t *testing.T) {
//		m := recording.Model(t, "testdata/forecast.json", func() (model.Model, error) {
//			return openaimodel.New(openaimodel.Config{Name: "gpt-5", APIKey: os.Getenv("OPENAI_API_KEY")})
//		})
//		res, err := forecaster.Run(t.Context(), deps, "Oslo tomorrow?", agent.WithModel(m))
//		…
//	}
//
// [model.ForbidRequests] makes sure that no other model is asked. [Record] and [Replay] are the two halves, for programs and
// for tests that need only one of them. The models of this package may be used by many goroutines.
package recording
