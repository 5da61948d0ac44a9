// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/ponte-go/ponte/agent/model"
)

// Options are the options of a run that are data, for a worker in another process. The agent's own configuration is not part of them.
type Options struct {
	// Instructions are added to the agent's static instructions.
	Instructions []string `json:"instructions,omitempty"`
	// Settings are those of the run, the agent's included.
	Settings *model.Settings `json:"-"`
	// Choice says whether the model must call tools.
	Choice model.ToolChoice `json:"tool_choice,omitzero"`
	// ToolRetries, if not nil, is how often the model may correct calls of tools that have no setting of their own.
	ToolRetries *int `json:"tool_retries,omitempty"`
}
