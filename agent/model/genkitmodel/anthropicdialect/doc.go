// SPDX-License-Identifier: Apache-2.0

// Package anthropicdialect supports Genkit's plugin anthropic, whose models become Ponte models:
//
//	m, err := anthropicdialect.New(anthropicdialect.Config{Name: "claude-sonnet-4-5", APIKey: key})
//
// Use package anthropicmodel instead unless a program depends on the plugin, because this dialect
// cannot fix all of its problems:
//
//   - A response with redacted thinking, or with one of the provider's own tools, fails. So does a response whose
//     arguments are not valid JSON, for example because they were cut off.
//   - Usage does not include tokens read from or written to the cache, and does not tell how much of the output is
//     thinking.
//   - A refusal and a pause have [model.FinishError], as has every end that the plugin does not know.
//   - The model is not told that a tool call failed, only what it returned. A result that is not JSON arrives as a JSON
//     string, in quotes.
//   - The SDK tries a request three times, whatever wraps the model. Extra headers are errors. The id of a response and
//     the version of the model that answered are unknown.
//   - Only properties and required of a tool's schema are sent, with references resolved. Strict schemas are not strict.
//   - PDF, and images by URL, are errors, because the plugin would corrupt them. So are native output and seeds.
//   - The plugin has its own client, which follows redirects to any host with key and conversation.
//   - A key, profile or token that the SDK finds in the environment is overridden, but not ignored.
//
// Requests are always streamed, because the SDK does not allow unstreamed requests that may take
// long.
package anthropicdialect
