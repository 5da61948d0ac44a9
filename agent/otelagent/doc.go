// SPDX-License-Identifier: Apache-2.0

// Package otelagent records the runs of agents with OpenTelemetry, as spans and metrics that follow
// its semantic conventions for generative AI.
//
// A program installs it once, and all of its agents are recorded:
//
//	func main() {
//		otelagent.Install(otelagent.Config{})
//		...
//	}
//
// # Spans
//
// A run is a span "invoke_agent NAME" of kind internal. Within it are a span "chat MODEL" of kind
// client for each request to the model, with its settings, usage and finish reason, and a span
// "execute_tool NAME" of kind internal for each call of a tool; calls that run in parallel are
// siblings. An agent that a tool runs has its own spans within the tool's. The usage of a run's
// span counts its own requests only, so the usage of all runs of a trace adds up.
//
// Calls that no tool was run for are events of the run's span: "ponte.retry" when the model was
// asked to try again, because of invalid arguments, a refused output or an error made with
// toolset.Retry, and "ponte.tool.outcome" when a call failed, was denied, skipped or interrupted.
// Their ponte.step is the request that told the model. A run that waits for approvals or results
// has not failed: it has the number of pending calls in ponte.run.pending_calls.
//
// A run with a journal records what this process does; steps that it takes from the journal have no
// spans. Where an engine executes the tasks of a run in another process, requests and calls are
// recorded there, without a span of the run around them. An engine that repeats the loop of a run
// declares it ([github.com/ponte-go/ponte/agent/engine.LoopOnly]), and then the run itself is not
// recorded.
//
// # Content
//
// Content is not recorded unless [Config.Content] is on: no instructions, messages, arguments or
// results, no texts of errors, and no tool names that the model made up. The descriptions of tools
// and the settings of requests are recorded.
//
// With content, the span of a request has the messages that no model had answered before, and
// instructions if they differ from the previous request's. The size of a trace is proportional to
// the length of the conversation: the whole conversation is in the spans of its requests, each
// message once. Binary media are described, not recorded.
//
// # Errors
//
// Spans that end in an error have the status Error and a class of the error in error.type:
//
//   - rate_limited, auth, context_length, unsupported, requests_forbidden, the status of an HTTP answer such as 503,
//     invalid_answer and no_answer are errors of a model;
//   - tool_failed is a failure that a tool has reported to the model: the run continues;
//   - limit_requests, limit_tool_calls, limit_input_tokens, limit_output_tokens, limit_total_tokens and limit_cost are limits of
//     the run, no_price and no_usage mean that its limit on cost could not be kept, and budget means that the model's retries are
//     used up;
//   - token_limit, content_filter, refused, response_failed, incomplete_tool_call, no_model, no_prompt, unprocessed_calls and
//     results are the ways to end that package agent names;
//   - timeout, canceled, stopped (the observer of a stream left) and panic;
//   - _OTHER is any other error. An error with a method ErrorType() string chooses its class itself.
//
// A retry, a denial and a pending call are outcomes, not errors. Spans of what a policy has refused
// or denied have its name in ponte.policy. The innermost span has an event "ponte.refused" for each
// refusal, also if a hook or a tool has made a success of it, with the policy, the stage and the
// call.
//
// # Metrics
//
// There are histograms of the duration of runs (gen_ai.invoke_agent.duration), requests
// (gen_ai.client.operation.duration) and calls (gen_ai.execute_tool.duration), in seconds, and of
// the tokens of requests (gen_ai.client.token.usage), with the bounds that the conventions
// recommend. They do not depend on whether a span is sampled.
//
// # Traces of editors
//
// Requests of the Agent Client Protocol carry the W3C trace context in their _meta. With
// [JoinTrace] and [TraceMeta] what an agent does for a prompt becomes a part of the editor's trace,
// and what it asks of the editor, such as reading a file, a part of the agent's. Either side can
// use them:
//
//	options := acpbridge.Options{}
//	options.Conn.IncomingMeta, options.Conn.OutgoingMeta = otelagent.JoinTrace, otelagent.TraceMeta
//
// # Cost and concurrency
//
// Without an SDK the hooks add one to three allocations to a run, in addition to the cost of any
// hooks. A span that is not sampled is not filled in. The hooks of [New] are safe for concurrent
// use.
package otelagent
