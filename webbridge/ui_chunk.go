// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"encoding/json"

	"github.com/ponte-go/ponte/agent/view"
)

// uiChunk is an event of the stream. Type determines which fields are used.
type uiChunk struct {
	Type string `json:"type"`

	ID        string `json:"id,omitempty"`
	Delta     string `json:"delta,omitempty"`
	MessageID string `json:"messageId,omitempty"`

	CallID     string          `json:"toolCallId,omitempty"`
	Tool       string          `json:"toolName,omitempty"`
	Title      string          `json:"title,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Output     any             `json:"output,omitempty"`
	Executed   bool            `json:"providerExecuted,omitempty"`
	ApprovalID string          `json:"approvalId,omitempty"`
	Approved   *bool           `json:"approved,omitempty"`
	Descriptor *UIApproval     `json:"approvalDescriptor,omitempty"`
	ErrorText  string          `json:"errorText,omitempty"`
	Reason     string          `json:"reason,omitempty"`

	SourceID  string `json:"sourceId,omitempty"`
	URL       string `json:"url,omitempty"`
	MediaType string `json:"mediaType,omitempty"`
	Filename  string `json:"filename,omitempty"`

	Parts     []uiUserPart `json:"parts,omitempty"`
	Data      any          `json:"data,omitempty"`
	Transient bool         `json:"transient,omitempty"`

	Finish   string      `json:"finishReason,omitempty"`
	Metadata *uiMetadata `json:"messageMetadata,omitempty"`
	Provider *uiProvider `json:"providerMetadata,omitempty"`
}

// uiMetadata is the metadata of an answer.
type uiMetadata struct {
	Session string `json:"session"`
}

// uiProvider names the entity that a part shows, which lets a later stream continue after it.
type uiProvider struct {
	Ponte struct {
		Entity string `json:"entity"`
	} `json:"ponte"`
}

func uiShows(entity string) *uiProvider {
	p := new(uiProvider)
	p.Ponte.Entity = entity
	return p
}

// uiUserPart is a part of a message of the user.
type uiUserPart struct {
	Type      string `json:"type"`
	Text      string `json:"text,omitempty"`
	MediaType string `json:"mediaType,omitempty"`
	URL       string `json:"url,omitempty"`
	Filename  string `json:"filename,omitempty"`
}

// UIApproval is the approvalDescriptor of a call that needs approval: what a person must see before deciding.
type UIApproval struct {
	// Question is the id of the question in the API of webbridge, which takes edited arguments and
	// "always" too. Choices and Digest are the question's.
	Question string        `json:"question"`
	Digest   string        `json:"digest"`
	Choices  []view.Choice `json:"choices,omitempty"`
	// Tool is the tool that would run. If the question is about a call of an agent inside the part,
	// it differs from the part's tool. Title and Preview describe what it would do.
	Tool    string         `json:"tool"`
	Title   string         `json:"title"`
	Preview []view.Content `json:"preview,omitempty"`
}

// UIData is the data of the data parts. Each has the fields of [view.Entity] that its kind uses:
//
//	data-plan        steps
//	data-usage       used, size, cost, currency
//	data-notice      title, class
//	data-agent       name, title, status, parent (the tool part, or another agent)
//	data-call        name, title, class, status, input, content, parent (the agent)
//	data-command     title, dir, status, output (its last 4 KiB), exit, parent
//	data-question    title, name, status, value, choices, digest, input (a JSON schema), content, parent
//	data-compaction  title, status
//	data-ended       status, title: why the answer is not whole
//	data-session     title; transient
type UIData struct {
	// Title, Name, Class, Status and Parent are copied from the entity.
	Title  string      `json:"title,omitempty"`
	Name   string      `json:"name,omitempty"`
	Class  string      `json:"class,omitempty"`
	Status view.Status `json:"status,omitempty"`
	Parent string      `json:"parent,omitempty"`
	// Steps are the steps of a plan.
	Steps []view.Step `json:"steps,omitempty"`
	// Input and Content belong to a call or a question. A question has Choices, Value and Digest as
	// well.
	Input   json.RawMessage `json:"input,omitempty"`
	Content []view.Content  `json:"content,omitempty"`
	Choices []view.Choice   `json:"choices,omitempty"`
	Value   string          `json:"value,omitempty"`
	Digest  string          `json:"digest,omitempty"`
	// Dir, Output and Exit belong to a command.
	Dir    string     `json:"dir,omitempty"`
	Output string     `json:"output,omitempty"`
	Exit   *view.Exit `json:"exit,omitempty"`
}
