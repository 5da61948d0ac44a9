// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"strings"
	"time"
)

// Kind tells requests from responses.
type Kind string

const (
	// KindRequest is a message to the model.
	KindRequest Kind = "request"
	// KindResponse is a message from the model.
	KindResponse Kind = "response"
)

// Message is one step of a conversation: either a request or a response. The zero value is not valid; Kind must be
// set. See [Message.UnmarshalJSON] for its JSON form.
type Message struct {
	// Kind says whose message it is, and Parts what it says, in order.
	Kind  Kind   `json:"kind"`
	Parts []Part `json:"parts,omitzero"`

	// RunID is the run that added the message, ConversationID the conversation that the run belongs to.
	RunID          string `json:"run_id,omitempty"`
	ConversationID string `json:"conversation_id,omitempty"`
	// Time is when the message was made, in UTC.
	Time time.Time `json:"time,omitzero"`
	// Metadata is the user's own; it is never sent to a model.
	Metadata map[string]string `json:"metadata,omitzero"`

	// Instructions is, on a request, what the model was told beside the conversation when the request was sent. It
	// is a record: instructions are made anew for every request and never read back.
	Instructions string `json:"instructions,omitempty"`
	// Interrupted marks, on a request, that the run ended before every call was answered; on a response, that it
	// was cut off.
	Interrupted bool `json:"interrupted,omitempty"`
	// Pending marks, on a request, that it holds the results of some calls only, because others wait for somebody
	// outside of the run. The run that supplies these replaces it.
	Pending bool `json:"pending,omitempty"`
	// PendingCalls are the calls that wait, on a request that is Pending, in the order in which the model made them. Calls
	// without a result that are not among them have not been started: they wait for those that are.
	PendingCalls []PendingCall `json:"pending_calls,omitempty"`
	// SuspendedCalls are, on a request that is Pending, the calls that have begun and wait for calls inside them, which are among
	// PendingCalls with a Path.
	SuspendedCalls []SuspendedCall `json:"suspended_calls,omitempty"`

	// Provider and Model say, on a response, who answered; ResponseID is the provider's id of it.
	Provider   string       `json:"provider,omitempty"`
	Model      string       `json:"model,omitempty"`
	ResponseID string       `json:"response_id,omitempty"`
	Finish     FinishReason `json:"finish,omitempty"`
	Usage      Usage        `json:"usage,omitzero"`
}

// FinishReason says why a response ended.
type FinishReason string

const (
	// FinishStop is the natural end.
	FinishStop FinishReason = "stop"
	// FinishLength means that a token limit cut the response off.
	FinishLength FinishReason = "length"
	// FinishToolCalls means that the model waits for tool results.
	FinishToolCalls FinishReason = "tool_calls"
	// FinishContentFilter means that the provider held content back, or that the model refused.
	FinishContentFilter FinishReason = "content_filter"
	// FinishError means that the provider reported a failure in the middle of the response.
	FinishError FinishReason = "error"
	// FinishOther is any reason that the adapter does not know.
	FinishOther FinishReason = "other"
)

// UserText returns a request that says one thing as the user.
func UserText(text string) *Message {
	return &Message{Kind: KindRequest, Parts: []Part{User(text)}}
}

// Response returns a response with the given parts.
func Response(parts ...Part) *Message {
	return &Message{Kind: KindResponse, Parts: parts}
}

// Text returns the text parts of the message joined without a separator.
func (m *Message) Text() string {
	var first string
	n := 0
	for i := range m.Parts {
		if m.Parts[i].Kind == PartText {
			if n == 0 {
				first = m.Parts[i].Text
			}
			n++
		}
	}
	if n < 2 {
		return first
	}
	var b strings.Builder
	for i := range m.Parts {
		if m.Parts[i].Kind == PartText {
			b.WriteString(m.Parts[i].Text)
		}
	}
	return b.String()
}

// HasToolCalls reports whether the message is a response that calls a tool.
func (m *Message) HasToolCalls() bool {
	return m.Kind == KindResponse &&
		slices.ContainsFunc(m.Parts, func(p Part) bool { return p.Kind == PartToolCall })
}

// Clone returns a copy of the message whose parts and metadata can be replaced without changing m. Byte slices inside
// parts are still shared.
func (m *Message) Clone() *Message {
	c := *m
	c.Parts = slices.Clone(m.Parts)
	if m.Metadata != nil {
		c.Metadata = make(map[string]string, len(m.Metadata))
		for k, v := range m.Metadata {
			c.Metadata[k] = v
		}
	}
	return &c
}
