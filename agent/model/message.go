// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"strings"
	"time"
)

// Kind distinguishes requests from responses.
type Kind string

const (
	// KindRequest is a message to the model.
	KindRequest Kind = "request"
	// KindResponse is a message from the model.
	KindResponse Kind = "response"
)

// Message is one step of a conversation: a request or a response. The zero value is not valid,
// because Kind must be set. See [Message.UnmarshalJSON] for the JSON form.
type Message struct {
	// Kind tells whether the message is a request or a response. Parts holds its content, in order.
	Kind  Kind   `json:"kind"`
	Parts []Part `json:"parts,omitzero"`

	// RunID is the id of the run that added the message, ConversationID the id of its conversation.
	RunID          string `json:"run_id,omitempty"`
	ConversationID string `json:"conversation_id,omitempty"`
	// Time is when the message was created, in UTC.
	Time time.Time `json:"time,omitzero"`
	// Metadata is for the application's use. It is never sent to a model.
	Metadata map[string]string `json:"metadata,omitzero"`

	// Instructions, on a request, records the instructions sent with it. It is a record only:
	// instructions are made again for every request and never read back.
	Instructions string `json:"instructions,omitempty"`
	// Interrupted, on a request, means that the run ended before every call was answered. On a
	// response, it means that the response was cut off, or ended in a way that ended its run: see
	// [FinishReason]. Its text is not an output.
	Interrupted bool `json:"interrupted,omitempty"`
	// Pending, on a request, means that it holds the results of only some calls, because others
	// wait for answers from outside the run. The run that supplies them replaces the message.
	Pending bool `json:"pending,omitempty"`
	// PendingCalls, on a request that is Pending, lists the calls that wait for answers, in the
	// order the model made them. Calls that have no result and are not listed have not been
	// started: they come after the pending ones.
	PendingCalls []PendingCall `json:"pending_calls,omitempty"`
	// SuspendedCalls, on a request that is Pending, lists the calls that have started and wait for
	// calls inside them. The inner calls are in PendingCalls, with a Path.
	SuspendedCalls []SuspendedCall `json:"suspended_calls,omitempty"`

	// Kept holds tool returns with a Keep whose messages are no longer in the history, for example
	// because a summary replaced them. They have no text and are never sent to a model. See [Carry]
	// and [Kept].
	Kept []Part `json:"kept,omitempty"`

	// HandOver is set if the message is from an agent that the run was handed over to, or if one
	// has the conversation.
	HandOver *HandOver `json:"hand_over,omitempty"`

	// Step, on a response, is the step of its run, counted from 1. Together with RunID it
	// identifies the response, also when other messages of the history are gone. It is 0 if no run
	// made the message.
	Step int `json:"step,omitempty"`
	// Provider and Model, on a response, identify the model that answered. ResponseID is the
	// provider's id of the response.
	Provider   string       `json:"provider,omitempty"`
	Model      string       `json:"model,omitempty"`
	ResponseID string       `json:"response_id,omitempty"`
	Finish     FinishReason `json:"finish,omitempty"`
	Usage      Usage        `json:"usage,omitzero"`
}

// FinishReason is the reason a response ended.
type FinishReason string

const (
	// FinishStop means that the response ended normally.
	FinishStop FinishReason = "stop"
	// FinishLength means that a token limit cut the response off.
	FinishLength FinishReason = "length"
	// FinishToolCalls means that the model waits for tool results.
	FinishToolCalls FinishReason = "tool_calls"
	// FinishContentFilter means that the provider withheld content.
	FinishContentFilter FinishReason = "content_filter"
	// FinishRefusal means that the model refused to answer.
	FinishRefusal FinishReason = "refusal"
	// FinishError means that the provider reported an error in the middle of the response.
	FinishError FinishReason = "error"
	// FinishOther is any reason unknown to the adapter.
	FinishOther FinishReason = "other"
)

// UserText returns a request with one text from the user.
func UserText(text string) *Message {
	return &Message{Kind: KindRequest, Parts: []Part{User(text)}}
}

// Response returns a response with the given parts.
func Response(parts ...Part) *Message {
	return &Message{Kind: KindResponse, Parts: parts}
}

// Text returns the text parts of the message, joined without a separator.
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

// HasToolCalls reports whether the message is a response with tool calls.
func (m *Message) HasToolCalls() bool {
	for i := range m.Parts {
		if m.Parts[i].Kind == PartToolCall {
			return m.Kind == KindResponse
		}
	}
	return false
}

// Clone returns a copy of the message. Its parts and metadata can be replaced without changing m.
// Byte slices inside parts are shared.
//
//go:noinline
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
