// SPDX-License-Identifier: Apache-2.0

// Package ollamadialect speaks to Genkit's plugin ollama, whose models then are models of Ponte:
//
//	g := genkit.Init(ctx, genkit.WithPlugins(plugin))
//	m, err := ollamadialect.New(g, plugin, ollamadialect.Config{Name: "qwen3:8b"})
//
// Use package openaimodel instead unless a program depends on the plugin: it speaks to the same server. The plugin says less,
// and hears less:
//
//   - It makes models by way of a [genkit.Genkit], so the program has to call genkit.Init. Init takes over SIGINT and
//     SIGTERM (call signal.Reset after it), and panics when it is called twice.
//   - It knows no settings, no tool choice but none, and no output schema: all of these are refused, as are media that are no
//     images, and images by URL.
//   - It bounds every answer, streams included, by [ollama.Ollama.Timeout], which is 30 seconds if not set.
//   - Usage, thinking, and text beside tool calls are lost. So is why an answer ended: one that was cut off, or in the middle
//     of which the server failed, looks whole.
//   - Whole numbers over 2^53 in arguments that the model writes are rounded. Streamed lines over 64 KiB are errors. Errors have
//     no Retry-After.
//   - A refusal looks to the plugin like a stream that is empty, or is no JSON. Nobody has seen anything of that, so the request
//     is made once more, in one piece, which says what it was; if it is answered, that is the answer.
//   - It has a client of its own, which follows redirects to any host with the conversation.
package ollamadialect
