// SPDX-License-Identifier: Apache-2.0

// Package acphttp serves agents over HTTP, for clients of the Agent Client Protocol that do not
// start the agent's process. It uses "streamable HTTP", the experimental transport of the
// protocol's SDKs: clients post their messages, and read the agent's messages as server-sent
// events. The transport may still change.
//
//	handler, err := acphttp.New(acphttp.Config{
//		Guard: acphttp.Guard{Token: token},
//		Serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
//			return acpbridge.ServeHost(ctx, h, acpbridge.Options{In: in, Out: out})
//		},
//	})
//	…
//	err = acphttp.ListenAndServe(ctx, "127.0.0.1:7777", handler)
//
// # Who may connect
//
// Anyone who can talk to an agent can make it read files and run commands. So [ListenAndServe]
// listens only on loopback addresses, every request needs the token, and requests of web pages or
// with unknown host names are refused: see [Guard].
//
// # Connections
//
// Posting an initialize request opens a connection. The header Acp-Connection-Id of the answer has
// its id. Each connection is one call of Config.Serve. Messages of a session are sent in order on
// the session's event stream, and all others on the connection's. So is the answer to session/load,
// after the history that the session's stream has been given, and every answer about a session that
// the connection has not opened and has no stream for, such as to session/resume and
// session/delete.
//
// Messages are kept until their stream is opened, and go on where a stream broke: a message that
// could not be written whole is sent again. Events have ids. A client that opens a stream again
// with the header Last-Event-ID gets exactly what follows that event, also if the old response
// still seems to be open, which then ends. Without the header, what was written and not read is
// lost. A stream has one reader: a second one is refused with 409.
//
// What is kept is bounded for each stream. While a stream is full, the agent waits, as long as the
// client reads. If the client reads nothing for Config.Stall, the messages are dropped, the
// session's turn is cancelled, and the next request to open the stream is answered with 409: load
// the session again. Other sessions go on.
//
// A connection ends with DELETE, with the handler, or when it has had no open stream and no request
// for Config.Idle. Its session is free then. Another client that loads the session need not wait: a
// connection without any open stream ends at once. A client whose process ends has closed its
// streams. One that cannot be reached has not: its streams end when nothing could be written to
// them for 30 seconds, comments on silent streams included, or when TCP gives up.
//
// # WebSocket
//
// [NewWebSocket] makes a handler that serves the same over WebSocket, with one message of the
// protocol in each text message, and [DialWebSocket] connects a client, such as that of
// acpclient.Connect. A page in a browser cannot set headers: it sends the token as a subprotocol
// instead, "bearer.TOKEN" after "acp".
package acphttp
