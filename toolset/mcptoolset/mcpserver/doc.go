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
// Each call is a separate run, which opens the toolset and has its own dependencies. The server offers the tools that
// the toolset has in its first step when the server is created. Arguments are checked before the tool runs. Failures
// and retries are results with isError. An unexpected error or a panic is logged, and the client is told only that
// the tool failed.
//
// # Approvals
//
// Nobody can be asked. A call that needs approval is denied unless [Config.Approve] allows it, even if the client has
// asked its own user. The same applies to the calls of an agent's tools. External tools are not offered.
package mcpserver
