// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/ponte-go/ponte/agent/model"
)

// Options are the options of a run that are data, for a worker in another process. The agent's own configuration is not part of them.
type Options struct {
	// Instructions are added to the agent's static instructions.
	Instructions []string `json:"instructions,omitempty"`
	// Settings are the run's settings, including the agent's.
	Settings *model.Settings `json:"-"`
	// Choice is the tool choice of the run.
	Choice model.ToolChoice `json:"tool_choice,omitzero"`
	// ToolRetries, if not nil, is how often the model may correct calls of a tool without its own
	// setting.
	ToolRetries *int `json:"tool_retries,omitempty"`
}
