// SPDX-License-Identifier: Apache-2.0

// Package uistream lets pages that use the Vercel AI SDK talk to the agent of a webbridge: it speaks the SDK's UI message stream, version v1, so that
// useChat works unchanged with its default transport.
//
//	h, err := webbridge.New(webbridge.Config[Deps, string]{
//		Host:    host.Config[Deps, string]{Agent: a, Store: store},
//		Options: webbridge.Options{User: user, Protocols: []webbridge.Protocol{uistream.New(uistream.Options{})}},
//	})
//
// # Routes
//
//	POST /api/chat               sends a message, an edited message, decisions; regenerates an answer
//	GET  /api/chat/ID/stream     shows an answer that is being written, from its beginning; 204 if there is none
//	GET  /api/chat/ID/messages   returns the messages of the chat, for a page that begins
//	POST /api/chat/ID/stop       cancels the turn
//
// ID is either chosen by the page or the id of one of the user's sessions: see
// [webbridge.Handler.Named]. The metadata of an answer has the session's id as "session", for the
// other routes of the handler.
//
// # Input
//
// The client sends all messages that it shows. Taken are the text and the files of the last one, if it is the user's, and otherwise the decisions
// about calls that the store knows to wait for one, in the last message. History, results of tools and approvals of anything else have no effect. What
// else the last message says tells what the client shows already, and decides only what is sent.
//
// A message that is sent anew, and an answer that is regenerated, take the session back: see [host.Session.Rewind].
//
// # Output
//
// An answer is one message, with a step for each response of the model. Tool calls of the run are tool parts: a call is sent when it starts, when
// it needs approval, or when it has failed. providerExecuted is set, because the tools run on the server. What else is shown comes as data parts, with
// the ids of their entities: data-plan, data-usage, data-notice, data-agent and data-call (agents inside calls, and their calls), data-command,
// data-question, data-compaction, and, for onData only, data-session. See [Data].
//
// A call that needs approval ends the stream with a tool-approval-request for each call that waits. Its approvalDescriptor has what the person must
// see: see [Approval]. The approval's id holds for exactly that. Decisions come with the next request, in any process that has the store.
package uistream
