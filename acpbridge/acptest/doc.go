// SPDX-License-Identifier: Apache-2.0

// Package acptest has a client of the Agent Client Protocol for tests: an editor without a window,
// in memory.
//
// [Client] has files with unsaved changes, terminals whose programs are Go functions, and a user
// who answers permission requests as scripted. It remembers everything that it was told. It
// implements acp.Client, so tests need no process, pipe or network:
//
//	editor := acptest.New(acptest.Options{
//		Files:    map[string]string{"/project/main.go": "package main\n"},
//		Programs: map[string]acptest.Program{"go test": acptest.Prints("ok\n", 0)},
//		Answers:  []acptest.Answer{acptest.AllowOnce},
//	})
//	defer editor.Close()
//	d := editor.Deps("/project")
//	res, err := a.Run(ctx, Deps{ACPDeps: d}, "Fix the build.", agent.WithAsker(acpbridge.Asker(d)))
//	…
//	state := editor.State()                 // what the user sees now
//	content, _ := editor.File("/project/main.go")
//	require.Empty(t, editor.Violations())   // the agent kept the protocol
//	require.Empty(t, editor.Open())         // and released its terminals
//
// Without the asker, a call that needs approval ends the run with a *agent.PendingError, as in any
// run that has nobody to ask.
//
// [Connect] puts the client at the other end of an in-memory connection, for tests of
// acpbridge.Serve.
//
// # Faults
//
// [Client.Fail], [Client.Slow] and [Client.Disconnect] make it a bad peer; [Options.Before] sees
// every call first and can do anything, such as cancelling the turn at a certain point.
//
// # Concurrency
//
// A Client may be used from several goroutines at once. Every call ends with its ctx. Programs run
// in goroutines of their own, which [Client.Close] ends and waits for. Inside a testing/synctest
// bubble the delays cost no time.
package acptest
