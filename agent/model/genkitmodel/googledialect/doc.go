// Package googledialect speaks to Gemini through Genkit's googlegenai plugin: the Gemini API and Vertex AI.
//
// It is for programs that have the plugin and mean to keep it. Others are better served by geminimodel, which uses the same
// SDK. No genkit.Genkit is needed, and genkit.Init is not called.
//
// Mended here: signatures of thinking and of calls go back as bytes, schemas are rewritten for the plugin, which knows less
// of JSON Schema than the API and does not come back from a schema that refers to itself, thinking tokens are counted as
// output, an answer that breaks off is an error, and so is what the plugin panics over.
//
// What the plugin loses cannot be brought back here: the ids of calls (new ones are made), whole numbers over 2^53 in
// arguments, why a prompt was blocked, signatures of text, and headers of answers, such as Retry-After. It downloads media
// by URL itself, without a guard, so that URLs are refused: see modelwrap.FetchMedia.
package googledialect
