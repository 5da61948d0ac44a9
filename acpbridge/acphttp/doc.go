// SPDX-License-Identifier: Apache-2.0

// Package acphttp serves agents of the Agent Client Protocol over HTTP, for clients that do not start the agent's process. The transport is the
// experimental one of the protocol's SDKs, "streamable HTTP": clients post their messages, and read those of the agent as server-sent
// events. It may change with them.
//
//	handler, err := acphttp.New(acphttp.Config{
//		Guard: acphttp.Guard{Token: token},
//		Serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
//			c := config // an acpbridge.Config
//			c.In, c.Out = in, out
//			return acpbridge.Serve(ctx, c)
//		},
//	})
//	…
//	err = acphttp.ListenAndServe(ctx, "127.0.0.1:7777", handler)
//
// # Who may connect
//
// An agent reads files and runs commands for whoever can talk to it. So [ListenAndServe] listens on loopback addresses only, every request
// needs the token, and requests of web pages and with unknown host names are refused: see [Guard].
//
// # Connections
//
// The post of an initialize request begins a connection, whose id its answer has in the header Acp-Connection-Id. Each connection is a call
// of Config.Serve. Messages of a session come on the session's event stream, in their order, and all others on the connection's. What
// comes before its stream is opened is kept, within bounds. A connection ends with DELETE, with the handler, and when it has been idle.
package acphttp
