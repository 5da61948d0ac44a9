// SPDX-License-Identifier: Apache-2.0

// Package agent runs a language model with typed dependencies, tools and typed, validated output.
//
// An [Agent] is a value: [New] checks its [Config] once, and then it serves any number of runs at the same time. [Agent.Run]
// gives the result; [Agent.Stream] is the same loop, observed.
//
//	a, err := agent.New(agent.Config[Deps, Forecast]{
//		Model:        m,
//		Instructions: "Answer with a forecast.",
//		Tools:        []*toolset.Tool[Deps]{forecast},
//	})
//	res, err := a.Run(ctx, deps, "Oslo tomorrow?")
//
// # The loop
//
// A run sends the conversation to the model, executes the tools that the model calls, in parallel, sends the results, and
// so on until the model answers. If the output type is string the answer is text. Any other type becomes an output tool:
// the model answers by calling it, its arguments are checked against the type's schema and validate tags, and what is
// wrong goes back to the model, which may try again within its budget.
//
// # History
//
// The messages of a run are its only state. [WithHistory] continues them, in this process or another one; their JSON
// form is that of package model. A run that failed or was cancelled returns a [*RunError] with all messages and usage up
// to there, and that history can be continued as well.
//
// # Cancellation and concurrency
//
// The context is the one way to cancel. A run ends after everything it started has ended: no tool call or request goes on
// behind it. Tools that run in parallel get contexts of their own run. Agents are safe for concurrent use; a [Stream]
// belongs to one goroutine.
package agent
