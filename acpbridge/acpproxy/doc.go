// SPDX-License-Identifier: Apache-2.0

// Package acpproxy is a proxy between an editor and an agent of the Agent Client Protocol. It can
// record their messages, decide about the agent's requests by a policy, and add MCP servers to
// sessions.
//
//	err := acpproxy.Run(ctx, os.Stdin, os.Stdout, acpclient.Command{Path: "codex-acp"}, acpproxy.Config{
//		Record: file,
//		Policy: acpproxy.Layers(approval.ReadOnly()),
//	})
//
// # What passes
//
// Messages pass unchanged and in order, including unknown methods, extensions and _meta. The proxy
// changes or answers only these:
//
//   - The requests that open a session, if [Config.MCPServers] has servers to add: one member changes, all else stays.
//   - Requests of the agent that [Config.Policy] decides.
//   - Lines that are longer than [Config.MaxLine]: they are dropped, and a request without an answer gets an error.
//   - With a policy, messages that could let the agent bypass it: see [Policy].
//
// Each direction has a bounded queue. A side that does not read holds up only the other one.
//
// # The end
//
// When the editor ends its side, so does the agent's input, and the agent may finish. When the
// agent ends, unanswered requests of the editor get an error, and the editor does not wait forever.
//
// # Recordings
//
// A recording has one line of JSON for each message, without secrets: see [Config.Record]. Package
// acptest replays recordings, as either side.
package acpproxy
