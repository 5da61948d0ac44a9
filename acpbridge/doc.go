// SPDX-License-Identifier: Apache-2.0

// Package acpbridge brings agents into editors, over the Agent Client Protocol (ACP).
//
// It has two halves. [Toolset] gives an agent tools for the user's files and terminals, through the
// editor. [Serve] makes an agent a program that editors start: it speaks the protocol on standard
// input and output, runs the agent for each prompt, and shows what the run does.
//
//	type Deps struct{ deps.ACPDeps }
//
//	a, err := agent.New(agent.Config[Deps, string]{
//		Model:    m,
//		Toolsets: []toolset.Toolset[Deps]{acpbridge.Toolset[Deps]()},
//	})
//	…
//	err = acpbridge.Serve(ctx, acpbridge.Config[Deps, string]{
//		Host: host.Config[Deps, string]{Agent: a},
//		Deps: func(_ context.Context, acp deps.ACPDeps) (Deps, error) { return Deps{ACPDeps: acp}, nil },
//	})
//
// Each half works without the other. A unit test runs the agent without Serve, with the editor of
// package acptest in its dependencies. An agent with only its own tools can be served.
//
// # Permission
//
// Tools that change something need approval, and so may your own tools: see [toolset.Approve].
// [Serve] asks the user of the editor about every such call, with [Asker]. A run without Serve gets
// it with agent.WithAsker. "Always" answers are remembered in the session's [approval.Policy], for
// the scope that the option names. [WithPermissions] decides without a user.
//
// # Concurrency
//
// Toolsets may be shared by all agents and runs. The state of a session is in its
// [workspace.Session]. A terminal is released after its command, even if the run was cancelled, for
// which the client gets two more seconds. Commands in the background end with the session.
package acpbridge
