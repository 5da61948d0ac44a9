// SPDX-License-Identifier: Apache-2.0

package model

import "encoding/json"

// Request is what the loop asks of a model in one step. A model only reads it. From step to step of a run a request
// grows at its end only, so that a provider's prompt cache hits: the same instructions, the same tools in the same
// order, the same messages and then new ones.
type Request struct {
	// Instructions tell the model what to do, ahead of the conversation. Empty means none.
	Instructions string
	// Messages is the conversation, oldest first; the last one is a request. Adjacent messages of one kind stand
	// for one message and are merged on the wire.
	Messages []*Message
	// Tools are what the model may call.
	Tools []ToolDef
	// ToolChoice says whether it must. A call can be demanded unless the model has [Info.NoForcedCalls].
	ToolChoice ToolChoice
	// Output, if not nil, binds the text of the response to a schema. Only for models with [Info.NativeOutput].
	Output *OutputSchema
	// Settings may be nil.
	Settings *Settings
}

// ToolDef is a tool as the model sees it.
type ToolDef struct {
	// Name is how the model calls the tool, and Description tells it what the tool is for.
	Name        string
	Description string
	// Schema is the JSON schema of the arguments, an object.
	Schema json.RawMessage
	// Strict asks the provider to enforce the schema while it samples, where it can.
	Strict bool
}

// OutputSchema is a JSON schema that a response must keep.
type OutputSchema struct {
	// Name and Description tell the model what the response is for. Schema is the JSON schema. Strict asks the provider to
	// enforce it while it samples, where it can.
	Name        string
	Description string
	Schema      json.RawMessage
	Strict      bool
}

// ToolChoice says whether the model may, must or must not call tools. The zero value leaves it to the model.
type ToolChoice struct {
	// Mode is how free the model is.
	Mode ToolChoiceMode
	// Tool is the one tool to call when Mode is [ToolChoiceTool].
	Tool string
}

// ToolChoiceMode is how free the model is.
type ToolChoiceMode string

const (
	// ToolChoiceAuto leaves the choice to the model.
	ToolChoiceAuto ToolChoiceMode = ""
	// ToolChoiceNone forbids tool calls.
	ToolChoiceNone ToolChoiceMode = "none"
	// ToolChoiceRequired demands at least one tool call.
	ToolChoiceRequired ToolChoiceMode = "required"
	// ToolChoiceTool demands a call of [ToolChoice.Tool].
	ToolChoiceTool ToolChoiceMode = "tool"
)
