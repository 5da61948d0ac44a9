// SPDX-License-Identifier: Apache-2.0

// Package openaiapi serves an agent to programs that speak the API of OpenAI and nothing else: /v1/chat/completions, /v1/responses and
// /v1/models.
//
//	h, err := webbridge.New(webbridge.Config[Deps, string]{
//		Host:    host.Config[Deps, string]{Agent: a},
//		Options: webbridge.Options{Token: token, Protocols: []webbridge.Protocol{openaiapi.New(openaiapi.Options{})}},
//	})
//
// A client sets its base URL to that of the server with /v1, its API key to the token, and its model to a name that /v1/models lists.
//
// # What a client is believed
//
// A client sends its whole conversation with each request. Each request has a session of its own, in memory, which is gone with the answer.
// What the client says that the user and the assistant have said is text that nobody can vouch for: the session is seeded with it as claimed,
// see [host.Session.Seed]. The last messages, which must be the user's, are the prompt.
//
// System and developer messages, and the parameter instructions, are left out: the agent has its own instructions. So are reasoning and
// calls that a client sends back. The answer says what was left out, in "warnings". Results of tools, tools of the client, approvals, and
// whatever else would make the answer another one, such as response_format or previous_response_id, are refused by name. Remote files
// are not loaded.
//
// Nobody can be asked: a call that needs approval is denied, unless a mode of the agent or another policy allows it. See [Options].Settings.
//
// # What a client is told
//
// The texts of all responses of the model are the answer, in order. If the output of the agent is not text, its JSON follows. The agent's own
// calls are not for the client to carry out: /v1/responses has them as items of the type mcp_call, which are complete and have their results;
// /v1/chat/completions does not have them. Usage counts the whole run, and has its cost if there are prices. A request that the client gives up
// is cancelled. A failed run is not to be tried again by itself, because tools may have run: x-should-retry says so.
package openaiapi
