// SPDX-License-Identifier: Apache-2.0

package model

import "encoding/json"

// Request is one step's request to a model. A model must not modify it. Within a run, a request
// only grows at its end, which lets a provider's prompt cache hit: the instructions, the tools and
// their order, and the earlier messages stay the same.
type Request struct {
	// Instructions tells the model what to do. It precedes the conversation and may be empty.
	Instructions string `json:"instructions,omitempty"`
	// Messages is the conversation, oldest first. The last message is a request. Adjacent messages
	// of the same kind are merged on the wire.
	Messages []*Message `json:"messages,omitempty"`
	// Tools lists the tools the model may call.
	Tools []ToolDef `json:"tools,omitempty"`
	// ToolChoice determines whether the model may or must call tools. A call can be required unless
	// the model has [Info.NoForcedCalls].
	ToolChoice ToolChoice `json:"tool_choice,omitzero"`
	// Output, if not nil, constrains the text of the response to a schema. It requires
	// [Info.NativeOutput].
	Output *OutputSchema `json:"output,omitempty"`
	// Settings may be nil.
	Settings *Settings `json:"settings,omitempty"`
}

// ToolDef is the definition of a tool that the model sees.
type ToolDef struct {
	// Name identifies the tool. Description tells the model what it is for.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Schema is the JSON schema of the arguments, an object.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Strict asks the provider to enforce the schema during sampling, if it can.
	Strict bool `json:"strict,omitempty"`
}

// OutputSchema is a JSON schema that a response must match. It has the fields of a [ToolDef]: Name
// and Description tell the model what the response is for, and Schema may be of any type.
type OutputSchema ToolDef

// ToolChoice determines whether the model may, must or must not call tools. The zero value leaves
// it to the model.
type ToolChoice struct {
	// Mode is the kind of choice.
	Mode ToolChoiceMode `json:"mode,omitempty"`
	// Tool is the tool to call if Mode is [ToolChoiceTool].
	Tool string `json:"tool,omitempty"`
}

// ToolChoiceMode is a kind of [ToolChoice].
type ToolChoiceMode string

const (
	// ToolChoiceAuto leaves the choice to the model.
	ToolChoiceAuto ToolChoiceMode = ""
	// ToolChoiceNone forbids tool calls.
	ToolChoiceNone ToolChoiceMode = "none"
	// ToolChoiceRequired requires at least one tool call.
	ToolChoiceRequired ToolChoiceMode = "required"
	// ToolChoiceTool requires a call of [ToolChoice.Tool].
	ToolChoiceTool ToolChoiceMode = "tool"
)
