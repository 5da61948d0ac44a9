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
	// Policies are the policies that hold for the run. What they say is not data: a worker needs
	// policies with these names.
	Policies []Policy `json:"policies,omitempty"`
}

// Policy describes a policy of a run.
type Policy struct {
	// Name is its name.
	Name string `json:"name"`
	// Calls says that it decides about calls where they are executed, by a worker of the run.
	Calls bool `json:"calls,omitempty"`
}
