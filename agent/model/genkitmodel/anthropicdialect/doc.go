// SPDX-License-Identifier: Apache-2.0

// Package anthropicdialect speaks to Genkit's plugin anthropic, whose models then are models of Ponte:
//
//	m, err := anthropicdialect.New(anthropicdialect.Config{Name: "claude-sonnet-4-5", APIKey: key})
//
// Use package anthropicmodel instead unless a program depends on the plugin: this dialect cannot mend all of it. What
// remains is
//
//   - A response with redacted thinking, or with a tool of the provider's own, fails. So does one whose arguments are no
//     JSON, as those that were cut off are.
//   - Usage lacks the cache: tokens that were read from it, or written to it, are not counted at all. Nor does it say how much
//     of the output is thinking.
//   - A refusal and a pause are [model.FinishOther], as is every end that the plugin does not know.
//   - The model is not told that a tool call failed, only what it returned. A result that is no JSON arrives as a JSON
//     string, in quotes.
//   - The SDK tries a request three times, whatever is wrapped around it. Extra headers are refused. The id of a response
//     is not known, nor is which version of a model answered.
//   - Of the schema of a tool only properties and required are sent, with references resolved, and no schema is strict.
//   - PDF and images by URL are refused, which the plugin would corrupt. So is output bound to a schema, and seeds.
//   - The plugin has a client of its own, which follows redirects to any host with key and conversation.
//   - A key, profile or token that the SDK finds in the environment is only overruled, not ignored.
//
// Requests are always streamed, since the SDK refuses to wait for long answers that are not.
package anthropicdialect
