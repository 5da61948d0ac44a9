// SPDX-License-Identifier: Apache-2.0

// Package guardrails checks what goes into a run and what comes out of it: prompts, responses, tool
// calls and their results.
//
// A [Guard] is a check, by a function or by a model ([ByModel]), with the stages at which it is
// made. Its [Verdict] passes the text, blocks it, replaces it, denies a tool call, or asks the
// person that the run belongs to. [Policy] makes an [agent.Policy] of guards, which holds for the
// run and all runs inside it. [New] is the capability with such a policy:
//
//	agent.Config[Deps, string]{
//		…
//		Capabilities: []agent.Capability[Deps]{…, guardrails.New(secrets, topic)},
//	}
//
// Guards are inside of all hooks, so those record only checked text.
//
// # Stages
//
// A prompt, and each message that is steered into the run, is checked before anything records or
// sends it. A response is checked before it is part of the history, the journal, the events and the
// session: its text, its thinking, the arguments of its tool calls, and its output, if that is a
// tool call. A result of a tool is checked before the model, the history or an event has it, and
// what the tool emits meanwhile is held back until then. A replaced text is therefore the only one
// that anything but the check has seen.
//
// Streamed responses are held back as well. The text is shown at once when the whole response has
// passed. A guard with [Guard.Stream] checks the text as it grows, and text is shown with a delay.
// All guards of the output must set it. Text that was shown cannot be taken back: if a guard later
// wants to replace it, the response is blocked.
//
// Guards do not check the history that a program passes in, instructions, results from outside the
// run ([agent.WithResults], external tools), output of a tool that bypasses its run context,
// requests that a tool sends to the model itself, the Meta of results, and what the program says
// about arguments that are not valid.
//
// # Failure, cost and resumed runs
//
// A check that fails blocks, unless its guard is Open. A request of [ByModel] counts on the meter
// of the run, under its limits.
//
// Recorded responses, calls and results are not checked again when the run resumes. The prompt is,
// because the program passes it in again. A check that replaces text must therefore return the same
// text each time. Hosts store the checked prompt (see [agent.Agent.Input]). A pending call is
// checked again if it runs in another process.
package guardrails
