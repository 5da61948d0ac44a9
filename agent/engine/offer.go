// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Offer is what one request offers the model.
type Offer struct {
	// Instructions tell the model what to do, beside the conversation.
	Instructions string
	// Tools says how to deal with the tools in Defs, one for one.
	Tools []Tool
	// Defs are the tools as the model sees them. They include the tools by which it gives the output.
	Defs []model.ToolDef
	// Text says that text can be the run's output.
	Text bool
	// Media says that media can, with the text beside it.
	Media bool
	// TextCall says that a text output is the arguments of the one tool that hands the run over.
	TextCall bool
	// Output, if not nil, binds the text of the response to a schema.
	Output *model.OutputSchema
	// Choice says whether the model must call tools.
	Choice model.ToolChoice
	// Settings tune the request; nil leaves the model's defaults.
	Settings *model.Settings
	// History takes the place of the run's history if processors have changed it; otherwise it is nil. It ends in a request, which
	// belongs to the run alone if it is not the one that was there.
	History []*model.Message
}

// Tool is a tool as the run loop sees it.
type Tool struct {
	// Name is the tool's name in the offer.
	Name string
	// Output marks a tool by which the model gives the output, HandsOver one by which it hands the run over to another agent.
	Output, HandsOver bool
	// Sequential marks a barrier: the tool runs alone.
	Sequential bool
	// Checks marks a tool that checks its arguments itself, Asks one whose calls may need approval, and External one that
	// never runs here.
	Checks, Asks, External bool
	// Idempotent marks a tool whose calls may be repeated: see [toolset.Options].
	Idempotent bool
	// Kind and Title describe the tool to people.
	Kind  toolset.Kind
	Title string
	// Retries is how often the model may correct a call of the tool.
	Retries int
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
