// SPDX-License-Identifier: Apache-2.0

// Package mcpserver serves tools and agents as a server of the Model Context Protocol, for programs that speak it.
//
//	server, err := mcpserver.New(ctx, tools, mcpserver.Config[Deps]{Name: "shop", Deps: deps})
//	…
//	err = server.Run(ctx, &mcp.StdioTransport{})                                             // a program that a client starts
//	http.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)) // or an address
//
// [New] serves a toolset, and [Agent] an agent as a tool with a prompt. The result is a server of the official SDK, which has the transports.
//
// # Calls
//
// Each call is a run of its own: it has its own dependencies and opens the toolset. The tools that are offered are those of the first step when
// the server is made. Arguments are checked before the tool runs. Failures, and requests for other arguments, are results with isError. An
// unexpected error, or a panic, is logged, and the client is told only that the tool failed.
//
// # Approvals
//
// There is no person. A call that needs approval is denied unless [Config.Approve] allows it, whatever the client may have asked its own user.
// The same holds for the calls of an agent's tools. External tools are not offered.
package mcpserver
