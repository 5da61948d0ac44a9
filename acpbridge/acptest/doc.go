// SPDX-License-Identifier: Apache-2.0

// Package acptest has a client of the Agent Client Protocol for tests: an editor without a window, in memory.
//
// [Client] has files with unsaved changes, terminals that run Go functions as programs, a user who answers permission
// requests as scripted, and a memory of everything it was told. It implements acp.Client, so an agent is tested with no
// process, no pipe and no network:
//
//	editor := acptest.New(acptest.Options{
//		Files:    map[string]string{"/project/main.go": "package main\n"},
//		Programs: map[string]acptest.Program{"go test": acptest.Prints("ok\n", 0)},
//		Answers:  []acptest.Answer{acptest.AllowOnce},
//	})
//	defer editor.Close()
//	res, err := a.Run(ctx, Deps{ACPDeps: editor.Deps("/project")}, "Fix the build.")
//	…
//	state := editor.State()                 // what the user sees now
//	content, _ := editor.File("/project/main.go")
//	require.Empty(t, editor.Violations())   // the agent kept the protocol
//	require.Empty(t, editor.Open())         // and released its terminals
//
// [Connect] puts the client at the other end of an in-memory pair of connections, for tests of a whole agent.
//
// # Faults
//
// [Client.Fail], [Client.Slow] and [Client.Disconnect] make it a bad peer; [Options.Before] sees every call first and can do
// anything, such as cancelling the turn at a certain point.
//
// # Concurrency
//
// A Client may be used from several goroutines at once. Every call ends with its ctx. Programs run in goroutines of their own,
// which [Client.Close] ends and waits for. Inside a testing/synctest bubble the delays cost no time.
package acptest
