// SPDX-License-Identifier: Apache-2.0

// Package googledialect supports Genkit's plugin googlegenai, whose models become Ponte models,
// through the Gemini API or Vertex AI:
//
//	m, err := googledialect.New(ctx, googledialect.Config{Name: "gemini-2.5-flash", APIKey: key})
//
// Use package geminimodel instead unless a program depends on the plugin. It uses the same SDK, and
// this dialect cannot fix all of the plugin's problems. It fixes these: signatures of thinking and
// calls are sent back as bytes, and calls of other models get one if the model requires it. Whole
// numbers in the history stay whole. Schemas are rewritten to what plugin and API support. Thinking
// is counted as output. A response that breaks off is an error, and so is a panic of the plugin.
// These remain:
//
//   - Call ids are not sent in either direction: new ones are generated. Whole numbers over 2^53 in arguments from the
//     model are rounded. A response with arguments that are not a JSON object fails.
//   - A blocked prompt, and a response that ended before its first word, are retryable errors without a reason. So is a
//     stream whose last event has no candidate.
//   - Code that Gemini has run is not sent back, and neither are signatures of text. A response with a part that is both
//     text and a call fails.
//   - Errors have no headers, such as Retry-After. The retry delay in the body is read. The id of a response and the
//     version of the model that answered are unknown.
//   - Schemas have no references, alternatives or patterns. Descriptions mention what was removed. A recursive schema is
//     an error, and so are a tool choice that names one of several tools, native output together with tools, and the
//     setting parallel_tool_calls.
//   - Media by URL is an error, because the plugin downloads it without restrictions. See modelwrap.FetchMedia.
//   - The plugin has its own client, which follows redirects to any host with key and conversation, and the SDK prints
//     errors of streams to the standard logger.
package googledialect
