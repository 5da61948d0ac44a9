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
// Their tools need approval like those of any MCP server: see package mcptoolset.
package acpmcp
