// SPDX-License-Identifier: Apache-2.0

// Package loop is the run loop of an agent, without type parameters: prepare a request, call the
// model, settle the response, run tools, until there is an output.
//
// Everything that a run does outside of the loop is a task of an engine: see package agent/engine.
// The loop starts no goroutine, takes no lock, reads no clock and draws no random number; a test
// keeps it so. It is deterministic: given the same results it does the same. A run can therefore be
// recorded, resumed, and executed by a durable engine.
//
// The message history is the only state. Everything else, including the retry budgets, is derived
// from it, so a run can be stopped anywhere and resumed from its messages.
package loop
