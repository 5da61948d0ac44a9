// SPDX-License-Identifier: Apache-2.0

// Package workspacetest checks that a [workspace.Workspace] keeps its contract. [Run] checks rule
// by rule, each in a subtest:
//
//	func TestConformance(t *testing.T) {
//		workspacetest.Run(t, func() (*workspacetest.Env, error) { … })
//	}
//
// A backend supplies an [Env]: a fresh workspace, and a way around it to prepare files and to see
// what was written. If it runs commands, they are those of [Program]. Run it with the race
// detector: much of the contract is about concurrent use.
package workspacetest
