// SPDX-License-Identifier: Apache-2.0

// Package acp is the protocol layer of the Agent Client Protocol (ACP), version 1: the types of its
// messages, the two roles as interfaces, and a connection that speaks it, JSON-RPC 2.0 with one
// message a line, for either role. It depends on nothing but the standard library.
//
// # Roles
//
// [Agent] and [Client] are the two sides. Each interface serves three purposes: the author of a
// side implements it; the connection of the other side implements it, by calling the peer; and a
// fake implements it in a test that needs no connection. Embed [UnimplementedAgent] or
// [UnimplementedClient] to keep implementations compiling as the protocol grows.
//
//	conn := acp.NewAgentConn(os.Stdin, os.Stdout, func(client *acp.AgentConn) acp.Agent {
//		return &myAgent{client: client}
//	}, nil)
//	err := conn.Serve(ctx)
//
// # Order and concurrency
//
// Serve reads on one goroutine, the reader, and writes on another. Handlers run on neither:
//
//   - The messages of a session, identified by params.sessionId, are handled one after another in
//     the order in which the peer wrote them: they share a lane. Messages without a session share a
//     lane too. Lanes do not wait for each other. A lane is a goroutine while it has something to
//     do, and nothing at all otherwise.
//   - A handler that takes long calls [Async] once it has registered what the next message of the
//     session must find. Then that one is handled while the handler still runs. A prompt has to do
//     that, or modes could not be changed during a turn; on the client's side every handler that
//     waits for the user or for a process has to, or the updates of the session wait with it.
//   - Answers to our calls and cancellations are handled by the reader at once, whatever the lanes do; only the answers to a client's
//     Prompt and LoadSession are returned when the updates before them have been handled. session/cancel ends the ctx of
//     every prompt of the session that has been read and not answered, even if its handler has not been started, with the cause
//     [ErrTurnCancelled]; [Agent].Cancel is called as well, in the lane's order. $/cancel_request ends the ctx of one request with
//     the cause [ErrRequestCancelled].
//   - Requests before initialize are refused; later ones wait until it has been answered. A client
//     has no such gate.
//
// # Answers
//
// Messages that a handler sends before it returns go out before its answer. Sending with its ctx
// after the answer fails with [ErrAnswered]. [AfterResponse] is for messages that must follow the
// answer. A handler's error is answered as [ToError] says; its panic as -32603. A prompt that was
// cancelled by session/cancel is answered with the stop reason "cancelled" whatever error its
// handler returns, as the protocol demands.
//
// # Sending
//
// Sending a notification puts it into a queue of bounded size; when the queue is full, it waits for
// room until ctx ends. ctx ends the wait and nothing else: as long as there is room, a turn that
// was cancelled can still report how its tool calls ended. A call ends at once when its ctx does,
// and tells the peer with $/cancel_request. Calls of methods that were not announced in initialize
// are the caller's mistake: the connection does not look at capabilities.
//
// # Limits
//
// A line that is too long, is not JSON or is not a message is answered with an error, and the
// connection continues; see [ConnOptions] for the limits. Messages are never logged.
//
// A malformed answer never leaves a call waiting: the call fails with an [AnswerError]. If a bad
// message may have been an answer, the error that is sent back has no id, because the id may be one
// of ours.
//
// # Types
//
// The types are generated from the protocol's schema. An optional field is absent if it is nil, ""
// (for ids and enums), or a nil slice or map; an empty slice that is not nil is sent as [].
// Required slices are never sent as null. A union has a pointer per variant, and keeps a variant
// that this version does not know as raw JSON; an enum keeps values that it does not know. Decoding
// ignores unknown fields, and fails with a [DecodeError] if a required one is missing. [Marshal]
// and [Unmarshal] keep these rules outside of a connection.
//
// Package encoding/json writes the same JSON, and reads every valid message to the same value: the
// types that need it for that implement [json.Marshaler] and [json.Unmarshaler]. But of the other
// types it accepts messages without a required member, and refuses optional ones that do not
// decode. Use Unmarshal for what a peer has sent.
package acp
