// SPDX-License-Identifier: Apache-2.0

// Package acphttp serves agents over HTTP, for clients of the Agent Client Protocol that do not start the agent's
// process. It uses "streamable HTTP", the experimental transport of the protocol's SDKs: clients post their messages,
// and read those of the agent as server-sent events. The transport may still change.
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
// Anyone who can talk to an agent can make it read files and run commands. So [ListenAndServe] listens only on
// loopback addresses, every request needs the token, and requests of web pages or with unknown host names are
// refused: see [Guard].
//
// # Connections
//
// Posting an initialize request opens a connection. The header Acp-Connection-Id of the answer has its id. Each
// connection is one call of Config.Serve. Messages of a session are sent in order on the session's event stream, and
// all others on the connection's. Messages are kept, within bounds, until their stream is opened. A connection ends
// with DELETE, with the handler, or when it has been idle.
package acphttp
