// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Offer describes what one request offers the model.
type Offer struct {
	// Instructions tell the model what to do, beside the conversation.
	Instructions string `json:"instructions,omitempty"`
	// Tools describes how to handle the tools in Defs, one for one.
	Tools []Tool `json:"tools,omitempty"`
	// Defs are the tools as the model sees them. They include the output tools.
	Defs []model.ToolDef `json:"defs,omitempty"`
	// Text is set if text can be the run's output.
	Text bool `json:"text,omitempty"`
	// Media is set if media can be the output, with the accompanying text.
	Media bool `json:"media,omitempty"`
	// TextCall is set if a text output is the arguments of the only hand-over tool.
	TextCall bool `json:"text_call,omitempty"`
	// Output, if not nil, binds the text of the response to a schema.
	Output *model.OutputSchema `json:"output,omitempty"`
	// Choice is the tool choice of the request.
	Choice model.ToolChoice `json:"tool_choice,omitzero"`
	// Settings tune the request; nil leaves the model's defaults.
	Settings *model.Settings `json:"-"`
	// History takes the place of the run's history if processors have changed it; otherwise it is nil. It ends in a request, which
	// belongs to the run alone if it is not the one that was there.
	History []*model.Message `json:"history,omitempty"`
}

// Tool is a tool as the run loop sees it.
type Tool struct {
	// Name is the tool's name in the offer.
	Name string `json:"name"`
	// Output marks an output tool, HandsOver a tool that hands the run over to another agent.
	Output    bool `json:"output,omitempty"`
	HandsOver bool `json:"hands_over,omitempty"`
	// Sequential marks a barrier: the tool runs alone.
	Sequential bool `json:"sequential,omitempty"`
	// Checks marks a tool that checks its arguments itself, Asks one whose calls may need approval, and External one that
	// never runs here.
	Checks   bool `json:"checks,omitempty"`
	Asks     bool `json:"asks,omitempty"`
	External bool `json:"external,omitempty"`
	// Idempotent marks a tool whose calls may be repeated: see [toolset.Options].
	Idempotent bool `json:"idempotent,omitempty"`
	// Kind and Title describe the tool to people.
	Kind  toolset.Kind `json:"kind,omitempty"`
	Title string       `json:"title,omitempty"`
	// Retries is how often the model may correct a call of the tool.
	Retries int `json:"retries,omitempty"`
}

// Tool returns the tool with a name, or nil if there is none.
func (o *Offer) Tool(name string) *Tool {
	for i := range o.Tools {
		if o.Tools[i].Name == name {
			return &o.Tools[i]
		}
	}
	return nil
}
