// SPDX-License-Identifier: Apache-2.0

// Package geminimodel is a [model.Model] behind Google's Gemini models, by the Gemini API or by Vertex AI, on the official SDK
// (google.golang.org/genai).
//
//	m, err := geminimodel.New(geminimodel.Config{Name: "gemini-3.8-flash", APIKey: os.Getenv("GEMINI_API_KEY")})
//
// Importing the package also makes "google:gemini-3.8-flash" (GEMINI_API_KEY or else GOOGLE_API_KEY) and
// "vertex:gemini-3.8-flash" (GOOGLE_CLOUD_PROJECT, GOOGLE_CLOUD_LOCATION and Application Default Credentials) known to
// [model.Open]. [New] itself takes nothing from the environment but credentials, though the SDK may log a warning about keys
// that it sees there and does not use.
//
// # What the SDK does
//
// The SDK finds the place of a model, sets the headers that Google asks for, and gives the wire its names. Bodies this
// package writes and reads itself, at the SDK's transport, because the SDK decodes arguments into floating-point numbers,
// orders the members of schemas anew, drops parts that it does not know, takes a stream that broke off for a complete one, and
// panics at an event that is no JSON.
//
// # Models
//
// A [Profile] says, as data, what a model can do. [ProfileFor] finds it by the model's name; a name that it does not know
// is taken for one of the newest models.
//
//	                    levels of thinking                schema for output  strict tools  calls need signatures
//	gemini-3 and later  (minimal,) low, medium, high      yes                yes           yes
//	gemini-2.5          (off,) minimal, low, medium, high without tools      yes           no
//	older, gemma        none                              without tools      no            no
//
// Levels become thinkingLevel or, for Gemini 2.5, thinkingBudget; with one of them, the model's summaries of its thoughts are
// asked for. What cannot be sent is refused with [model.ErrUnsupported] before anything is sent: a level that a model does
// not have, forbidding parallel calls, a seed of more than 32 bits, media that the model does not take. Strictness goes to
// the wire as the mode VALIDATED, if all tools are strict and the choice is free.
//
// Schemas are sent as JSON schemas, as they are but for a few keywords that the API refuses: "const" becomes an "enum",
// "format" and exclusive bounds become part of the description, "$schema", "title", "examples" and "discriminator" are left
// out. Nullable types, anyOf and references need no flattening.
//
// # Requests
//
// The body of a request depends on the request alone, byte for byte, and ends with the conversation. Instructions and system
// prompts within the conversation are all system instructions. Adjacent messages become one content; of a user's the results
// of tools come first. A result is {"output":"…"}, or {"error":"…"} if the tool failed or was not allowed to run: always as a
// string, because the objects of Google's wire hold no integers of more than 53 bits. For the arguments of calls in the
// history, which must be objects, that limit is Google's, too; this package sends them as they were written.
//
// Media goes inline, or as a URL: the Gemini API fetches images, documents and text from the web, and anything from the Files
// API or YouTube; Vertex AI fetches all that it takes, also from Cloud Storage (gs:).
//
// # Responses
//
// Parts stay in the order of the wire, and the same content gives the same message, streamed or not. Arguments are kept byte
// for byte. A signature of thinking or of a call is in [model.Part.Signature]. One of a text or an image is in an opaque part
// right behind it, whose data is {"thoughtSignature":"…"}. Executed code, and all that this package does not know, is an opaque
// part whose data is the part itself. All of them go back to the [Config.Provider] that they came from, each in its own part, and to
// nobody else. Calls of other providers have no signature: for models that demand one they carry the mark that Google documents
// for that. What the answer says of its sources (groundingMetadata, citationMetadata, urlContextMetadata) is an opaque part
// {"metadata":{…}} at the end, for the application, and is not sent back.
//
// A prompt that was blocked gives a message without parts and with [model.FinishContentFilter]. A call that Google could not
// read (MALFORMED_FUNCTION_CALL) is an error that is retried, or [model.FinishError] if there is something else in the response.
// A part of a response is bounded by 64 MiB if it is streamed, the response by 128 MiB.
//
// # Errors
//
// Every failure of the endpoint, or of the way to it, is a [*model.APIError]: Code is Google's status ("RESOURCE_EXHAUSTED"),
// Type the reason if there is one ("API_KEY_INVALID"). See [model.RetryPolicy] for what is tried again and [model.Timeouts] for how long is waited.
//
// # Concurrency
//
// A [Model] is safe for concurrent use. Generate starts no goroutine that outlives it, apart from those with which an
// [http.Transport] keeps connections; answers are read to their end or closed, so that connections are used again.
package geminimodel
