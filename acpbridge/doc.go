// SPDX-License-Identifier: Apache-2.0

// Package acpbridge brings agents into editors, over the Agent Client Protocol (ACP).
//
// It has two halves. [Toolset] gives an agent the tools by which it works on the user's files and in the user's terminals,
// through the editor. [Serve] makes an agent a program that editors start: it answers the protocol on standard input and output,
// runs the agent for each prompt, and shows what the run does.
//
//	type Deps struct{ deps.ACPDeps }
//
//	a, err := agent.New(agent.Config[Deps, string]{
//		Model:    m,
//		Toolsets: []toolset.Toolset[Deps]{acpbridge.Toolset[Deps]()},
//	})
//	…
//	err = acpbridge.Serve(ctx, acpbridge.Config[Deps, string]{
//		Agent: a,
//		Deps:  func(_ context.Context, acp deps.ACPDeps) (Deps, error) { return Deps{ACPDeps: acp}, nil },
//	})
//
// Each half works without the other. A unit test runs the agent with the editor of package acptest in its dependencies, without
// Serve; and an agent with tools of its own can be served.
//
// # Permission
//
// Tools that change something need approval, and so may tools of your own: see [toolset.Approve]. [Serve] has every such call asked about in
// the editor, with [Asker]; a run without Serve gets it with agent.WithAsker. What the user answers with "always" is remembered in the
// session's [approval.Policy], with a scope that the option's name shows. [WithPermissions] decides without a user.
//
// # Concurrency
//
// Toolsets may be shared by all agents and runs; what belongs to a session lives in its [workspace.Session]. A terminal is released when
// its command has been waited for, even if the run was cancelled: for that the client gets two more seconds. Commands in the background end
// with the session.
package acpbridge
