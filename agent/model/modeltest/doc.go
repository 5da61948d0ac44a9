// SPDX-License-Identifier: Apache-2.0

// Package modeltest provides test doubles for models. They keep the contract of [model.Model] and stream when asked to.
// Apart from [Capture], which passes requests on to another model, they run in the process.
//
//	Func      answers with a function
//	Script    answers with a list of responses and records its requests
//	Auto      calls every tool with generated arguments, then returns a generated output
//	Capture   passes requests on to another model and records them
//
// Use Auto to check that an agent works with all of its tools. Use Script and Func to test how it reacts to a certain
// response. [Emit] passes a complete response to a sink, for use in other doubles.
//
// Package recording replays the responses of a real model. Package conformance tests implementations of model.Model.
//
// # Concurrency
//
// All models in this package are safe for concurrent use. A Script takes its steps in the order of the requests, whoever
// makes them. Auto has no state. Functions and steps must be safe for concurrent use if requests are concurrent.
package modeltest
