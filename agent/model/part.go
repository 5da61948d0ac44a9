// SPDX-License-Identifier: Apache-2.0

package model

import "encoding/json"

// PartKind says what a part is.
type PartKind string

const (
	// PartUser is text that the user wrote; in requests.
	PartUser PartKind = "user"
	// PartSystem is a system prompt that is part of the conversation itself, unlike instructions; in requests.
	PartSystem PartKind = "system"
	// PartMedia is an image, a sound, a document: in requests as input, in responses as output.
	PartMedia PartKind = "media"
	// PartToolReturn is the result of a tool call; in requests.
	PartToolReturn PartKind = "tool_return"
	// PartRetry asks the model to try again: tied to a call by CallID, or without one to the whole response;
	// in requests.
	PartRetry PartKind = "retry"
	// PartText is text that the model wrote; in responses.
	PartText PartKind = "text"
	// PartThinking is what the model thought before it answered; in responses.
	PartThinking PartKind = "thinking"
	// PartToolCall asks for a tool to be run; in responses.
	PartToolCall PartKind = "tool_call"
	// PartOpaque is something that only the provider named in Provider understands and wants back as it was
	// (Data); in responses.
	PartOpaque PartKind = "opaque"
	// PartCitation names a source of the text before it: URL and Name say where, Text is the passage if the provider quotes
	// it, and Data is all that the provider said, as JSON. It goes back to a provider that wants it, and to no other; in
	// responses.
	PartCitation PartKind = "citation"
)

// Outcome says how a tool call ended.
type Outcome string

const (
	// OutcomeSuccess is the outcome of a tool that returned a value. It is the empty string.
	OutcomeSuccess Outcome = ""
	// OutcomeFailed means that the tool reported a failure that the model should see.
	OutcomeFailed Outcome = "failed"
	// OutcomeDenied means that somebody refused permission.
	OutcomeDenied Outcome = "denied"
	// OutcomeInterrupted means that the run ended before the tool had returned.
	OutcomeInterrupted Outcome = "interrupted"
	// OutcomeSkipped means that the call was not executed because a final output was there already.
	OutcomeSkipped Outcome = "skipped"
)

// Part is one piece of a message. Which fields mean something depends on Kind; the others are zero.
type Part struct {
	// Kind says what the part is.
	Kind PartKind `json:"kind"`

	// Text is the content of user, system, text, thinking, tool return and retry parts, and the passage of a citation. A tool return holds what
	// the model is shown: a string as it is, any other value as JSON.
	Text string `json:"text,omitempty"`

	// CallID ties a tool call to its return or retry. It is unique within a response.
	CallID string `json:"call_id,omitempty"`
	// Tool is the tool's name in calls, returns and retries.
	Tool string `json:"tool,omitempty"`
	// Args are the arguments of a tool call exactly as the model wrote them. They need not be valid JSON.
	Args RawArgs `json:"args,omitzero"`
	// Outcome is how the tool call ended, in tool returns.
	Outcome Outcome `json:"outcome,omitempty"`

	// Decision is who approved or denied the call, in tool returns and retries, if somebody was asked. Its Args are the
	// arguments that the call ran with, if a person changed them.
	Decision *Decision `json:"decision,omitempty"`

	// Data is the content of a media part, with MediaType saying what it is, of an opaque part, or of a citation.
	Data      []byte `json:"data,omitzero"`
	MediaType string `json:"media_type,omitempty"`
	// URL is where a media part is to be found, if Data is nil, or the source of a citation.
	URL string `json:"url,omitempty"`
	// Name is a media part's file name, if it has one, or the title of a citation's source.
	Name string `json:"name,omitempty"`

	// Provider is who made a thinking, tool call, citation or opaque part; it decides whether Signature and ID are sent back.
	Provider string `json:"provider,omitempty"`
	// ID is the provider's id of the part.
	ID string `json:"id,omitempty"`
	// Signature proves to the provider that a thinking part or tool call is its own.
	Signature []byte `json:"signature,omitzero"`

	// Meta is data of the application about the part: never sent to a model.
	Meta json.RawMessage `json:"meta,omitzero"`
}

// RawArgs are the arguments of a tool call as the model wrote them, usually JSON. In the JSON form of a message they
// are a string, so that not a byte is lost.
type RawArgs []byte

// String returns the arguments as they are.
func (a RawArgs) String() string { return string(a) }

// MarshalText implements [encoding.TextMarshaler].
func (a RawArgs) MarshalText() ([]byte, error) { return a, nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (a *RawArgs) UnmarshalText(text []byte) error {
	*a = append(make(RawArgs, 0, len(text)), text...)
	return nil
}

// User returns a part with text that the user wrote.
func User(text string) Part { return Part{Kind: PartUser, Text: text} }

// System returns a part with a system prompt.
func System(text string) Part { return Part{Kind: PartSystem, Text: text} }

// Text returns a part with text that the model wrote.
func Text(text string) Part { return Part{Kind: PartText, Text: text} }

// Thinking returns a part with what the model thought.
func Thinking(text string) Part { return Part{Kind: PartThinking, Text: text} }

// ToolCall returns a part that calls a tool; args is usually a JSON object.
func ToolCall(id, tool, args string) Part {
	return Part{Kind: PartToolCall, CallID: id, Tool: tool, Args: RawArgs(args)}
}

// ToolReturn returns a part with the result of a successful tool call.
func ToolReturn(id, tool, content string) Part {
	return Part{Kind: PartToolReturn, CallID: id, Tool: tool, Text: content}
}

// Retry returns a part that asks the model to try again. CallID and tool are empty if the whole response is meant.
func Retry(id, tool, why string) Part {
	return Part{Kind: PartRetry, CallID: id, Tool: tool, Text: why}
}

// Media returns a part with media content, such as an image ("image/png").
func Media(mediaType string, data []byte) Part {
	return Part{Kind: PartMedia, MediaType: mediaType, Data: data}
}
