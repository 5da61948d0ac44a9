// SPDX-License-Identifier: Apache-2.0

// Package ollamadialect supports Genkit's plugin ollama, whose models become Ponte models:
//
//	g := genkit.Init(ctx, genkit.WithPlugins(plugin))
//	m, err := ollamadialect.New(g, plugin, ollamadialect.Config{Name: "qwen3:8b"})
//
// Use package openaimodel instead unless a program depends on the plugin. It works with the same
// server. The plugin has these restrictions:
//
//   - It needs a [genkit.Genkit] to make models, so the program must call genkit.Init. Init handles SIGINT and SIGTERM
//     (call signal.Reset after it), and panics if it is called twice.
//   - It supports no settings, no tool choice except none, and no output schema. All of these are errors, and so are media
//     other than images, and images by URL.
//   - It limits the duration of every response, including streams, to [ollama.Ollama.Timeout], which is 30 seconds by
//     default.
//   - Usage, thinking, and text next to tool calls are lost. So is the finish reason: a response that was cut off, or
//     during which the server failed, looks complete.
//   - Whole numbers over 2^53 in arguments from the model are rounded. Streamed lines over 64 KiB are errors. Errors have
//     no Retry-After.
//   - To the plugin, an error response looks like a stream that is empty or not JSON. Nothing has been emitted then, so the
//     request is sent once more, unstreamed, to find the reason. If it succeeds, its response is used.
//   - It has its own client, which follows redirects to any host with the conversation.
package ollamadialect
