// SPDX-License-Identifier: Apache-2.0

// Package agent runs a language model with typed dependencies, tools and typed, validated output.
//
// [New] checks a [Config] once and returns an [Agent], which serves any number of concurrent runs. [Agent.Run] returns the
// result of a run. [Agent.Stream] runs the same loop and reports each event as it happens.
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
// A run sends the conversation to the model, executes the tool calls of the response in parallel, sends the results, and
// repeats until the model answers. If the output type is string, the answer is text. Any other type becomes an output tool:
// the model answers by calling it, and the arguments are checked against the type's schema and validate tags. Errors are
// reported to the model, which may try again within its retry budget.
//
// # History
//
// The messages of a run are its only state. [WithHistory] continues a conversation, in this process or in another; package
// model defines the JSON form. A run that fails or is cancelled returns a [*RunError] with the messages and usage so far,
// and that history can be continued as well.
//
// # Cancellation and concurrency
//
// Cancel a run through its context. A run returns only after its requests and tool calls have returned. Agents are safe for
// concurrent use; a [Stream] belongs to one goroutine.
package agent
