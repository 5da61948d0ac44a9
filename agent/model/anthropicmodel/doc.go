// SPDX-License-Identifier: Apache-2.0

// Package anthropicmodel is a [model.Model] behind Anthropic's Messages API, on the official SDK, or behind another endpoint
// that speaks it.
//
//	m, err := anthropicmodel.New(anthropicmodel.Config{Name: "claude-sonnet-5-5", APIKey: key})
//
// Importing the package also registers the provider "anthropic" for [model.Open], with the key in ANTHROPIC_API_KEY, or a
// token in ANTHROPIC_AUTH_TOKEN, and the endpoint in ANTHROPIC_BASE_URL. [New] reads nothing from the environment.
//
// # Models
//
// A [Profile] says, as data, what a model takes. [ProfileFor] finds it by name; change it and set [Config.Profile] where it is
// wrong, or out of date.
//
//	                          levels of thinking                   off            temperature  forced  output by  system
//	                                                                              and top_p    tools   schema     messages
//	3 … 3.5                   –                                    (always)       both         yes     no         no
//	3.7, 4                    budget: minimal … high               nothing sent   both         (1)     no         no
//	4.1                       budget: minimal … high               nothing sent   one          (1)     no         no
//	4.5                       budget: minimal … high               nothing sent   one          (1)     yes        no
//	4.6                       adaptive: minimal … high, max        nothing sent   one          (1)     yes        no
//	4.7                       adaptive: minimal … high, xhigh, max nothing sent   none         (1)     yes        no
//	4.8                       as 4.7                               nothing sent   none         yes     yes        yes
//	Sonnet 5                  as 4.7                               disabled       none         yes     yes        no
//	Opus 5                    as 4.7                               disabled       none         yes     yes        yes
//	Fable 5, Mythos 5         as 4.7                               refused        none         yes     yes        yes
//	Opus 5.5, Fable 5.1, …    as 4.7                               refused        none         no      yes        yes
//	Sonnet 5.5                as 4.7                               between_tools  none         no      yes        yes
//	Haiku 5.5                 as 4.7                               disabled       none         yes     yes        yes
//	other names               budget: minimal … high               nothing sent   both         yes     no         no
//
// (1) not while the model thinks.
//
// A budget is 1,024 tokens for minimal, 4,096 for low, 10,000 for medium and 24,000 for high, and must be lower than
// max_tokens: one that is not becomes half of it, or the request is refused. Adaptive models have no level below low, so
// minimal is low. Models that think unless told otherwise are asked to summarize their thinking, since by default they show
// none of it. While a model thinks, temperature must be 1 and top_p from 0.95 to 1. The API requires max_tokens: where the
// settings do not say it is the profile's, 64,000 for most.
//
// The newest models bind their thinking to the conversation before it, instructions and tools included, and would refuse a
// request in which that has changed. They are asked to leave such thinking out instead ([Profile.DropStaleThinking]).
//
// # Requests
//
// Adjacent responses become one message of the assistant, block by block in the model's order; adjacent requests one of the
// user, tool results first. Results of calls that failed, were denied or interrupted, and retries, have is_error. Thinking
// goes back with its signature, byte for byte, and so do redacted thinking, the calls and results of server tools, citations
// and all other blocks that are the provider's own, which are opaque parts; all of it goes only to the provider that made
// it ([Config.Provider]). In opaque parts the white space of JSON and the spelling of its characters may differ, its values do
// not; arguments of calls go back as they were written.
//
// System prompts ahead of the conversation join the instructions. Later ones become messages of the role system, behind what
// the user says in the same turn, where the model takes those and the API's rules allow; otherwise text of the user in
// their place, between <system> and </system>.
//
// The API refuses text of white space: it is left out, and "(no text)" said where a message of the user must be. Ids of calls
// that other providers made are changed where the API would refuse their characters. See [Cache] for the prompt cache, which
// is used by default. Images (PNG, JPEG, GIF, WebP) and PDF go as data or URL, text/plain as data. Schemas
// that bind the model, of output and of strict tools, are made to fit the part of JSON Schema that the API takes: objects are
// closed, and constraints that it would refuse, such as minimum, become part of descriptions.
//
// # Responses
//
// The same content gives the same message, streamed or not: a part for each block. An unstreamed answer is asked for only if
// there is no sink and max_tokens is at most 8,192, because the API does not answer in one piece what may take long. Usage
// counts cached input as input. A refusal is [model.FinishContentFilter], a full context window [model.FinishLength]. Turns
// that the provider pauses are continued, see [Model.Generate]. A response is bounded by 64 MiB, an event by 32 MiB.
//
// # Errors
//
// Every failure of the endpoint, or of the way to it, is a [*model.APIError]; its Code and Type are the API's type of error.
// An error in the middle of a stream has the status that the API has for its type. See [model.RetryPolicy] for what is tried again and
// [model.Timeouts] for how long is waited.
//
// # Concurrency
//
// A [Model] is safe for concurrent use. Generate starts no goroutine that outlives it, apart from those with which an
// [http.Transport] keeps connections.
package anthropicmodel
