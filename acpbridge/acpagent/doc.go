// SPDX-License-Identifier: Apache-2.0

// Package acpagent uses agents that speak the Agent Client Protocol inside agents of package agent: as a tool ([Tool]), and as the model of
// an agent ([NewModel]), which then can be a sub-agent like any other, or have a typed output.
//
//	reviewer := acpagent.Tool[Deps]("review", "Have Claude Code review the last commit.", acpagent.Agent{
//		Name:    "reviewer",
//		Command: acpclient.Command{Path: "claude-agent-acp"},
//	})
//
// The agent is driven by package acpclient, and what goes over the wire is what a client of that package sends.
package acpagent
