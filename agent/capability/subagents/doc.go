// SPDX-License-Identifier: Apache-2.0

// Package subagents lets an agent delegate work to other agents.
//
//	agent.Config[Deps, string]{
//		Capabilities: []agent.Capability[Deps]{
//			subagents.New(subagents.Options[Deps]{Agents: []subagents.Agent[Deps]{
//				subagents.Of("researcher", "Finds out how things are in the project.", researcher, func(d Deps) Deps { return d }),
//			}}),
//		},
//	}
//
// The tool delegate gives a task to an agent by its name. A sub-agent sees the task and nothing
// of the conversation, and its result goes back to the model. Several calls in one response run
// in parallel.
//
// # Agents
//
// [Of] makes a sub-agent of an agent. [FromTool] makes one of a tool that takes a prompt, such as
// an agent that speaks the Agent Client Protocol: see acpbridge/acpclient. [Parse] and [Load] read
// definitions from Markdown files with front matter, of which the program makes agents, with the
// model and the tools that it allows.
//
// # In the foreground
//
// A sub-agent runs inside the call, as agent.AsTool has it: its usage counts as the outer run's
// and the outer limits bound it, its events are nested, its questions and approvals go to the
// outer run's asker, and if one of its calls is left pending, the outer run is pending.
//
// # In the background
//
// With background set, delegate returns a handle at once and the model continues. wait_for_agents
// waits for sub-agents and returns their results; cancel_agent ends one. While the model waits,
// their events so far are shown, and their questions are asked; a question at another time waits
// until then. A tool of [FromTool] cannot ask in the background.
//
// Sub-agents in the background belong to the run. When it ends, or is left pending, they are
// cancelled, and the run returns when they have ended. If the run has a journal, they are recorded
// there. When the run is resumed in another process, what they have used is counted, their handles
// are known, and a wait continues them where they were. What [FromTool] makes is not recorded: it
// is called again, with the same idempotency key, if the tool is idempotent, and has failed if not.
//
// Where the tasks of a run are executed by workers in other processes, as on Temporal, or by an
// engine of the program, there is no background: the call returns the result.
package subagents
