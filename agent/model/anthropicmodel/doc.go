// SPDX-License-Identifier: Apache-2.0

// Package anthropicmodel provides models behind Anthropic's Messages API, or another endpoint with
// the same protocol. It uses the official SDK.
//
//	m, err := anthropicmodel.New(anthropicmodel.Config{Name: "claude-sonnet-5-5", APIKey: key})
//
// Importing the package also registers the provider "anthropic" for [model.Open]. It reads the key
// from ANTHROPIC_API_KEY, or a token from ANTHROPIC_AUTH_TOKEN, and the endpoint from
// ANTHROPIC_BASE_URL. [New] reads nothing from the environment.
//
// # Models
//
// A [Profile] describes what a model supports. [ProfileFor] finds it by name. If it is wrong or out
// of date, change it and set [Config.Profile].
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
//	Fable 5, Mythos 5         as 4.7                               error          none         yes     yes        yes
//	Opus 5.5, Fable 5.1, …    as 4.7                               error          none         no      yes        yes
//	Sonnet 5.5                as 4.7                               between_tools  none         no      yes        yes
//	Haiku 5.5                 as 4.7                               disabled       none         yes     yes        yes
//	other names               budget: minimal … high               nothing sent   both         yes     no         no
//
// (1) not while the model thinks.
//
// A budget is 1,024 tokens for minimal, 4,096 for low, 10,000 for medium and 24,000 for high. It
// must be lower than max_tokens. If it is not, half of max_tokens is used, or the request is an
// error. Adaptive models have no level below low, so minimal means low. Models that think by
// default are asked for a summary of their thinking, because they would not show any. While a model
// thinks, temperature must be 1 and top_p between 0.95 and 1. The API requires max_tokens. If the
// settings do not set it, the profile's value is used, 64,000 for most models.
//
// The newest models bind their thinking to the preceding conversation, including instructions and
// tools. They would return an error for a request in which these have changed. They are asked to
// leave out such thinking instead ([Profile.DropStaleThinking]).
//
// # Requests
//
// Adjacent responses become one assistant message, with the blocks in the model's order. Adjacent
// requests become one user message, with tool results first. Retries, and results of failed, denied
// or interrupted calls, have is_error set. Thinking is sent back with its signature, byte for byte.
// So are redacted thinking, calls and results of server tools, citations and all other
// provider-specific blocks, which are opaque parts. All of these are sent only to the provider that
// made them ([Config.Provider]). In opaque parts, white space and the escaping of characters may
// change, but values do not. Arguments of calls are sent back as they were written.
//
// System prompts before the conversation are added to the instructions. A later one becomes a
// system message after the user content of the same turn, if the model and the API's rules allow
// that. Otherwise it becomes user text in its place, between <system> and </system>.
//
// The API does not accept text of only white space. Such text is left out, and "(no text)" is sent
// if a user message is required. Call ids made by other providers are replaced if they contain
// characters that the API does not accept. See [Cache] for the prompt cache, which is enabled by
// default. Images (PNG, JPEG, GIF, WebP) and PDF are sent as data or URL, text/plain as data.
// Schemas for output and strict tools are reduced to the part of JSON Schema that the API supports:
// objects are closed, and unsupported constraints, such as minimum, are moved to descriptions.
//
// # Responses
//
// The same content gives the same message, streamed or not: a part for each block. An unstreamed
// response is requested only if there is no sink and max_tokens is at most 8,192, because the API
// requires a stream for responses that may take long. Usage counts cached input as input. A refusal
// has [model.FinishRefusal], a full context window [model.FinishLength]. Turns that the provider
// pauses are continued. See [Model.Generate]. A response is limited to 64 MiB, an event to 32 MiB.
//
// # Errors
//
// Every failure of the endpoint or the connection is a [*model.APIError]. Its Code and Type are the
// API's error type. An error in the middle of a stream has the status that belongs to its type. See
// [model.RetryPolicy] for retries and [model.Timeouts] for timeouts.
//
// # Concurrency
//
// A [Model] is safe for concurrent use. Generate leaves no goroutine behind, except those of an
// [http.Transport] for its connections.
package anthropicmodel
