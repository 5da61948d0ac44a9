// SPDX-License-Identifier: Apache-2.0

package model

import "encoding/json"

// PartKind is the kind of a [Part].
type PartKind string

const (
	// PartUser is text written by the user. It occurs in requests.
	PartUser PartKind = "user"
	// PartSystem is a system prompt within the conversation, as opposed to instructions. It occurs
	// in requests.
	PartSystem PartKind = "system"
	// PartMedia is media such as an image, audio or a document. It is input in requests and output
	// in responses.
	PartMedia PartKind = "media"
	// PartToolReturn is the result of a tool call. It occurs in requests.
	PartToolReturn PartKind = "tool_return"
	// PartRetry asks the model to try again. It refers to the call in CallID, or to the whole
	// response if CallID is empty. It occurs in requests.
	PartRetry PartKind = "retry"
	// PartText is text written by the model. It occurs in responses.
	PartText PartKind = "text"
	// PartThinking is the model's reasoning before its answer. It occurs in responses.
	PartThinking PartKind = "thinking"
	// PartToolCall requests a tool call. It occurs in responses.
	PartToolCall PartKind = "tool_call"
	// PartOpaque is data that only the provider named in Provider understands. It is sent back to
	// that provider unchanged (Data). It occurs in responses.
	PartOpaque PartKind = "opaque"
	// PartCitation names a source of the preceding text. URL and Name identify the source, Text is
	// the passage if the provider quotes it, and Data holds the provider's citation as JSON. It is
	// sent back only to its own provider, and only if that requires it. It occurs in responses.
	PartCitation PartKind = "citation"
)

// Outcome tells how a tool call ended.
type Outcome string

const (
	// OutcomeSuccess means that the tool returned a value. It is the empty string.
	OutcomeSuccess Outcome = ""
	// OutcomeFailed means that the tool reported a failure to the model.
	OutcomeFailed Outcome = "failed"
	// OutcomeDenied means that the call was denied.
	OutcomeDenied Outcome = "denied"
	// OutcomeInterrupted means that the run ended before the tool returned.
	OutcomeInterrupted Outcome = "interrupted"
	// OutcomeSkipped means that the call was not executed because there already was a final output.
	OutcomeSkipped Outcome = "skipped"
)

// Part is one part of a message. Kind determines which fields are used. The others are zero.
type Part struct {
	// Kind is the kind of the part.
	Kind PartKind `json:"kind"`

	// Text is the content of user, system, text, thinking, tool return and retry parts, and the
	// passage of a citation. In a tool return it is the value that the model sees: a string as is,
	// any other value as JSON.
	Text string `json:"text,omitempty"`

	// CallID connects a tool call with its return or retry. It is unique within a response.
	CallID string `json:"call_id,omitempty"`
	// Tool is the tool's name in calls, returns and retries.
	Tool string `json:"tool,omitempty"`
	// Args holds the arguments of a tool call exactly as the model wrote them. They may be invalid
	// JSON.
	Args RawArgs `json:"args,omitzero"`
	// Outcome, in tool returns, tells how the call ended.
	Outcome Outcome `json:"outcome,omitempty"`
	// Final, in tool returns, reports that the call gave the run its output: a history that ends in
	// it is finished.
	Final bool `json:"final,omitempty"`

	// Decision, in tool returns and retries, is the decision that allowed or denied the call, if
	// there was one. Its Args holds the arguments the call ran with if a person changed them.
	Decision *Decision `json:"decision,omitempty"`

	// Data is the content of a media part, whose type is MediaType, of an opaque part, or of a
	// citation.
	Data      []byte `json:"data,omitzero"`
	MediaType string `json:"media_type,omitempty"`
	// URL is the location of a media part if Data is nil, or the source of a citation.
	URL string `json:"url,omitempty"`
	// Name is the file name of a media part, or the title of a citation's source. It may be empty.
	Name string `json:"name,omitempty"`

	// Provider is the provider that made a thinking, tool call, citation or opaque part. It decides
	// whether Signature and ID are sent back.
	Provider string `json:"provider,omitempty"`
	// ID is the provider's id of the part.
	ID string `json:"id,omitempty"`
	// Signature proves to the provider that it made a thinking part or tool call.
	Signature []byte `json:"signature,omitzero"`

	// Meta is the application's data about the part. It is never sent to a model.
	Meta json.RawMessage `json:"meta,omitzero"`
	// Keep, in tool returns, names what Meta holds for the tool's later use: Meta stays in the
	// history when the message does not. See [Message.Kept].
	Keep string `json:"keep,omitempty"`
}

// RawArgs holds the arguments of a tool call as the model wrote them, usually JSON. In the JSON
// form of a message it is a string, so no byte is lost.
type RawArgs []byte

// String returns the arguments unchanged.
func (a RawArgs) String() string { return string(a) }

// MarshalText implements [encoding.TextMarshaler].
func (a RawArgs) MarshalText() ([]byte, error) { return a, nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (a *RawArgs) UnmarshalText(text []byte) error {
	*a = append(make(RawArgs, 0, len(text)), text...)
	return nil
}

// User returns a part with text from the user.
func User(text string) Part { return Part{Kind: PartUser, Text: text} }

// System returns a part with a system prompt.
func System(text string) Part { return Part{Kind: PartSystem, Text: text} }

// Text returns a part with text from the model.
func Text(text string) Part { return Part{Kind: PartText, Text: text} }

// Thinking returns a part with the model's reasoning.
func Thinking(text string) Part { return Part{Kind: PartThinking, Text: text} }

// ToolCall returns a part that calls a tool. Args is usually a JSON object.
func ToolCall(id, tool, args string) Part {
	return Part{Kind: PartToolCall, CallID: id, Tool: tool, Args: RawArgs(args)}
}

// ToolReturn returns a part with the result of a successful tool call.
func ToolReturn(id, tool, content string) Part {
	return Part{Kind: PartToolReturn, CallID: id, Tool: tool, Text: content}
}

// Retry returns a part that asks the model to try again. If it refers to the whole response, callID
// and tool are empty.
//
//go:noinline
func Retry(id, tool, why string) Part {
	return Part{Kind: PartRetry, CallID: id, Tool: tool, Text: why}
}

// Media returns a part with media content, such as an image ("image/png").
func Media(mediaType string, data []byte) Part {
	return Part{Kind: PartMedia, MediaType: mediaType, Data: data}
}
