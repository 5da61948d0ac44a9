// Package ollamadialect speaks to Ollama through Genkit's ollama plugin.
//
// It is for programs that have the plugin and mean to keep it. Others are better served by openaimodel, which speaks to the
// same server: the plugin can say little, and hears less.
//
//   - The plugin makes models by way of a [genkit.Genkit], so the program has to call genkit.Init. Init takes over SIGINT and
//     SIGTERM (call signal.Reset after it), and panics when it is called twice.
//   - It knows no settings, no tool choice but none, and no output schema: all of these are refused.
//   - It bounds every answer, streams included, by [ollama.Ollama.Timeout], which is 30 seconds if not set.
//
// What the plugin loses cannot be brought back here: usage, thinking, why an answer ended (so that one which was cut off, or in
// the middle of which the server failed, looks whole), text beside tool calls, whole numbers over 2^53 in arguments,
// streamed lines over 64 KiB, and Retry-After. A refusal looks like an empty stream to the plugin: the request is made
// once more, unstreamed, to learn what it was.
package ollamadialect
