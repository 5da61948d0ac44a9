// SPDX-License-Identifier: Apache-2.0

// Package geminimodel provides Google's Gemini models, through the Gemini API or Vertex AI. It uses
// the official SDK (google.golang.org/genai).
//
//	m, err := geminimodel.New(geminimodel.Config{Name: "gemini-3.8-flash", APIKey: os.Getenv("GEMINI_API_KEY")})
//
// Importing the package also registers two providers for [model.Open]: "google:gemini-3.8-flash"
// (with GEMINI_API_KEY or else GOOGLE_API_KEY) and "vertex:gemini-3.8-flash" (with
// GOOGLE_CLOUD_PROJECT, GOOGLE_CLOUD_LOCATION and Application Default Credentials). [New] itself
// reads nothing from the environment except credentials, although the SDK may log a warning about
// keys that it finds there and does not use.
//
// # What the SDK does
//
// The SDK determines the address of a model, sets the headers that Google requires, and defines the
// names in the protocol. This package writes request bodies and reads response bodies itself, at
// the SDK's transport. The SDK would decode arguments into floating-point numbers, reorder the
// members of schemas, drop unknown parts, accept a stream that breaks off as complete, and panic at
// an event that is not JSON.
//
// # Models
//
// A [Profile] describes what a model supports. [ProfileFor] finds it by the model's name. An
// unknown name is treated as one of the newest models.
//
//	                    levels of thinking                schema for output  strict tools  calls need signatures
//	gemini-3 and later  (minimal,) low, medium, high      yes                yes           yes
//	gemini-2.5          (off,) minimal, low, medium, high without tools      yes           no
//	older, gemma        none                              without tools      no            no
//
// Levels are sent as thinkingLevel or, for Gemini 2.5, thinkingBudget. If one is set, summaries of
// the model's thoughts are requested. What cannot be sent is an error that wraps
// [model.ErrUnsupported], before anything is sent: an unsupported level, forbidding parallel calls,
// a seed of more than 32 bits, unsupported media. Strict tools are sent as the mode VALIDATED, if
// all tools are strict and the tool choice is auto.
//
// Schemas are sent as JSON schemas, unchanged except for a few keywords that the API does not
// accept: "const" becomes an "enum", "format" and exclusive bounds are moved to the description,
// and "$schema", "title", "examples" and "discriminator" are left out. Nullable types, anyOf and
// references are not flattened.
//
// # Requests
//
// The body of a request depends only on the request, byte for byte, and ends with the conversation.
// Instructions, and system prompts within the conversation, are sent as system instructions.
// Adjacent messages become one content. In user content, tool results come first. A result is
// {"output":"…"}, or {"error":"…"} if the tool failed or was denied. It is always a string, because
// the API's objects cannot hold integers of more than 53 bits. The same limit applies to the
// arguments of calls in the history, which must be objects. This package sends them as they were
// written.
//
// Media is sent inline or as a URL. The Gemini API fetches images, documents and text from the web,
// and any media from the Files API or YouTube. Vertex AI fetches all supported media, also from
// Cloud Storage (gs:).
//
// # Responses
//
// Parts keep their order, and the same content gives the same message, streamed or not. Arguments
// are kept byte for byte. The signature of thinking or of a call is in [model.Part.Signature]. The
// signature of a text or an image is in an opaque part directly after it, with the data
// {"thoughtSignature":"…"}. Executed code, and everything unknown to this package, is an opaque
// part that contains the part itself. All of these are sent back to the [Config.Provider] they came
// from, each in its own part, and to no other. Calls of other providers have no signature. For
// models that require one, they are sent with the marker that Google documents. Information about
// sources (groundingMetadata, citationMetadata, urlContextMetadata) is an opaque part
// {"metadata":{…}} at the end, for the application. It is not sent back.
//
// A blocked prompt gives a message without parts and with [model.FinishContentFilter]. A call that
// Google could not parse (MALFORMED_FUNCTION_CALL) is an error that is retried, or
// [model.FinishError] if the response contains something else. A part of a streamed response is
// limited to 64 MiB, the response to 128 MiB.
//
// # Errors
//
// Every failure of the endpoint or the connection is a [*model.APIError]. Code is Google's status
// ("RESOURCE_EXHAUSTED"), Type the reason if there is one ("API_KEY_INVALID"). See
// [model.RetryPolicy] for retries and [model.Timeouts] for timeouts.
//
// # Concurrency
//
// A [Model] is safe for concurrent use. Generate leaves no goroutine behind, except those of an
// [http.Transport] for its connections. Responses are read to the end or closed, so connections are
// reused.
package geminimodel
