// SPDX-License-Identifier: Apache-2.0

// Package loop is the run loop of an agent, without type parameters: prepare a request, call the model, settle the
// response, run tools, until there is an output.
//
// The loop touches the world through an [Engine] and a [Host] only. It starts no goroutine, takes no lock, reads no
// clock and draws no random number; a test keeps it so. Whatever it does twice with the same answers it does the same
// way, which is what makes a run recordable, resumable and portable to a durable engine.
//
// The message history is the only state. Everything else that a run knows, budgets included, is derived from it, so
// that a run can be stopped anywhere and taken up again from its messages.
package loop
