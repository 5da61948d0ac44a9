// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"encoding/json"

	"github.com/ponte-go/ponte/agent/view"
)

// aguiEvent is an event of the protocol. Type determines which fields are used.
type aguiEvent struct {
	Type string `json:"type"`

	ThreadID string       `json:"threadId,omitempty"`
	RunID    string       `json:"runId,omitempty"`
	Version  string       `json:"protocolVersion,omitempty"`
	Outcome  *aguiOutcome `json:"outcome,omitempty"`
	Message  string       `json:"message,omitempty"`
	Code     string       `json:"code,omitempty"`

	MessageID string         `json:"messageId,omitempty"`
	Role      string         `json:"role,omitempty"`
	Delta     any            `json:"delta,omitempty"` // text, or a JSON patch
	Text      string         `json:"-"`               // the delta of a text: see aguiRun.write
	Messages  *[]aguiMessage `json:"messages,omitempty"`
	Snapshot  any            `json:"snapshot,omitempty"`

	CallID          string `json:"toolCallId,omitempty"`
	Call            string `json:"toolCallName,omitempty"`
	ParentMessageID string `json:"parentMessageId,omitempty"`
	Content         any    `json:"content,omitempty"`
	Activity        string `json:"activityType,omitempty"`
	Step            string `json:"stepName,omitempty"`

	Subagent       string `json:"subagentRunId,omitempty"`
	Name           string `json:"name,omitempty"`
	ParentCall     string `json:"parentToolCallId,omitempty"`
	ParentSubagent string `json:"parentSubagentRunId,omitempty"`
}

type aguiOutcome struct {
	Type       string          `json:"type"`
	Interrupts []aguiInterrupt `json:"interrupts,omitempty"`
	Pending    []string        `json:"pendingToolCallIds,omitempty"`
}

// aguiInterrupt is something that a run needs from outside.
type aguiInterrupt struct {
	ID             string          `json:"id"`
	Reason         string          `json:"reason"`
	Message        string          `json:"message"`
	CallID         string          `json:"toolCallId,omitempty"`
	ResponseSchema json.RawMessage `json:"responseSchema"`
	Metadata       struct {
		Ponte AGUIAsked `json:"ponte"`
	} `json:"metadata"`
}

// AGUIAsked is the metadata of an interrupt, as "ponte": what a person must see before answering.
type AGUIAsked struct {
	// Question is the id of the question in the API of webbridge, which takes "always" too. Choices
	// and Digest belong to the question.
	Question string        `json:"question"`
	Digest   string        `json:"digest"`
	Choices  []view.Choice `json:"choices,omitempty"`
	// Tool is the tool that would run, or that asks. If an agent inside the call uses it, it
	// differs from the tool of the call. Preview describes the effect.
	Tool    string         `json:"tool"`
	Preview []view.Content `json:"preview,omitempty"`
}

// aguiMessage is a message of the conversation.
type aguiMessage struct {
	ID        string         `json:"id"`
	Role      string         `json:"role"`
	Content   any            `json:"content,omitempty"`
	ToolCalls []aguiToolCall `json:"toolCalls,omitempty"`
	CallID    string         `json:"toolCallId,omitempty"`
	Error     string         `json:"error,omitempty"`
	Activity  string         `json:"activityType,omitempty"`
	Subagent  string         `json:"subagentRunId,omitempty"`
}

type aguiToolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function aguiFunction `json:"function"`
}

type aguiFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// aguiContentPart is a part of a message of the user.
type aguiContentPart struct {
	Type   string      `json:"type"`
	Text   string      `json:"text,omitempty"`
	Source *aguiSource `json:"source,omitempty"`
}

type aguiSource struct {
	Type     string `json:"type"`
	Value    string `json:"value"`
	MIMEType string `json:"mimeType,omitempty"`
}
