// SPDX-License-Identifier: Apache-2.0

// Package googledialect speaks to Genkit's plugin googlegenai, whose models then are models of Ponte: those of the Gemini API,
// and of Vertex AI.
//
//	m, err := googledialect.New(ctx, googledialect.Config{Name: "gemini-2.5-flash", APIKey: key})
//
// Use package geminimodel instead unless a program depends on the plugin: it uses the same SDK, and this dialect cannot mend
// all of the plugin. Mended are: signatures of thinking and of calls go back as bytes, and calls from elsewhere get one where
// the model wants it; whole numbers of the history stay whole; schemas are rewritten for what plugin and API take of them;
// thinking is counted as output; an answer that breaks off is an error, as is what the plugin panics over. What remains is
//
//   - Calls have no ids on the way in or out: new ones are made. Whole numbers over 2^53 in arguments that the model writes are
//     rounded. Arguments that are no JSON object make the response fail.
//   - A prompt that was blocked, and an answer that ended before its first word, are errors that do not say why and are taken for
//     such as may pass. So is a stream whose last event has no candidate.
//   - Code that Gemini has run is not sent back to it, and neither are signatures of text. A part that is text and a call at
//     once, as the API may write it, makes the response fail.
//   - Errors have no headers, such as Retry-After; what the body says of the time to wait is read. The id of a response is not
//     known, nor is which version of a model answered.
//   - Schemas have no references, no alternatives and no patterns: descriptions say what was there. One that refers to itself is
//     refused, as is a tool choice that names one of several tools, output bound to a schema together with tools, and the setting
//     parallel_tool_calls.
//   - Media by URL are refused, because the plugin downloads them without a guard: see modelwrap.FetchMedia.
//   - The plugin has a client of its own, which follows redirects to any host with key and conversation, and the SDK prints errors
//     of streams to the standard logger.
package googledialect
