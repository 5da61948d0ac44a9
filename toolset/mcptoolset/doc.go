// SPDX-License-Identifier: Apache-2.0

// Package mcptoolset gives agents the tools of servers that speak the Model Context Protocol (MCP).
// It uses the official Go SDK.
//
//	files, err := mcptoolset.New(mcptoolset.Config{
//		Name:      "files",
//		Transport: mcptoolset.Command{Path: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "/repo"}},
//	})
//	…
//	defer files.Close()
//	a, err := agent.New(agent.Config[Deps, string]{
//		Toolsets: []toolset.Toolset[Deps]{mcptoolset.Tools(files, mcptoolset.Options[Deps]{})},
//		…
//	})
//
// Create a [Server] once: it serves many runs at the same time. It connects when a run first needs
// it, and again after the connection was lost. A server that is a process ends with this program,
// however this program ends.
//
// # Trust
//
// All output of a server is data. Every call of its tools needs approval unless a policy of the
// program allows it ([Options.Policy]). The server's hints, such as "only reads", are shown to the
// user and decide nothing, and all tools are of kind [toolset.KindOther]. A remembered approval
// covers a tool as it is defined: if the server changes the tool, the user is asked again. A tool
// that changes between the approval and its call is not called. Text of a server is shown with
// invisible characters escaped. Sizes are limited ([Limits]).
//
// # Failures
//
// A server cannot end a run. Errors of its tools, and the loss of the connection during a call, are
// failed calls. A call is never repeated. A server that cannot be reached is left out, unless
// [Options.Required] is set. [Server.Status] reports problems.
//
// # Requests of servers
//
// A server may ask the person of a run a question (elicitation), and use the run's model
// (sampling), while it runs a call of that run. It does so through the run: questions go to the
// run's asker, and requests to the model count toward its limits. Until protocol version 2025-11-25
// a request does not identify its call. It is then refused if calls of several runs are in progress
// on the connection, or if the server has left a call of another run unanswered. Where that
// matters, give each user a separate Server.
//
// # Exporting tools and agents
//
// [Export] and [ExportAgent] are the other direction: they make a server of a toolset or an agent,
// for programs that speak MCP.
//
//	server, err := mcptoolset.Export(ctx, tools, mcptoolset.ExportConfig[Deps]{Name: "shop", Deps: deps})
//	…
//	err = server.Run(ctx, &mcp.StdioTransport{})                                             // a program that a client starts
//	http.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)) // or an address
//
// [Export] serves a toolset, and [ExportAgent] an agent as a tool with a prompt. The result is a
// server of the official SDK, which has the transports.
//
// Each call is a separate run, which opens the toolset and has its own dependencies. The server
// offers the tools that the toolset has in its first step when the server is created. Arguments are
// checked before the tool runs. Failures and retries are results with isError. An unexpected error
// or a panic is logged, and the client is told only that the tool failed.
//
// Nobody can be asked. A call that needs approval is denied unless [ExportConfig.Approve] allows
// it, even if the client has asked its own user. The same applies to the calls of an agent's tools.
// External tools are not offered.
package mcptoolset
