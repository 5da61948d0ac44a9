// SPDX-License-Identifier: Apache-2.0

// Package webbridge serves an agent over HTTP: an API of JSON and server-sent events for a web page and for programs.
//
//	h, err := webbridge.New(webbridge.Config[Deps, string]{
//		Host:    host.Config[Deps, string]{Agent: a, Store: store, Deps: newDeps},
//		Options: webbridge.Options{Token: webbridge.NewToken()},
//	})
//	http.ListenAndServe("127.0.0.1:8080", h)
//
// Sessions belong to package host, so a conversation that began in an editor continues in a browser
// if both use the same store. A session is shown as entities and their changes: see package view.
// [OpenAPI] describes the API; docs/web.md shows how to mount a handler.
//
// # Protocols
//
// Beside its own API a handler speaks the protocols of [Options].Protocols: [UIStream], [AGUI] and [OpenAI].
//
// # Who may do what
//
// A client proves that it may use the server with [Options].Token, and [Options].User identifies
// the user. A session belongs to the user who made it. For all others it does not exist. Requests
// that name another host, requests from pages of other sites, bodies that are not JSON, and fields
// that the API does not have are refused. The store has the history and the questions; clients
// cannot say anything about either.
//
// # Turns
//
// A prompt begins a turn, which continues when the client leaves, unless [Options].Leave bounds
// that. Any number of clients follow the events of a session. After a lost connection, each
// continues from its last position. A slow client delays no other.
//
// A call that needs approval waits for the answer of any of the user's clients. After [Options].Patience, and when the server shuts down, the run
// ends pending: then any process that has the store takes the answer and resumes the run.
//
// # The page
//
// [Page] is a page that talks to an agent. It is part of the program, and needs nothing from elsewhere:
//
//	mux.Handle("/", webbridge.Page())
//
// It calls the API at "api/" beside it, so both may be mounted below a prefix, which must end with a slash.
//
// The page is served with a Content-Security-Policy that allows its own script, its own style sheet, and requests to its own origin, and
// nothing else. Text of models and tools is never made into HTML: the page builds elements of it. Links show the host that they lead to,
// and only those to http, https and mailto can be followed. Images are shown if they are part of the conversation (PNG, JPEG, GIF, WebP);
// those from elsewhere are not loaded. Characters that are invisible, or that change the direction of text, are shown by their code.
//
// The handler does not authenticate: the page holds no secrets. The API must.
//
// The sources are in chatui/page, and the built page, chatui/dist, is committed. After a change, with Node.js 20.19 or newer:
//
//	cd webbridge/chatui/page && npm install --ignore-scripts && npm run check && npm test && npm run build
//
// CI builds it again from the pinned packages and compares the result with what is committed.
package webbridge
