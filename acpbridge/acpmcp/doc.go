// SPDX-License-Identifier: Apache-2.0

// Package acpmcp gives an agent in an editor the tools of the MCP servers that the editor names
// when a session begins. Programs that do not import it do not link the Model Context Protocol.
//
//	servers := acpmcp.New(acpmcp.Config{})
//	a, err := agent.New(agent.Config[deps.ACPDeps, string]{
//		Toolsets: []toolset.Toolset[deps.ACPDeps]{acpbridge.Toolset[deps.ACPDeps](), acpmcp.Toolset(servers, mcptoolset.Options[deps.ACPDeps]{})},
//		…
//	})
//	err = acpbridge.Serve(ctx, acpbridge.Config[deps.ACPDeps, string]{
//		Host:    host.Config[deps.ACPDeps, string]{Agent: a},
//		Options: acpbridge.Options{MCP: servers},
//	})
//
// The servers of a session are connected concurrently. session/new starts this and does not wait.
// The first turn waits for a limited time. A server that hangs or dies is left out, and the user is
// told which and why at the beginning or the end of a turn. The servers end with their session.
//
// With acpbridge.Options.Unstable, editors may also name servers that they host themselves (MCP
// over ACP). Their messages are exchanged on the editor's connection, so no process is started and
// no port is opened. The protocol sends such a server only requests, no notifications, and the
// server cannot send requests. Servers that speak version 2026-07-28 of MCP need neither.
//
// Their tools need approval like those of any MCP server: see package mcptoolset.
package acpmcp
