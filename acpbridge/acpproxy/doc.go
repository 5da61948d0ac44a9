// SPDX-License-Identifier: Apache-2.0

// Package acpproxy stands between an editor and an agent of the Agent Client Protocol. It can record what they say, decide about the
// agent's requests by a policy, and add MCP servers to sessions.
//
//	err := acpproxy.Run(ctx, os.Stdin, os.Stdout, acpclient.Command{Path: "codex-acp"}, acpproxy.Config{
//		Record: file,
//		Policy: acpproxy.Layers(approval.ReadOnly()),
//	})
//
// # What passes
//
// Messages pass byte by byte as they are, in the order in which they were written, whatever they are: methods that this package does
// not know, extensions, _meta. Only these are changed or answered by the proxy:
//
//   - The requests that open a session, if [Config.MCPServers] has servers to add: one member changes, all else stays.
//   - Requests of the agent that [Config.Policy] decides.
//   - Lines that are longer than [Config.MaxLine]: they are dropped, and whoever waits for an answer gets an error.
//   - With a policy, whatever the agent could smuggle past it: see [Policy].
//
// A message is held up for as long as it takes to copy it. There is a bounded queue in each direction; a side that does not read holds up the
// other one, and nothing else.
//
// # The end
//
// When the editor ends its side, so does the agent's input, and the agent may finish what it has to say. When the agent ends, the editor's
// requests that it has not answered are answered with an error, so that the editor does not wait for ever.
//
// # Recordings
//
// A recording is a file with a line of JSON for each message, in order. Secrets are taken out of it: see [Config.Record]. Package acptest replays
// recordings, as an agent for tests of a client and as a client for tests of an agent.
package acpproxy
