// SPDX-License-Identifier: Apache-2.0

// Package acpmcp gives an agent in an editor the tools of the MCP servers that the editor names when a session begins. A program that does not
// import it links nothing of the Model Context Protocol.
//
//	servers := acpmcp.New(acpmcp.Config{})
//	a, err := agent.New(agent.Config[deps.ACPDeps, string]{
//		Toolsets: []toolset.Toolset[deps.ACPDeps]{acpbridge.Toolset[deps.ACPDeps](), acpmcp.Toolset(servers, mcptoolset.Options[deps.ACPDeps]{})},
//		…
//	})
//	err = acpbridge.Serve(ctx, acpbridge.Config[deps.ACPDeps, string]{Agent: a, MCP: servers})
//
// The servers of a session are connected at the same time, beginning with session/new, which does not wait for them. The first turn waits for
// those that are still being connected, within a budget of time. A server that hangs, or dies, is left out. The user is told which and why at
// the beginning or the end of a turn. The servers end with their session.
//
// With acpbridge.Config.Unstable, editors may also name servers that they host themselves (MCP over ACP). Their messages come and go on the
// editor's connection, so that nothing is started and no port is opened. The protocol sends such a server requests only, no notifications,
// and it has no way to ask; servers that speak the version 2026-07-28 of MCP need neither.
//
// Their tools need approval like those of any MCP server: see package mcptoolset.
package acpmcp
