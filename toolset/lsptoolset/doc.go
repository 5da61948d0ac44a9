// SPDX-License-Identifier: Apache-2.0

// Package lsptoolset gives agents code intelligence: they find definitions and references, rename
// symbols, apply quick fixes, and are told what an edit broke. It uses the language servers that
// are installed, such as gopls, through the Language Server Protocol (LSP).
//
//	servers, err := lsptoolset.New(lsptoolset.Config{})
//	…
//	defer servers.Close()
//	code := lsptoolset.Capability(servers, func(d Deps) *workspace.Session { return d.Files },
//		lsptoolset.Options{})
//	a, err := agent.New(agent.Config[Deps, string]{
//		Capabilities: []agent.Capability[Deps]{code},
//		…
//	})
//
// Create [Servers] once: they serve any number of agents, runs and projects at the same time. A
// server is started when a tool first needs it. It ends with this program, however that ends.
// Nothing is downloaded: a server that is missing is named with the command that installs it.
//
// # Trust
//
// A language server may run code of the project. Its start needs approval, once for each project.
// All output of a server is data: sizes are bounded, and text is shown with invisible characters
// escaped. Changes of files need approval with all diffs, and are made through the session's
// workspace, as a whole or not at all. What a server wants to change by itself, or outside of the
// project, is refused.
//
// # Failures
//
// A server cannot end a run or make it wait without bound. Failures are told to the model. A server
// that died is started again, later each time, and given up after five failures in a row.
//
// # Text
//
// A server sees the text of the session's workspace, unsaved changes in an editor included.
// Sessions share a server if they see the same text: see [workspace.Viewer].
package lsptoolset
