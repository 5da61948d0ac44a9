// SPDX-License-Identifier: Apache-2.0

// Package modeltest provides model doubles for tests. They keep the contract of [model.Model], stream when a request asks for
// it, and never leave the process, except that [Capture] passes requests on to another model.
//
//	Func      answers with a function
//	Script    answers with a list of responses, and remembers its requests
//	Auto      calls every tool with generated arguments, then returns a generated output
//	Capture   passes requests on to another model and remembers them
//
// Use Auto to find out whether an agent works at all with every one of its tools. Use Script and Func to test how it reacts to
// a certain answer. [Emit] passes a complete response to a sink, for other doubles.
//
// Package recording replays the answers of a real model. Package conformance tests implementations of model.Model.
//
// # Concurrency
//
// All models here may be used by many goroutines. A Script takes its steps in the order of the requests, whoever makes them.
// Auto has no state. Functions and steps must be safe for concurrent use if requests are concurrent.
package modeltest
