// Package modeltest has models for tests. They keep the contract of [model.Model], stream when they are asked to, and,
// but for [Record], never leave the process.
//
//	Func      answers with a function
//	Script    answers with a list of responses, and remembers what it was asked
//	Auto      calls every tool with generated arguments, then gives a generated output
//	Replay    answers from a file with exchanges that Record kept; Recorded does either
//	Capture   passes requests on to another model and remembers them
//
// Which one? Auto says whether an agent works at all, with every tool, without a line of script. Script and Func say what
// it does if the model does this or that. A recording says what it did with a real model, again and again, for nothing:
//
//	func TestForecast(t *testing.T) {
//		m := modeltest.Recorded(t, "testdata/forecast.json", func() (model.Model, error) {
//			return openaimodel.New(openaimodel.Config{Name: "gpt-5", APIKey: os.Getenv("OPENAI_API_KEY")})
//		})
//		res, err := forecaster.Run(t.Context(), deps, "Oslo tomorrow?", agent.WithModel(m))
//		…
//	}
//
// The test talks to the real model when PONTE_RECORD=1 is set, and to the file otherwise. [model.ForbidRequests] makes
// sure that nothing else does.
//
// [Generate] makes a value of a JSON schema, as Auto does. [Emit] passes a complete response to a sink, for doubles of
// one's own.
//
// # Conformance
//
// [Conformance] tests an implementation of [model.Model], rule by rule: answers and streams, errors, faults of the wire, what is
// sent and what is refused. The author of one says in a [Harness] how a fake provider plays a [Scenario], and skips what that
// provider cannot do. What the model is known to fail is listed in [Harness.Known], and is run all the same. The results say how
// each case ended; the adapters of this module keep them in files, and docs/models.md shows them as a table.
//
// # Concurrency
//
// All models here may be used by many goroutines. A Script takes its steps in the order of the requests, whoever makes
// them; Auto has no state. A function given to Func, and steps, must be safe for concurrent use if requests are.
package modeltest
