// SPDX-License-Identifier: Apache-2.0

// Package engine defines the interface between the run loop of an agent and whatever executes the steps of a run.
//
// The loop is deterministic: it starts no goroutine, reads no clock, draws no random number and does no I/O. Everything else that a
// run does is a [Task], which the loop hands to an [Engine]: a request to the model, a tool call, an output. The loop owns the
// history, the order of events, the retry budgets and the limits. It is the same for every engine.
//
// An engine decides where and when a task is done, and whether its result is kept. It passes the task to a [Worker], in this
// process or in another one, and returns the worker's [Done]. Engines of this kind can make runs durable: a run that is
// repeated with the recorded results takes the same way to the place where it was cut off.
//
// It has the words of a run as well, which the loop, the engines and package agent share: events, stages, end strategies, and the errors
// that end a run. Package agent has them under the same names, so programs that run agents do not need this package.
package engine
